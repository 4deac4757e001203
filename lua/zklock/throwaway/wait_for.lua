--- Polls a condition, while other coroutines go on.

local core = require "zklock.core"
local zklock = require "zklock"


local LOOK = 0.01 -- seconds between looks


--- The first true result of condition(); nil if the limit passes before.
---@param condition fun(): any
---@param limit number  seconds
---@return any?
return function(condition, limit)
    local due = core.now() + limit
    repeat
        local result = condition()
        if result then return result end
        zklock.sleep(LOOK)
    until core.now() > due
end
