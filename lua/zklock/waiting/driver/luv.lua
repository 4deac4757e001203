--- The driver for luv. A wait yields, and the loop resumes the coroutine.

local coroutines = require "zklock.waiting.coroutines"
local uv = require "luv"
local waiters = require "zklock.waiting.waiters"

local error, ipairs, type = error, ipairs, type
local resume, status = coroutine.resume, coroutine.status
local wrap, yield = coroutine.wrap, coroutine.yield
local running, yieldable = coroutine.running, coroutines.yieldable
local loop_mode = uv.loop_mode or function() end -- before luv 1.40
local traceback = debug.traceback

local _M = {}


--- Does this driver carry out the caller's waits? Inside the loop it does, unless zklock.run does.
function _M.drives(in_run)
    return not in_run and loop_mode() ~= nil
end


function _M.refusal(session)
    if not yieldable() then
        return waiters.context("a wait in luv needs a coroutine, even in a callback: " ..
                               "coroutine.wrap(function() ... end)()")
    end
    return waiters.refusal(session, uv)
end


-- Returns the coroutine's error, which the loop's callback is to raise.
local function wake_up(waiter)
    local thread = waiter.thread
    if not thread or status(thread) ~= "suspended" then return end
    local ok, problem = resume(thread)
    if ok then return end
    return type(problem) == "string" and traceback(thread, problem) or problem
end


-- Resumes the waiters that are done, outside of dispatch(), which would catch their errors.
local function go_on(all)
    local ready, problem = all.ready, nil
    all.ready = {}
    for _, waiter in ipairs(ready) do
        problem = wake_up(waiter) or problem
    end
    if problem then error(problem, 0) end
end


local driver = {}


-- libuv allows one poll handle for a descriptor. A user who polls the session's must dispatch it.
function driver.start(all)
    all.ready = {}
    all.poll = uv.new_poll(all.fd)
    if not all.poll then return end
    all.poll:start("r", function()
        all.polled = true
        all:dispatch()
        all.polled = false
        go_on(all)
    end)
end


-- The user may have closed this handle, too, with uv.walk.
function driver.stop(all)
    if all.poll and not all.poll:is_closing() then all.poll:close() end
end


-- If other code than the poller dispatches, a timer resumes the waiters, one timer for all.
function driver.wake(waiter)
    local all = waiter.waiters
    all.ready[#all.ready + 1] = waiter
    if all.polled or #all.ready > 1 then return end
    local timer = uv.new_timer()
    timer:start(0, 0, function()
        timer:close()
        go_on(all)
    end)
end


local function suspend(waiter)
    waiter.thread = running()
    yield()
    waiter.thread = nil -- if other code resumed it, wake_up() must not
end


function _M.spawn(fn)
    wrap(fn)()
    return true
end


function _M.wait(session, request)
    waiters.wait(session, request, uv, driver, suspend)
end


return _M
