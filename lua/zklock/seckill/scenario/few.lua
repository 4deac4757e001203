--- DEMO-07: 99 buyers want one of 3 pieces (S1). The seed's program has two defects: it takes a
--- stock of 0 for enough (BUG-08), and waits for the lock for 200 ms only, so that buyers are sent
--- away though there is stock (BUG-09). Both are shown, and then the sale without them.

local BUYERS, STOCK = 99, 3


local few = {}


-- The store's verdict, if the scenario wants no more of it. On a slow machine even the first may
-- wait in vain: that proves nothing, and the next attempt has more patience.
local function play(scenario, run, attempt)
    local options = {
        products = { ["lockId_111"] = STOCK }, buyers = BUYERS, servers = 2,
        strategy = "zookeeper",
    }
    for name, value in pairs(scenario.sale) do options[name] = value end
    options.timeout = options.timeout * 5 ^ (attempt - 1)
    local sale = run:sale(options)
    return {
        again = sale.sold == 0,
        right = sale.verdict == "right" and scenario.wants(sale),
        finding = scenario.finding(sale), sales = { sale },
    }
end


few.scenarios = {
    {
        id = "DEMO-07a", title = "99 buyers for 3, 0 counts as enough",
        expect = "wrong", zookeeper = true, play = play,
        explanation = "The program tests whether the stock is below 0, not whether it is 0, so its "
            .. "counter ends below 0, lock or no lock.",
        sale = { purchase = "zklock.seckill.scenario.purchase.below_zero", timeout = 30 },
        wants = function() return true end,
        finding = function(sale)
            return ("%d sold, the counter says %d"):format(sale.sold, sale.left)
        end,
    },
    {
        id = "DEMO-07b", title = "99 buyers for 3, 0.2 s of patience",
        expect = "right", zookeeper = true, play = play,
        explanation = "The first buyer has the lock until all others have given up waiting: "
            .. "nothing is sold twice, but most of the stock is not sold at all.",
        sale = { purchase = "zklock.seckill.scenario.purchase.slow", timeout = 0.2 },
        wants = function(sale)
            return sale.failures.timeout == BUYERS - 1 and sale.left == STOCK - 1
        end,
        finding = function(sale)
            return ("%d held until %d gave up, %d left"):format(sale.sold, sale.failed, sale.left)
        end,
    },
    {
        id = "DEMO-07c", title = "99 buyers for 3",
        expect = "right", zookeeper = true, play = play,
        explanation = "Buyers that come while there is stock buy, and all others are told that it "
            .. "is sold out.",
        sale = { pause = 0, timeout = 30 },
        wants = function(sale) return sale.sold == STOCK and sale.refused == BUYERS - STOCK end,
        finding = function(sale)
            return ("%d sold, %d refused, %d left"):format(sale.sold, sale.refused, sale.left)
        end,
    },
}


return few
