--- Callers: the coroutine that resumed the running one, the one that resumed that, and so on. Where
-- a wait stops them, too, they release nothing before it ends.

local owners = require "zklock.waiting.owner"

local getinfo, getupvalue = debug.getinfo, debug.getupvalue
local ipairs, type = ipairs, type
local running, status = coroutine.running, coroutine.status

local _M = {}


local function is_normal(thread)
    if thread == "main" then return running() ~= nil end -- Lua 5.1
    return status(thread) == "normal"
end


-- In nginx: the coroutine for which another one waits, in a function of coroutine.wrap(). nil: it
-- waits in coroutine.resume(), which does not tell.
local function wrapped_by(thread)
    local call = getinfo(thread, 0, "f")
    local _, child = getupvalue(call.func, 1)
    return type(child) == "thread" and child or nil
end


-- In nginx a coroutine may also be normal because it resumed one that another light thread of the
-- request runs. In doubt it is no caller, and an acquire waits.
local function leads_to_running(thread)
    local last = running()
    repeat
        if not is_normal(thread) then return false end
        thread = wrapped_by(thread)
    until not thread or thread == last
    return thread == last
end


--- True if the thread is a caller ("main": Lua 5.1's main program).
---@type fun(thread: thread|"main"): boolean
_M.include = ngx and leads_to_running or is_normal


-- The owners of such coroutines that hold a lock, for handle:acquire(); nil: none.
local function holders(lock)
    local found
    for _, part in ipairs(lock.parts or { lock }) do
        for _, key in ipairs(part.session.handle:holders(part.path, owners.prefix())) do
            local thread = owners.thread_of(key)
            if thread and _M.include(thread) then
                found = found or {}
                found[#found + 1] = key
            end
        end
    end
    return found
end


--- The owners among those that a wait by this driver stops, and that hold the lock; nil: none.
---@param driver table
---@param lock zklock.Lock
---@return string[]?
function _M.stopped(driver, lock)
    return driver.stops_callers and holders(lock) or nil
end


return _M
