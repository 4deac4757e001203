--- The driver for cqueues. A wait suspends the running coroutine of the controller.

local condition = require "cqueues.condition"
local coroutines = require "zklock.waiting.coroutines"
local cqueues = require "cqueues"
local loop_waits = require "zklock.waiting.waiters"

local this_thread = coroutine.running
local poll, running = cqueues.poll, cqueues.running
local setmetatable = setmetatable

local _M = {}

local pollers = setmetatable({}, { __mode = "k" }) -- threads, as a set


--- True inside a controller, unless a zklock.run within it runs the caller.
function _M.drives(in_run)
    local controller, direct = running()
    return controller and (direct or not in_run)
end


function _M.refusal(session)
    local controller = running()
    if not controller then
        return loop_waits.context('the driver "cqueues" waits inside a controller: ' ..
                                  "controller:wrap(function() ... end), then controller:loop()")
    end
    if pollers[this_thread()] then
        return loop_waits.context("a callback of zklock cannot wait; start a coroutine for " ..
                                  "that, controller:wrap(function() ... end)")
    end
    local message, code = coroutines.refusal()
    if message then return message, code end
    return loop_waits.refusal(session, controller)
end


-- At its end makes the loop forget the descriptor, whose number may soon be reused.
local function poll_session(waiters)
    local readable = { pollfd = waiters.fd, events = "r" }
    pollers[this_thread()] = true
    while waiters:any() do
        poll(readable, waiters.stopped)
        waiters:dispatch()
    end
    if waiters.session:gone() ~= "forked" then waiters.loop:cancel(waiters.fd) end
end


local hooks = {} -- see zklock.waiting.waiters


function hooks.start(waiters)
    waiters.stopped = condition.new()
    waiters.loop:wrap(poll_session, waiters)
end


function hooks.stop(waiters)
    waiters.stopped:signal()
end


function hooks.wake(waiter)
    if waiter.condition then waiter.condition:signal() end
end


local function suspend(waiter)
    waiter.condition = waiter.condition or condition.new()
    poll(waiter.condition)
end


function _M.spawn(_, fn)
    running():wrap(fn)
    return true
end


function _M.wait(session, request)
    loop_waits.wait(session, request, running(), hooks, suspend)
end


return _M
