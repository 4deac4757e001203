--- PIT-24: a fair lock costs the keeping of a queue, and speed. Each engine's lock in order of
--- arrival beside the one without an order: grants in a second, and the most overtakes of one
--- buyer. What each costs is shown, and not judged; both must sell right, and who comes first to a
--- fair lock has it first.

local BUYERS = 60


local fair_price = {}


-- One server, in which it is known who asked first.
local function sale_with(market, strategy)
    local sale = market:sale{
        strategy = strategy, buyers = BUYERS, servers = 1, pause = 0, timeout = 60,
    }
    if sale.sold ~= BUYERS then
        error(("only %d of %d buyers were served"):format(sale.sold, BUYERS), 0)
    end
    return sale
end


local function figures(sale)
    return ("%.0f/s %d"):format(sale.wait:count() / math.max(sale.seconds, 0.001),
        sale.fairness.overtakes)
end


local function play(scenario, market)
    local fair = sale_with(market, scenario.fair)
    local unfair = sale_with(market, scenario.unfair)
    return {
        right = fair.verdict == "right" and unfair.verdict == "right"
            and fair.fairness.overtakes == 0,
        finding = ("fair %s, not %s overtaken"):format(figures(fair), figures(unfair)),
        sales = { fair, unfair },
    }
end


fair_price.scenarios = {
    {
        id = "PIT-24a", title = "redisson, fair and not",
        expect = "right", play = play, fair = "redisson-fair", unfair = "redisson",
        explanation = "The fair lock keeps a list of those who wait, and wakes the first of them; "
            .. "the other wakes all.",
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
