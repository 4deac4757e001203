--- Leases of several locks that are held as one.

local failure = require "zklock.seckill.engine.failure"
local scope = require "zklock.waiting.scope"


local parts = {}


--- Releases all leases in reverse order.
---@param leases table[]
---@return boolean had  false if any lease was lost before
function parts.release(leases)
    local had = true
    for i = #leases, 1, -1 do had = leases[i]:release() and had end
    return had
end


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


--- Calls take(leases, ...), which appends leases and returns true once it has all. Otherwise, and
--- after an error or an interrupt, the leases are released.
---@param take fun(leases: table[], ...): boolean
---@return table[]? leases
function parts.gather(take, ...)
    local self = setmetatable({ leases = {}, complete = false }, Gathering)
    return scope(self, gather, self, take, ...)
end


--- Calls the method on each lease until a lease is lost; raises any other failure.
---@param leases table[]
---@param method "check"|"renew"
---@return boolean had  false if any lease is lost
function parts.each(leases, method)
    for _, lease in ipairs(leases) do
        local ok, message, code = lease[method](lease)
        if not ok and code ~= "lost" then failure.raise(code, message) end
        if not ok then return false end
    end
    return true
end


return parts
