--- Engine "redis-set": SET key value NX PX, and a script that compares and deletes (the form of
--- today of ALG-03 and ALG-09). It stands for Tair's expirelock (SYS-10), too.
---
--- The value is random, so that only the owner's release removes the key (REQ-13, PIT-07). Faults
--- that it has: the lock ends with its lease time, whatever its holder does (Q-03), and it is lost
--- with a master that dies before the key is replicated (PIT-16). There is no order among waiters.
---
--- Waiters poll, with zklock.sleep; a command blocks the process until its answer.

local clock = require "zklock.waiting.runtime"
local options = require "zklock.seckill.engine.options"
local redis = require "zklock.seckill.engine.redis"
local single = require "zklock.seckill.engine.single_redis"


local way = {
    has = { lease = true, owned = true },
    fields = single.fields{ lease = options.seconds(0.001), poll = options.seconds(0.0001) },
    defaults = single.defaults{ lease = 10, poll = 0.005 },
    validate = single.validate, open = single.open, close = single.close,
}


function way.try(lock)
    local engine = lock.engine
    local asked, lease, value = clock.now(), lock.lease or engine.options.lease, redis.unique()
    if engine.redis:call("set", lock.name, value, "NX", "PX", redis.milliseconds(lease)) then
        return { value = value, expires = asked + lease }
    end
    return nil, single.pause(engine)
end


function way.check(lease) return lease.lock.engine.redis:call("get", lease.name) == lease.value end


function way.release(lease)
    return lease.lock.engine.redis:eval(redis.COMPARE_AND_DELETE, { lease.name }, lease.value) == 1
end


return way
