--- DEMO-18 (PIT-07, BUG-16): another client's lock is deleted. A is stopped with the lock; its key
--- ends, B locks; A goes on, and its late DEL removes B's lock; C comes in beside B. A has bought
--- before it was stopped, so it is the release alone that does harm. The lock of zklock is lost in
--- the same way, but its node is A's own: a late release finds nothing to delete.

local evidence = require "zklock.seckill.scenario.evidence"
local seed = require "zklock.seckill.seed"

local unpack = table.unpack or unpack -- luacheck: std max


local LEASE = 1 -- seconds that A has; the others have the engine's default

-- Seconds for which B looks whether C comes. Where that must happen, it is when C has come.
local COMES, STAYS_AWAY = 20, 0.5


local late_release = {}


-- Long enough for the lock to end, and for B to have it.
local function length_of(scenario, run)
    return scenario.zookeeper and 1.75 * run:session_timeout() or 2 * LEASE
end


local function carry_out(scenario, run)
    local length = length_of(scenario, run)
    return run:sale{
        buyers = 3, servers = 3, strategy = scenario.strategy, timeout = 30 + length,
        purchase = "zklock.seckill.engines.scenario.purchase.late_release",
        parameters = {
            lease = LEASE, watch = scenario.expect == "wrong" and COMES or STAYS_AWAY,
        },
        faults = { { at = 0, stop = "holder", length = length } },
    }
end


-- A has written before B reads, and B reads before A goes on.
local function is_as_meant(fault, a, b)
    return fault.target == "server 1" and a.written < b.granted and b.granted < fault.ended
end


local function play(scenario, run)
    local sale = carry_out(scenario, run)
    local log, a, b, c = evidence.story(sale, "server %d"), unpack(sale.purchases)
    if sale.sold ~= 3 then error(("only %d of 3 were served"):format(sale.sold), 0) end
    if not is_as_meant(sale.faults[1], a, b) then
        return { again = true, finding = "the first woke too early", sales = { sale }, log = log }
    end
    local beside = c.granted < b.released
    if beside and c.granted < a.released then
        error("the third did not come after the late release", 0)
    end
    -- B's, when A had released, and when C had come or had not.
    local hold = evidence.holds(sale)[1]
    return {
        right = sale.verdict == "right" and not beside and hold[1] == "held",
        finding = ("stock %d, should be %d; %s"):format(sale.left, seed.STOCK - 3,
            beside and "C beside B" or "B alone"),
        sales = { sale }, log = log,
    }
end


late_release.scenarios = {
    {
        id = "DEMO-18a", title = "a late DEL, redis-expire",
        expect = "wrong", play = play, strategy = "redis-expire",
        explanation = "A key that does not name its owner is deleted by a late holder, so a "
            .. "third buyer comes in beside the second.",
    },
    {
        id = "DEMO-18b", title = "a late release, redis-set",
        expect = "right", play = play, strategy = "redis-set",
        explanation = "The key has a random value: a late release compares it, and deletes "
            .. "nothing.",
    },
    {
        id = "DEMO-18c", title = "a late release, zklock",
        expect = "right", zookeeper = true, play = play, strategy = "zookeeper",
        explanation = "Each waiter has a node of its own; the late one's is gone, and nobody "
            .. "else's is touched.",
    },
}


return late_release
