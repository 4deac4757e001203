--- All schedules of a program that deviate from the usual steps in a bounded number of decisions.
-- A run ends where an earlier schedule came to the same state. Schedules with fewer deviations come
-- first.
--
-- The name "14:2 22:3" means the second possible step in decision 14, and the third in decision 22.

local schedule_of = require "zklock.world.schedule"
local search = require "zklock.world.search"

local ipairs, pairs, setmetatable, tonumber = ipairs, pairs, setmetatable, tonumber
local max = math.max

---@class zklock.Deviations
---@field name string
---@field last integer decision
---@field count integer
---@field preemptions integer without faults

---@class zklock.FoundAll: zklock.Found
---@field complete boolean false if there are more schedules within the bounds
---@field bounds table<string, integer> that left schedules out, by preemptions and kinds of faults

local _M = {}


local function one_more(deviations, at, place, step)
    local name = deviations.name
    return {
        name = ("%s%s%d:%d"):format(name, name == "" and "" or " ", at, place),
        last = at,
        count = deviations.count + 1,
        preemptions = deviations.preemptions + (step.is_fault and 0 or 1),
    }
end


-- The place of each deviation by its decision, and the last decision.
local function places_of(name)
    local places, last = {}, 0
    for at, place in name:gmatch "(%d+):(%d+)" do
        last = tonumber(at)
        places[last] = tonumber(place)
    end
    return places, last
end


local function refuse_name(world, name)
    world:fail(("the program has no schedule %q"):format(name))
end


-- Runs the schedule of that name. Returns the world after it, the zklock.Schedule, and its
-- deviations as lines. After the deviations the search `look` may end the run, and hears of each
-- decision.
local function play(fn, opts, name, how, look)
    local places, last = places_of(name)
    local at, lines, schedule = 0, {}, nil
    local function decide(steps, default)
        at = at + 1
        local place = places[at]
        if not place then
            if look and at > last and not look:decide(schedule) then
                schedule.world.over = true
                return nil
            end
            return default
        end
        if not steps[place] then return refuse_name(schedule.world, name) end
        if how.story then
            lines[#lines + 1] = ("decision %d: %s, not: %s"):format(at,
                schedule:text_of(steps[place]), schedule:text_of(steps[default]))
        end
        return place
    end
    local function decided(steps, default, is_local)
        if at > last then look:decided(at, steps, default, is_local) end
    end
    how.decide = function(world)
        schedule = schedule_of(world, opts.faults.delay, look and look.ids, decide, decided)
    end
    local world = search.play(fn, opts, opts.first, how)
    if at < last and not how.branch then refuse_name(world, name) end
    return world, schedule, lines
end


local function tell(fn, opts, name, problem)
    local lines
    local first = search.first(opts, problem, function(how)
        local world, _, decisions = play(fn, opts, name, how)
        lines = how.story and decisions or lines
        return world
    end)
    first.schedule, first.seed, first.decisions = name, opts.first, lines
    return first
end


local function count_ended(found, fn, opts, name, world)
    found.schedules = found.schedules + 1
    search.count_tried(found.tried, world)
    if world.problem ~= nil then
        found.wrong = found.wrong + 1
        found.first = found.first or tell(fn, opts, name, world.problem)
    end
    if opts.heard then opts.heard(found, world) end
end


local function nothing_found(opts)
    return { schedules = 0, wrong = 0, tried = search.nothing_tried(opts.faults) }
end


--- Runs the schedule opts.schedule.
---@return zklock.Found
function _M.replay(fn, opts)
    local found = nothing_found(opts)
    count_ended(found, fn, opts, opts.schedule, (play(fn, opts, opts.schedule, {})))
    return found
end


-- Is a schedule with this step new? If the usual step is local, steps of other processes can come
-- after it as well.
local function is_new(step, default, is_local)
    if step == default then return false end
    if not is_local or step.is_fault or step.kind == "time" then return true end
    return step.process == default.process and step.kind ~= "up"
end


-- Takes a schedule with the fewest deviations.
local function next_of(queue)
    while queue.count <= queue.most do
        local list = queue[queue.count]
        local deviations = list and list[queue.place]
        if deviations then
            list[queue.place] = false
            queue.place = queue.place + 1
            return deviations
        end
        queue[queue.count] = nil
        queue.count, queue.place = queue.count + 1, 1
    end
end


local function add(queue, deviations)
    local count = deviations.count
    local list = queue[count] or {}
    list[#list + 1], queue[count], queue.most = deviations, list, max(queue.most, count)
end


---@class zklock.Systematic a search
---@field found zklock.FoundAll
---@field reducible boolean schedules see how steps depend on each other
---@field seen table<string, true> prints
---@field ids table<number|string, integer> of zklock.Schedule
---@field queue table
---@field deviations zklock.Deviations of the schedule that is run
local Systematic = {}
Systematic.__index = Systematic


local function is_first(self, print)
    if self.seen[print] then return false end
    self.seen[print] = true
    return true
end


-- False if an earlier schedule came to this state.
function Systematic:decide(schedule)
    local current = schedule.current
    return is_first(self, schedule:print() .. ":" .. (current and current.number or 0))
end


-- Adds the schedules that take another step there.
function Systematic:decided(at, steps, default, is_local)
    local most, deviations = self.most, self.deviations
    for place, step in ipairs(steps) do
        if is_new(step, steps[default], is_local and self.reducible) then
            if step.is_fault or deviations.preemptions < most then
                add(self.queue, one_more(deviations, at, place, step))
            else
                self.found.bounds.preemptions = most
            end
        end
    end
end


-- Returns false if steps depend on each other in ways that schedules do not see.
local function run_one(self, fn, opts)
    local found, name = self.found, self.deviations.name
    local world, schedule = play(fn, opts, name, {}, self)
    if not schedule then -- it was over before its first step
        count_ended(found, fn, opts, name, world)
        return true
    end
    if schedule.is_tangled and self.reducible then return false end
    for kind in pairs(world.faults.bounded) do found.bounds[kind] = opts.faults[kind].most end
    local has_ended = world.finished or world.problem ~= nil
    if has_ended and is_first(self, schedule:print() .. " end") then
        count_ended(found, fn, opts, name, world)
    else
        found.tried.repeated = found.tried.repeated + 1
    end
    return true
end


local function run_all(fn, opts, reducible)
    local found = nothing_found(opts)
    found.complete, found.bounds = true, {}
    local self = setmetatable({
        found = found,
        reducible = reducible,
        most = opts.all.preemptions,
        seen = {},
        ids = { count = 0 },
        queue = { count = 0, most = 0, place = 1 },
        deviations = { name = "", last = 0, count = 0, preemptions = 0 },
    }, Systematic)
    for _ = 1, opts.all.runs do
        if not run_one(self, fn, opts) then return nil end
        self.deviations = next_of(self.queue)
        if not self.deviations then return found end
    end
    found.complete = false
    return found
end


--- Runs all schedules within the bounds of opts.all, or as many as opts.all.runs.
---@return zklock.FoundAll
function _M.run(fn, opts)
    return run_all(fn, opts, true) or run_all(fn, opts, false)
end


return _M
