--- DEMO-17 (Q-01, Q-03): the holder is stopped, as by a long garbage collection,
--- for longer than its session lives. Another takes over and writes. Then the
--- first goes on. No lock service can prevent that; two things help:
--- its lease says "lost" at once, by its own clock, before any packet; and who
--- does not ask is refused by the store, for its token is too old.

local clock = require "zklock.seckill.clock"
local store = require "zklock.seckill.store"


-- Seconds; whoever does not come round for so long was stopped.
local STOPPED = 1


local late_write = {}


-- in the demo -----------------------------------------------------------------------------------

-- Two who were told "sold" must have taken two. What the holder's lease said
-- when it woke is judged in both variants.
local function judge(records, woke)
    local sold, left = records:told "sold", records:stock()
    local due = store.STOCK - sold
    if woke ~= "lost" then
        error(("the lease said %q on waking, not \"lost\""):format(woke), 0)
    end
    if not records:tokens_grow("journal", "line = 'got the lock'") then
        error("the second holder's token is not the greater one", 0)
    end
    if left ~= due then
        return {
            right = false, log = records:journal(),
            finding = ("lease %s, stock %d, should be %d"):format(woke, left, due),
        }
    end
    return {
        right = sold == 1 and records:told "late" == 1, log = records:journal(),
        finding = ("lease %s, write refused, stock %d"):format(woke, left),
    }
end


local function play(scenario, run)
    local first = run:start("late_write", "first", { part = "first", write = scenario.write })
    first:expect "holds"
    local second = run:start("late_write", "second", { part = "second", write = scenario.write })
    second:expect "queued"
    first:signal "STOP"
    second:expect "sold"
    first:signal "CONT"
    local woke = first:expect "woke"
    run:finish()
    return judge(run.store, woke)
end


late_write.scenarios = {
    {
        id = "DEMO-17a", title = "the holder is paused, no token check",
        expect = "wrong", zookeeper = true, play = play, write = "unchecked",
    },
    {
        id = "DEMO-17b", title = "the holder is paused, tokens checked",
        expect = "right", zookeeper = true, play = play, write = "fenced",
    },
}


-- in a process ----------------------------------------------------------------------------------

local writes = {}

function writes.unchecked(shelf, number)
    return shelf:set_stock(number)
end

function writes.fenced(shelf, number, lease)
    return shelf:set_stock_fenced(number, lease:token_string())
end


local function finish_purchase(worker, lease, left)
    local changed = writes[worker.given.write](worker.store, left - 1, lease)
    worker:note(changed and "wrote" or "was refused by the store", lease)
    worker.store:tell(worker.name, worker.name, changed and "sold" or "late",
        lease:token_string())
end


local parts = {}


-- Busy until it was stopped; so it serves no event, and the state can only come
-- from the clock.
local function be_stopped()
    local now = clock.now()
    while true do
        local before = now
        now = clock.now()
        if now - before > STOPPED then return end
    end
end


-- After waking, the first thing that it does is to ask. Then it carries on all
-- the same, like a program that never asks.
function parts.first(worker, lock)
    local lease = assert(lock:acquire())
    worker:note("got the lock", lease)
    local left = worker.store:stock()
    worker:say "holds"
    be_stopped()
    local state = lease:state()
    worker:note("finds its lease " .. state, lease)
    finish_purchase(worker, lease, left)
    worker:say("woke", state)
end


function parts.second(worker, lock)
    local lease = assert(lock:acquire {
        on_queued = function() worker:say "queued" end,
    })
    worker:note("got the lock", lease)
    finish_purchase(worker, lease, worker.store:stock())
    assert(lease:release())
    worker:say "sold"
end


---@param worker zklock.seckill.Worker
function late_write.act(worker)
    local lock = worker:connect():mutex(worker:path "/Lock")
    parts[worker.given.part](worker, lock)
end


return late_write
