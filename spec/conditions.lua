--- Steps of the specs of conditions, on a lock with the condition "c" or another one.

local rig = require "spec.rig"
local zklock = require "zklock"

local LONG = 30 -- seconds

local Scene = {}
Scene.__index = Scene


function Scene:folder(name)
    return self.path .. "-condition-" .. (name or "c")
end


function Scene:waiting(count, name)
    self.server:wait_for_nodes(self:folder(name), count)
end


function Scene:contending(count)
    self.server:wait_for_nodes(self.path, count)
end


--- Waits until no node is left, and no claim in the sessions.
function Scene:nothing_left(...)
    self:contending(0)
    self:waiting(0)
    rig.at_rest(...)
end


--- Returns a session's lock and its condition.
function Scene:side(session, name)
    local lock = session:mutex(self.path)
    return lock, assert(lock:condition(name or "c"))
end


--- Lets a session hold the lock. Returns the lease, the condition and the lock.
function Scene:holding(session, name)
    local lock, condition = self:side(session, name)
    return rig.hold(lock), condition, lock
end


--- Lets the owner "me" wait, with `lease` or its own, while fn() runs; returns the wait's result,
-- true or its code, and the lease.
function Scene:meanwhile(session, fn, lease, timeout)
    local lock, condition = self:side(session)
    local result
    lease = lease or rig.hold(lock, { timeout = 5, owner = "me" })
    zklock.run(function()
        local ok, _, code = condition:wait(lease, timeout or LONG)
        result = ok or code
    end, function()
        self:waiting(1)
        fn(lease)
    end)
    return result, lease
end


--- Acquires, waits in the condition and releases. Returns true or the wait's code, and the lease's
-- state then.
function Scene:await(session, timeout, name, owner)
    local lock, condition = self:side(session, name)
    local lease = assert(lock:acquire{ timeout = LONG, owner = owner })
    local ok, _, code = condition:wait(lease, timeout or LONG)
    local state = lease:state()
    lease:release()
    return ok or code, state
end


--- Acquires, signals (or calls `method`) and releases. Returns the number of woken waiters.
function Scene:wake(session, method, name)
    local lock, condition = self:side(session, name)
    local lease = assert(lock:acquire(LONG))
    local count = assert(condition[method or "signal"](condition, lease))
    assert(lease:release{ wait = LONG })
    return count
end


--- Lets each of these sessions wait in line for "owner n", the first until its timeout, then calls
-- fn(). Returns their numbers, or codes, in the order of their return.
function Scene:come(sessions, fn, timeout)
    local order = {}
    rig.run(#sessions, function(n)
        self:waiting(n - 1)
        local result = self:await(sessions[n], n == 1 and timeout or LONG, nil, "owner " .. n)
        order[#order + 1] = result == true and n or result
    end, function()
        self:waiting(#sessions)
        fn(order)
    end)
    return order
end


return function(server, path)
    return setmetatable({ server = server, path = path }, Scene)
end
