--- PIT-15: SELECT … FOR UPDATE finds its row by an index. Without one InnoDB reads, and locks, all
--- rows of the table: a buyer of another product waits, too.

local evidence = require "zklock.seckill.scenario.evidence"


-- Seconds for which the second buyer waits, where it is in vain, and where it must not be.
local IN_VAIN, ENOUGH = 1, 30


local other_product = {}


local function have_different_locks(a, b) return a.lock ~= b.lock end


local function play(scenario, run)
    local sale = run:sale{
        products = { ["10000001"] = 100, ["10000002"] = 100 }, buyers = 2, servers = 2,
        product = function(i) return i == 1 and "10000001" or "10000002" end,
        strategy = scenario.strategy, parameters = { engine = scenario.engine },
        purchase = "zklock.seckill.engines.scenario.purchase.other_product",
        timeout = scenario.expect == "wrong" and IN_VAIN or ENOUGH,
    }
    local first, second = sale.purchases[1], sale.purchases[2]
    if first.outcome ~= "sold" or sale.verdict == "wrong" then
        error("the first did not buy: " .. sale.finding, 0)
    end
    local stopped = second.outcome == "timeout" and second.told < first.released
    local both = second.outcome == "sold" and evidence.at_once(sale, have_different_locks)
    if stopped then
        evidence.convict(sale, "a buyer waited in vain for the lock of another product")
    end
    return {
        right = both, sales = { sale }, again = not (stopped or both),
        log = evidence.story(sale, "server %d"),
        finding = stopped and ("waited %g s for another product"):format(IN_VAIN)
            or both and "both at once" or "neither stopped nor at once",
    }
end


other_product.scenarios = {
    {
        id = "PIT-15a", title = "FOR UPDATE without an index",
        expect = "wrong", play = play, strategy = "sql-pessimistic", engine = { index = false },
        explanation = "The database looks at every row to find the one, and locks every row that "
            .. "it looks at.",
    },
    {
        id = "PIT-15b", title = "FOR UPDATE with an index",
        expect = "right", play = play, strategy = "sql-pessimistic",
        explanation = "Only the row of the product is locked.",
    },
    {
        id = "PIT-15c", title = "the same with zklock",
        expect = "right", zookeeper = true, play = play, strategy = "zookeeper",
        explanation = "Locks of different names have nothing to do with each other.",
    },
}


return other_product
