--- PIT-12: one lock for two products makes buyers of the one wait for buyers of the other. A lock
--- for each product (REQ-11) does not.

local evidence = require "zklock.seckill.scenario.evidence"


local one_lock = {}


local function sale_with(run, lock)
    return run:sale{
        name = lock == "one" and "one lock" or "a lock each",
        products = { ["10000001"] = 100, ["10000002"] = 100 }, buyers = 40, lock = lock,
        strategy = "zookeeper", pause = math.max(run.options.pause, 0.01), timeout = 60,
    }
end


local function grants_per_second(sale) return sale.wait:count() / sale.seconds end

local function have_different_products(a, b) return a.product ~= b.product end


local function play(_, run)
    local one, each = sale_with(run, "one"), sale_with(run, "product")
    local right = one.verdict == "right" and each.verdict == "right"
        and one.sold == one.buyers and each.sold == each.buyers
        and not evidence.at_once(one, have_different_products)
        and evidence.at_once(each, have_different_products)
    return {
        right = right, sales = { one, each },
        finding = ("one lock %.0f/s, a lock each %.0f/s"):format(grants_per_second(one),
            grants_per_second(each)),
    }
end


one_lock.scenarios = {
    {
        id = "PIT-12", title = "two products: one lock, or one each",
        expect = "right", zookeeper = true, play = play,
        explanation = "Both sell right, but with one lock for all a buyer waits also for buyers of "
            .. "another product.",
    },
}


return one_lock
