--- DEMO-01…06: ten buyers, a stock of 100, and the seed's purchase (S0): read the stock, work out
--- what is left, write it back. 90 must be left.

local evidence = require "zklock.seckill.scenario.evidence"
local seed = require "zklock.seckill.seed"


local oversell = {}


-- A sale in which not all were served proves nothing.
local function play(scenario, run)
    local sale = run:sale(scenario.sale)
    if sale.sold ~= sale.buyers then
        error(("only %d of %d buyers were served"):format(sale.sold, sale.buyers), 0)
    end
    local right = sale.verdict == "right"
    local finding = ("stock %d, %d sold"):format(sale.left, sale.sold)
    if not right then
        finding = ("stock %d, should be %d"):format(sale.left, seed.STOCK - sale.buyers)
    elseif not evidence.tokens_grow(sale) then
        right, finding = false, "tokens do not grow"
    end
    return { right = right, finding = finding, sales = { sale } }
end


--- A scenario of this kind.
---@class zklock.seckill.Oversell: zklock.seckill.Scenario
---@field sale table  options of the sale
---@param scenario zklock.seckill.Oversell
function oversell.scenario(scenario)
    scenario.play = play
    scenario.zookeeper = scenario.sale.strategy == "zookeeper"
    return scenario
end


oversell.scenarios = {
    oversell.scenario {
        id = "DEMO-01", title = "no lock, one server",
        expect = "wrong", race = true,
        explanation = "Buyers read the same stock, and each writes back what it alone would "
            .. "leave, so purchases vanish from the stock.",
        sale = { servers = 1, strategy = "none" },
    },
    oversell.scenario {
        id = "DEMO-02", title = "local lock, one server",
        expect = "right",
        explanation = "A lock inside the server lets its buyers in one after the other: enough as "
            .. "long as there is one server.",
        sale = { servers = 1, strategy = "local" },
    },
    oversell.scenario {
        id = "DEMO-03", title = "local lock, two servers",
        expect = "wrong", race = true,
        explanation = "Each server has a lock of its own, so a buyer of one and a buyer of the "
            .. "other still read the same stock.",
        sale = { servers = 2, strategy = "local" },
    },
    oversell.scenario {
        id = "DEMO-04", title = "zklock, two servers",
        expect = "right",
        explanation = "A lock in ZooKeeper is one for all servers: each buyer reads what the one "
            .. "before it has written.",
        sale = { servers = 2, strategy = "zookeeper" },
    },
    oversell.scenario {
        id = "DEMO-05", title = "zklock with a timeout of 3 s",
        expect = "right",
        explanation = "The same, and no buyer waits longer than 3 seconds for the lock.",
        sale = { servers = 2, strategy = "zookeeper", timeout = 3 },
    },
    -- The seed's store knows no tokens. One that is shown them makes the next buyer wait for the
    -- commit, for the row is locked until then.
    oversell.scenario {
        id = "DEMO-06a", title = "zklock, released before the commit",
        expect = "wrong", race = true,
        explanation = "The lock is given up inside the transaction, and until the commit the next "
            .. "buyer reads the old stock.",
        sale = {
            servers = 2, strategy = "zookeeper", fenced = false, purchase = "release_then_commit",
        },
    },
    oversell.scenario {
        id = "DEMO-06b", title = "zklock, released after the commit",
        expect = "right",
        explanation = "The lock is around the transaction: the next holder reads what was "
            .. "committed.",
        sale = {
            servers = 2, strategy = "zookeeper", fenced = false, purchase = "commit_then_release",
        },
    },
}


return oversell
