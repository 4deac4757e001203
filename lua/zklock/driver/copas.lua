--- The driver for copas: a wait suspends the running thread of copas.
--
-- Copas knows no other waits than for sockets (1.2, Debian's), so each waiter is a socket to
-- it: one that LuaSocket's select takes for readable once the waiter is to go on.

local copas = require "copas"
local waiters = require "zklock.waiters"

local running, yieldable = coroutine.running, coroutine.isyieldable
local setmetatable = setmetatable

local LIMIT = 1024 -- FD_SETSIZE: select's descriptors

local _M = {}

local pollers = setmetatable({}, { __mode = "k" }) -- their threads


--- True in a thread of copas; before copas 2 it cannot be asked, and every coroutine is one.
function _M.here(in_run)
    return not in_run and copas.running ~= false and yieldable()
end


--- Why a wait is not possible here: nothing, or message, code.
function _M.refusal(session)
    if not yieldable() then
        return waiters.context('the driver "copas" waits in a thread of copas: ' ..
                               "copas.addthread(function() ... end), then copas.loop()")
    end
    if pollers[running()] then
        return waiters.context("a callback of zklock does not wait: start a thread for that, " ..
                               "copas.addthread(function() ... end)")
    end
    if session and session:fd() >= LIMIT then
        return waiters.context("copas waits with select(), for descriptors below %d: open the " ..
                               "session before so many others", LIMIT)
    end
    return waiters.refusal(session, copas)
end


-- What copas, and LuaSocket's select, ask of a socket. `over` tells whether its thread is to
-- go on. One that polls has the session's descriptor looked at, and dispatches.
local Socket = {}
Socket.__index = Socket


local function receive(all, over, polls)
    copas.receive(setmetatable({ all = all, over = over, polls = polls }, Socket))
end


function Socket:getfd()
    return (self.polls or self.over()) and self.all.fd or -1
end


function Socket:dirty()
    return self.over()
end


function Socket:receive()
    if self.polls then self.all:dispatch() end
    if self.over() then return "" end
    return nil, "timeout"
end


-- Copas 1.2 closes the last socket that a thread waited for.
function Socket.close() end


local driver = {}


local function watch(all)
    pollers[running()] = true
    receive(all, function() return not all:any() end, true)
end


function driver.start(all)
    copas.addthread(function() watch(all) end)
end


function driver.stop() end


function driver.wake(waiter)
    waiter.woken = true
end


local function suspend(waiter)
    waiter.woken = false
    receive(waiter.waiters, function() return waiter.woken end)
end


function _M.wait(session, request)
    waiters.wait(session, request, copas, driver, suspend)
end


return _M
