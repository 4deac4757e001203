--- DEMO-12: 1000 buyers, two products of 10 000, 500 buyers each (S4). Each stock must go down by
--- 500; without a lock it is less: 499, 498 (NUM-03). The seed's stock is in the memory of one
--- process, where threads that begin one after the other seldom meet. So without a lock buyers come
--- one after the other, too, in virtual time. If all came at once, all would read the same stock.

local seckill = require "zklock.seckill"

local BUYERS, STOCK = 1000, 10000
local FIRST, SECOND = "10000001", "10000002"


local two_products = {}


local function play(scenario, run)
    local options = {
        buyers = BUYERS, products = { [FIRST] = STOCK, [SECOND] = STOCK },
        strategy = scenario.strategy, pause = 0, timeout = 60,
    }
    for name, value in pairs(scenario.simulated or {}) do options[name] = value end
    local sale = options.simulated and seckill.sale(options) or run:sale(options)
    if sale.sold ~= BUYERS then
        error(("only %d of %d buyers were served"):format(sale.sold, BUYERS), 0)
    end
    return {
        right = sale.verdict == "right", sales = { sale },
        finding = ("stocks went down by %d and %d"):format(STOCK - sale.products[FIRST].left,
            STOCK - sale.products[SECOND].left),
    }
end


two_products.scenarios = {
    {
        id = "DEMO-12a", title = "1000 buyers, 2 products, no lock",
        expect = "wrong", play = play, strategy = "none",
        simulated = { simulated = true, arrivals = 20, seed = 4 },
        explanation = "500 buyers of each product were told that they have bought, but the stock "
            .. "went down by less: of 20 that come in a second, few meet.",
    },
    {
        id = "DEMO-12b", title = "1000 buyers, 2 products, a lock each",
        expect = "right", zookeeper = true, play = play, strategy = "zookeeper",
        explanation = "With a lock for each product every one of 1000 purchases is counted, and "
            .. "buyers of different products do not wait for each other.",
    },
}


return two_products
