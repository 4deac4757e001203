--- A holder of a lock waits in a condition for a signal, and gives the lock up meanwhile. Waiters
-- have nodes in a folder beside the lock's path, in order of arrival.

local Lease = require "zklock.object.lease"
local Request = require "zklock.waiting.request"
local failure = require "zklock.value.failure"
local misuse = require "zklock.value.misuse"
local options = require "zklock.value.options"
local strict_methods = require "zklock.value.strict_methods"
local wait = require "zklock.waiting.wait"

local getmetatable, setmetatable, type = getmetatable, setmetatable, type

---@class zklock.Condition
---@field folder string
local Condition = {}
Condition.__index = Condition
Condition.__name = "zklock.condition"


-- "lost" or "released", as far as this process knows, else false.
local function end_of(lease)
    local state = lease:state()
    return (state == "lost" or state == "released") and state
end


-- Returns nil, message, code if the condition cannot use this lease, else nil.
local function refusal(self, lease, method)
    local lock = self.lock
    if getmetatable(lease) ~= Lease then
        misuse.refuse("condition:%s takes a lease of its lock first, not %s", method,
                      type(lease))
    end
    if lock.session:gone() then return failure(lock.session:gone(), self.folder) end
    local is_own = lease.session == lock.session and lease.path == lock.path
    if not is_own or lease.kind ~= lock.kind then return failure("not_owner", self.folder) end
    local end_code = end_of(lease)
    if end_code then return failure(end_code, self.folder) end
    if lease.handle:reads() then return failure("not_owner", self.folder) end
    return nil, wait.refusal(lock.session)
end


local function take_wait(request, lease, folder, timeout)
    local code, detail = request.handle:result()
    if code == "ok" and lease.handle:state() == "released" then code = "released" end
    if code == "ok" then return true end
    if code == "timeout" then detail = ("waited %g s"):format(timeout) end
    if code == "unsupported" then detail = detail or "the owner held the lock in a multi-lock" end
    return failure(code, folder, detail)
end


--- Gives the lock up, waits for a signal and takes the lock again, under one deadline. Others may
-- have held it between, so test the awaited state again, and wait again.
---@param lease zklock.Lease of this lock; all handles of its grant are given up and taken again
---@param timeout? number|zklock.TimeoutOptions seconds; nil: for ever
---@return true? ok the lease is held, with a new token
---@return string? message
---@return zklock.Code? code "timeout", "interrupted", "expired", "closed": the lease is released;
-- "lost", "released": it had ended before; "not_owner": nothing was done; else see lease:state()
function Condition:wait(lease, timeout)
    timeout = options.timeout(timeout)
    local _, message, code = refusal(self, lease, "wait")
    if code then return nil, message, code end
    local session = self.lock.session
    local request = Request.new(session, lease.handle:wait(self.folder, timeout), lease.owner)
    return wait.wait(session, request, timeout, take_wait, lease, self.folder, timeout)
end


local function signal(self, lease, timeout, method, wakes_all)
    local _, message, code = refusal(self, lease, method)
    if code then return nil, message, code end
    timeout = options.timeout(timeout, self.lock.session:timeout())
    local handle = lease.handle:signal(self.folder, wakes_all, timeout)
    return self.lock.session:await(handle, timeout, wait.take, self.folder, "signalled")
end


--- Wakes the waiter that has waited longest. Its wait ends when it holds the lock again.
---@param lease zklock.Lease of this lock; it is checked with the same request
---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return integer? count 1; 0 without a waiter, or if the lease is lost and this is not known
---@return string? message
---@return zklock.Code? code "unknown": a waiter may have been woken; after other codes none was
function Condition:signal(lease, timeout)
    return signal(self, lease, timeout, "signal", false)
end


--- Wakes all waiters, in their order.
---@param lease zklock.Lease of this lock; it is checked with the same request
---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return integer? count
---@return string? message
---@return zklock.Code? code
function Condition:broadcast(lease, timeout)
    return signal(self, lease, timeout, "broadcast", true)
end


function Condition:__tostring()
    return ("zklock.condition (%s)"):format(self.folder)
end


strict_methods(Condition, Condition, "condition")


function Condition.new(lock, name)
    local folder = options.path(lock.path .. "-condition-" .. options.condition_name(name))
    return setmetatable({ lock = lock, folder = folder }, Condition)
end


return Condition
