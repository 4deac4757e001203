--- The driver for luv. A wait yields, and the loop resumes the coroutine.

local coroutines = require "zklock.waiting.coroutines"
local uv = require "luv"
local loop_waits = require "zklock.waiting.waiters"

local error, ipairs, type = error, ipairs, type
local resume, status = coroutine.resume, coroutine.status
local wrap, yield = coroutine.wrap, coroutine.yield
local running, yieldable = coroutine.running, coroutines.yieldable
local loop_mode = uv.loop_mode or function() end -- before luv 1.40
local traceback = debug.traceback

local _M = {}


--- True inside the loop, unless a zklock.run within it runs the caller.
function _M.drives(in_run)
    return not in_run and loop_mode() ~= nil
end


function _M.refusal(session)
    if not yieldable() then
        return loop_waits.context("a wait in luv needs a coroutine, even in a callback: " ..
                                  "coroutine.wrap(function() ... end)()")
    end
    return loop_waits.refusal(session, uv)
end


-- Returns the error of the waiter's coroutine, which the loop's callback is to raise.
local function resume_waiter(waiter)
    local thread = waiter.thread
    if not thread or status(thread) ~= "suspended" then return end
    local ok, problem = resume(thread)
    if ok then return end
    return type(problem) == "string" and traceback(thread, problem) or problem
end


-- Resumes the waiters that are done, outside of dispatch(), which would catch their errors.
local function resume_ready(waiters)
    local ready, problem = waiters.ready, nil
    waiters.ready = {}
    for _, waiter in ipairs(ready) do
        problem = resume_waiter(waiter) or problem
    end
    if problem then error(problem, 0) end
end


local hooks = {} -- see zklock.waiting.waiters


-- The user may have closed the handle, with uv.walk.
function hooks.has_ended(waiters)
    return not waiters.poll or waiters.poll:is_closing()
end


local function look(waiters)
    waiters.polled = true
    waiters:dispatch()
    waiters.polled = false
    resume_ready(waiters)
end


local SLICE = 100 -- milliseconds between looks of a timer

-- libuv allows one poll handle for a descriptor. A user who polls the session's descriptor calls
-- session:dispatch(), but may stop before the waits end, so a timer looks, too. Only handles of the
-- loop refer to waiters.
local function look_at_times(waiters)
    local timer = waiters.timer
    if timer and not timer:is_closing() then return end
    waiters.timer = uv.new_timer()
    waiters.timer:start(SLICE, SLICE, function() look(waiters) end)
end


function hooks.start(waiters)
    waiters.ready = waiters.ready or {}
    local poll = uv.new_poll(waiters.fd)
    if not poll then return look_at_times(waiters) end
    waiters.poll = poll
    poll:start("r", function() look(waiters) end)
end


function hooks.stop(waiters)
    if not hooks.has_ended(waiters) then waiters.poll:close() end
    local timer = waiters.timer
    if timer and not timer:is_closing() then timer:close() end
end


-- If other code than the poller dispatches, one timer resumes all waiters. Before start() no waiter
-- is suspended.
function hooks.wake(waiter)
    local waiters = waiter.waiters
    local ready = waiters.ready
    if not ready then return end
    ready[#ready + 1] = waiter
    if waiters.polled or #ready > 1 then return end
    local timer = uv.new_timer()
    timer:start(0, 0, function()
        timer:close()
        resume_ready(waiters)
    end)
end


local function suspend(waiter)
    waiter.thread = running()
    yield()
    waiter.thread = nil -- if other code resumed it, resume_waiter() must not
end


function _M.spawn(_, fn)
    wrap(fn)()
    return true
end


function _M.wait(session, request)
    loop_waits.wait(session, request, uv, hooks, suspend)
end


return _M
