--- Waits by the driver of the running process, and cleans up however the wait ends.

local coroutines = require "zklock.waiting.coroutines"
local drivers = require "zklock.waiting.drivers"
local failure = require "zklock.value.failure"
local misuse = require "zklock.value.misuse"
local runtime = require "zklock.waiting.runtime"
local scope = require "zklock.waiting.scope"
local sessions = require "zklock.waiting.sessions"
local tasks = require "zklock.waiting.tasks"

local type = type
local now = runtime.now

local _M = {}


local function attend(driver, session, request, deadline, take, ...)
    driver.wait(session, request, deadline)
    if session:gone() == "forked" then return failure("forked", session.hosts) end
    local handle = request.handle
    if not (request.told or handle:done()) then
        local late = deadline and now() >= deadline
        handle:cancel(late and "timeout" or "interrupted")
    end
    return take(request, ...)
end


--- Waits for a request that is not done, returns take(request, ...), and closes the request.
function _M.wait_by(driver, session, request, timeout, take, ...)
    local deadline = timeout and now() + timeout
    return scope(request, attend, driver, session, request, deadline, take, ...)
end


function _M.wait(session, request, timeout, take, ...)
    if request.handle:done() then return scope(request, take, request, ...) end
    return _M.wait_by(runtime.current():driver(), session, request, timeout, take, ...)
end


--- Takes the request's result by that verb of its handle; without a verb true.
function _M.take(request, path, verb)
    local handle = request.handle
    local code, detail = handle:result()
    if code ~= "ok" then return failure(code, path, detail) end
    if not verb then return true end
    return handle[verb](handle)
end


local function refusal_of(current, driver, session)
    if session and session.runtime ~= current then return current:refuse(session) end
    local refusal = driver.refusal
    if not refusal and ngx and ngx.get_phase() == "init" then refusal = drivers.usual.refusal end
    if refusal then return refusal(session) end
end


--- Message and code if the running code cannot wait in the session (nil stands for a new one), else
-- nothing.
function _M.refusal(session)
    local current = runtime.current()
    return refusal_of(current, current:driver(), session)
end


--- The driver for the running coroutine; or nil, message, code if it cannot wait here.
function _M.driver(session)
    local current = runtime.current()
    local driver = current:driver()
    local message, code = refusal_of(current, driver, session)
    if message then return nil, message, code end
    return driver
end


--- Starts fn(), which waits in the session, beside the caller, if something can run it there.
--- on_dropped() is called if it will not be run after all.
---@return boolean begun
---@return (fun(): boolean)? is_gone true when fn will not be resumed any more
function _M.spawn(session, fn, on_dropped)
    local spawn = runtime.current():driver().spawn
    if not spawn then return false end
    return spawn(session, fn, on_dropped)
end


--- Calls a user's callback, in its own thread if the event loop has threads. There, calls with one
-- `key` run one after the other, and a newer call replaces a call that has not begun. A call whose
-- key is false, or has `overtakes`, waits for no other.
function _M.call(session, key, fn, ...)
    session.runtime:call(session, key, fn, ...)
end


--- Ends the waits of an nginx task's killed light threads.
function _M.abandon(task)
    local abandon = runtime.current():driver().abandon
    if abandon then abandon(task) end
end


function _M.sleep(seconds)
    if type(seconds) ~= "number" or not (seconds >= 0) then
        misuse.refuse("sleep takes seconds, 0 or more")
    end
    local sleep = runtime.current():driver().sleep
    if not sleep then
        sleep = tasks.is_active() and not drivers.of_loop(true) and tasks.sleep or sessions.sleep
    end
    return sleep(seconds)
end


function _M.run(fn, ...)
    if type(fn) ~= "function" then misuse.refuse("run takes functions") end
    if ngx then return failure("context", "zklock.run", "in nginx: ngx.thread.spawn") end
    if coroutines.problem then return failure("unsupported", "zklock.run", coroutines.problem) end
    return tasks.run(runtime.current():drives_tasks(), fn, ...)
end


return _M
