--- A lease of an engine's lock.

local clock = require "zklock.waiting.runtime"
local failure = require "zklock.seckill.engine.failure"
local strict_methods = require "zklock.value.strict_methods"

local now = clock.now


---@class zklock.engine.Lease
---@field lock zklock.engine.Lock
---@field name string
---@field owner string
---@field value any        the engine's data about the grant
---@field expires number?  its end by runtime.now, if the lock expires
---@field version string?  of the row of sql-optimistic, in digits
---@field parts table[]?   leases of a multi-lock
---@field bound table?     a lease of zklock, with which this lease is lost
---@field renewed_with table?  a lease of zklock; the watchdog renews only while that is held
---@field stood_at_release boolean?  the membership of cerberus stood at the first release
---@field over "lost"|"released"|nil
---@field closed boolean?  Lease:close() has asked the server once
local Lease = { __name = "zklock.engine.lease" }
Lease.__index = Lease


-- The state of a lease that depends on another lease.
local function combined(state, other)
    local other_state = other:state()
    if state == "lost" or other_state == "lost" or other_state == "released" then return "lost" end
    return other_state == "suspect" and "suspect" or state
end


-- The state without regard to `bound`.
local function state_of(self)
    if self.over then return self.over end
    local state = self.expires and self.expires <= now() and "lost" or "held"
    for _, part in ipairs(self.parts or {}) do state = combined(state, part) end
    return state
end


--- True if the engine's server may still keep the lock for this lease, by this process's clock. So
--- a suspect lease lives, and so does a lease whose `bound` is lost.
---@return boolean
function Lease:lives()
    local state = state_of(self)
    return state == "held" or state == "suspect"
end


--- The state by this process's clock and by earlier answers, without a request.
---@return "held"|"suspect"|"lost"|"released"
function Lease:state()
    local state = state_of(self)
    if state == "released" or not self.bound then return state end
    return combined(state, self.bound)
end


---@return boolean
function Lease:held() return self:state() == "held" end


---@return number seconds for which "held" is certain, math.huge if the lease has no end
function Lease:remaining()
    if not self:held() then return 0 end
    local left = self.expires and self.expires - now() or math.huge
    for _, part in ipairs(self.parts or {}) do left = math.min(left, part:remaining()) end
    return math.max(math.min(left, self.bound and self.bound:remaining() or math.huge), 0)
end


-- Calls a function of the engine's way; if there is none, `lack` is the failure's detail.
local function ask(self, verb, lack)
    if self.over then return failure.of(self.over, self.name) end
    local fn = self.lock.way[verb]
    if not fn then return failure.of("unsupported", self.name, lack) end
    local held, message, code = failure.catch(self.name, fn, self)
    if code then return nil, message, code end
    if held then return true end
    self.over = "lost"
    return failure.of("lost", self.name)
end


--- Asks the server whether the lock is held, in one round trip.
---@return true? held
---@return string? message
---@return string? code  "lost", "released", "connection", "unsupported"
function Lease:check() return ask(self, "check", "it knows no owners") end


--- Renews the lease for its whole lease time.
---@return true? ok
---@return string? message
---@return string? code  "lost", "released", "connection", "unsupported"
function Lease:renew() return ask(self, "renew", "its leases are not renewed") end


---@return true? ok
---@return string? message
---@return string? code  "lost", "released", "connection"
function Lease:release()
    local ok, message, code = ask(self, "release")
    if ok then self.over = "released" end
    return ok, message, code
end


---@return string? digits
---@return string? message
---@return string? code  "unsupported"
function Lease:token_string()
    if self.lock.engine.has.token then return self.lock.way.token(self) end
    return failure.of("unsupported", self.name, "it has no fencing token")
end


--- The epoch of the grant, if the engine has a switch that keeps the locks.
---@return integer? number  later grants never have a smaller number
---@return string engines   the engines that granted the lock, in order; or the message
---@return string? code  "unsupported"
function Lease:epoch()
    local way = self.lock.way
    if way.epoch and self.value then return way.epoch(self) end
    return failure.of("unsupported", self.name, "it has no epochs")
end


--- Releases the lock at the end of a scope, but only once, not to ask a silent server again.
---@return "lost"|"released"|nil over  nil if the server did not answer
function Lease:close()
    if not self.over and not self.closed then
        self.closed = true
        self:release()
    end
    return self.over
end

Lease.__close = Lease.close


function Lease:__tostring()
    return ("zklock.engine.lease (%s, %s)"):format(self.name, self:state())
end


strict_methods(Lease, Lease, "lease")


---@param lock zklock.engine.Lock
---@param owner string
---@param grant { value: any, expires: number?, version: string?, parts: table[]?, bound: table? }
function Lease.new(lock, owner, grant)
    return setmetatable({
        lock = lock, name = lock.name, owner = owner, value = grant.value,
        expires = grant.expires, version = grant.version, parts = grant.parts,
        bound = grant.bound,
    }, Lease)
end


return Lease
