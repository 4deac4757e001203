--- Strategy "zookeeper": zklock's mutex, a lock of all servers. One session a server, one lock
--- for each name. (The seed opens a session for every request: BUG-05.)
---
--- "zookeeper-turns" and "zookeeper-none" are the same with another order; the latter has the
--- jitter that the plan's parameters have, if any. "zookeeper-rw" is a read-write lock: a buyer has
--- its write side, unless it wishes for the other.

local ZooKeeper = {}
ZooKeeper.__index = ZooKeeper


-- The lock of a session that each of them uses.
local locks = {
    ["zookeeper"] = function(session, path) return session:mutex(path) end,
    ["zookeeper-none"] = function(session, path, parameters)
        return session:mutex(path, { order = "none", jitter = parameters.jitter })
    end,
    ["zookeeper-turns"] = function(session, path)
        return session:mutex(path, { order = "turns" })
    end,
    ["zookeeper-rw"] = function(session, path, _, side)
        local lock = session:rwlock(path)
        return side == "read" and lock:read() or lock:write()
    end,
}


--- The lock of that name.
---@param name string
---@param side "read" | "write" | nil
---@return zklock.Lock
function ZooKeeper:lock(name, side)
    local key = (side or "") .. " " .. name
    local lock = self.locks[key]
    if not lock then
        local server = self.server
        lock = self.new_lock(self.session, server:path("lock/" .. name), server.parameters, side)
        self.locks[key] = lock
    end
    return lock
end


local function acquire(self, lock, wish)
    return lock:acquire{
        timeout = wish.timeout or self.server.timeout, on_queued = wish.on_queued,
    }
end


function ZooKeeper:enter(name, _, wish)
    wish = wish or {}
    return acquire(self, self:lock(name, wish.side), wish)
end


--- Several locks, all of them or none.
function ZooKeeper:enter_all(names, _, wish)
    local key = (wish.side or "") .. " " .. table.concat(names, " + ")
    local lock = self.locks[key]
    if not lock then
        local parts = {}
        for i, name in ipairs(names) do parts[i] = self:lock(name, wish.side) end
        lock = self.session:multi(parts)
        self.locks[key] = lock
    end
    return acquire(self, lock, wish)
end


-- There is nothing to give up when the lease was lost; what that did to the stock is the
-- store's to say.
function ZooKeeper.leave(_, lease)
    local released, message, code = lease:release()
    assert(released or code == "lost", message)
end


function ZooKeeper.token(_, lease) return lease:token_string() end
function ZooKeeper.state(_, lease) return lease:state() end
function ZooKeeper.on_state(_, lease, fn)
    lease:on_lost(function(_, state) fn(state) end)
end

function ZooKeeper.shared(_, lease) return lease.kind == "read" end


-- Their tokens have the order in which the nodes of waiters were made.
local IN_ORDER = { ["zookeeper"] = true, ["zookeeper-rw"] = true }


local strategies = {}

for name, new_lock in pairs(locks) do
    strategies[name] = {
        needs_zookeeper = true, simulated = true, fifo = IN_ORDER[name],
        open = function(server)
            return setmetatable({
                server = server, session = server:session(), new_lock = new_lock, locks = {},
            }, ZooKeeper)
        end,
    }
end


return strategies
