--- Engine "redis-set", which locks with SET key value NX PX, and unlocks with a script that deletes
--- the key if its value is the lease's (the modern form of ALG-03 and ALG-09). It also stands for
--- Tair's expirelock (SYS-10). The value is random, so that only the owner's release removes the
--- key (REQ-13, PIT-07). docs/design/engines.md lists the faults that it keeps.

local clock = require "zklock.waiting.runtime"
local options = require "zklock.seckill.engine.options"
local redis = require "zklock.seckill.engine.redis"
local single_redis = require "zklock.seckill.engine.single_redis"


local way = {
    has = { lease = true, owned = true },
    fields = single_redis.fields{ lease = options.seconds(0.001), poll = options.seconds(0.0001) },
    defaults = single_redis.defaults{ lease = 10, poll = 0.005 },
    validate = single_redis.validate, open = single_redis.open, close = single_redis.close,
}


function way.try(lock)
    local engine = lock.engine
    local asked_at, lease = clock.now(), lock.lease or engine.options.lease
    local value = redis.random_id()
    if engine.redis:call("set", lock.name, value, "NX", "PX", redis.milliseconds(lease)) then
        return { value = value, expires = asked_at + lease }
    end
    return nil, single_redis.pause(engine)
end


function way.check(lease) return lease.lock.engine.redis:call("get", lease.name) == lease.value end


function way.release(lease)
    return lease.lock.engine.redis:eval(redis.COMPARE_AND_DELETE, { lease.name }, lease.value) == 1
end


return way
