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
---@field last integer the last decision that deviates
---@field count integer of deviations
---@field preemptions integer count of deviations that are no faults

---@class zklock.FoundAll: zklock.Found
---@field complete boolean false if there are more schedules within the bounds
---@field bounds table<string, integer> that left schedules out, by kind of fault or "preemptions"

local _M = {}


local function with_deviation(deviations, decision, place, step)
    local name = deviations.name
    return {
        name = ("%s%s%d:%d"):format(name, name == "" and "" or " ", decision, place),
        last = decision,
        count = deviations.count + 1,
        preemptions = deviations.preemptions + (step.is_fault and 0 or 1),
    }
end


-- The place of each deviation by its decision, and the last decision.
local function places_of(name)
    local places, last = {}, 0
    for decision, place in name:gmatch "(%d+):(%d+)" do
        last = tonumber(decision)
        places[last] = tonumber(place)
    end
    return places, last
end


local function refuse_name(world, name)
    world:fail(("the program has no schedule %q"):format(name))
end


-- Runs the schedule of that name. Returns its world, the zklock.Schedule, and its deviations as
-- lines. After the deviations, `systematic` may end the run, and adds schedules.
local function play(fn, opts, name, how, systematic)
    local places, last = places_of(name)
    local decision, lines, schedule = 0, {}, nil
    local function decide(steps, default)
        decision = decision + 1
        local place = places[decision]
        if not place then
            if systematic and decision > last and not systematic:enter_state(schedule) then
                schedule.world.over = true
                return nil
            end
            return default
        end
        if not steps[place] then return refuse_name(schedule.world, name) end
        if how.story then
            lines[#lines + 1] = ("decision %d: %s, not: %s"):format(decision,
                schedule:text_of(steps[place]), schedule:text_of(steps[default]))
        end
        return place
    end
    local function add_others(steps, default, is_local)
        if decision > last then systematic:add_others(decision, steps, default, is_local) end
    end
    how.decide = function(world)
        schedule = schedule_of(world, opts.faults.delay, systematic and systematic.ids, decide,
            add_others)
    end
    local world = search.play(fn, opts, opts.first, how)
    if decision < last and not how.branch then refuse_name(world, name) end
    return world, schedule, lines
end


local function describe_first(fn, opts, name, problem)
    local lines
    local first = search.describe_first(opts, problem, function(how)
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
        found.first = found.first or describe_first(fn, opts, name, world.problem)
    end
    if opts.on_schedule then opts.on_schedule(found, world) end
end


local function nothing_found(opts)
    return { schedules = 0, wrong = 0, tried = search.nothing_tried(opts.faults) }
end


---@return zklock.Found
function _M.replay(fn, opts)
    local found = nothing_found(opts)
    count_ended(found, fn, opts, opts.schedule, (play(fn, opts, opts.schedule, {})))
    return found
end


-- Can this step lead to a new state? Before a usual step that is local, steps of other processes
-- lead to the same states as after it.
local function may_lead_elsewhere(step, default, is_local)
    if step == default then return false end
    if not is_local or step.is_fault or step.kind == "time" then return true end
    return step.process == default.process and step.kind ~= "up"
end


-- Takes a schedule with the fewest deviations, which are the level of its list.
local function take_next(queue)
    while queue.level <= queue.last_level do
        local list = queue[queue.level]
        local deviations = list and list[queue.index]
        if deviations then
            list[queue.index] = false
            queue.index = queue.index + 1
            return deviations
        end
        queue[queue.level] = nil
        queue.level, queue.index = queue.level + 1, 1
    end
end


local function add(queue, deviations)
    local level = deviations.count
    local list = queue[level] or {}
    list[#list + 1], queue[level], queue.last_level = deviations, list, max(queue.last_level, level)
end


---@class zklock.Systematic a search
---@field found zklock.FoundAll
---@field reducible boolean fingerprints show how steps depend on each other, so no other process
-- needs to go before a local step
---@field seen table<string, true> fingerprints
---@field ids table<number|string, integer> of zklock.Schedule
---@field queue table
---@field deviations zklock.Deviations of the schedule that is run
local Systematic = {}
Systematic.__index = Systematic


-- False if the fingerprint was seen before.
local function mark_seen(self, fingerprint)
    if self.seen[fingerprint] then return false end
    self.seen[fingerprint] = true
    return true
end


-- False if an earlier schedule came to this state.
function Systematic:enter_state(schedule)
    local current = schedule.current
    return mark_seen(self, schedule:fingerprint() .. ":" .. (current and current.number or 0))
end


function Systematic:add_others(decision, steps, default, is_local)
    local most, deviations = self.most, self.deviations
    for place, step in ipairs(steps) do
        if may_lead_elsewhere(step, steps[default], is_local and self.reducible) then
            if step.is_fault or deviations.preemptions < most then
                add(self.queue, with_deviation(deviations, decision, place, step))
            else
                self.found.bounds.preemptions = most
            end
        end
    end
end


-- Returns false if the search relied on fingerprints, and they do not show how steps depend on each
-- other.
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
    if has_ended and mark_seen(self, schedule:fingerprint() .. " end") then
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
        queue = { level = 0, last_level = 0, index = 1 },
        deviations = { name = "", last = 0, count = 0, preemptions = 0 },
    }, Systematic)
    for _ = 1, opts.all.runs do
        if not run_one(self, fn, opts) then return nil end
        self.deviations = take_next(self.queue)
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
