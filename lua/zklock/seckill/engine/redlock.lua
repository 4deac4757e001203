--- Engine "redlock", with a key on each of N independent Redis masters (ALG-08). They are
--- asked one after the other, each for at most `fast_fail` seconds (CFG-10). The lock is granted if
--- N/2+1 masters agree within its lease time, without allowance for clock drift; otherwise it is
--- released on all masters. docs/design/engines.md lists the faults that it keeps.

local core = require "zklock.core"
local failure = require "zklock.seckill.engine.failure"
local misuse = require "zklock.value.misuse"
local options = require "zklock.seckill.engine.options"
local redis = require "zklock.seckill.engine.redis"
local single_redis = require "zklock.seckill.engine.single_redis"


local way = {
    has = { lease = true, owned = true },
    fields = {
        redis = options.addresses, lease = options.seconds(0.001),
        fast_fail = options.seconds(0.001), poll = options.seconds(0.0001),
    },
    defaults = { lease = 10, fast_fail = 0.05, poll = 0.01 },
}


function way.validate(given)
    if not given.redis then
        misuse.refuse("the engine redlock needs redis = a list of \"HOST:PORT\"")
    end
end


function way.open(engine)
    local masters = {}
    for i, address in ipairs(options.addresses_of(engine.options.redis)) do
        masters[i] = redis.new(address, engine.options.fast_fail)
    end
    engine.masters, engine.quorum = masters, math.floor(#masters / 2) + 1
    return engine
end


-- Asks all masters; returns the numbers of agreeing and of silent masters, and the last error.
local function ask_all(engine, question, ...)
    local yes, silent, problem = 0, 0, nil
    for _, master in ipairs(engine.masters) do
        local answer, message, code = failure.catch(master.address, question, master, ...)
        if code then silent, problem = silent + 1, message end
        if not code and answer then yes = yes + 1 end
    end
    return yes, silent, problem
end


local function set(master, name, value, lease)
    return master:call("set", name, value, "NX", "PX", redis.milliseconds(lease))
end


local function compare_and_delete(master, name, value)
    return master:eval(redis.COMPARE_AND_DELETE, { name }, value) == 1
end


local function has_value(master, name, value) return master:call("get", name) == value end


-- The request is unsure if no master refused. Its error is set if too few masters answered for a
-- quorum.
local function note_answers(engine, request, yes, silent, problem)
    request.unsure = yes + silent == #engine.masters
    request.unreachable_error = #engine.masters - silent < engine.quorum
        and ("%d of %d masters do not answer: %s"):format(silent, #engine.masters, problem) or nil
end


function way.try(lock, _, request)
    local engine = lock.engine
    local lease, value, asked_at = lock.lease or engine.options.lease, redis.random_id(), core.now()
    local yes, silent, problem = ask_all(engine, set, lock.name, value, lease)
    if yes >= engine.quorum and core.now() - asked_at < lease then
        return { value = value, expires = asked_at + lease }
    end
    note_answers(engine, request, yes, silent, problem)
    ask_all(engine, compare_and_delete, lock.name, value)
    return nil, single_redis.pause(engine)
end


-- True if a majority agrees; raises an error if too few answer to tell.
local function majority_agrees(lease, question)
    local engine = lease.lock.engine
    local yes, silent, problem = ask_all(engine, question, lease.name, lease.value)
    if yes >= engine.quorum then return true end
    if yes + silent >= engine.quorum then failure.raise("connection", problem) end
    return false
end


function way.check(lease) return majority_agrees(lease, has_value) end
function way.release(lease) return majority_agrees(lease, compare_and_delete) end


function way.close(engine)
    for _, master in ipairs(engine.masters) do master:close() end
end


return way
