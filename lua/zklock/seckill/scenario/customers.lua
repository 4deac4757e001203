--- The steps of S1's sale, stock, order and payment, when a customer clicks twice, and the two
--- requests reach two servers: two orders where one is allowed (ONE), a payment twice (PAY). A
--- check before the lock is no check, and a payment needs a lock, too.

local evidence = require "zklock.seckill.scenario.evidence"
local seed = require "zklock.seckill.seed"


local CUSTOMERS, PRICE = 10, 3


local customers = {}


local function play(scenario, run)
    local pays = scenario.parameters.pays
    local sale = run:sale{
        buyers = 2 * CUSTOMERS, servers = 2, strategy = "zookeeper", timeout = 60,
        store = "zklock.seckill.scenario.paying_store",
        purchase = "zklock.seckill.scenario.purchase.customers", parameters = scenario.parameters,
        prices = pays and { [seed.PRODUCT] = PRICE } or nil,
    }
    if sale.failed > 0 then error(("%d were not served"):format(sale.failed), 0) end
    return {
        right = sale.verdict == "right", sales = { sale }, log = evidence.log(sale, "server %d"),
        finding = ("%d orders, %d %s"):format(sale.products[seed.PRODUCT].ordered,
            pays and #evidence.noted(sale, "^(pays)") or CUSTOMERS,
            pays and "payments" or "customers"),
    }
end


customers.scenarios = {
    {
        id = "ONE-01a", title = "one order each, checked too early",
        expect = "wrong", zookeeper = true, race = true, play = play,
        parameters = { early = true },
        explanation = "Both requests of a customer see that there is no order yet, and then wait "
            .. "for the lock: each of them buys.",
    },
    {
        id = "ONE-01b", title = "one order each, checked with the lock",
        expect = "right", zookeeper = true, play = play, parameters = {},
        explanation = "The second request of a customer gets the lock when the order is written, "
            .. "and finds it.",
    },
    {
        id = "PAY-01a", title = "payments sent twice, no lock",
        expect = "wrong", zookeeper = true, race = true, play = play,
        parameters = { pays = true, early = true },
        explanation = "Stock and orders are right, but both requests see an order that is not "
            .. "paid yet, and both pay it.",
    },
    {
        id = "PAY-01b", title = "payments sent twice, a lock each",
        expect = "right", zookeeper = true, play = play, parameters = { pays = true },
        explanation = "A lock for each payment lets the second request see that the order is paid.",
    },
}


return customers
