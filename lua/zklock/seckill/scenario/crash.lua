--- DEMO-15: the holder is killed in the middle of its purchase. Its node goes
--- with its session; the next in line has the lock within the session timeout
--- and a tick of the server.

local clock = require "zklock.seckill.clock"
local store = require "zklock.seckill.store"
local zklock = require "zklock"


-- The server looks for dead sessions once a tick, and a session timeout has at
-- least two ticks (minSessionTimeout).
local TICK = 0.5

-- For the notification and the next one's start.
local SLACK = 0.25


local crash = {}


-- in the demo -----------------------------------------------------------------------------------

local function judge(records, killed, timeout)
    local journal = records:journal()
    local last = journal[#journal]
    local waited = last.at - killed
    local limit = timeout * (1 + TICK) + SLACK
    local sold, left = records:told "sold", records:stock()
    return {
        right = #journal == 2 and last.who == "next"
            and waited > 0 and waited <= limit
            and sold == 1 and left == store.STOCK - 1
            and records:tokens_grow "journal",
        finding = ("next after %.2f s (session %g s)"):format(waited, timeout),
        log = journal,
    }
end


local function play(_, run)
    local holder = run:start("crash", "holder", { part = "holder" })
    local timeout = tonumber(holder:expect "holds")
    local heir = run:start("crash", "next", { part = "heir" })
    heir:expect "queued"
    local killed = clock.now()
    holder:signal "KILL"
    heir:expect "sold"
    run:finish()
    return judge(run.store, killed, timeout)
end


crash.scenarios = {
    {
        id = "DEMO-15", title = "the holder is killed",
        expect = "right", zookeeper = true, play = play,
    },
}


-- in a process ----------------------------------------------------------------------------------

local parts = {}


-- Has read the stock, and will never write it.
function parts.holder(worker, session, lock)
    local lease = assert(lock:acquire())
    worker:note("got the lock", lease)
    worker.store:stock()
    worker:say("holds", session:timeout())
    while true do zklock.sleep(1) end
end


function parts.heir(worker, _, lock)
    local lease = assert(lock:acquire {
        on_queued = function() worker:say "queued" end,
    })
    worker:note("got the lock", lease)
    worker.store:set_stock(worker.store:stock() - 1)
    worker.store:tell(worker.name, worker.name, "sold", lease:token_string())
    assert(lease:release())
    worker:say "sold"
end


---@param worker zklock.seckill.Worker
function crash.act(worker)
    local session = worker:connect()
    parts[worker.given.part](worker, session, session:mutex(worker:path "/Lock"))
end


return crash
