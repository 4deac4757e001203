--- Strategy "zookeeper", zklock's mutex across servers, with one session for each server and one
--- lock for each name. (The seed article opens a session for every request, BUG-05.)
---
--- "zookeeper-turns" and "zookeeper-none" are mutexes with the order "turns" or "none". The option
--- `jitter` of "none" comes from the plan's parameters. "zookeeper-rw" takes the write side of a
--- read-write lock, unless the buyer wishes for the read side.

local ZooKeeper = {}
ZooKeeper.__index = ZooKeeper


local constructors = {
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


-- A lost lease needs no release; the store shows the damage to the stock, if any.
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


-- Strategies whose tokens follow the order of arrival.
local IN_ORDER = { ["zookeeper"] = true, ["zookeeper-rw"] = true }


local strategies = {}

for name, new_lock in pairs(constructors) do
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
