--- DEMO-19 (PIT-16): a Redis master dies with a lock that its replica has not got yet: the replica
--- is promoted, and gives the lock again. Redis replicates after it has answered; here the replica
--- is cut off before, so that it is late for certain. A ZooKeeper answers when most servers have
--- the lock, so those that are left when the leader is killed have it, too.

local meeting = require "zklock.seckill.engines.scenario.meeting"
local redis = require "zklock.seckill.throwaway.redis"


local LONG = 30     -- seconds within which the other one has the lock
local A_WHILE = 1   -- seconds in which it must not
local SESSION = 60  -- longer than it takes to find a new leader, on a busy machine, too


local failover = {}


-- The lock is on the master, and nowhere else.
local function check_cause(pair)
    local here, there = #redis.keys(pair.master.address), #redis.keys(pair.replica.address)
    if here ~= 1 or there ~= 0 then
        error(("the master has %d keys and the replica %d, not 1 and 0"):format(here, there), 0)
    end
end


local function play_redis(scenario, run)
    local pair = run.throwaway:redis_pair()
    pair:cut()
    local function strike()
        check_cause(pair)
        pair:kill_master()
        pair:promote()
    end
    local sale = meeting.sale(run, { strategy = scenario.strategy, redis = pair.address },
        { what = "failover", where = "Redis", strike = strike, patience = LONG })
    pair:close()
    return meeting.of_two(sale)
end


local function play_zookeeper(_, run)
    local servers = run.throwaway:zookeepers(3)
    local sale = meeting.sale(run,
        { strategy = "zookeeper", zookeeper = servers.hosts, session = SESSION },
        { what = "failover", where = "ZooKeeper", strike = function() servers:kill_leader() end,
          patience = A_WHILE })
    servers:close()
    return meeting.of_one(sale)
end


failover.scenarios = {
    {
        id = "DEMO-19a", title = "the Redis master dies, SET NX PX",
        expect = "wrong", play = play_redis, strategy = "redis-set",
        explanation = "The replica that is promoted never heard of the lock, and gives it again: "
            .. "two have it.",
    },
    {
        id = "DEMO-19b", title = "the Redis master dies, Redisson",
        expect = "wrong", play = play_redis, strategy = "redisson",
        explanation = "With Redisson it is the same, and its watchdog does not tell the first one "
            .. "that its lock is gone.",
    },
    {
        id = "DEMO-19c", title = "the ZooKeeper leader dies",
        expect = "right", play = play_zookeeper,
        explanation = "A majority had the lock before the holder was told so; the new leader is "
            .. "one of them, and the session goes on there.",
    },
}


return failover
