--- A program under schedules that find a bug of depth d with a known probability (Burckhardt,
-- Kothari, Musuvathi, Nagarakatte: A randomized scheduler with probabilistic guarantees of finding
-- bugs, ASPLOS 2010). Each process has a random priority, and so has the passing of time. The
-- possible step of the highest priority is taken. At d - 1 random steps this priority falls below
-- all others.

local schedule_of = require "zklock.world.schedule"
local search = require "zklock.world.search"

local ipairs, setmetatable = ipairs, setmetatable
local max = math.max
local remove, sort = table.remove, table.sort

local _M = {}


-- The number of steps of the usual schedule, without faults.
local function length_of(fn, opts)
    local quiet = { faults = { delay = opts.faults.delay }, limit = opts.limit }
    local schedule
    search.play(fn, quiet, 1, { decide = function(world)
        schedule = schedule_of(world, opts.faults.delay, nil, function(_, default)
            return default
        end)
    end })
    return schedule and max(schedule.count, 1) or 1
end


-- The steps at which the highest priority falls, and its new values. Changes that are left out are
-- drawn, too, so that they do not shift later random numbers.
local function changes_of(core, opts, length, left_out)
    local changes = {}
    for change = 1, opts.pct - 1 do
        local at = core:draw("order", length)
        if not left_out[change] then changes[#changes + 1] = { at = at, priority = -change } end
    end
    sort(changes, function(a, b)
        if a.at == b.at then return a.priority > b.priority end
        return a.at < b.at
    end)
    return changes
end


local function decide_by_priorities(world, opts, length, left_out)
    local changes, priorities = changes_of(world.core, opts, length, left_out), {}
    local schedule

    local function priority_of(step)
        local mover = step.process or "time"
        priorities[mover] = priorities[mover] or world.core:fraction("order")
        return priorities[mover]
    end

    local function index_of_highest(steps)
        local best
        for i, step in ipairs(steps) do
            if not best or priority_of(step) > priority_of(steps[best]) then best = i end
        end
        return best
    end

    schedule = schedule_of(world, opts.faults.delay, nil, function(steps)
        while changes[1] and changes[1].at <= schedule.count do
            local step = steps[index_of_highest(steps)]
            priorities[step.process or "time"] = remove(changes, 1).priority
        end
        return index_of_highest(steps)
    end)
end


-- The least depth at which the seed still has its problem, found by leaving out changes.
local function depth_of(fn, opts, first, decide)
    local left_out, depth = {}, opts.pct
    for change = 1, opts.pct - 1 do
        left_out[change] = true
        local world = search.play(fn, opts, first.seed,
            { list = first.faults, decide = decide(left_out) })
        if search.has_problem(world, first.problem) then depth = depth - 1
        else left_out[change] = nil end
    end
    return depth
end


--- Runs the seeds from opts.first to opts.last, for bugs of the depth opts.pct.
---@param opts { first: integer, last: integer, pct: integer, faults: table, limit: table }
---@return zklock.Found
function _M.run(fn, opts)
    local length = length_of(fn, opts)
    local function decide(left_out)
        return function(world) decide_by_priorities(world, opts, length, left_out) end
    end
    local found = search.run(fn, setmetatable({ decide = decide{} }, { __index = opts }))
    found.steps = length
    local first = found.first
    if first then first.depth = depth_of(fn, opts, first, decide) end
    return found
end


return _M
