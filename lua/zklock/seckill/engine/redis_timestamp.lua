--- Engine "redis-timestamp", with a key that holds the time when the lock ends (ALG-03). SETNX
--- takes a free lock, and GETSET an expired lock. The key itself never expires. Its value is
--- "MILLISECONDS ID", where ID is random and new for each try. The release checks the value.
--- docs/design/engines.md lists the faults that it keeps; the option `skew` is added to the clock.

local core = require "zklock.core"
local dependency = require "zklock.system.dependency"
local options = require "zklock.seckill.engine.options"
local redis = require "zklock.seckill.engine.redis"
local single_redis = require "zklock.seckill.engine.single_redis"


local way = {
    has = { lease = true, owned = true },
    fields = single_redis.fields{
        lease = options.seconds(0.001), poll = options.seconds(0.0001),
        skew = options.difference,
    },
    defaults = single_redis.defaults{ lease = 10, poll = 0.005, skew = 0 },
    validate = single_redis.validate, open = single_redis.open, close = single_redis.close,
}


local function wall_clock(engine)
    return dependency.load("socket").gettime() + engine.options.skew
end


local function is_past(engine, value)
    return tonumber(value:match "^%d+") / 1000 < wall_clock(engine)
end


-- Takes over an expired lock, unless another client's GETSET came first (ALG-03).
local function take_over(engine, name, value)
    local old = engine.redis:call("get", name)
    if not old or not is_past(engine, old) then return false end
    return engine.redis:call("getset", name, value) == old
end


function way.try(lock)
    local engine, name = lock.engine, lock.name
    local asked_at, lease = core.now(), lock.lease or engine.options.lease
    local ends_at = redis.milliseconds(wall_clock(engine) + lease)
    local value = ("%s %s"):format(ends_at, redis.random_id())
    if engine.redis:call("setnx", name, value) or take_over(engine, name, value) then
        return { value = value, expires = asked_at + lease }
    end
    return nil, single_redis.pause(engine)
end


function way.check(lease) return lease.lock.engine.redis:call("get", lease.name) == lease.value end


function way.release(lease)
    if not way.check(lease) then return false end
    lease.lock.engine.redis:call("del", lease.name)
    return true
end


return way
