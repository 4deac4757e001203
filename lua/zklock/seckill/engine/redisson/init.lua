--- Engine "redisson": a hash with a count for each owner, changed by scripts (ALG-04). Its owner
--- can have a lock several times; there are fair locks (`mutex(name, { fair = true })`),
--- read-write locks and several locks as one. It stands for Squirrel (SYS-09), too.
---
--- A lock without a lease time of its own has `lease` seconds (CFG-09: 30 s), and the watchdog
--- renews it every third of that, in zklock.run. One with `mutex(name, { lease = 10 })` is not
--- renewed. A waiter is woken by pub/sub, and looks by itself when the lease would end.
---
--- It keeps the seed's faults. A release of a lock that is not had is a success (Redisson of
--- today raises). A renewal that finds the lock gone tells nobody: the holder must ask. A lock is
--- lost with a master that dies before it is replicated (PIT-16). An owner that only reads can
--- never come to writing; readers are not held up by a writer that waits, and a reader that died
--- is one as long as others read. Of a fair lock, a waiter that died holds up those behind it for
--- `fair_wait` (5 minutes), by the clocks of the clients.
---
--- A command blocks the process until its answer; a wait does not: the socket of the messages is
--- looked at every 2 ms.

local Watchdog = require "zklock.seckill.engine.redisson.watchdog"
local Wakeup = require "zklock.seckill.engine.redisson.wakeup"
local core = require "zklock.core"
local dependency = require "zklock.system.dependency"
local multi = require "zklock.seckill.engine.redisson.multi"
local options = require "zklock.seckill.engine.options"
local redis = require "zklock.seckill.engine.redis"
local script = require "zklock.seckill.engine.redisson.script"
local single = require "zklock.seckill.engine.single_redis"


local LONGEST = 0.5     -- seconds between looks where the lock has no end
local AT_ONCE = 0.000001


local way = {
    has = {
        fair = true, reentrant = true, rwlock = true, multi = true, lease = true,
        watchdog = true, wakes = true, owned = true,
    },
    fields = single.fields{ lease = options.seconds(0.001), fair_wait = options.seconds(0.001) },
    defaults = single.defaults{ lease = 30, fair_wait = 300 },
    validate = single.validate, multi = multi,
}


function way.open(engine)
    single.open(engine)
    local given = engine.options
    engine.client = redis.unique()
    engine.wakeup = Wakeup.new(given.redis, given.answer)
    engine.watchdog = Watchdog.new(given.lease)
    return engine
end


function way.close(engine)
    single.close(engine)
    engine.wakeup:close()
end


-- The owner's field in the hash: "GUID:thread", and of a write lock "GUID:thread:write".
local function field_of(lock, owner)
    local field = lock.engine.client .. ":" .. owner
    return lock.kind == "write" and field .. ":write" or field
end


local function channel_of(lock)
    local kind = (lock.kind == "read" or lock.kind == "write") and "redisson_rwlock:{%s}"
        or "redisson_lock__channel:{%s}"
    return kind:format(lock.name)
end


local function lease_of(lock) return lock.lease or lock.engine.options.lease end


-- Runs the lock's script of that name.
local function run(lock, what, field)
    local engine, name = lock.engine, lock.name
    local keys = { name, channel_of(lock) }
    if lock.kind == "fair" then
        keys[3] = ("redisson_lock_queue:{%s}"):format(name)
        keys[4] = ("redisson_lock_timeout:{%s}"):format(name)
    end
    return engine.redis:eval(script[lock.kind][what], keys, redis.milliseconds(lease_of(lock)),
        field, redis.milliseconds(dependency.load("socket").gettime()),
        redis.milliseconds(engine.options.fair_wait))
end


-- From now on the request is woken. No message published before is missed: it tries again at once.
local function listen(lock, request, field)
    local channel = channel_of(lock)
    if lock.kind == "fair" then channel = channel .. ":" .. field end
    request.waiter = lock.engine.wakeup:listen(channel)
end


function way.try(lock, owner, request)
    local asked, field = core.now(), field_of(lock, owner)
    local left = run(lock, "acquire", field)
    if not left then return { value = field, expires = asked + lease_of(lock) } end
    request.refused = true
    if not request.waiter then
        listen(lock, request, field)
        return nil, AT_ONCE
    end
    return nil, left > 0 and left / 1000 or LONGEST
end


function way.wait(lock, request, seconds) lock.engine.wakeup:wait(request.waiter, seconds) end


function way.wake(request)
    if request.waiter then request.waiter.woken = true end
end


function way.granted(lease)
    if not lease.lock.lease then lease.lock.engine.watchdog:watch(lease) end
end


function way.finish(lock, request)
    if request.waiter then lock.engine.wakeup:leave(request.waiter) end
    if lock.kind == "fair" and request.refused and not request.granted then
        run(lock, "give_up", field_of(lock, request.owner))
    end
end


function way.check(lease)
    return lease.lock.engine.redis:call("hexists", lease.name, lease.value)
end


function way.renew(lease)
    local asked = core.now()
    if run(lease.lock, "renew", lease.value) == 0 then return false end
    lease.expires = asked + lease_of(lease.lock)
    return true
end


function way.release(lease)
    lease.lock.engine.watchdog:forget(lease)
    run(lease.lock, "release", lease.value)
    return true
end


return way
