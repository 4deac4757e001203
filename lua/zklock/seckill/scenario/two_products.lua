--- DEMO-12: 1000 buyers, two products of 10 000, 500 buyers each (S4). Each stock must go down by
--- 500; without a lock it is less (NUM-03).

local BUYERS, STOCK = 1000, 10000
local FIRST, SECOND = "10000001", "10000002"


local two_products = {}


local function play(scenario, run)
    local sale = run:sale{
        buyers = BUYERS, products = { [FIRST] = STOCK, [SECOND] = STOCK },
        product = function(i) return i <= BUYERS / 2 and FIRST or SECOND end,
        strategy = scenario.strategy, pause = 0, timeout = 60,
    }
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
        expect = "wrong", race = true, play = play, strategy = "none",
        explanation = "500 buyers of each product were told that they have bought, but the stock "
            .. "went down by less.",
    },
    {
        id = "DEMO-12b", title = "1000 buyers, 2 products, a lock each",
        expect = "right", zookeeper = true, play = play, strategy = "zookeeper",
        explanation = "With a lock for each product every one of 1000 purchases is counted, and "
            .. "buyers of different products do not wait for each other.",
    },
}


return two_products
