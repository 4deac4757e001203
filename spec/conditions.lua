--- Steps of the specs of conditions, on a lock with the condition "c" or another one.

local rig = require "spec.rig"
local zklock = require "zklock"

local LONG = 30 -- seconds

local Scene = {}
Scene.__index = Scene


function Scene:folder(name)
    return self.path .. "-condition-" .. (name or "c")
end


function Scene:wait_for_waiters(count, name)
    self.server:wait_for_nodes(self:folder(name), count)
end


function Scene:wait_for_contenders(count)
    self.server:wait_for_nodes(self.path, count)
end


--- Waits until no node is left, and no claim in the sessions.
function Scene:come_to_rest(...)
    self:wait_for_contenders(0)
    self:wait_for_waiters(0)
    rig.come_to_rest(...)
end


--- Returns a session's lock and its condition.
function Scene:lock_and_condition(session, name)
    local lock = session:mutex(self.path)
    return lock, assert(lock:condition(name or "c"))
end


--- Acquires the lock. Returns the lease, the condition and the lock.
function Scene:hold(session, name)
    local lock, condition = self:lock_and_condition(session, name)
    return rig.hold(lock), condition, lock
end


--- Lets the owner "me" wait in the condition, with `lease` or a new lease, while fn(lease) runs.
-- Returns true or the wait's code, and the lease.
function Scene:wait_while(session, fn, lease, timeout)
    local lock, condition = self:lock_and_condition(session)
    local result
    lease = lease or rig.hold(lock, { timeout = 5, owner = "me" })
    zklock.run(function()
        local ok, _, code = condition:wait(lease, timeout or LONG)
        result = ok or code
    end, function()
        self:wait_for_waiters(1)
        fn(lease)
    end)
    return result, lease
end


--- Acquires, waits in the condition and releases. Returns true or the wait's code, and the lease's
-- state then.
function Scene:wait_once(session, timeout, name, owner)
    local lock, condition = self:lock_and_condition(session, name)
    local lease = assert(lock:acquire{ timeout = LONG, owner = owner })
    local ok, _, code = condition:wait(lease, timeout or LONG)
    local state = lease:state()
    lease:release()
    return ok or code, state
end


--- Acquires, signals (or calls `method`) and releases. Returns the number of woken waiters.
function Scene:wake(session, method, name)
    local lock, condition = self:lock_and_condition(session, name)
    local lease = assert(lock:acquire(LONG))
    local count = assert(condition[method or "signal"](condition, lease))
    assert(lease:release{ wait = LONG })
    return count
end


--- Lets "owner n" of session n wait in the condition, one after the other, the first at most for
-- `timeout`. Then calls fn(order). Returns the owners' numbers, or codes of failed waits, in the
-- order of the waits' ends.
function Scene:line_up(sessions, fn, timeout)
    local order = {}
    rig.run(#sessions, function(n)
        self:wait_for_waiters(n - 1)
        local result = self:wait_once(sessions[n], n == 1 and timeout or LONG, nil, "owner " .. n)
        order[#order + 1] = result == true and n or result
    end, function()
        self:wait_for_waiters(#sessions)
        fn(order)
    end)
    return order
end


return function(server, path)
    return setmetatable({ server = server, path = path }, Scene)
end
