--- PIT-02 and PIT-03: the traps of ZooKeeper's native API into which S0 fell (§4.1, §4.2), in
--- virtual time. A program that stands still in a debugger for longer than its session lives finds
--- that the session has expired; one that asks while it is not connected is told ConnectionLoss.

local seckill = require "zklock.seckill"


local SESSION = 2 -- seconds, the seed's (CFG-04)


local traps = {}


-- Some buyers fail though there is stock, or each one buys.
local function play(scenario)
    local options = {
        simulated = true, quiet = true, strategy = "zookeeper", session = SESSION, timeout = 60,
        purchase = "zklock.seckill.scenario.purchase.traps", parameters = scenario.parameters,
    }
    for name, value in pairs(scenario.sale) do options[name] = value end
    local sale = seckill.sale(options)
    if not sale.faults[1] then error("no fault came", 0) end
    return {
        right = sale.verdict == "right" and sale.sold == sale.buyers, sales = { sale },
        finding = ("%d of %d bought, %d failed"):format(sale.sold, sale.buyers, sale.failed),
    }
end


local DEBUGGER = {
    buyers = 1, servers = 1, faults = { { at = 0, stop = "holder", length = 5 * SESSION } },
}

local LOSS = {
    buyers = 20, arrivals = 20, seed = 5, -- with which the client notices that at once
    faults = { { at = 0.3, cut = "server 2", length = SESSION / 4 } },
}


traps.scenarios = {
    {
        id = "PIT-02a", title = "session expired under a debugger",
        expect = "wrong", play = play, sale = DEBUGGER, parameters = { reopen = false },
        explanation = "While the program stands still in a debugger its session times out, and "
            .. "all that it asks with that session afterwards fails.",
    },
    {
        id = "PIT-02b", title = "the same, and zklock reopens it",
        expect = "right", play = play, sale = DEBUGGER, parameters = {},
        explanation = "The lease says that it is lost, and the program asks for the lock again: "
            .. "zklock has opened a new session.",
    },
    {
        id = "PIT-03a", title = "ConnectionLoss ends a purchase",
        expect = "wrong", play = play, sale = LOSS, parameters = { gives_up = true },
        explanation = "The program takes a lost connection for the end, as after a first request "
            .. "that is made before the client is connected.",
    },
    {
        id = "PIT-03b", title = "zklock waits for the connection",
        expect = "right", play = play, sale = LOSS, parameters = {},
        explanation = "A request waits until there is a connection, so nobody is sent away.",
    },
}


return traps
