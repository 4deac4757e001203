--- The switch of cerberus, in seed article S4 (§5, PIT-21), set while a buyer is between reading
--- and writing the stock (DEMO-21). The seed article's switch loses held locks, so another buyer
--- enters by the new engine, reads the same stock, and one sale is lost. With `safe` cerberus waits
--- for the holder, and then all go on with the new engine.
---
--- In Q-08 the engine in use ends, and nobody sets the switch. With `failover` cerberus sets it.

local evidence = require "zklock.seckill.scenario.evidence"
local redis_servers = require "zklock.seckill.throwaway.redis"
local seed = require "zklock.seckill.seed"
local zklock = require "zklock"

local BUYERS, EARLY = 20, 10

-- Seconds for which the holder waits for another buyer that must come, or must not come.
local COMES, STAYS_AWAY = 20, 0.5

local EVENT = "it has happened" -- the switch is set, or the engine has ended
local FAILOVER = 0.5 -- seconds
local APART = 0.02 -- seconds between two late buyers
local MIDDLE = 3   -- buyers that have read before the event

local s4 = {}


local function arrive(buyer)
    local late = buyer.number - EARLY
    if late <= 0 then return end
    buyer:await(EVENT)
    zklock.sleep(late * APART)
end


local function note_engines(buyer)
    local number, names = buyer.hold:epoch()
    if number then buyer:note("by " .. names) end
end


-- Waits until another buyer reads the stock, and so holds the lock beside this buyer.
local function wait_for_another(buyer, count)
    local server = buyer.server
    buyer:come(EVENT)
    server.barriers:wait("read", count + 1, server.parameters.another_within, zklock.sleep)
    buyer:note_hold()
end


local function read_stock(buyer)
    local stock = buyer.store:stock(buyer.product)
    local count = buyer.server.barriers:count "read"
    if count >= MIDDLE and buyer.server.faults:strike(buyer) then
        wait_for_another(buyer, count)
    else
        buyer:come "read"
    end
    return stock
end


--- EARLY buyers come at once, later ones one by one after an event in the middle of the sale. The
--- holder at that moment has read the stock, and writes after another buyer has read it, too, or
--- after a while. Each buyer notes the engines of its hold, if known.
function s4.buy(buyer)
    arrive(buyer)
    if not buyer:enter() then return end
    note_engines(buyer)
    local stock = read_stock(buyer)
    buyer:pause()
    buyer:buy(stock - buyer.quantity)
    buyer:leave()
end


local function carry_out(run, options)
    options.buyers, options.servers, options.pause = BUYERS, 2, 0.02
    options.purchase = "zklock.seckill.scenario.s4_switch:buy"
    options.timeout = 30
    local sale = run:sale(options)
    if not sale.faults[1] then error("nothing happened in the middle of the sale", 0) end
    return sale
end


local function engines_of(sale)
    local list = {}
    for _, names in ipairs(evidence.match_notes(sale, "^by (.*)$")) do
        if names[1] ~= list[#list] then list[#list + 1] = names[1] end
    end
    return list
end


-- True if the buyer held the lock at the same time as another.
local function has_overlap(sale, buyer)
    local function is_one(a, b) return a.buyer == buyer or b.buyer == buyer end
    return evidence.held_at_once(sale, is_one)
end


local function play_switch(scenario, run)
    local sale = carry_out(run, {
        strategy = scenario.strategy,
        parameters = { another_within = scenario.expect == "wrong" and COMES or STAYS_AWAY },
        faults = { { at = 0, switch = scenario.value, held = true } },
    })
    evidence.require_served(sale, BUYERS)
    local hold = evidence.hold_notes(sale)[1] -- the holder's, after the event
    if not hold then error("nobody had the lock when it happened", 0) end
    if hold[1] ~= "held" then error("the holder lost its lock: " .. hold[1], 0) end
    return scenario.judge(sale, has_overlap(sale, hold.buyer))
end


local function judge_unsafe(sale, two_at_once)
    if sale.verdict == "wrong" and not two_at_once then
        error("it is wrong, but not because two had the lock: " .. sale.finding, 0)
    end
    return evidence.outcome(sale, sale.verdict == "right",
        ("stock %d, should be %d; %s"):format(sale.left, seed.STOCK - BUYERS,
            two_at_once and "two at once" or "one at a time"))
end


local function judge_safe(sale, two_at_once)
    local list = engines_of(sale)
    local right = sale.verdict == "right" and not two_at_once and not sale.overlaps[1]
        and list[1] == "redis-set" and list[#list] == "zookeeper"
    return evidence.outcome(sale, right,
        ("stock %d, %s to %s"):format(sale.left, list[1], list[#list]))
end


local function play_end(scenario, run)
    local server = redis_servers.start(run.throwaway.reaper)
    local sale = carry_out(run, {
        strategy = "cerberus-safe", redis = server.address,
        parameters = { another_within = 0, engine = { failover = scenario.failover } },
        faults = { {
            at = 0, run = function() server.process:signal "KILL" end, held = true,
            what = "kill", where = "Redis",
        } },
    })
    server.process:kill()
    return scenario.judge(sale)
end


local function judge_end(sale)
    local unserved = sale.failures.connection or 0
    if sale.verdict == "wrong" then error("more was sold than there was: " .. sale.finding, 0) end
    if unserved > 0 then
        evidence.convict(sale, ("%d were not served: Redis had ended"):format(unserved))
    end
    return evidence.outcome(sale, unserved == 0, ("%d of %d not served"):format(unserved, BUYERS))
end


local function judge_failover(sale)
    local list = engines_of(sale)
    local right = sale.verdict == "right" and sale.sold == BUYERS and not sale.overlaps[1]
        and list[#list] == "zookeeper"
    return evidence.outcome(sale, right,
        ("by %s after %.2f s"):format(list[#list], evidence.wait_after_death(sale)))
end


s4.of_engines = {
    {
        id = "DEMO-21a", title = "a switch that loses the locks",
        expect = "wrong", zookeeper = true, play = play_switch, judge = judge_unsafe,
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
        id = "DEMO-21c", title = "a switch to an unknown engine",
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


return s4
