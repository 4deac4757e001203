--- DEMO-20 (PIT-17): a wall clock jumps while a lock is held. Redis ends its keys by the wall
--- clock: of five masters the holder has three, as two are not reached; one of the three jumps, the
--- two are back, and another one has three as well. redis-timestamp goes by the wall clocks of its
--- clients. Sessions of ZooKeeper and leases of zklock go by the monotonic clock.

local clocks = require "zklock.throwaway.clock"
local interpreter = require "zklock.system.interpreter"
local evidence = require "zklock.seckill.scenario.evidence"
local meeting = require "zklock.seckill.engines.scenario.meeting"
local redis = require "zklock.seckill.throwaway.redis"


local HOUR = 3600
local NEAR = 60     -- seconds that it may take to look at a clock
local LONG = 30     -- seconds within which the other one has the lock
local A_WHILE = 1   -- seconds in which it must not: several ticks of the server
local SESSION = 60  -- of ZooKeeper, so less than the jump, and nobody is slow for so long
local LEASE = 60    -- the same of redlock
local ANSWER = 10   -- so that a slow machine is not taken for a silent master


local clock = {}


-- Does it say that it is an hour later than it is?
local function has_jumped(time) return math.abs(time - os.time() - HOUR) < NEAR end


local function check_jump(time, whose)
    if not has_jumped(time) then error("the wall clock of " .. whose .. " has not jumped", 0) end
end


-- redlock ---------------------------------------------------------------------------------------

-- The lock's key, which the first three masters have, and no other one.
local function key_of_three(masters)
    local key
    for i, master in ipairs(masters) do
        local keys = master:keys()
        if #keys ~= (i <= 3 and 1 or 0) then
            error(("master %d has %d keys: the quorum is not the first three"):format(i, #keys), 0)
        end
        key = key or keys[1]
    end
    return key
end


-- The third master forgets the first holder; the two others are reached again.
local function jump(masters)
    local third, key = masters[3], key_of_three(masters)
    local function owner() return redis.ask(third.server.address, "get", key) end
    local first = owner()
    third:jump(HOUR)
    check_jump(third:time(), "the third master")
    if owner() == first then error("the key is still there", 0) end
    masters[4]:heal()
    masters[5]:heal()
end


local function play_redlock(_, run)
    local masters = run.throwaway:redis_masters(5)
    masters[4]:cut()
    masters[5]:cut()
    local sale = meeting.sale(run, {
        strategy = "redlock", redis = masters.addresses,
        parameters = { engine = { lease = LEASE, fast_fail = ANSWER } },
    }, { what = "clock jump", where = "master 3", strike = function() jump(masters) end,
         patience = LONG })
    masters:close()
    return meeting.of_two(sale)
end


-- the same against zklock -----------------------------------------------------------------------

local function play_zookeeper(_, run)
    local server = run.throwaway:zookeeper_with_clock()
    local function strike()
        server.clock:jump(HOUR)
        check_jump(server:time(), "ZooKeeper")
    end
    local sale = meeting.sale(run,
        { strategy = "zookeeper", zookeeper = server.hosts, session = SESSION },
        { what = "clock jump", where = "ZooKeeper", strike = strike, patience = A_WHILE })
    server:close()
    return meeting.of_one(sale)
end


-- the clients' own clocks -----------------------------------------------------------------------

-- What the servers noted when all was over.
local function check_clients(sale)
    local told = evidence.noted(sale, "^it is (%d+)$")
    for _, time in ipairs(told) do check_jump(tonumber(time[1]), "server " .. time.server) end
    if #told ~= sale.buyers then error("not all told what time it is", 0) end
end


local function play_clients(scenario, run)
    local wall = clocks.new(run.throwaway.reaper)
    local sale = meeting.sale(run, {
        strategy = scenario.strategy, session = SESSION,
        lua = wall:program(run.options.lua or interpreter.own()),
        purchase = "zklock.seckill.engines.scenario.purchase.tells_the_time",
    }, { what = "clock jump", where = "both servers", strike = function() wall:jump(HOUR) end,
         patience = scenario.patience })
    check_clients(sale)
    return scenario.judge(sale)
end


clock.scenarios = {
    {
        id = "DEMO-20a", title = "a clock jumps, one of five masters",
        expect = "wrong", play = play_redlock,
        explanation = "The holder had three masters of five; one of them ends its key early, and "
            .. "another has three, too.",
    },
    {
        id = "DEMO-20b", title = "the clock of ZooKeeper jumps",
        expect = "right", play = play_zookeeper,
        explanation = "ZooKeeper's sessions end by its monotonic clock, so that an hour by the "
            .. "wall clock ends none.",
    },
    {
        id = "DEMO-20c", title = "the clients' clocks jump, SETNX",
        expect = "wrong", play = play_clients, strategy = "redis-timestamp", patience = LONG,
        judge = meeting.of_two,
        explanation = "The key says when the lock ends, and each client looks at its own clock "
            .. "whether it has.",
    },
    {
        id = "DEMO-20d", title = "the clients' clocks jump, zklock",
        expect = "right", play = play_clients, strategy = "zookeeper", patience = A_WHILE,
        judge = meeting.of_one,
        explanation = "A lease, its heartbeats and all deadlines go by the monotonic clock of the "
            .. "client.",
    },
}


return clock
