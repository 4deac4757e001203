--- DEMO-12 as its seed has it, on Redis: 1000 buyers, two products of 10 000, 500 buyers each, and
--- SETNX with EXPIRE (S4). With 30 s of patience each stock goes down by 500. With the seed's 2 s
--- (CFG-11), and the others polling between reading and writing, most give up before; a stock goes
--- down by the buyers that were served. zklock.seckill.scenario.two_products has it without a lock,
--- and with zklock.

local BUYERS, STOCK = 1000, 10000
local FIRST, SECOND = "10000001", "10000002"


local two_products = {}


-- How many buyers of each were told that they have bought.
local function bought(sale)
    local count = { [FIRST] = 0, [SECOND] = 0 }
    for _, purchase in ipairs(sale.purchases) do
        if purchase.outcome == "sold" then
            count[purchase.product] = count[purchase.product] + 1
        end
    end
    return count
end


local function play(scenario, run)
    local sale = run:sale{
        buyers = BUYERS, products = { [FIRST] = STOCK, [SECOND] = STOCK },
        product = function(i) return i <= BUYERS / 2 and FIRST or SECOND end,
        strategy = "redis-expire", purchase = scenario.purchase, pause = 0,
        timeout = scenario.patience,
    }
    local sold, products = bought(sale), sale.products
    local first, second = STOCK - products[FIRST].left, STOCK - products[SECOND].left
    if sale.sold + (sale.failures.timeout or 0) ~= BUYERS then
        error(("only %d of %d buyers were served, and not for want of time")
            :format(sale.sold, BUYERS), 0)
    end
    return {
        right = sale.verdict == "right" and first == sold[FIRST] and second == sold[SECOND],
        again = scenario.all and sale.sold ~= BUYERS, sales = { sale },
        finding = ("down by %d and %d, %d gave up"):format(first, second, sale.failed),
    }
end


two_products.scenarios = {
    {
        id = "DEMO-12c", title = "1000 buyers, Redis, 30 s of patience",
        expect = "right", play = play, patience = 30, all = true,
        purchase = "zklock.seckill.engines.scenario.purchase.at_once",
        explanation = "With SETNX and EXPIRE every one of 1000 purchases is counted, as long as "
            .. "nobody dies and nobody is late.",
    },
    {
        id = "DEMO-12d", title = "1000 buyers, Redis, 2 s of patience",
        expect = "right", play = play, patience = 2, purchase = "plain",
        explanation = "Hundreds of polling buyers slow the holder down; a buyer that polls in "
            .. "vain for two seconds gives up, though there is stock.",
    },
}


return two_products
