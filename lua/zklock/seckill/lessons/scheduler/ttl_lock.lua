--- A lock that ends by itself after `TTL`, whatever its holder does, as
--- `SET lock owner NX PX …` makes it in Redis.

local TTL = 900 -- seconds

local Lock, Lease = {}, {}
Lock.__index, Lease.__index = Lock, Lease


function Lock.new(world)
    return setmetatable({ world = world, line = {}, count = 0 }, Lock)
end


-- The first lease in the line holds the lock, for `TTL`.
local function grant(self)
    local lease = self.line[1]
    if not lease then return end
    self.count = self.count + 1
    lease.token = self.count
    self.world:at(self.world:now() + TTL, function() lease:release() end)
    if lease.pause then self.world:wake(lease.pause) end
end


function Lock:acquire(owner)
    local lease = setmetatable({ lock = self, owner = owner }, Lease)
    table.insert(self.line, lease)
    if self.line[2] then
        lease.pause = self.world:new_pause()
        lease.pause:wait_and_close()
    else
        grant(self)
    end
    return lease
end


function Lease:state() return self.lock.line[1] == self and "held" or "lost" end


function Lease:release()
    if self:state() == "lost" then return end
    table.remove(self.lock.line, 1)
    grant(self.lock)
end


return Lock
