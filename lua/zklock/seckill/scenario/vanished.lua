--- DEMO-16 (Q-05, PIT-08): between the list that shows a predecessor and the watch on it, the
--- predecessor goes. A client that then waits for an event waits for ever (BUG-11). Here two
--- sessions take a lock and give it up at once, again and again, so that this happens often; each
--- counts how often.

local evidence = require "zklock.seckill.scenario.evidence"


local ROUNDS = 100


local vanished = {}


-- All rounds, all waits, and the waits that ended without an event.
local function counted(sale)
    local sum = { rounds = 0, waits = 0, vanished = 0 }
    for _, note in ipairs(sale.notes) do
        for number, what in note.line:gmatch "(%d+) (%l+)" do
            if sum[what] then sum[what] = sum[what] + tonumber(number) end
        end
    end
    return sum
end


local function play(_, run)
    local sale = run:sale{
        buyers = 2, servers = 2, strategy = "zookeeper", timeout = 30,
        purchase = "zklock.seckill.scenario.purchase.vanished",
        parameters = { rounds = ROUNDS },
    }
    local sum = counted(sale)
    return {
        right = sale.verdict == "right" and sale.sold == 2 and sum.rounds == 2 * ROUNDS,
        finding = ("vanished before %d of %d watches"):format(sum.vanished, sum.waits),
        again = sum.rounds == 2 * ROUNDS and sum.vanished == 0,
        sales = { sale }, log = evidence.log(sale, "server %d"),
    }
end


vanished.scenarios = {
    {
        id = "DEMO-16", title = "the predecessor vanishes too early",
        expect = "right", zookeeper = true, play = play,
        explanation = "A waiter that asks to be told of the end of a node that is gone is told at "
            .. "once, and does not wait for ever.",
    },
}


return vanished
