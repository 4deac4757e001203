--- A lock in a master that has a replica, as in Redis: the master answers at once, and its writes
--- are at the replica `lag` seconds later. It dies, and `failover` seconds later the replica
--- takes over. With `majority` an answer waits until the replica has the write, as in ZooKeeper.

local now = require("zklock.here").now -- seconds, of the sale's own clock
local zklock = require "zklock"

local writes -- in their order: { name =, hold =, master =, copied = when the replica has it }
local granted, dies, failover


local ReplicatedLock = { simulated = true }
ReplicatedLock.__index = ReplicatedLock


function ReplicatedLock.prepare()
    writes, granted, dies = {}, false, 2 * math.random() -- seconds; or see `dies_after`
end


function ReplicatedLock.open(server)
    local given = server.parameters
    failover = given.failover
    if given.dies_after then dies = math.huge end
    return setmetatable({
        lag = given.lag, majority = given.majority, timeout = server.timeout,
        dies_after = given.dies_after, -- so many seconds after the first grant
    }, ReplicatedLock)
end


-- 1, then nobody, then 2.
local function master()
    if now() < dies then return 1 end
    return now() >= dies + failover and 2 or nil
end


local function is_known(write) return write.master == master() or write.copied < dies end


-- Who has the lock, as far as the master knows.
local function holder_of(name)
    local holder
    for _, write in ipairs(writes) do
        if write.name == name and is_known(write) then holder = write.hold end
    end
    return holder
end


-- Writes who has the lock; false: the master died before it answered.
function ReplicatedLock:set(name, hold)
    local write = { name = name, hold = hold, master = master(), copied = now() + self.lag }
    writes[#writes + 1] = write
    if self.majority then zklock.sleep(self.lag) end
    return is_known(write)
end


function ReplicatedLock:enter(name)
    local due, hold = now() + self.timeout, { name = name }
    while not (master() and not holder_of(name) and self:set(name, hold)) do
        if now() > due then return nil, "waited too long", "timeout" end
        zklock.sleep(0.02)
    end
    if self.dies_after and not granted then dies = now() + self.dies_after end
    granted = true
    return hold
end


function ReplicatedLock:leave(hold)
    repeat
        while not master() do zklock.sleep(0.02) end
    until holder_of(hold.name) ~= hold or self:set(hold.name, nil)
end


return ReplicatedLock
