--- What the specs of conditions share: a lock path with a condition, and those who use them.

local rig = require "spec.rig"

local LONG = 30 -- seconds

local Scene = {}
Scene.__index = Scene


--- The folder of those who wait.
function Scene:folder(name)
    return self.path .. "-condition-" .. (name or "c")
end


--- Waits until so many wait.
function Scene:waiting(count, name)
    self.server:wait_for_nodes(self:folder(name), count)
end


--- Waits until the lock has so many contenders.
function Scene:contending(count)
    self.server:wait_for_nodes(self.path, count)
end


--- Waits until there is no node, and in the sessions no claim.
function Scene:nothing_left(...)
    self:contending(0)
    self:waiting(0)
    rig.at_rest(...)
end


--- A session's own objects: the lock, and a condition of it.
function Scene:side(session, name)
    local lock = session:mutex(self.path)
    return lock, assert(lock:condition(name or "c"))
end


--- Holds, waits, lets go; gives what the wait gave: true, or its code; and the lease's state.
function Scene:await(session, timeout, name, owner)
    local lock, condition = self:side(session, name)
    local lease = assert(lock:acquire{ timeout = LONG, owner = owner })
    local ok, _, code = condition:wait(lease, timeout or LONG)
    local state = lease:state()
    lease:release()
    return ok or code, state
end


--- Holds, signals or does what `method` says, lets go; gives how many it woke.
function Scene:wake(session, method, name)
    local lock, condition = self:side(session, name)
    local lease = assert(lock:acquire(LONG))
    local count = assert(condition[method or "signal"](condition, lease))
    assert(lease:release{ wait = LONG })
    return count
end


--- A task for each of these sessions: waits as the n-th in line, and when it is back puts its
-- number, or the code, into `order`.
function Scene:come(sessions, order, timeout)
    local tasks = {}
    for n, session in ipairs(sessions) do
        tasks[n] = function()
            self:waiting(n - 1)
            local result = self:await(session, timeout)
            order[#order + 1] = result == true and n or result
        end
    end
    return tasks
end


return function(server)
    return setmetatable({ server = server, path = rig.path() }, Scene)
end
