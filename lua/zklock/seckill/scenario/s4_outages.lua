--- Servers that fail, in seed article S4. A Redis master dies with a lock that its replica lacks
--- (DEMO-19), a wall clock jumps (DEMO-20), the locks' database is killed (PIT-18). Each is
--- compared with ZooKeeper.

local clocks = require "zklock.throwaway.clock"
local core = require "zklock.core"
local evidence = require "zklock.seckill.scenario.evidence"
local interpreter = require "zklock.system.interpreter"
local redis = require "zklock.seckill.throwaway.redis"
local wait_for = require "zklock.throwaway.wait_for"
local zklock = require "zklock"

local SELF = "zklock.seckill.scenario.s4_outages:"

local RETRY_TIME = 30 -- seconds in which a buyer asks again
local PAUSE = 0.25  -- seconds between two requests
local LONG = 30     -- seconds in which the other buyer must get the lock
local A_WHILE = 1   -- seconds (several ticks) in which the other buyer must not get the lock
local SESSION = 60  -- of ZooKeeper, longer than an election on a busy machine

local s4 = {}


-- two buyers and a fault -------------------------------------------------------------------------

-- The fault strikes while the first buyer holds the lock. That buyer goes on once the second also
-- holds the lock and has read the stock, so that both write the same stock, and any machine shows
-- the loss of a lock.

local function enter(buyer)
    local due
    while true do
        local hold, _, code = buyer:enter()
        if hold then return true end
        due = due or core.now() + buyer.server.parameters.retry_time
        if code ~= "connection" or core.now() > due then return false end
        zklock.sleep(PAUSE)
    end
end


--- A purchase that asks again after "connection", for the seconds of the parameter `retry_time`.
--- Buyers that hold the lock and have read the stock arrive at "read".
function s4.ask_again(buyer)
    if not enter(buyer) then return end
    local stock = buyer:stock() -- the fault strikes here
    buyer:come "read"
    buyer:pause()
    buyer:buy_from(stock)
    buyer:leave()
end


--- Like ask_again, with a note of the time by the server's wall clock.
function s4.tell_the_time(buyer)
    s4.ask_again(buyer)
    buyer:note(("it is %d"):format(os.time()))
end


--- Carries out a sale of two buyers with a fault.
---@param run zklock.seckill.Run
---@param options table  options of seckill.sale
---@param fault { what: string, where: string, strike: fun(), patience: number }  patience: seconds
--- for which the first waits for the other
---@return zklock.seckill.Sale
function s4.sale_with(run, options, fault)
    local function strike(play)
        fault.strike()
        wait_for(function() return play:arrived "read" > 0 end, fault.patience)
    end
    local complete = {
        buyers = 2, servers = 2, timeout = 60, parameters = {},
        purchase = SELF .. "ask_again",
        faults = { { at = 0, held = true, run = strike, what = fault.what, where = fault.where } },
    }
    for name, value in pairs(options) do complete[name] = value end
    complete.parameters.retry_time = RETRY_TIME
    return run:sale(complete)
end


--- The outcome of a sale that must be wrong because of two holders. Any other reason is an error.
function s4.judge_two_holders(sale)
    local first, second = sale.purchases[1], sale.purchases[2]
    local both = #sale.overlaps == 1 and sale.sold == 2 and first.left == second.left
    if not both and sale.verdict == "wrong" then
        error("it is wrong, but not because two had the lock: " .. sale.finding, 0)
    end
    return evidence.outcome(sale, sale.verdict == "right", both
        and ("stock %d, should be %d; 2 at once"):format(sale.left, first.left - 1)
        or sale.finding)
end


-- True if that many bought, one at a time.
local function is_right(sale, count)
    return sale.verdict == "right" and sale.sold == count and not sale.overlaps[1]
        and evidence.tokens_grow(sale)
end


--- The outcome of a sale that must be right in spite of the fault.
function s4.judge_one_holder(sale)
    return evidence.outcome(sale, is_right(sale, 2),
        ("%d sold, %d left; one at a time"):format(sale.sold, sale.left))
end


-- failover ---------------------------------------------------------------------------------------

-- The promoted replica grants the lock again (PIT-16). Redis replicates after its answer; here the
-- replica is cut off before, so that it certainly lacks the lock. ZooKeeper answers once most
-- servers know of the lock, so the lock survives the leader.

-- Checks that the lock is on the master only.
local function check_replication(pair)
    local here, there = #redis.keys(pair.master.address), #redis.keys(pair.replica.address)
    if here ~= 1 or there ~= 0 then
        error(("the master has %d keys and the replica %d, not 1 and 0"):format(here, there), 0)
    end
end


local function play_failover(scenario, run)
    local pair = run.throwaway:redis_pair()
    pair:cut()
    local function strike()
        check_replication(pair)
        pair:kill_master()
        pair:promote()
    end
    local sale = s4.sale_with(run, { strategy = scenario.strategy, redis = pair.address },
        { what = "failover", where = "Redis", strike = strike, patience = LONG })
    pair:close()
    return s4.judge_two_holders(sale)
end


local function play_leader(_, run)
    local servers = run.throwaway:zookeepers(3)
    local sale = s4.sale_with(run,
        { strategy = "zookeeper", zookeeper = servers.hosts, session = SESSION },
        { what = "failover", where = "ZooKeeper", strike = function() servers:kill_leader() end,
          patience = A_WHILE })
    servers:close()
    return s4.judge_one_holder(sale)
end


-- a clock jumps ----------------------------------------------------------------------------------

-- A wall clock jumps while a lock is held (PIT-17). Redis expires keys by the wall clock. Two of
-- five masters are cut off, so the holder has keys on the other three. The clock of one of these
-- jumps, the two return, and another buyer gets keys on three masters, too. redis-timestamp depends
-- on its clients' wall clocks. Sessions of ZooKeeper and leases of zklock depend on monotonic
-- clocks.

local HOUR = 3600
local NEAR = 60   -- seconds that reading a clock may take
local LEASE = 60  -- seconds; like SESSION less than the jump and more than any delay
local ANSWER_TIMEOUT = 10 -- seconds; longer than a slow master takes


local function has_jumped(time) return math.abs(time - os.time() - HOUR) < NEAR end


local function check_jump(time, whose)
    if not has_jumped(time) then error("the wall clock of " .. whose .. " has not jumped", 0) end
end


-- The lock's key, which exactly the first three masters must have.
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


-- The third master's key expires, and masters 4 and 5 return.
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
    local sale = s4.sale_with(run, {
        strategy = "redlock", redis = masters.addresses,
        parameters = { engine = { lease = LEASE, fast_fail = ANSWER_TIMEOUT } },
    }, { what = "clock jump", where = "master 3", strike = function() jump(masters) end,
         patience = LONG })
    masters:close()
    return s4.judge_two_holders(sale)
end


local function play_server_clock(_, run)
    local server = run.throwaway:zookeeper_with_clock()
    local function strike()
        server.clock:jump(HOUR)
        check_jump(server:time(), "ZooKeeper")
    end
    local sale = s4.sale_with(run,
        { strategy = "zookeeper", zookeeper = server.hosts, session = SESSION },
        { what = "clock jump", where = "ZooKeeper", strike = strike, patience = A_WHILE })
    server:close()
    return s4.judge_one_holder(sale)
end


local function check_clients(sale)
    local told = evidence.match_notes(sale, "^it is (%d+)$")
    for _, time in ipairs(told) do check_jump(tonumber(time[1]), "server " .. time.server) end
    if #told ~= sale.buyers then error("not all told what time it is", 0) end
end


local function play_clients(scenario, run)
    local wall = clocks.new(run.throwaway.reaper)
    local sale = s4.sale_with(run, {
        strategy = scenario.strategy, session = SESSION,
        lua = wall:program(run.options.lua or interpreter.own()),
        purchase = SELF .. "tell_the_time",
    }, { what = "clock jump", where = "both servers", strike = function() wall:jump(HOUR) end,
         patience = scenario.patience })
    check_clients(sale)
    return scenario.judge(sale)
end


-- a single point of failure ----------------------------------------------------------------------

-- The database is killed while one buyer holds the lock and all others wait. Nobody else is served,
-- however often they ask. The stock is elsewhere, so nothing false is sold. With three ZooKeepers
-- one is killed, and the sale goes on.

local BUYERS = 10


local function sale_with_kill(run, options, where, kill)
    options.buyers, options.timeout = BUYERS, 60
    options.purchase = SELF .. "ask_again"
    options.faults = { { at = 0, held = true, run = kill, what = "death", where = where } }
    return run:sale(options)
end


local function finding_of(sale)
    return ("%d of %d were served, %d left"):format(sale.sold, BUYERS, sale.left)
end


local function play_database(_, run)
    local url, server = run.throwaway:own_mysql()
    local sale = sale_with_kill(run, {
        strategy = "sql-pessimistic", mysql = url, parameters = { retry_time = A_WHILE },
    }, "MariaDB", function() server:kill() end)
    local failed = sale.failures.connection or 0
    if sale.verdict == "wrong" or sale.sold + failed ~= BUYERS then
        error("it is wrong, but not because nobody answers: " .. tostring(sale), 0)
    end
    local finding = finding_of(sale)
    if failed > 0 then
        evidence.convict(sale, ("%d asked in vain: the database was gone"):format(failed))
    end
    return evidence.outcome(sale, failed == 0, finding)
end


local function play_ensemble(_, run)
    local servers = run.throwaway:zookeepers(3)
    local sale = sale_with_kill(run, {
        strategy = "zookeeper", zookeeper = servers.hosts, session = SESSION,
        parameters = { retry_time = RETRY_TIME },
    }, "ZooKeeper 1", function() servers:kill(1) end)
    servers:close()
    return evidence.outcome(sale, is_right(sale, BUYERS), finding_of(sale))
end


s4.of_engines = {
    {
        id = "DEMO-19a", title = "the Redis master dies, SET NX PX",
        expect = "wrong", play = play_failover, strategy = "redis-set",
        explanation = "The replica that is promoted never heard of the lock, and gives it again: "
            .. "two have it.",
    },
    {
        id = "DEMO-19b", title = "the Redis master dies, Redisson",
        expect = "wrong", play = play_failover, strategy = "redisson",
        explanation = "With Redisson it is the same, and its watchdog does not tell the first one "
            .. "that its lock is gone.",
    },
    {
        id = "DEMO-19c", title = "the ZooKeeper leader dies",
        expect = "right", play = play_leader,
        explanation = "A majority had the lock before the holder was told so; the new leader is "
            .. "one of them, and the session goes on there.",
    },
    {
        id = "DEMO-20a", title = "a clock jumps, one of five masters",
        expect = "wrong", play = play_redlock,
        explanation = "The holder had three masters of five; one of them ends its key early, and "
            .. "another has three, too.",
    },
    {
        id = "DEMO-20b", title = "the clock of ZooKeeper jumps",
        expect = "right", play = play_server_clock,
        explanation = "ZooKeeper's sessions end by its monotonic clock, so that an hour by the "
            .. "wall clock ends none.",
    },
    {
        id = "DEMO-20c", title = "the clients' clocks jump, SETNX",
        expect = "wrong", play = play_clients, strategy = "redis-timestamp", patience = LONG,
        judge = s4.judge_two_holders,
        explanation = "The key says when the lock ends, and each client looks at its own clock "
            .. "whether it has.",
    },
    {
        id = "DEMO-20d", title = "the clients' clocks jump, zklock",
        expect = "right", play = play_clients, strategy = "zookeeper", patience = A_WHILE,
        judge = s4.judge_one_holder,
        explanation = "A lease, its heartbeats and all deadlines go by the monotonic clock of the "
            .. "client.",
    },
    {
        id = "PIT-18a", title = "the database of the locks is killed",
        expect = "wrong", play = play_database,
        explanation = "The holder is done, but no other buyer is ever served, though there is "
            .. "stock.",
    },
    {
        id = "PIT-18b", title = "one of three ZooKeepers is killed",
        expect = "right", play = play_ensemble,
        explanation = "Two of three are a majority: the lock stays where it is, and the sale goes "
            .. "on.",
    },
}


return s4
