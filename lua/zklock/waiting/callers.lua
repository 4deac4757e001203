--- Callers are the coroutines that resumed the running one, directly or through others. If a wait
-- also stops its callers, they cannot release any lock until it ends.

local owners = require "zklock.waiting.owner"

local getinfo, getupvalue = debug.getinfo, debug.getupvalue
local ipairs, type = ipairs, type
local running, status = coroutine.running, coroutine.status

local _M = {}


local function is_normal(thread)
    if thread == "main" then return running() ~= nil end -- Lua 5.1
    return status(thread) == "normal"
end


-- The coroutine that `thread` resumed by coroutine.wrap(), in nginx; nil if by coroutine.resume(),
-- which does not tell.
local function wrapped_by(thread)
    local call = getinfo(thread, 0, "f")
    local _, child = getupvalue(call.func, 1)
    return type(child) == "thread" and child or nil
end


-- In nginx a coroutine is also normal if it resumed a coroutine of another light thread. In doubt
-- it is no caller, and an acquire waits.
local function leads_to_running(thread)
    local last = running()
    repeat
        if not is_normal(thread) then return false end
        thread = wrapped_by(thread)
    until not thread or thread == last
    return thread == last
end


--- True if the thread is a caller. "main" is Lua 5.1's main program.
---@type fun(thread: thread|"main"): boolean
_M.is_caller = ngx and leads_to_running or is_normal


local function callers_holding(lock)
    local found
    for _, part in ipairs(lock.parts or { lock }) do
        for _, key in ipairs(part.session.handle:holders(part.path, owners.prefix())) do
            local thread = owners.thread_of(key)
            if thread and _M.is_caller(thread) then
                found = found or {}
                found[#found + 1] = key
            end
        end
    end
    return found
end


--- The keys of callers that hold the lock and that a wait by this driver would stop, or nil.
---@param driver table
---@param lock zklock.Lock
---@return string[]?
function _M.stopped_holders(driver, lock)
    return driver.stops_callers and callers_holding(lock) or nil
end


return _M
