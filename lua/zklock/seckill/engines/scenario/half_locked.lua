--- BUG-15: SETNX and EXPIRE are two commands. A server that is killed between them leaves a key
--- without an end, and nobody is served any more. With zklock the moment after the grant is as any
--- other: the lock ends with the session of the server that was killed.

local evidence = require "zklock.seckill.scenario.evidence"


local BUYERS = 3

local GAP = 3      -- seconds between SETNX and EXPIRE
local KILLED = 0.6 -- seconds after the start: within the gap, and when the others wait
local PATIENCE = 2 -- CFG-11

local NO_END = "^the key ends in %-1 s$" -- what Redis says of such a key


local half_locked = {}


local function carry_out(run, options)
    options.buyers, options.servers = BUYERS, BUYERS
    options.purchase = "zklock.seckill.engines.scenario.purchase.half_locked"
    local sale = run:sale(options)
    return sale, evidence.story(sale, "server %d")
end


local function play_redis(_, run)
    local sale, log = carry_out(run, {
        strategy = "redis-expire", timeout = PATIENCE, parameters = { engine = { gap = GAP } },
        faults = { { at = KILLED, kill = "server 1" } },
    })
    local first, vain = sale.purchases[1], sale.failures.timeout
    if first.granted or not first.asked or #evidence.noted(sale, NO_END) ~= BUYERS - 1 then
        return {
            again = true, finding = "the first was not killed in the gap", sales = { sale },
            log = log,
        }
    end
    evidence.convict(sale, ("%d waited in vain for a dead buyer's key"):format(vain))
    return {
        right = false, finding = ("%d waited %g s in vain, no TTL"):format(vain, PATIENCE),
        sales = { sale }, log = log,
    }
end


local function play_zookeeper(_, run)
    local timeout = run:session_timeout()
    local sale, log = carry_out(run, {
        strategy = "zookeeper", timeout = 30 + 2 * timeout,
        faults = { { at = 0, kill = "holder" } },
    })
    local killed = assert(sale.faults[1], "nobody was killed").at
    local heir = assert(evidence.next_after(sale, killed), "nobody had the lock after that")
    return {
        right = sale.verdict == "right" and sale.sold == BUYERS - 1, sales = { sale }, log = log,
        finding = ("next after %.2f s (session %g s)"):format(heir.granted - killed, timeout),
    }
end


half_locked.scenarios = {
    {
        id = "BUG-15a", title = "killed between SETNX and EXPIRE",
        expect = "wrong", play = play_redis,
        explanation = "The key was to end after a while, but the process died before it could say "
            .. "so; it stays until somebody deletes it by hand.",
    },
    {
        id = "BUG-15b", title = "killed just after the grant, zklock",
        expect = "right", zookeeper = true, play = play_zookeeper,
        explanation = "That a lock ends with its session is part of asking for it, so there is no "
            .. "moment in which it has no end.",
    },
}


return half_locked
