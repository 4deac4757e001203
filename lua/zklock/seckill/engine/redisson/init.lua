--- Engine "redisson", with a hash that counts acquires of each owner, changed by scripts (ALG-04).
--- It is reentrant, and has fair locks (`mutex(name, { fair = true })`), read-write locks and
--- multi-locks. It also stands for Squirrel (SYS-09).
---
--- A lock without a lease time of its own lasts `lease` seconds (CFG-09: 30 s), and the watchdog
--- renews it every third of that, in zklock.run. A lock with `mutex(name, { lease = 10 })` is not
--- renewed. Pub/sub wakes waiters, which also try again when the lock would expire.
---
--- docs/design/engines.md lists the faults that it keeps. (Today's Redisson raises an error at the
--- release of a lost lock.) The deadlines of a fair queue go by the clients' clocks.

local Watchdog = require "zklock.seckill.engine.redisson.watchdog"
local Wakeup = require "zklock.seckill.engine.redisson.wakeup"
local core = require "zklock.core"
local dependency = require "zklock.system.dependency"
local failure = require "zklock.seckill.engine.failure"
local multi = require "zklock.seckill.engine.redisson.multi"
local options = require "zklock.seckill.engine.options"
local redis = require "zklock.seckill.engine.redis"
local script = require "zklock.seckill.engine.redisson.script"
local single_redis = require "zklock.seckill.engine.single_redis"


local NO_EXPIRY_PAUSE = 0.5 -- seconds between tries for a lock that never expires
local AT_ONCE = 0.000001 -- seconds


local way = {
    has = {
        fair = true, reentrant = true, rwlock = true, multi = true, lease = true,
        watchdog = true, wakes = true, owned = true,
    },
    fields = single_redis.fields{
        lease = options.seconds(0.001), fair_wait = options.seconds(0.001),
    },
    defaults = single_redis.defaults{ lease = 30, fair_wait = 300 },
    validate = single_redis.validate, multi = multi,
}


function way.open(engine)
    single_redis.open(engine)
    local given = engine.options
    engine.client, engine.stays = redis.random_id(), setmetatable({}, { __mode = "v" })
    engine.wakeup = Wakeup.new(given.redis, given.answer)
    engine.watchdog = Watchdog.new(given.lease)
    return engine
end


function way.close(engine)
    single_redis.close(engine)
    engine.wakeup:close()
end


-- The owner's field in the hash, "GUID:thread", or for a write lock "GUID:thread:write".
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


local function run_script(lock, action, field)
    local engine, name = lock.engine, lock.name
    local keys = { name, channel_of(lock) }
    if lock.kind == "fair" then
        keys[3] = ("redisson_lock_queue:{%s}"):format(name)
        keys[4] = ("redisson_lock_timeout:{%s}"):format(name)
    end
    return engine.redis:eval(script[lock.kind][action], keys, redis.milliseconds(lease_of(lock)),
        field, redis.milliseconds(dependency.load("socket").gettime()),
        redis.milliseconds(engine.options.fair_wait))
end


-- Subscribes the request, which must then try again at once, so that it misses no message.
local function listen(lock, request, field)
    local channel = channel_of(lock)
    if lock.kind == "fair" then channel = channel .. ":" .. field end
    request.waiter = lock.engine.wakeup:listen(channel)
end


-- The server counts an owner's leases. A stay begins with the first of them. Leases of an earlier
-- stay are lost, and their releases must not count in a later stay.
local function stay_of(lock, field, count)
    local stays, key = lock.engine.stays, lock.name .. "\0" .. field
    if count == 1 or not stays[key] then stays[key] = { key = key } end
    return stays[key]
end


local function is_of_present_stay(lease)
    local stay = lease.value.stay
    return lease.lock.engine.stays[stay.key] == stay
end


function way.try(lock, owner, request)
    local asked_at, field = core.now(), field_of(lock, owner)
    local answer = run_script(lock, "acquire", field)
    if type(answer) == "table" then
        return {
            value = { field = field, stay = stay_of(lock, field, answer[1]) },
            expires = asked_at + lease_of(lock),
        }
    end
    request.refused = true
    if not request.waiter then
        listen(lock, request, field)
        return nil, AT_ONCE
    end
    return nil, answer > 0 and answer / 1000 or NO_EXPIRY_PAUSE
end


function way.wait(lock, request, seconds) lock.engine.wakeup:wait(request.waiter, seconds) end


function way.wake(request)
    if request.waiter then request.waiter.woken = true end
end


function way.granted(lease)
    if not lease.lock.lease then lease.lock.engine.watchdog:watch(lease) end
end


function way.finish(lock, request)
    if lock.kind == "fair" and request.refused and not request.granted then
        failure.catch(lock.name, run_script, lock, "give_up", field_of(lock, request.owner))
    end
    if request.waiter then lock.engine.wakeup:leave(request.waiter) end
end


function way.check(lease)
    return is_of_present_stay(lease)
        and lease.lock.engine.redis:call("hexists", lease.name, lease.value.field)
end


function way.renew(lease)
    local asked_at = core.now()
    if not is_of_present_stay(lease)
        or run_script(lease.lock, "renew", lease.value.field) == 0 then return false end
    lease.expires = asked_at + lease_of(lease.lock)
    return true
end


-- A release without an answer is not sent again, because it may have been carried out. If not, the
-- lock ends with its lease time.
function way.release(lease)
    local engine, value = lease.lock.engine, lease.value
    engine.watchdog:forget(lease)
    if not is_of_present_stay(lease) then return true end
    if value.asked_to_end then failure.raise("connection", "an earlier release got no answer") end
    engine.redis:ensure_client()
    value.asked_to_end = true
    run_script(lease.lock, "release", value.field)
    return true
end


return way
