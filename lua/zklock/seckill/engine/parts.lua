--- Leases of several locks that are had as one.

local failure = require "zklock.seckill.engine.failure"
local scope = require "zklock.waiting.scope"


local parts = {}


--- Releases all of them, the last one first.
---@param leases table[]
---@return boolean had  false: one of them was lost before
function parts.release(leases)
    local had = true
    for i = #leases, 1, -1 do had = leases[i]:release() and had end
    return had
end


-- Leases that are taken one after the other.
local Gathering = {}
Gathering.__index = Gathering

function Gathering:close()
    if not self.complete then parts.release(self.leases) end
    self.complete = true
end

Gathering.__close = Gathering.close


local function gather(self, take, ...)
    self.complete = take(self.leases, ...)
    return self.complete and self.leases or nil
end


--- Calls take(leases, ...), which adds to the list, and says whether all that is wanted is in it.
--- If not, or if it does not come to its end, those that are in it are released.
---@param take fun(leases: table[], ...): boolean
---@return table[]? leases
function parts.gather(take, ...)
    local self = setmetatable({ leases = {}, complete = false }, Gathering)
    return scope(self, gather, self, take, ...)
end


--- Calls that method of each, until one says that it is lost. What else fails is raised.
---@param leases table[]
---@param method "check"|"renew"
---@return boolean had  false: one of them is lost
function parts.each(leases, method)
    for _, lease in ipairs(leases) do
        local ok, message, code = lease[method](lease)
        if not ok and code ~= "lost" then failure.raise(code, message) end
        if not ok then return false end
    end
    return true
end


return parts
