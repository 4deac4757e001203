--- DEMO-15: the holder is killed in the middle of its purchase. Its node goes with its session; the
--- next in line has the lock within the session timeout and a tick of the server.

local evidence = require "zklock.seckill.scenario.evidence"


-- The server looks for dead sessions once a tick, and a session timeout has at least two ticks
-- (minSessionTimeout).
local TICK = 0.5

-- For the notification and the next one's start.
local SLACK = 0.25


local crash = {}


-- A machine that stood still proves nothing when it was late.
local function play(_, run)
    local timeout = run:session_timeout()
    local sale = run:sale{
        buyers = 2, servers = 2, strategy = "zookeeper", timeout = 30 + 2 * timeout,
        faults = { { at = 0, kill = "holder" } },
    }
    local killed = assert(sale.faults[1], "nobody was killed").at
    local heir = assert(evidence.next_after(sale, killed), "nobody had the lock after that")
    local waited = heir.granted - killed
    local in_time = waited <= timeout * (1 + TICK) + SLACK
    return {
        right = sale.verdict == "right" and sale.sold == 1 and in_time
            and evidence.tokens_grow(sale),
        again = not in_time,
        finding = ("next after %.2f s (session %g s)"):format(waited, timeout),
        sales = { sale }, log = evidence.story(sale, "server %d"),
    }
end


crash.scenarios = {
    {
        id = "DEMO-15", title = "the holder is killed",
        expect = "right", zookeeper = true, play = play,
        explanation = "A dead process cannot give its lock up, so ZooKeeper does it when its "
            .. "session has timed out.",
    },
}


return crash
