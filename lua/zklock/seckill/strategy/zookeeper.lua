--- Strategy "zookeeper": zklock's mutex, a lock of all servers. One session a server, one lock
--- for each name. (The seed opens a session for every request: BUG-05.)
---
--- "zookeeper-turns" and "zookeeper-none" are the same with another order, "zookeeper-rw" is the
--- write side of a read-write lock.

local ZooKeeper = {}
ZooKeeper.__index = ZooKeeper


-- The lock of a session that each of them uses.
local locks = {
    ["zookeeper"] = function(session, path) return session:mutex(path) end,
    ["zookeeper-none"] = function(session, path) return session:mutex(path, { order = "none" }) end,
    ["zookeeper-turns"] = function(session, path)
        return session:mutex(path, { order = "turns" })
    end,
    ["zookeeper-rw"] = function(session, path) return session:rwlock(path):write() end,
}


function ZooKeeper:lock(name)
    local lock = self.locks[name]
    if not lock then
        lock = self.new_lock(self.session, self.server:path("lock/" .. name))
        self.locks[name] = lock
    end
    return lock
end


function ZooKeeper:enter(name)
    return self:lock(name):acquire(self.server.timeout)
end


-- There is nothing to give up when the lease was lost; what that did to the stock is the
-- store's to say.
function ZooKeeper.leave(_, lease)
    local released, message, code = lease:release()
    assert(released or code == "lost", message)
end


function ZooKeeper.token(_, lease) return lease:token_string() end
function ZooKeeper.state(_, lease) return lease:state() end


local strategies = {}

for name, new_lock in pairs(locks) do
    strategies[name] = {
        needs_zookeeper = true,
        open = function(server)
            return setmetatable({
                server = server, session = server:session(), new_lock = new_lock, locks = {},
            }, ZooKeeper)
        end,
    }
end


return strategies
