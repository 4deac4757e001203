--- A lock in three servers, a master and two followers, as in Redis. The master answers at once,
--- and followers get its writes `lags` seconds later. `failover` seconds after the master's death
--- the follower with the most writes takes over. With `majority` an answer waits until two of three
--- servers have the write, as in ZooKeeper.

local now = require("zklock.waiting.runtime").now -- seconds, of the sale's own clock
local zklock = require "zklock"

local writes -- in order: { name =, hold =, ends =, master =, at = { time of arrival by server } }
local lags, failover
local was_granted -- true after the first grant
local dies_at     -- time of the master's death


local ReplicatedLock = { simulated = true }
ReplicatedLock.__index = ReplicatedLock


function ReplicatedLock.prepare()
    writes, was_granted, dies_at = {}, false, 2 * math.random() -- unless `dies_after` is given
end


function ReplicatedLock.open(server)
    local given = server.parameters
    lags, failover = given.lags, given.failover
    if given.dies_after and not was_granted then dies_at = math.huge end
    return setmetatable({
        ttl = given.ttl, majority = given.majority, timeout = server.timeout,
        dies_after = given.dies_after, -- seconds after the first grant
    }, ReplicatedLock)
end


-- True if the write has arrived. Writes on their way when the master died never arrive.
local function has_write(server, write)
    local at = write.at[server]
    return at <= now() and (write.master > 1 or server == 1 or at < dies_at)
end


-- The follower with the most writes.
local function elected_follower()
    local best, most = nil, -1
    for follower = 2, 1 + #lags do
        local count = 0
        for _, write in ipairs(writes) do
            if has_write(follower, write) then count = count + 1 end
        end
        if count > most then best, most = follower, count end
    end
    return best
end


-- The master's number: server 1, then nil, then a follower.
local function master()
    if now() < dies_at then return 1 end
    return now() >= dies_at + failover and elected_follower() or nil
end


-- The holder, as far as the master knows.
local function holder_of(name)
    local holder
    for _, write in ipairs(writes) do
        if write.name == name and has_write(master(), write) then
            holder = now() < write.ends and write.hold or nil
        end
    end
    return holder
end


-- Waits for the master and one follower.
local function wait_for_majority(write)
    local nearest = math.huge
    for follower = 2, 1 + #lags do
        if follower ~= write.master then nearest = math.min(nearest, write.at[follower]) end
    end
    zklock.sleep(nearest - now())
    return write.master > 1 or now() < dies_at
end


-- Writes the holder, or nil after a release; returns false if the master died before its answer.
function ReplicatedLock:set(name, hold)
    local write = { name = name, hold = hold, ends = now() + self.ttl, master = master() }
    write.at = { write.master == 1 and now() or math.huge }
    for i, lag in ipairs(lags) do write.at[1 + i] = now() + (write.master == 1 + i and 0 or lag) end
    writes[#writes + 1] = write
    return not self.majority or wait_for_majority(write)
end


function ReplicatedLock:enter(name, _, wish)
    local due, hold = now() + (wish and wish.timeout or self.timeout), { name = name }
    while not (master() and not holder_of(name) and self:set(name, hold)) do
        if now() > due then return nil, "waited too long", "timeout" end
        zklock.sleep(0.02)
    end
    if self.dies_after and not was_granted then dies_at = now() + self.dies_after end
    was_granted = true
    return hold
end


function ReplicatedLock:leave(hold)
    repeat
        while not master() do zklock.sleep(0.02) end
    until holder_of(hold.name) ~= hold or self:set(hold.name, nil)
end


return ReplicatedLock
