--- Looks again and again whether something is so, and lets the other coroutines go on meanwhile.

local core = require "zklock.core"
local zklock = require "zklock"


local LOOK = 0.01 -- seconds between looks


--- What condition() gives when that is true for the first time; nil: it was not so in time.
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
