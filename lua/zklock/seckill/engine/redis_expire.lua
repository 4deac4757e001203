--- Engine "redis-expire", which locks with SETNX, then EXPIRE, and unlocks with DEL (ALG-09), as in
--- the seed article's flash sale. docs/design/engines.md lists the faults that it keeps; the option
--- `gap` is a pause between SETNX and EXPIRE.
---
--- Waiters poll every 3 ms and some nanoseconds (CFG-13), for 2 s by default (CFG-11).

local core = require "zklock.core"
local options = require "zklock.seckill.engine.options"
local single_redis = require "zklock.seckill.engine.single_redis"


local MOST_JITTER = 30e-9 -- seconds (CFG-13)


local way = {
    has = { lease = true },
    fields = single_redis.fields{
        lease = options.whole_seconds, poll = options.seconds(0.0001),
        timeout = options.seconds(0), gap = options.seconds(0),
    },
    defaults = single_redis.defaults{ lease = 1000, poll = 0.003, timeout = 2, gap = 0 },
    validate = single_redis.validate, open = single_redis.open, close = single_redis.close,
}


-- EXPIRE takes whole seconds.
local function lease_of(lock) return math.ceil(lock.lease or lock.engine.options.lease) end


function way.try(lock)
    local engine = lock.engine
    if not engine.redis:call("setnx", lock.name, "LOCKED") then
        return nil, engine.options.poll + MOST_JITTER * math.random()
    end
    if engine.options.gap > 0 then core.sleep(engine.options.gap) end
    local asked_at, lease = core.now(), lease_of(lock)
    engine.redis:call("expire", lock.name, ("%d"):format(lease))
    return { expires = asked_at + lease }
end


function way.release(lease)
    lease.lock.engine.redis:call("del", lease.name)
    return true
end


return way
