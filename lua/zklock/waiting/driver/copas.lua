--- The driver for copas. A wait suspends the running thread of copas.
--
-- Copas 1.2 (Debian's) waits only for sockets, so each waiter poses as a socket, which LuaSocket's
-- select takes for readable once the waiter is to go on.

local copas = require "copas"
local coroutines = require "zklock.waiting.coroutines"
local loop_waits = require "zklock.waiting.waiters"

local running, yieldable = coroutine.running, coroutines.yieldable
local setmetatable = setmetatable

local LIMIT = 1024 -- FD_SETSIZE, the limit of select's descriptors

local _M = {}

local pollers = setmetatable({}, { __mode = "k" }) -- threads, as a set


--- True in a thread of copas, unless a zklock.run within it runs the caller. Before copas 2 every
-- coroutine is taken for a thread of copas. After an error has ended the loop, copas.running stays
-- true.
function _M.drives(in_run)
    if in_run then return false end
    if copas.running == nil then return yieldable() end
    return copas.running and coroutines.is_inside()
end


function _M.refusal(session)
    if not yieldable() then
        return loop_waits.context('the driver "copas" waits in a thread of copas: ' ..
                                  "copas.addthread(function() ... end), then copas.loop()")
    end
    if pollers[running()] then
        return loop_waits.context("a callback of zklock cannot wait; start a thread for that, " ..
                                  "copas.addthread(function() ... end)")
    end
    local refusal, code = loop_waits.refusal(session, copas)
    if not refusal and session and session:fd() >= LIMIT then
        return loop_waits.context("copas waits with select(), for descriptors below %d: " ..
                                  "open the session before so many others", LIMIT)
    end
    return refusal, code
end


-- A waiter's socket. It does not refer to the waiter, because copas 4 refers to a socket even after
-- its thread was removed.
local Socket = {}
Socket.__index = Socket


function Socket:getfd()
    return self:dirty() and self.waiters.fd or -1
end


function Socket:dirty()
    return self.woken
end


function Socket:receive()
    if self:dirty() then return "" end
    return nil, "timeout"
end


-- Copas 1.2 closes the last socket that a thread waited for.
function Socket.close() end


-- The poller's socket. It stands for the session's descriptor until nobody waits.
local Polled = setmetatable({}, Socket)
Polled.__index = Polled


function Polled:getfd()
    return self.waiters.fd
end


function Polled:dirty()
    return not self.waiters:any()
end


function Polled:receive()
    self.waiters:dispatch()
    return Socket.receive(self)
end


local hooks = {} -- see zklock.waiting.waiters


function hooks.start(waiters)
    copas.addthread(function()
        pollers[running()] = true
        copas.receive(setmetatable({ waiters = waiters }, Polled))
    end)
end


function hooks.stop() end


function hooks.wake(waiter)
    if waiter.socket then waiter.socket.woken = true end
end


local function suspend(waiter)
    waiter.socket = setmetatable({ waiters = waiter.waiters }, Socket)
    copas.receive(waiter.socket)
end


function _M.spawn(_, fn)
    copas.addthread(fn)
    return true
end


function _M.wait(session, request)
    loop_waits.wait(session, request, copas, hooks, suspend)
end


return _M
