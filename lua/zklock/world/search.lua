--- A program under random schedules. The first wrong schedule is run again, with a story, and only
-- with faults that its problem needs.

local faults = require "zklock.world.faults"
local is_interrupt = require "zklock.value.is_interrupt"
local find_moment = require("zklock.world.moment").find
local text_of = require "zklock.world.problem"
local worlds = require "zklock.world"

local error, ipairs = error, ipairs
local insert, remove = table.insert, table.remove

---@class zklock.Tried
---@field sections integer granted locks
---@field repeated integer schedules with the order of an earlier schedule
---@field faults table<string, integer> how often each kind struck

---@class zklock.Found
---@field schedules integer
---@field wrong integer
---@field tried zklock.Tried
---@field first? table seed, problem, faults, world, repeats, moment

---@class zklock.HowToPlay
---@field story? boolean
---@field list? zklock.Fault[] instead of drawn faults
---@field decide? fun(world) sets the function that decides each step; default: opts.decide
---@field branch? zklock.Branch
---@field mark? zklock.Mark

local _M = {}


---@param opts table of zklock.world.options
---@param how? zklock.HowToPlay
---@return zklock.World
function _M.play(fn, opts, seed, how)
    how = how or {}
    local decide = how.decide or opts.decide
    local world = worlds.new(fn, {
        seed = seed, faults = opts.faults, limit = opts.limit, story = how.story, list = how.list,
        decided = opts.all or opts.schedule, branch = how.branch, mark = how.mark,
    })
    if decide and not world.over then decide(world) end
    world:run()
    if is_interrupt(world.problem) then error(world.problem, 0) end
    return world
end

local play = _M.play


function _M.has_problem(world, problem)
    return world.problem ~= nil and text_of(world.problem) == text_of(problem)
end


-- The faults that the problem needs. A fault may be needed only because of another, so all are
-- tried again after one was left out.
local function needed_faults(fn, opts, seed, world)
    local list, problem = {}, world.problem
    for i, fault in ipairs(world.happened) do list[i] = fault end
    local replayed = play(fn, opts, seed, { list = list })
    if not _M.has_problem(replayed, problem) then return nil end
    local count
    repeat
        count = #list
        for i = #list, 1, -1 do
            local fault = remove(list, i)
            if not _M.has_problem(play(fn, opts, seed, { list = list }), problem) then
                insert(list, i, fault)
            end
        end
    until #list == count
    return list
end


--- Describes the first wrong schedule. Its problem repeats unless the program has chance, time or
-- state from outside of the world.
---@param problem any with which the schedule ended
---@param again fun(how) plays the schedule again
function _M.describe_first(opts, problem, again)
    local world = again{ story = true }
    local first = { problem = problem, repeats = _M.has_problem(world, problem) }
    if first.repeats and opts.moment then
        first.moment, world = find_moment(world, opts.moment, opts.more or 0, again)
    end
    first.world, first.faults = world, world.happened
    return first
end


local function describe_seed(fn, opts, seed, world)
    local list = needed_faults(fn, opts, seed, world)
    local first = _M.describe_first(opts, world.problem, function(how)
        how.list = list
        return play(fn, opts, seed, how)
    end)
    first.seed, first.faults = seed, list or world.happened
    return first
end


function _M.nothing_tried(settings)
    local tried = { sections = 0, repeated = 0, faults = {} }
    for _, kind in ipairs(faults.kinds) do tried.faults[kind] = settings[kind] and 0 end
    return tried
end


function _M.count_tried(tried, world)
    tried.sections = tried.sections + world.sections
    for _, fault in ipairs(world.happened) do
        tried.faults[fault.kind] = tried.faults[fault.kind] + 1
    end
end


--- Runs the seeds from opts.first to opts.last.
---@param fn fun(world: zklock.World)
---@param opts table of zklock.world.options; `on_schedule` is called after each schedule
---@return zklock.Found
function _M.run(fn, opts)
    local found, seen = { schedules = 0, wrong = 0, tried = _M.nothing_tried(opts.faults) }, {}
    for seed = opts.first, opts.last do
        local world = play(fn, opts, seed)
        found.schedules = found.schedules + 1
        _M.count_tried(found.tried, world)
        if seen[world.fingerprint] then found.tried.repeated = found.tried.repeated + 1 end
        seen[world.fingerprint] = true
        if world.problem ~= nil then
            found.wrong = found.wrong + 1
            found.first = found.first or describe_seed(fn, opts, seed, world)
        end
        if opts.on_schedule then opts.on_schedule(found, world) end
    end
    return found
end


return _M
