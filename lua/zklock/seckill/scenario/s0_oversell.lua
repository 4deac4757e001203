--- Seed article S0, a flash sale that oversells, without a lock, with a lock in one server, and
--- with zklock (DEMO-01 to DEMO-06); traps of ZooKeeper's native API (PIT-02, PIT-03); and the
--- share of wrong schedules among 1000 (SIM-01).

local evidence = require "zklock.seckill.scenario.evidence"
local seckill = require "zklock.seckill"
local seed = require "zklock.seckill.seed"

local SESSION = 2 -- seconds, the seed article's (CFG-04)
local SCHEDULES = 1000

local s0 = {}


-- ten buyers, a stock of 100: 90 must be left ----------------------------------------------------

local function play_oversell(scenario, run)
    local sale = run:sale(scenario.sale)
    evidence.require_served(sale, sale.buyers)
    local right = sale.verdict == "right"
    local finding = ("stock %d, %d sold"):format(sale.left, sale.sold)
    if not right then
        finding = ("stock %d, should be %d"):format(sale.left, seed.STOCK - sale.buyers)
    elseif not evidence.tokens_grow(sale) then
        right, finding = false, "tokens do not grow"
    end
    return { right = right, finding = finding, sales = { sale } }
end


---@class zklock.seckill.Oversell: zklock.seckill.Scenario
---@field sale table  options of the sale
function s0.oversell(scenario)
    scenario.play = play_oversell
    scenario.zookeeper = scenario.sale.strategy == "zookeeper"
    return scenario
end


-- traps of the native API ------------------------------------------------------------------------

-- An expired session ends the wait; a second wait gets a new session.
local function enter_despite_expiry(buyer)
    local hold, _, code = buyer:enter()
    return hold or code == "expired" and buyer:enter()
end


--- A buyer that asks again if its session expired, or if its lock was lost in a pause. With the
--- parameter `gives_up` the buyer leaves if its server is not connected.
function s0.trapped(buyer)
    local server = buyer.server
    if server.parameters.gives_up and server:session():state() ~= "connected" then
        buyer:note "KeeperErrorCode = ConnectionLoss"
        return buyer:tell "connection"
    end
    if not enter_despite_expiry(buyer) then return end
    local stock = buyer:stock() -- the program pauses here
    if buyer.strategy:state(buyer.hold) == "lost" then
        buyer:leave()
        if not enter_despite_expiry(buyer) then return end
        stock = buyer:stock()
    end
    buyer:buy_from(stock)
    buyer:leave()
end


-- A sale in virtual time, with enough stock. It is right if all buyers have bought.
local function play_trap(scenario)
    local options = {
        simulated = true, quiet = true, strategy = "zookeeper", session = SESSION, timeout = 60,
        purchase = "zklock.seckill.scenario.s0_oversell:trapped",
        parameters = scenario.parameters,
    }
    for name, value in pairs(scenario.sale) do options[name] = value end
    local sale = seckill.sale(options)
    if not sale.faults[1] then error("no fault came", 0) end
    return {
        right = sale.verdict == "right" and sale.sold == sale.buyers, sales = { sale },
        finding = ("%d of %d bought, %d failed"):format(sale.sold, sale.buyers, sale.failed),
    }
end


-- A program that pauses in a debugger beyond its session timeout.
local DEBUGGER = {
    buyers = 1, servers = 1, faults = { { at = 0, stop = "holder", length = 5 * SESSION } },
}

-- A program that asks while disconnected.
local LOSS = {
    buyers = 20, arrivals = 20, seed = 5, -- with which the client notices the cut at once
    faults = { { at = 0.3, cut = "server 2", length = SESSION / 4 } },
}


-- schedules --------------------------------------------------------------------------------------

local function explore(own_options)
    local options = { buyers = 2, servers = 2, products = { bun = 1 }, quiet = true }
    for name, value in pairs(own_options) do options[name] = value end
    return assert(seckill.explore(options, { seeds = SCHEDULES, moment = false }))
end


local function play_schedules()
    local none = explore{ strategy = "none" }
    local early = explore{ purchase = "release_then_commit", fenced = false }
    local zklock = explore{ purchase = "commit_then_release" }
    return {
        right = none.wrong > 0 and early.wrong > 0 and zklock.wrong == 0 and zklock.sold > 0,
        finding = ("no lock %d, early %d, zklock %d"):format(none.wrong, early.wrong,
            zklock.wrong),
    }
end


s0.scenarios = {
    s0.oversell {
        id = "DEMO-01", title = "no lock, one server",
        expect = "wrong", race = true,
        explanation = "Buyers read the same stock, and each writes back what it alone would "
            .. "leave, so purchases vanish from the stock.",
        sale = { servers = 1, strategy = "none" },
    },
    s0.oversell {
        id = "DEMO-02", title = "local lock, one server",
        expect = "right",
        explanation = "A lock inside the server lets its buyers in one after the other: enough as "
            .. "long as there is one server.",
        sale = { servers = 1, strategy = "local" },
    },
    s0.oversell {
        id = "DEMO-03", title = "local lock, two servers",
        expect = "wrong", race = true,
        explanation = "Each server has a lock of its own, so a buyer of one and a buyer of the "
            .. "other still read the same stock.",
        sale = { servers = 2, strategy = "local" },
    },
    s0.oversell {
        id = "DEMO-04", title = "zklock, two servers",
        expect = "right",
        explanation = "A lock in ZooKeeper is one for all servers: each buyer reads what the one "
            .. "before it has written.",
        sale = { servers = 2, strategy = "zookeeper" },
    },
    s0.oversell {
        id = "DEMO-05", title = "zklock with a timeout of 3 s",
        expect = "right",
        explanation = "The same, and no buyer waits longer than 3 seconds for the lock.",
        sale = { servers = 2, strategy = "zookeeper", timeout = 3 },
    },
    -- Unfenced, because the seed article's store knows no tokens. With tokens the next buyer would
    -- wait for the row's lock until the commit.
    s0.oversell {
        id = "DEMO-06a", title = "zklock, released before the commit",
        expect = "wrong", race = true,
        explanation = "The lock is given up inside the transaction, and until the commit the next "
            .. "buyer reads the old stock.",
        sale = {
            servers = 2, strategy = "zookeeper", fenced = false, purchase = "release_then_commit",
        },
    },
    s0.oversell {
        id = "DEMO-06b", title = "zklock, released after the commit",
        expect = "right",
        explanation = "The lock is around the transaction: the next holder reads what was "
            .. "committed.",
        sale = {
            servers = 2, strategy = "zookeeper", fenced = false, purchase = "commit_then_release",
        },
    },
    {
        id = "PIT-02a", title = "session expired under a debugger",
        expect = "wrong", play = play_trap, sale = DEBUGGER, parameters = { reopen = false },
        explanation = "While the program stands still in a debugger its session times out, and "
            .. "all that it asks with that session afterwards fails.",
    },
    {
        id = "PIT-02b", title = "expired session, reopened by zklock",
        expect = "right", play = play_trap, sale = DEBUGGER, parameters = {},
        explanation = "The lease says that it is lost, and the program asks for the lock again: "
            .. "zklock has opened a new session.",
    },
    {
        id = "PIT-03a", title = "ConnectionLoss ends a purchase",
        expect = "wrong", play = play_trap, sale = LOSS, parameters = { gives_up = true },
        explanation = "The program takes a lost connection for the end, as after a first request "
            .. "that is made before the client is connected.",
    },
    {
        id = "PIT-03b", title = "zklock waits for the connection",
        expect = "right", play = play_trap, sale = LOSS, parameters = {},
        explanation = "A request waits until there is a connection, so nobody is sent away.",
    },
    {
        id = "SIM-01", title = "how many of 1000 schedules go wrong",
        expect = "right", play = play_schedules,
        explanation = "A seed chooses which process goes on, is stopped, killed or cut off: a "
            .. "lock that is released too early fails in some schedules.",
    },
}


return s0
