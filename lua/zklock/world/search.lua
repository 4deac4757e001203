--- A program under many schedules, each in a world of its own: how many are wrong, and the first
--- wrong one again, told, with a list of faults from which none can be left out.

local worlds = require "zklock.world"

local error, ipairs, tostring = error, ipairs, tostring
local insert, remove = table.insert, table.remove

---@class zklock.Found
---@field schedules integer
---@field wrong integer
---@field first? { seed: integer, problem: any, faults: zklock.Fault[], world: zklock.World }

local _M = {}


--- One schedule: the world after it.
---@param opts table of zklock.world.options
---@param story? boolean
---@param list? zklock.Fault[] instead of those of the seed
---@return zklock.World
function _M.play(fn, opts, seed, story, list)
    local world = worlds.new(fn, {
        seed = seed, faults = opts.faults, limit = opts.limit, story = story, list = list,
    })
    world:run()
    local problem = world.problem
    if tostring(problem):find("interrupted!", 1, true) then error(problem, 0) end -- Ctrl-C
    return world
end

local play = _M.play


local function is_same(world, problem)
    return world.problem ~= nil and tostring(world.problem) == tostring(problem)
end


-- Of the faults that happened those without which it would not be wrong in this way.
local function needed(fn, opts, seed, world)
    local list, problem = {}, world.problem
    for i, fault in ipairs(world.happened) do list[i] = fault end
    local told = play(fn, opts, seed, false, list)
    if not is_same(told, problem) then return nil end
    for i = #list, 1, -1 do
        local fault = remove(list, i)
        if not is_same(play(fn, opts, seed, false, list), problem) then insert(list, i, fault) end
    end
    return list
end


-- The same schedule again, with its story.
local function tell(fn, opts, seed, world)
    local list = needed(fn, opts, seed, world)
    return {
        seed = seed,
        problem = world.problem,
        faults = list or world.happened,
        world = play(fn, opts, seed, true, list),
    }
end


--- The schedules of the seeds from `first` to `last`.
---@param fn fun(world: zklock.World)
---@param opts { first: integer, last: integer, faults: table, limit: table }
---@param heard? fun(found: zklock.Found, world: zklock.World) called after each
---@return zklock.Found
function _M.run(fn, opts, heard)
    local found = { schedules = 0, wrong = 0 }
    for seed = opts.first, opts.last do
        local world = play(fn, opts, seed)
        found.schedules = found.schedules + 1
        if world.problem ~= nil then
            found.wrong = found.wrong + 1
            found.first = found.first or tell(fn, opts, seed, world)
        end
        if heard then heard(found, world) end
    end
    return found
end


return _M
