--- The driver for cqueues. A wait suspends the running coroutine of the controller.

local condition = require "cqueues.condition"
local cqueues = require "cqueues"
local waiters = require "zklock.waiting.waiters"

local this_thread = coroutine.running
local poll, running = cqueues.poll, cqueues.running
local setmetatable = setmetatable

local _M = {}

local pollers = setmetatable({}, { __mode = "k" }) -- set of their threads


--- True inside a controller, unless a zklock.run within it runs the caller.
function _M.drives(in_run)
    local controller, direct = running()
    return controller and (direct or not in_run)
end


function _M.refusal(session)
    local controller = running()
    if not controller then
        return waiters.context('the driver "cqueues" waits inside a controller: ' ..
                               "controller:wrap(function() ... end), then controller:loop()")
    end
    if pollers[this_thread()] then
        return waiters.context("a callback of zklock cannot wait; start a coroutine for " ..
                               "that, controller:wrap(function() ... end)")
    end
    return waiters.refusal(session, controller)
end


-- Tells the loop when it is done with the descriptor, because the number may soon be reused.
local function watch(all)
    local readable = { pollfd = all.fd, events = "r" }
    pollers[this_thread()] = true
    while all:any() do
        poll(readable, all.stopped)
        all:dispatch()
    end
    if not all.session:forked() then all.loop:cancel(all.fd) end
end


local driver = {}


function driver.start(all)
    all.stopped = condition.new()
    all.loop:wrap(watch, all)
end


function driver.stop(all)
    all.stopped:signal()
end


function driver.wake(waiter)
    if waiter.condition then waiter.condition:signal() end
end


local function suspend(waiter)
    waiter.condition = waiter.condition or condition.new()
    poll(waiter.condition)
end


function _M.spawn(fn)
    running():wrap(fn)
    return true
end


function _M.wait(session, request)
    waiters.wait(session, request, running(), driver, suspend)
end


return _M
