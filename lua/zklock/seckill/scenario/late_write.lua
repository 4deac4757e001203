--- DEMO-17 (Q-01, Q-03): the holder is stopped, as by a long garbage collection, for longer than
--- its session lives. Another buyer takes over. Then the first goes on. No lock service can prevent
--- that; two things help: its lease says "lost" at once, by its own clock, before any packet; and a
--- holder that does not ask is refused by the store, which was shown the token of the next one.
---
--- The token has to be shown before the next holder reads. A store that sees it with the write
--- alone takes what the first writes in between, and the next one overwrites that (DEMO-17c).

local evidence = require "zklock.seckill.scenario.evidence"
local seed = require "zklock.seckill.seed"


-- Of the session timeout: by then the server has found the session dead, and the other has bought.
local STOPPED = 1.75


local late_write = {}


-- The first buyer to have the lock, and the other.
local function holders(sale)
    local first, second = sale.purchases[1], sale.purchases[2]
    if second.granted and first.granted and second.granted < first.granted then
        return second, first
    end
    return first, second
end


-- How far the second has come before the first goes on, says `overtaken`.
local function play(scenario, run)
    local timeout = run:session_timeout()
    local sale = run:sale{
        buyers = 2, servers = 2, strategy = "zookeeper", fenced = scenario.fenced,
        timeout = 30 + STOPPED * timeout,
        purchase = scenario.purchase, parameters = { shown = scenario.shown },
        faults = { { at = 0, stop = "holder", length = STOPPED * timeout } },
    }
    local log = evidence.story(sale, "server %d")
    local first, second = holders(sale)
    local woke = evidence.noted(sale, "^wakes, and its hold is (%l+)$")[1]
    local overtaken = second[scenario.overtaken]
    if not (overtaken and overtaken < sale.faults[1].ended) then
        return { again = true, finding = "the first woke too early", sales = { sale }, log = log }
    end
    if not woke or woke[1] ~= "lost" then
        error(("the lease said %q on waking, not \"lost\""):format(tostring(woke and woke[1])), 0)
    end
    if not evidence.tokens_grow(sale) then
        error("the second holder's token is not the greater one", 0)
    end
    return scenario.judge(sale, first, log)
end


-- Two buyers that were told "sold" must have taken two pieces.
local function judge_stock(sale, _, log)
    return {
        right = sale.verdict == "right", log = log, sales = { sale },
        finding = ("lease lost, stock %d, should be %d"):format(sale.left,
            seed.STOCK - sale.sold),
    }
end


local function judge_refusal(sale, first, log)
    return {
        right = sale.verdict == "right" and sale.sold == 1 and first.outcome == "late",
        log = log, sales = { sale },
        finding = ("lease lost, write %s, stock %d"):format(
            first.outcome == "late" and "refused" or "accepted", sale.left),
    }
end


local NEXT_HAS_READ = "zklock.seckill.scenario.purchase.late_write"


late_write.scenarios = {
    {
        id = "DEMO-17a", title = "the holder is paused, no token check",
        expect = "wrong", zookeeper = true, play = play, fenced = false, judge = judge_stock,
        overtaken = "written",
        explanation = "A process that stood still for longer than its session wakes, and "
            .. "overwrites what the next holder wrote.",
    },
    {
        id = "DEMO-17b", title = "the holder is paused, tokens checked",
        expect = "right", zookeeper = true, play = play, fenced = true, judge = judge_refusal,
        purchase = NEXT_HAS_READ, shown = true, overtaken = "granted",
        explanation = "The next holder shows the store its token before it reads, and from then on "
            .. "the store refuses what the first one writes.",
    },
    { -- not the seed's
        id = "DEMO-17c", title = "tokens checked at the write alone",
        expect = "wrong", zookeeper = true, play = play, fenced = true, judge = judge_stock,
        purchase = NEXT_HAS_READ, shown = false, overtaken = "granted",
        explanation = "The next holder has read, but has not written when the first one writes: "
            .. "the store takes that, and the next one overwrites it.",
    },
}


return late_write
