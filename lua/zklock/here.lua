--- Where code runs: in a process of a world of virtual time (zklock.world), or in the real one.

local core = require "zklock.core"

local real_now = core.now

---@class zklock.Here
---@field world? zklock.World whose code runs now; nil: it is not in one
---@field process? zklock.Process of that world; nil: of none, as what was given to world:at()
local _M = {}


--- Seconds, by the clock of what runs.
function _M.now()
    local world = _M.world
    return world and world:now() or real_now()
end


return _M
