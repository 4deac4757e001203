--- A lock of an engine. The engine's table `way` has these functions; the first two are required.
--- All may raise failures for failure.catch.
---
---     way.try(lock, owner, request)      -- a grant, or nil and the seconds until the next try
---     way.release(lease)                 -- false if the lock was lost before
---     way.check(lease)                   -- true if the lock is held, by the server's answer
---     way.renew(lease)                   -- false if the lock is lost
---     way.wait(lock, request, seconds)   -- instead of a sleep
---     way.with(lock, given, fn, ...)     -- instead of the usual `with`
---     way.granted(lease)                 -- called after the grant
---     way.finish(lock, request)          -- called after the last try
---     way.wake(request)                  -- ends the wait of an interrupted request
---     way.token(lease)                   -- the fencing token
---     way.epoch(lease)                   -- number and engines of the lease's epoch

local Lease = require "zklock.seckill.engine.lease"
local clock = require "zklock.waiting.runtime"
local failure = require "zklock.seckill.engine.failure"
local misuse = require "zklock.value.misuse"
local options = require "zklock.seckill.engine.options"
local owners = require "zklock.waiting.owner"
local strict_methods = require "zklock.value.strict_methods"
local scope = require "zklock.waiting.scope"
local section = require "zklock.object.section"
local zklock = require "zklock"

local now = clock.now


---@class zklock.engine.Lock
---@field engine zklock.engine.Engine
---@field way table
---@field name string
---@field kind "mutex"|"fair"|"read"|"write"|"multi"
---@field lease number?  its own lease time in seconds; the engine's by default
local Lock = { __name = "zklock.engine.lock" }
Lock.__index = Lock


-- A call of acquire().
---@class zklock.engine.Request
---@field lock zklock.engine.Lock
---@field owner string
---@field given { timeout: number?, owner: any }
---@field due number?           deadline by runtime.now; nil waits for ever
---@field granted boolean?
---@field interrupted boolean?
---@field unreachable_error string?  of the last try, if too few servers answered
---@field unsure boolean?       the last try did not learn whether the lock is taken
---@field finished boolean?     way.finish was called
local Request = {}
Request.__index = Request


function Request:close()
    self.lock.engine.requests[self] = nil
    local finish = self.lock.way.finish
    if finish and not self.finished then
        self.finished = true
        failure.catch(self.lock.name, finish, self.lock, self)
    end
end

Request.__close = Request.close


local function sleep(_, _, seconds) zklock.sleep(seconds) end


local function timeout_failure(self, request, timeout)
    if request.unreachable_error then
        return failure.of("connection", self.name, request.unreachable_error)
    end
    if timeout > 0 then return failure.of("timeout", self.name, ("waited %g s"):format(timeout)) end
    if request.unsure then
        return failure.of("timeout", self.name, "nobody said whether it is taken")
    end
    return failure.of("busy", self.name)
end


local function new_lease(self, request, grant)
    request.granted = true
    local lease = Lease.new(self, request.owner, grant)
    if self.way.granted then self.way.granted(lease) end
    return lease
end


local function try_until_due(self, request, timeout)
    local wait = self.way.wait or sleep
    while true do
        if request.interrupted then return failure.of("interrupted", self.name) end
        local grant, pause_or_message, code = failure.catch(self.name, self.way.try, self,
            request.owner, request)
        if code then return nil, pause_or_message, code end
        if grant then return new_lease(self, request, grant) end
        local left = request.due and request.due - now() or math.huge
        if left <= 0 then return timeout_failure(self, request, timeout) end
        wait(self, request, math.min(pause_or_message, left))
    end
end


local function acquire(self, given)
    local timeout = given.timeout or self.engine.options.timeout
    local request = setmetatable({
        lock = self, owner = owners.key(given.owner), given = given,
        due = timeout and now() + timeout,
    }, Request)
    self.engine.requests[request] = true
    return scope(request, function() return try_until_due(self, request, timeout) end)
end


---@param arg? number|table  seconds (nil: for ever, 0: one try), or { timeout =, owner = }
---@return zklock.engine.Lease? lease
---@return string? message
---@return string? code  "timeout", "busy" (a try), "interrupted", "connection"
function Lock:acquire(arg) return acquire(self, options.of_acquire(arg)) end


local function with(self, given, fn, ...)
    if self.way.with then return self.way.with(self, given, fn, ...) end
    local lease, message, code = acquire(self, given)
    if not lease then return nil, message, code end
    return section(lease, fn, ...)
end


--- lock:with([timeout|options,] fn, ...) runs fn(lease, ...) with the lock, and releases it even
--- after an error, which passes unchanged.
---@return true? ok  then fn's results; nil, message, code without the lock; nil, message, "lost"
---and fn's results if the lock was lost
function Lock:with(given, fn, ...)
    if type(given) == "function" then return with(self, {}, given, fn, ...) end
    if type(fn) ~= "function" then
        misuse.refuse("with takes ([timeout or options,] function, arguments...)")
    end
    return with(self, options.of_acquire(given), fn, ...)
end


---@return nil, string message, string code  "unsupported"
function Lock:condition()
    return failure.of("unsupported", self.name, self.engine.name .. " has no conditions")
end


function Lock:__tostring()
    return ("zklock.engine.lock (%s, %s, %s)"):format(self.engine.name, self.kind, self.name)
end


strict_methods(Lock, Lock, "lock")


---@param engine zklock.engine.Engine
---@param name string
---@param kind string
---@param given { lease: number? }
function Lock.new(engine, name, kind, given)
    return setmetatable({
        engine = engine, way = engine.way, name = name, kind = kind, lease = given.lease,
    }, Lock)
end


return Lock
