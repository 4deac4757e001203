--- A lock that ends by itself, as `SET lock owner NX PX 1000` makes one in Redis: a table that all
--- servers of a simulated sale share is the server.

local now = require("zklock.here").now -- seconds, of the sale's own clock
local zklock = require "zklock"

local TtlLock = { simulated = true }
TtlLock.__index = TtlLock

local locks = {} -- by name: the hold, and when it ends


function TtlLock.prepare() locks = {} end


function TtlLock.open(server)
    local ttl = server.parameters.ttl or math.huge -- seconds; by default it never ends
    return setmetatable({ ttl = ttl, timeout = server.timeout }, TtlLock)
end


function TtlLock:enter(name)
    local due = now() + self.timeout
    while locks[name] and now() < locks[name].ends do
        if now() > due then return nil, "waited too long", "timeout" end
        zklock.sleep(0.01)
    end
    locks[name] = { name = name, ends = now() + self.ttl }
    return locks[name]
end


function TtlLock:renew(hold)
    if locks[hold.name] == hold then hold.ends = now() + self.ttl end
end


-- It never deletes the lock of another.
function TtlLock.leave(_, hold)
    if locks[hold.name] == hold then locks[hold.name] = nil end
end


return TtlLock
