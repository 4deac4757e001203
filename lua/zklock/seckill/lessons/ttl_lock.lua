--- A lock that ends by itself, as `SET lock owner NX PX …` makes one in Redis. The lock's server is
--- a table that all servers of a simulated sale share. A `careless` release deletes the lock of any
--- holder.

local now = require("zklock.waiting.runtime").now -- seconds, of the sale's own clock
local zklock = require "zklock"

local locks = {} -- by name, the latest hold

local Hold = {}
Hold.__index = Hold

-- By the clock alone, because the holder knows nothing else.
function Hold:held() return now() < self.ends end


local TtlLock = { simulated = true }
TtlLock.__index = TtlLock


function TtlLock.prepare() locks = {} end


function TtlLock.open(server)
    return setmetatable({
        ttl = server.parameters.ttl or math.huge, -- seconds; by default it never ends
        careless = server.parameters.careless, timeout = server.timeout,
    }, TtlLock)
end


function TtlLock:enter(name, _, wish)
    local due = now() + (wish and wish.timeout or self.timeout)
    while locks[name] and locks[name]:held() do
        if now() > due then return nil, "waited too long", "timeout" end
        zklock.sleep(0.01)
    end
    locks[name] = setmetatable({ name = name, ends = now() + self.ttl }, Hold)
    return locks[name]
end


function TtlLock:renew(hold)
    if locks[hold.name] == hold then hold.ends = now() + self.ttl end
end


function TtlLock:leave(hold)
    if self.careless or locks[hold.name] == hold then locks[hold.name] = nil end
end


function TtlLock.state(_, hold) return hold:held() and "held" or "lost" end


return TtlLock
