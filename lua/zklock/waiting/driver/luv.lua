--- The driver for luv: a wait yields, and the coroutine is resumed from the loop.

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


--- True while the loop runs, but for zklock.run inside of it.
function _M.drives(in_run)
    return not in_run and loop_mode() ~= nil
end


--- Why a wait is not possible here: nothing, or message, code.
function _M.refusal(session)
    if not yieldable() then
        return waiters.context("a wait in luv needs a coroutine, in callbacks, too: " ..
                               "coroutine.wrap(function() ... end)()")
    end
    return waiters.refusal(session, uv)
end


-- An error of a coroutine is the callback's, as if that had resumed it itself.
local function wake_up(waiter)
    local thread = waiter.thread
    if not thread or status(thread) ~= "suspended" then return end
    local ok, problem = resume(thread)
    if ok then return end
    return type(problem) == "string" and traceback(thread, problem) or problem
end


-- Goes on with the waiters that are done, outside of dispatch(): a callback in there is protected.
local function go_on(all)
    local ready, problem = all.ready, nil
    all.ready = {}
    for _, waiter in ipairs(ready) do
        problem = wake_up(waiter) or problem
    end
    if problem then error(problem, 0) end
end


local driver = {}


-- A descriptor is polled once a loop: if the user polls it, to dispatch, that will do.
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


-- A user that closed all handles, with uv.walk, has closed this one, too.
function driver.stop(all)
    if all.poll and not all.poll:is_closing() then all.poll:close() end
end


-- If the poller did not dispatch, other code did: then the loop has to hear of it.
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
    waiter.thread = nil -- also if other code than wake_up() resumed it
end


--- Starts fn() beside the caller.
function _M.spawn(fn)
    wrap(fn)()
    return true
end


function _M.wait(session, request)
    waiters.wait(session, request, uv, driver, suspend)
end


return _M
