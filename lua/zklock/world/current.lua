--- The world whose code runs, and its process. A function of world:at() runs in no process.
--
-- Ctrl-C may raise an error between any two instructions, so no code has to leave a world. A world
-- is entered while the coroutine of its loop runs, or waits for a coroutine that it resumed.

local core = require "zklock.core"
local misuse = require "zklock.value.misuse"
local runtime = require "zklock.waiting.runtime"

local setmetatable, status = setmetatable, coroutine.status

local loop, entered, process_now -- the latest loop, its world, and the process that acts

local _M = {}


---@param thread thread
---@param world zklock.World
function _M.enter(thread, world)
    loop, entered, process_now = thread, world, nil
end


--- Sets the process in which the loop acts next, or none.
---@param process? zklock.Process
function _M.act_in(process)
    process_now = process
end


---@return zklock.World?
function _M.world()
    if not loop then return nil end
    local state = status(loop)
    if state == "running" or state == "normal" then return entered end
    loop, entered, process_now = nil, nil, nil
end


---@return zklock.Process?
function _M.process()
    return _M.world() and process_now
end


runtime.set_worlds_current(function()
    local world = _M.world()
    return world and (process_now or world.nobody)
end)


-- --- the runtime of a world's code ------------------------------------------------------------

---@class zklock.InWorld: zklock.Runtime
---@field world zklock.World
local InWorld = {}
InWorld.__index = InWorld
_M.InWorld = InWorld


function InWorld:now()
    local world = self.world
    return world.core and world.core:now() or world.ended_at
end


function InWorld:date() return self.world.core:date() end
function InWorld:driver() return self.world.no_driver end
function InWorld.drives_tasks() return true end


--- A session of another process, or of none, is the user's mistake.
function InWorld.refuse(_, session)
    misuse.refuse("%s: %s", session.hosts, runtime.FOREIGN)
end


function InWorld.refuse_hosts(_, hosts)
    return not hosts.in_memory and "a world of virtual time has servers in memory alone"
end


function InWorld.no_descriptors() return "a world of virtual time has no descriptors" end
function InWorld.unsent() return 0 end
function InWorld:memory() return self.world.memory end

function InWorld:totals()
    self.world.meddled = true -- the totals are of all processes
    return core.totals(self.world.core), 0
end


--- The runtime of code in no process, which has no session.
---@param world zklock.World
---@return zklock.InWorld
function _M.nobody(world)
    return setmetatable({ world = world, owners = runtime.real.owners }, InWorld)
end


return _M
