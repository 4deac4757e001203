--- A world in which a function decides each step, which is a turn of a process, the arrival of a
-- packet, a fault, or that time goes on. Time goes on by itself only if no other step is possible.
-- docs/design/world.md says which orders of steps are one schedule.

local loop = require "zklock.world.loop"

local ipairs, setmetatable = ipairs, setmetatable
local concat, insert, remove, sort = table.concat, table.insert, table.remove, table.sort
local huge, min = math.huge, math.min

local FAIR = 100 -- turns in a row of a process until another goes first
local LABELS = 2 ^ 16 -- more than there are labels of steps
local PROGRAM, SERVERS = 1, 2 -- chains; those of processes follow

---@class zklock.Step
---@field kind "turn"|"up"|"down"|"time"|"stop"|"kill"|"cut"|"expire"
---@field process? zklock.Process
---@field ready_index? integer a turn's, in world.ready
---@field rank? integer a turn's, among the ready coroutines of its process
---@field number? integer of the session whose packet arrives
---@field last? boolean the session ends with that packet
---@field is_fault? boolean
---@field lasts? number seconds of a fault
---@field after? number as zklock.Fault's

---@class zklock.Schedule
---@field world zklock.World
---@field delay number seconds that a packet may be under way
---@field decide fun(steps: zklock.Step[], default: integer): integer?
---@field on_decided? fun(steps: zklock.Step[], default: integer, is_local: boolean)
---@field current? zklock.Process of the last step
---@field streak integer turns of `current` in a row
---@field count integer steps
---@field ready_since number when a step other than time became possible
---@field ids? table<number|string, integer> a number for each chain of steps
---@field base integer the chain until time went on, or a fault came
---@field chains integer[] after `base`, of the program, servers, and each process
---@field is_tangled boolean a process reached into a server or into another process
local Schedule = {}
Schedule.__index = Schedule


-- --- possible steps -----------------------------------------------------------------------

-- Removes entries of ended processes, and sets those of stopped processes aside.
local function tidy_ready(world)
    local ready = {}
    for _, entry in ipairs(world.ready) do
        local process = entry.thread and loop.process_of(world, entry)
        if process and not process.over then
            local list = process.stopped and process.delayed or ready
            list[#list + 1] = entry
        end
    end
    world.ready = ready
end


local function is_before(a, b)
    if a.process == b.process then return a.ready_index < b.ready_index end
    return a.process.number < b.process.number
end


local function steps_without_time(world)
    local steps = {}
    for i, entry in ipairs(world.ready) do
        steps[i] = { kind = "turn", process = loop.process_of(world, entry), ready_index = i }
    end
    sort(steps, is_before)
    for i, step in ipairs(steps) do
        local before = steps[i - 1]
        step.rank = before and before.process == step.process and before.rank + 1 or 1
    end
    for number, session in ipairs(world.sessions) do
        for _, kind in ipairs{ "down", "up" } do
            local packet = world.core:under_way(number, kind == "up")
            if packet then
                steps[#steps + 1] = { kind = kind, process = session.runtime, number = number,
                                      last = packet == "last" }
            end
        end
    end
    return steps
end


-- The index of the usual step. The process of the last step goes on while it can, up to FAIR turns.
local function usual_index(self, steps)
    local must_change = self.streak >= FAIR
    for i, step in ipairs(steps) do
        if (step.process == self.current) ~= must_change then return i end
    end
    return 1
end


-- Time may pass though steps are possible, because a step may be as late as a packet.
local function may_time_pass(self)
    local due = min(loop.next_due(self.world), self.world.core:due() or huge)
    return due - self.ready_since <= self.delay
end


local function add_faults(self, steps, process, goes_on)
    for _, fault in ipairs(self.world.faults:possible(process, goes_on)) do
        steps[#steps + 1] = fault
    end
end


-- The possible steps, and the index of the usual one. A fault can come before a turn of its process
-- and, while no time has passed since a turn, before the process's packets and before time goes on.
local function possible_steps(self)
    local world = self.world
    local steps, time_has_passed = steps_without_time(world), world.turn_time ~= world:now()
    if not steps[1] then
        steps[1] = { kind = "time" }
        for _, process in ipairs(time_has_passed and {} or world.processes) do
            add_faults(self, steps, process)
        end
        return steps, 1
    end
    local default = usual_index(self, steps)
    local step = steps[default]
    if may_time_pass(self) then steps[#steps + 1] = { kind = "time" } end
    local goes_on = step.kind == "turn"
    if goes_on or not time_has_passed then add_faults(self, steps, step.process, goes_on) end
    return steps, default
end


---@param step zklock.Step
function Schedule:text_of(step)
    if step.kind == "time" then return "time goes on" end
    local name = step.process.name
    if step.kind == "turn" then return name .. " goes on" end
    if step.is_fault then
        return step.kind .. " " .. name .. (step.lasts and (" for %g s"):format(step.lasts) or "")
    end
    local up = step.kind == "up"
    return ("%s %s server: %s"):format(name, up and "to the" or "from the",
        (self.world.core:packet(step.number, up)))
end


-- --- which schedule it is -----------------------------------------------------------------

-- The number of a chain, by its beginning and last step.
local function id_of(ids, key)
    local id = ids[key]
    if not id then
        id = ids.count + 1
        ids[key], ids.count = id, id
    end
    return id
end


local function lengthen(self, chain, label)
    local before = self.chains[chain] or self.base
    self.chains[chain] = id_of(self.ids, before * LABELS + label)
end


--- The steps so far, without the order of independent steps.
---@return string
function Schedule:fingerprint()
    local parts = {}
    for chain = 1, SERVERS + #self.world.processes do
        parts[chain] = self.chains[chain] or self.base
    end
    return concat(parts, ",")
end


-- Adds a step that depends on all steps before it.
local function join_chains(self, label)
    self.base = id_of(self.ids, self:fingerprint() .. label)
    self.chains = {}
end


-- Adds the step to the chains. Returns true if only steps of its process depend on it.
local function add_to_chains(self, step)
    local world, number = self.world, step.number
    if step.is_fault or step.kind == "time" or world.meddled then
        self.is_tangled = self.is_tangled or world.meddled
        local process = step.process and step.process.number or 0
        join_chains(self, concat({ "", step.kind, process, step.lasts or "",
            number or step.rank or "" }, " "))
        return false
    end
    if step.kind ~= "up" then
        local label = number and LABELS / 2 + number or step.rank
        lengthen(self, SERVERS + step.process.number, label)
    end
    if step.kind == "up" or step.last then lengthen(self, SERVERS, number) end
    if step.kind == "turn" or world.has_called then
        lengthen(self, PROGRAM, step.process.number)
    end
    return step.kind == "down" and not step.last and not world.has_called
end


-- --- a step -------------------------------------------------------------------------------

-- Carries out clients' rounds and news of sessions, which are no steps.
local function settle(world)
    while not world.over do
        local number = world.core:settle()
        if number == 0 then return end
        local session = world.sessions[number]
        if session then session.runtime:hear(session, world:now()) end
    end
end


local carry_out = {}

-- Keeps the order of the ready coroutines.
function carry_out.turn(world, step)
    insert(world.ready, remove(world.ready, step.ready_index))
    loop.go_on(world, #world.ready)
end

function carry_out.up(world, step) world.core:hasten(step.number, true) end

-- An arrival takes no time, but is progress.
function carry_out.down(world, step)
    world.turns = {}
    world.core:hasten(step.number, false)
end

function carry_out.time(world) loop.advance(world, 1) end

local function strike(world, step) world.faults:strike(step) end


local function set_current(self, step, is_idle)
    if step.kind == "time" then
        self.current, self.streak = nil, 0
        if is_idle then self.ready_since = self.world:now() end
    elseif not step.is_fault then
        local goes_on = step.kind == "turn" and step.process == self.current
        self.streak = goes_on and self.streak + 1 or 0
        self.current = step.process
    end
end


function Schedule:step()
    local world = self.world
    tidy_ready(world)
    if not world.ready[1] and world.live == 0 and not world.events:first() then
        return loop.go_on(world) -- ends the world
    end
    self.count = self.count + 1
    local steps, default = possible_steps(self)
    local chosen = default
    if steps[2] then
        chosen = self.decide(steps, default)
        if not chosen then return end
    end
    local step, is_idle = steps[chosen], steps[1].kind == "time"
    world.meddled, world.has_called = false, false
    ;(carry_out[step.kind] or strike)(world, step)
    settle(world)
    set_current(self, step, is_idle)
    if not self.ids then return end
    local is_local = add_to_chains(self, step)
    if steps[2] and self.on_decided then self.on_decided(steps, default, is_local) end
end


--- Makes `decide` choose the steps of a world that has no session yet.
---@param ids? table shared by all schedules whose fingerprints are compared
---@param decide fun(steps: zklock.Step[], default: integer): integer? nil: it has ended the world
---@return zklock.Schedule
return function(world, delay, ids, decide, on_decided)
    world.core:hold()
    local self = setmetatable({
        world = world,
        delay = delay,
        decide = decide,
        on_decided = on_decided,
        streak = 0,
        count = 0,
        ready_since = 0,
        ids = ids,
        base = 0,
        chains = {},
        is_tangled = false,
    }, Schedule)
    world.order = self
    return self
end
