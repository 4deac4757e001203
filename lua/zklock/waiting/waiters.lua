--- The waiters of a session in one event loop. While there are any, one poller watches the
-- session's descriptor and dispatches for all.
--
-- A driver gives its hooks start(waiters) and stop(waiters), for the poller, wake(waiter), and
-- has_ended(waiters) if others can end the poller. Only the loop refers to these objects, so a loop
-- that is dropped takes its waiters along.

local keys_of = require "zklock.value.keys"
local scope = require "zklock.waiting.scope"

local collectgarbage, error = collectgarbage, error
local ipairs, pcall, setmetatable = ipairs, pcall, setmetatable

---@class zklock.Waiters
---@field session zklock.Session
---@field loop any where they wait, only compared
---@field set table<zklock.Waiter, true>
---@field begun? boolean the poller was started
---@field count integer of waiters; an interrupt may leave it too high, never too low
local Waiters = {}
Waiters.__index = Waiters

local waiting = setmetatable({}, { __mode = "kv" }) -- session -> Waiters, while there are any


local function waiters_of(session, loop, hooks)
    local self = waiting[session]
    if self then return self end
    self = setmetatable({
        session = session,
        loop = loop,
        hooks = hooks,
        fd = session:fd(),
        set = {},
        count = 0,
    }, Waiters)
    waiting[session] = self
    return self
end


function Waiters:any()
    return self.count > 0
end


--- Delivers news. If that fails, as after a fork, each waiter raises the error.
function Waiters:dispatch()
    local ok, problem = pcall(self.session.dispatch, self.session)
    if ok then return end
    for _, waiter in ipairs(keys_of(self.set)) do
        waiter.problem = problem
        self.hooks.wake(waiter)
    end
end


local function ensure_poller(waiters)
    local hooks = waiters.hooks
    if waiters.begun and not (hooks.has_ended and hooks.has_ended(waiters)) then return end
    hooks.start(waiters)
    waiters.begun = true
end


local Waiter = {}
Waiter.__index = Waiter


local function attend(self, suspend)
    local waiters = self.waiters
    waiters.count = waiters.count + 1
    waiters.set[self] = true
    ensure_poller(waiters)
    while not self.request:done() do
        suspend(self)
        if self.problem then error(self.problem, 0) end
    end
end


function Waiter:close()
    local waiters = self.waiters
    if not waiters.set[self] then return end
    waiters.set[self] = nil
    waiters.count = waiters.count - 1
    if waiters:any() then return end
    waiting[waiters.session] = nil
    waiters.hooks.stop(waiters)
end

Waiter.__close = Waiter.close


local _M = {}


function _M.wait(session, request, loop, hooks, suspend)
    local self = setmetatable({
        request = request,
        waiters = waiters_of(session, loop, hooks),
    }, Waiter)
    request:on_done(function()
        self:close() -- the loop may have cancelled the coroutine, and so closed nothing
        hooks.wake(self)
    end)
    scope(self, attend, self, suspend)
end


function _M.context(text, ...)
    return "context: " .. text:format(...), "context"
end


local function waits_elsewhere(session, loop)
    local others = waiting[session]
    return others and others.loop ~= loop
end


--- Message and code if `loop` cannot wait in the session (nil stands for a new one), else nothing.
function _M.refusal(session, loop)
    if not session then return end
    local fd, message, code = session:fd()
    if not fd then return message, code end
    if not waits_elsewhere(session, loop) then return end
    collectgarbage() -- the other loop may be garbage
    collectgarbage()
    if not waits_elsewhere(session, loop) then return end
    return _M.context("another loop waits in this session; open one session for each loop")
end


return _M
