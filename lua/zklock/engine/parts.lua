--- Leases of several locks that are had as one.

local failure = require "zklock.engine.failure"


local parts = {}


--- Releases all of them, the last one first.
---@param leases table[]
---@return boolean had  false: one of them was lost before
function parts.release(leases)
    local had = true
    for i = #leases, 1, -1 do had = leases[i]:release() and had end
    return had
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
