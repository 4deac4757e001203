--- DEMO-21 (S4 §5, PIT-21): the switch of cerberus is set in the middle of a sale, while a buyer
--- has read the stock and has not written. The seed's loses the locks that are held: by the new
--- engine another comes in, reads the same stock, and one of the two sales is lost. A switch that
--- keeps the locks waits for the holder, and then all go on with the new engine.
---
--- Q-08: the same when the engine in use ends, and nobody sets the switch. With `failover` it is
--- set by itself.

local evidence = require "zklock.seckill.scenario.evidence"
local redis_servers = require "zklock.seckill.throwaway.redis"
local seed = require "zklock.seckill.seed"


local BUYERS, EARLY = 20, 10

-- Seconds for which the holder looks whether another comes. Where that must happen, it is when
-- one has come.
local COMES, STAYS_AWAY = 20, 0.5

local FAILOVER = 0.5 -- seconds


local switch = {}


local function carry_out(run, options)
    options.buyers, options.servers, options.pause = BUYERS, 2, 0.02
    options.purchase = "zklock.seckill.engines.scenario.purchase.switch"
    options.parameters.early = EARLY
    options.timeout = 30
    local sale = run:sale(options)
    if not sale.faults[1] then error("nothing happened in the middle of the sale", 0) end
    return sale, evidence.story(sale, "server %d")
end


-- By which engines locks were had, one after the other.
local function engines_of(sale)
    local list = {}
    for _, names in ipairs(evidence.noted(sale, "^by (.*)$")) do
        if names[1] ~= list[#list] then list[#list + 1] = names[1] end
    end
    return list
end


local function was_beside(sale, buyer)
    return evidence.at_once(sale, function(a, b) return a.buyer == buyer or b.buyer == buyer end)
end


local function play_switch(scenario, run)
    local sale, log = carry_out(run, {
        strategy = scenario.strategy,
        parameters = { watch = scenario.expect == "wrong" and COMES or STAYS_AWAY },
        faults = { { at = 0, switch = scenario.value, held = true } },
    })
    if sale.sold ~= BUYERS then error(("only %d were served"):format(sale.sold), 0) end
    -- Of the buyer that had the lock then, after it.
    local hold = evidence.holds(sale)[1]
    if not hold then error("nobody had the lock when it happened", 0) end
    if hold[1] ~= "held" then error("the holder lost its lock: " .. hold[1], 0) end
    return scenario.judge(sale, log, was_beside(sale, hold.buyer))
end


local function judge_seed(sale, log, beside)
    if sale.verdict == "wrong" and not beside then
        error("it is wrong, but not because two had the lock: " .. sale.finding, 0)
    end
    return {
        right = sale.verdict == "right",
        finding = ("stock %d, should be %d; %s"):format(sale.left, seed.STOCK - BUYERS,
            beside and "two at once" or "one at a time"),
        sales = { sale }, log = log,
    }
end


local function judge_safe(sale, log, beside)
    local list = engines_of(sale)
    return {
        right = sale.verdict == "right" and not beside and not sale.overlaps[1]
            and list[1] == "redis-set" and list[#list] == "zookeeper",
        finding = ("stock %d, %s to %s"):format(sale.left, list[1], list[#list]),
        sales = { sale }, log = log,
    }
end


local function play_end(scenario, run)
    local server = redis_servers.start(run.throwaway.reaper)
    local sale, log = carry_out(run, {
        strategy = "cerberus-safe", redis = server.address,
        parameters = { watch = 0, engine = { failover = scenario.failover } },
        faults = { {
            at = 0, run = function() server.process:signal "KILL" end, held = true,
            what = "kill", where = "Redis",
        } },
    })
    server.process:kill()
    return scenario.judge(sale, log)
end


local function judge_end(sale, log)
    local vain = sale.failures.connection or 0
    if sale.verdict == "wrong" then error("more was sold than there was: " .. sale.finding, 0) end
    if vain > 0 then
        evidence.convict(sale, ("%d were not served: Redis had ended"):format(vain))
    end
    return {
        right = vain == 0, finding = ("%d of %d not served"):format(vain, BUYERS),
        sales = { sale }, log = log,
    }
end


local function judge_failover(sale, log)
    local killed, list = sale.faults[1].at, engines_of(sale)
    local heir = assert(evidence.next_after(sale, killed), "nobody had the lock after that")
    return {
        right = sale.verdict == "right" and sale.sold == BUYERS and not sale.overlaps[1]
            and list[#list] == "zookeeper",
        finding = ("by %s after %.2f s"):format(list[#list], heir.granted - killed),
        sales = { sale }, log = log,
    }
end


switch.scenarios = {
    {
        id = "DEMO-21a", title = "a switch that loses the locks",
        expect = "wrong", zookeeper = true, play = play_switch, judge = judge_seed,
        strategy = "cerberus", value = "zookeeper",
        explanation = "The switch is set while a buyer has the lock. The next one asks the new "
            .. "engine, which knows nothing of that lock, and comes in beside it.",
    },
    {
        id = "DEMO-21b", title = "a switch that keeps the locks",
        expect = "right", zookeeper = true, play = play_switch, judge = judge_safe,
        strategy = "cerberus-safe", value = "zookeeper",
        explanation = "On the way from one engine to the other a lock needs both, until nobody has "
            .. "one of the first alone. Nobody comes in beside the holder.",
    },
    {
        id = "DEMO-21c", title = "the same, to an unknown engine",
        expect = "right", zookeeper = true, play = play_switch, judge = judge_safe,
        strategy = "cerberus-safe", value = "tair",
        explanation = "A value that is no engine's name means the next one in the order.",
    },
    {
        id = "Q-08a", title = "Redis ends, and nobody switches",
        expect = "wrong", zookeeper = true, play = play_end, judge = judge_end,
        explanation = "The engine in use has ended; until somebody sets the switch, nobody is "
            .. "served.",
    },
    {
        id = "Q-08b", title = "Redis ends: the switch sets itself",
        expect = "right", zookeeper = true, play = play_end, judge = judge_failover,
        failover = FAILOVER,
        explanation = "When the engine has not answered for a while, the switch goes on to the "
            .. "next one, and still keeps the lock that is held.",
    },
}


return switch
