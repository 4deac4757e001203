--- PIT-24: a fair lock costs the keeping of a queue, and speed. Each engine's lock in order of
--- arrival beside the one without an order: grants in a second, and the most overtakes of one
--- buyer. Both must sell right; what each costs, and how fair it is, is shown and not judged. (On a
--- slow machine buyers of two servers may come to the lock in another order than they asked.)

local BUYERS = 60

-- Seconds from one buyer's arrival to the next one's; seconds for which each has the lock.
local APART, PAUSE = 0.003, 0.002


local fair_price = {}


local function sale_with(run, strategy)
    local sale = run:sale{
        strategy = strategy, buyers = BUYERS, servers = 4, pause = PAUSE, timeout = 60,
        purchase = "zklock.seckill.engines.scenario.purchase.one_by_one",
        parameters = { apart = APART },
    }
    if sale.sold ~= BUYERS then
        error(("only %d of %d buyers were served"):format(sale.sold, BUYERS), 0)
    end
    return sale
end


local function grants_per_second(sale) return sale.wait:count() / sale.seconds end


local function play(scenario, run)
    local fair = sale_with(run, scenario.fair)
    local unfair = sale_with(run, scenario.unfair)
    return {
        right = fair.verdict == "right" and unfair.verdict == "right",
        finding = ("%.0f/s, %d overtakes; unfair %.0f/s, %d"):format(grants_per_second(fair),
            fair.fairness.overtakes, grants_per_second(unfair), unfair.fairness.overtakes),
        sales = { fair, unfair },
    }
end


fair_price.scenarios = {
    {
        id = "PIT-24a", title = "redisson, fair and not",
        expect = "right", play = play, fair = "redisson-fair", unfair = "redisson",
        explanation = "The fair lock keeps a list of its waiters, and wakes the first of them; "
            .. "the other lock wakes all.",
    },
    {
        id = "PIT-24b", title = "zklock, order fifo and none",
        expect = "right", zookeeper = true, play = play, fair = "zookeeper",
        unfair = "zookeeper-none",
        explanation = "In order of arrival each waits for the one before it; without an order all "
            .. "wait for one node.",
    },
}


return fair_price
