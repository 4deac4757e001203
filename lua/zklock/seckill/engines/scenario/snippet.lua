--- DEMO-13: Redisson's snippet (S4 §3.2): tryLock(waitTime, leaseTime, SECONDS), 3000 ms of work,
--- unlock; --hold scales the work. With a leaseTime beyond the work it is right. A lock with a
--- leaseTime has no watchdog: if the time ends under the work, the next buyer comes in, and the
--- holder learns nothing of it. zklock has no lease time that could be too short: the session
--- renews.

local evidence = require "zklock.seckill.scenario.evidence"
local seed = require "zklock.seckill.seed"


local WORKERS = 3

-- Of the work.
local LONG, SHORT = 30, 0.2


local snippet = {}


local function count_lost(sale)
    local lost = 0
    for _, hold in ipairs(evidence.holds(sale)) do
        if hold[1] == "lost" then lost = lost + 1 end
    end
    return lost
end


local function any() return true end


local function play(scenario, run)
    local hold = run.options.hold
    local sale = run:sale{
        buyers = WORKERS + 1, servers = WORKERS + 1, strategy = scenario.strategy, hold = hold,
        purchase = "zklock.seckill.engines.scenario.purchase.snippet",
        timeout = 30 + 2 * WORKERS * hold,
        parameters = { lease = scenario.lease * math.max(hold, 0.1) },
    }
    if sale.sold ~= WORKERS then
        error(("only %d of %d were served"):format(sale.sold, WORKERS), 0)
    end
    local lost, beside = count_lost(sale), evidence.at_once(sale, any)
    if sale.verdict == "wrong" and not (lost > 0 and beside) then
        error("it is wrong, but not because a lease ended: " .. sale.finding, 0)
    end
    -- By luck the stock is right though leases ended: then it is played again.
    local apart = scenario.race or lost == 0 and not beside
    return {
        right = sale.verdict == "right" and apart and sale.failures.busy == 1,
        finding = ("stock %d, should be %d; %d lost"):format(sale.left, seed.STOCK - WORKERS,
            lost),
        sales = { sale }, log = evidence.story(sale, "server %d"),
    }
end


snippet.scenarios = {
    {
        id = "DEMO-13a", title = "Redisson's snippet",
        expect = "right", play = play, strategy = "redisson", lease = LONG,
        explanation = "Each works with the lock and gives it up; one that did not get it leaves "
            .. "it alone.",
    },
    {
        id = "DEMO-13b", title = "the same, leaseTime under the work",
        expect = "wrong", race = true, play = play, strategy = "redisson", lease = SHORT,
        explanation = "The lock ends while its holder is at work, the next comes in and reads the "
            .. "same stock; a lock with a leaseTime is not renewed.",
    },
    {
        id = "DEMO-13c", title = "the same work with zklock",
        expect = "right", zookeeper = true, play = play, strategy = "zookeeper", lease = SHORT,
        explanation = "A lock lasts as long as its holder's session, which renews itself, however "
            .. "long the work is.",
    },
}


return snippet
