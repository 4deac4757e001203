--- Faults of a world's processes, drawn by its seed, replayed from a list, or decided by a search.
-- A fault comes `after` seconds after the turn `turn` of its process. Without `after` it comes just
-- before the turn that follows.

local ipairs, setmetatable = ipairs, setmetatable
local huge, log, min = math.huge, math.log, math.min

---@class zklock.Fault
---@field kind "stop"|"kill"|"cut"|"expire"
---@field process string
---@field turn integer
---@field after? number seconds
---@field lasts? number seconds
---@field at? number when it happened, seconds since the world began

local kinds = { "stop", "kill", "cut", "expire" }
local _M = { kinds = kinds }

local function inflict(self, fault, after)
    self.count[fault.kind] = self.count[fault.kind] + 1
    self.world:inflict{
        kind = fault.kind, process = fault.process.name, turn = fault.process.turns,
        after = after, lasts = fault.lasts,
    }
end


--- The settings of a kind of fault whose option is `true`.
_M.defaults = {
    stop = { per_second = 4, longest = 30, most = 2 },
    kill = { per_second = 1, most = 1 },
    cut = { per_second = 2, longest = 30, most = 2 },
    expire = { per_second = 1, most = 1 },
}


-- --- drawn faults -------------------------------------------------------------------------

-- Only the beginning of a wait is exposed, because a long wait would meet all faults.
local EXPOSED = 0.1 -- seconds

--- Seconds of exposure added to each wait, without which a short wait would meet no fault. None
-- are added if the user sets per_second.
_M.MORE = 0.02

---@class zklock.DrawnFaults
---@field settings table per_second, longest, most and more, by kind
---@field count table<string, integer> of faults that happened, by kind
---@field begun table<zklock.Process, true> processes that are exposed to faults
---@field coming table[] the next fault of each kind and process; `time_left` is exposed time
local Drawn = {}
Drawn.__index = Drawn


-- Draws the next fault of the kind. Half of the faults come only at the end of a wait, the other
-- half also within it, when their time is up.
local function draw(self, process, kind)
    local core, setting = self.world.core, self.settings[kind]
    return {
        kind = kind,
        process = process,
        time_left = -log(1 - core:fraction("faults")) / setting.per_second,
        only_at_end = core:draw("faults", 2) == 1,
        lasts = setting.longest and (1 - core:fraction("faults")) * setting.longest,
    }
end


local NONE = {}

--- The faults that a search may choose. A seed or a list leaves none to choose.
function Drawn.possible() return NONE end


--- The process has its first connected session.
function Drawn:begin(process)
    if self.begun[process] then return end
    self.begun[process] = true
    for _, kind in ipairs(kinds) do
        if self.settings[kind] then self.coming[#self.coming + 1] = draw(self, process, kind) end
    end
end


local function may_come(self, fault)
    local process = fault.process
    return not process.over and not process.stopped and
        self.count[fault.kind] < self.settings[fault.kind].most
end


local function strike(self, index, after)
    local fault = self.coming[index]
    self.coming[index] = draw(self, fault.process, fault.kind)
    inflict(self, fault, after)
end


local function time_of_drawn(self, fault)
    if fault.only_at_end or fault.time_left > EXPOSED or not may_come(self, fault) then
        return huge
    end
    return fault.process.turned_at + fault.time_left
end


function Drawn:due()
    local due = huge
    for _, fault in ipairs(self.coming) do due = min(due, time_of_drawn(self, fault)) end
    return due
end


function Drawn:strike_due(now)
    for i, fault in ipairs(self.coming) do
        if time_of_drawn(self, fault) <= now then strike(self, i, fault.time_left) end
    end
end


--- A wait of the process is over, and it is about to go on.
function Drawn:strike_before_turn(process)
    local exposed = min(self.world:now() - process.turned_at, EXPOSED)
    for i, fault in ipairs(self.coming) do
        if fault.process == process then
            fault.time_left = fault.time_left - exposed - self.settings[fault.kind].more
            if fault.time_left <= 0 and may_come(self, fault) then strike(self, i) end
        end
    end
end


-- --- replayed faults ----------------------------------------------------------------------

---@class zklock.ReplayedFaults
local Replayed = {}
Replayed.__index = Replayed

Replayed.possible = Drawn.possible

function Replayed:begin(process) self.begun[process] = true end


local function time_of_replayed(self, fault)
    local process = self.world.by_name[fault.process]
    if fault.done or not process or process.over or process.stopped or
        process.turns ~= fault.turn then
        return huge
    end
    return process.turned_at + (fault.after or 0)
end


function Replayed:due()
    local due = huge
    for _, fault in ipairs(self.list) do
        local at = fault.after and time_of_replayed(self, fault) or huge
        if at < due then due = at end
    end
    return due
end


function Replayed:strike_due(now)
    for _, fault in ipairs(self.list) do
        if fault.after and time_of_replayed(self, fault) <= now then
            fault.done = true
            self.world:inflict(fault)
        end
    end
end


function Replayed:strike_before_turn(process)
    for _, fault in ipairs(self.list) do
        local here = fault.process == process.name and not fault.after
        if here and time_of_replayed(self, fault) < huge then
            fault.done = true
            self.world:inflict(fault)
        end
    end
end


-- --- faults that a search decides ---------------------------------------------------------

---@class zklock.DecidedFaults
---@field bounded table<string, true> kinds of which more than `most` could have come
local Decided = {}
Decided.__index = Decided

Decided.begin = Replayed.begin
function Decided.due() return huge end
function Decided.strike_due() end
function Decided.strike_before_turn() end


--- The faults that can come to the process now. A cut lasts for no time or for the longest.
---@param goes_on boolean the process is about to go on
---@return zklock.Step[]
function Decided:possible(process, goes_on)
    local possible = {}
    if not self.begun[process] or process.over or process.stopped then return possible end
    for _, kind in ipairs(kinds) do
        local setting = self.settings[kind]
        if setting and self.count[kind] == setting.most then
            self.bounded[kind] = true
        elseif setting then
            local lasts = kind == "cut" and { setting.longest, 0 } or { setting.longest or false }
            for _, seconds in ipairs(lasts) do
                possible[#possible + 1] = {
                    kind = kind, process = process, lasts = seconds or nil, is_fault = true,
                    after = not goes_on and self.world:now() - process.turned_at or nil,
                }
            end
        end
    end
    return possible
end


function Decided:strike(fault) inflict(self, fault, fault.after) end


-- --- making faults ------------------------------------------------------------------------

-- Half of the seeds have a single kind, and the rest each kind with a chance of a half (Groce et
-- al., Swarm testing, 2012).
local function choose_kinds(core, wanted)
    if #wanted < 2 then return wanted end
    if core:draw("faults", 2) == 1 then return { wanted[core:draw("faults", #wanted)] } end
    local some = {}
    for _, kind in ipairs(wanted) do
        if core:draw("faults", 2) == 1 then some[#some + 1] = kind end
    end
    return some
end


--- Faults drawn by the seed. Faults that have happened count towards `most`.
---@param begun? table<zklock.Process, true>
function _M.drawn(world, settings, begun)
    local wanted, chosen, count = {}, {}, {}
    for _, kind in ipairs(kinds) do
        if settings[kind] then wanted[#wanted + 1] = kind end
    end
    for _, kind in ipairs(choose_kinds(world.core, wanted)) do
        chosen[kind], count[kind] = settings[kind], 0
    end
    for _, fault in ipairs(world.happened) do
        count[fault.kind] = count[fault.kind] and count[fault.kind] + 1
    end
    local self = setmetatable({
        world = world, settings = chosen, coming = {}, count = count, begun = {},
    }, Drawn)
    for _, process in ipairs(world.processes) do
        if begun and begun[process] then self:begin(process) end
    end
    return self
end


function _M.decided(world, settings)
    local count = {}
    for _, kind in ipairs(kinds) do count[kind] = 0 end
    return setmetatable({
        world = world, settings = settings, count = count, begun = {}, bounded = {},
    }, Decided)
end


---@param list zklock.Fault[]
function _M.replayed(world, list)
    local copies = {}
    for i, fault in ipairs(list) do
        copies[i] = {
            kind = fault.kind, process = fault.process, turn = fault.turn,
            after = fault.after, lasts = fault.lasts,
        }
    end
    return setmetatable({ world = world, list = copies, begun = {} }, Replayed)
end


return _M
