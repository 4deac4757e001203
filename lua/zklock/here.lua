--- Where code runs: in a process of a world of virtual time (zklock.world), or in the real one.
--
-- An error may come between any two instructions (Ctrl-C raises one), so nothing depends on code
-- that leaves a world: a world is entered while the coroutine of its loop runs, or waits for one
-- that it resumed.

local core = require "zklock.core"

local status = coroutine.status
local real_now = core.now

local loop, entered, acting -- the latest loop; its world; the process that this went on with

local _M = {}


--- The coroutine that called this is the loop of a world.
---@param thread thread
---@param world zklock.World
function _M.enter(thread, world)
    loop, entered, acting = thread, world, nil
end


--- What the loop does next is done in a process, or, nil, in none: as what was given to world:at().
---@param process? zklock.Process
function _M.act(process)
    acting = process
end


--- The world whose code runs now; nil: none.
---@return zklock.World?
function _M.world()
    if not loop then return nil end
    local state = status(loop)
    if state == "running" or state == "normal" then return entered end
    loop, entered, acting = nil, nil, nil
end


--- The process whose code runs now; nil: none of a world.
---@return zklock.Process?
function _M.process()
    return acting and _M.world() and acting
end


--- Seconds, by the clock of what runs.
function _M.now()
    local world = _M.world()
    return world and world:now() or real_now()
end


return _M
