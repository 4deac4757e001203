--- Redisson's scripts to acquire, release and renew each kind of lock (ALG-04). A lock is a hash,
--- as in the seed article.
---
---     myLock:  { "GUID:thread" = 1 }
---     anyLock: { mode = "read", "GUID:thread" = 2, "GUID:thread" = 1 }
---     anyLock: { mode = "write", "GUID:thread:write" = 2 }
---
--- KEYS are the lock and its channel; for a fair lock also its queue and the waiters' deadlines.
--- ARGV are the lease time in milliseconds and the owner; for a fair lock also the present time,
--- and the longest time at the head of the queue, in milliseconds.
---
--- acquire returns { count } after a grant, the number of the owner's leases, else the milliseconds
--- until the lock expires. release returns nil if the owner did not hold the lock, 0 if it still
--- holds it, 1 if the lock is free. A mutex and a read-write lock of one name exclude each other.

local script = {}


-- No lease shortens another lease of the same lock.
local PROLONG = "redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), ARGV[1]))"

local ENTER = [[
local count = redis.call('hincrby', KEYS[1], ARGV[2], 1)
]] .. PROLONG .. [[ return { count }]]

local RENEW = [[
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return 0 end
return ]] .. PROLONG


script.mutex = {
    acquire = [[
if redis.call('exists', KEYS[1]) == 1 and (redis.call('hexists', KEYS[1], ARGV[2]) == 0
    or redis.call('hexists', KEYS[1], 'mode') == 1) then
    return redis.call('pttl', KEYS[1])
end
]] .. ENTER,
    release = [[
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end
if redis.call('hincrby', KEYS[1], ARGV[2], -1) > 0 then
    ]] .. PROLONG .. [[ return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], 'free')
return 1]],
    renew = RENEW,
}


-- Waiters that were at the head of the queue for too long are probably dead.
local DROP_LATE_WAITERS = [[
while true do
    local first = redis.call('lindex', KEYS[3], 0)
    if not first then break end
    if tonumber(redis.call('zscore', KEYS[4], first)) > tonumber(ARGV[3]) then break end
    redis.call('zrem', KEYS[4], first)
    redis.call('lpop', KEYS[3])
end
]]

-- Each waiter of a fair lock has its own channel.
local WAKE_FIRST = [[
local first = redis.call('lindex', KEYS[3], 0)
if first then redis.call('publish', KEYS[2] .. ':' .. first, 'free') end
]]


script.fair = {
    acquire = DROP_LATE_WAITERS .. [[
if redis.call('hexists', KEYS[1], ARGV[2]) == 1
    and redis.call('hexists', KEYS[1], 'mode') == 0 then
]] .. ENTER .. [[ end
local first = redis.call('lindex', KEYS[3], 0)
if redis.call('exists', KEYS[1]) == 0 and (not first or first == ARGV[2]) then
    redis.call('lpop', KEYS[3])
    redis.call('zrem', KEYS[4], ARGV[2])
    for _, waiter in ipairs(redis.call('zrange', KEYS[4], 0, -1)) do
        redis.call('zincrby', KEYS[4], -tonumber(ARGV[4]), waiter)
    end
]] .. ENTER .. [[ end
local time = redis.call('zscore', KEYS[4], ARGV[2])
if time then return tonumber(time) - tonumber(ARGV[4]) - tonumber(ARGV[3]) end
local last = redis.call('lindex', KEYS[3], -1)
local left = last and tonumber(redis.call('zscore', KEYS[4], last)) - tonumber(ARGV[3])
    or redis.call('pttl', KEYS[1])
redis.call('zadd', KEYS[4], left + tonumber(ARGV[4]) + tonumber(ARGV[3]), ARGV[2])
redis.call('rpush', KEYS[3], ARGV[2])
return left]],
    release = DROP_LATE_WAITERS .. [[
if redis.call('exists', KEYS[1]) == 1 then
    if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end
    if redis.call('hincrby', KEYS[1], ARGV[2], -1) > 0 then
        ]] .. PROLONG .. [[ return 0
    end
    redis.call('del', KEYS[1])
end
]] .. WAKE_FIRST .. "return 1",
    renew = RENEW,
    -- A waiter that gives up leaves the queue, and those behind it move up.
    give_up = [[
local found = false
for _, waiter in ipairs(redis.call('lrange', KEYS[3], 0, -1)) do
    if found then redis.call('zincrby', KEYS[4], -tonumber(ARGV[4]), waiter) end
    found = found or waiter == ARGV[2]
end
redis.call('zrem', KEYS[4], ARGV[2])
redis.call('lrem', KEYS[3], 0, ARGV[2])
if redis.call('exists', KEYS[1]) == 0 then
]] .. WAKE_FIRST .. [[
end
return 1]],
}


-- A writer may read, too.
script.read = {
    acquire = [[
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == 'write' and redis.call('hexists', KEYS[1], ARGV[2] .. ':write') == 0
    or not mode and redis.call('exists', KEYS[1]) == 1 then
    return redis.call('pttl', KEYS[1])
end
if not mode then redis.call('hset', KEYS[1], 'mode', 'read') end
]] .. ENTER,
    release = [[
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end
if redis.call('hincrby', KEYS[1], ARGV[2], -1) > 0 then return 0 end
redis.call('hdel', KEYS[1], ARGV[2])
if redis.call('hlen', KEYS[1]) > 1 then return 0 end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], 'all')
return 1]],
    renew = RENEW,
}


-- A writer that also holds the read lock keeps that after this release. A mere reader cannot become
-- a writer.
script.write = {
    acquire = [[
local mode = redis.call('hget', KEYS[1], 'mode')
if redis.call('exists', KEYS[1]) == 1
    and not (mode == 'write' and redis.call('hexists', KEYS[1], ARGV[2]) == 1) then
    return redis.call('pttl', KEYS[1])
end
redis.call('hset', KEYS[1], 'mode', 'write')
]] .. ENTER,
    release = [[
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end
if redis.call('hincrby', KEYS[1], ARGV[2], -1) > 0 then
    ]] .. PROLONG .. [[ return 0
end
redis.call('hdel', KEYS[1], ARGV[2])
if redis.call('hlen', KEYS[1]) > 1 then
    redis.call('hset', KEYS[1], 'mode', 'read')
else
    redis.call('del', KEYS[1])
end
redis.call('publish', KEYS[2], 'all')
return 1]],
    renew = RENEW,
}


return script
