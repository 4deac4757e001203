--- Runs a function with a lease, and releases the lease however the function ends. Only then looks
-- whether the lease was lost.

local failure = require "zklock.value.failure"
local scope = require "zklock.waiting.scope"

local select = select


local function finish(lease, ...)
    local end_code = lease:close()
    if end_code == "released" then end_code = lease:state() end -- fn did, perhaps after a loss
    if end_code ~= "lost" then return true, ... end
    local message, code = select(2, failure("lost", lease.path or lease.name,
                                            "the function has run"))
    return nil, message, code, ...
end


local function enter(fn, lease, ...)
    return finish(lease, fn(lease, ...))
end


---@return true? ok then fn's results; or nil, message, "lost" and fn's results
return function(lease, fn, ...)
    return scope(lease, enter, fn, lease, ...)
end
