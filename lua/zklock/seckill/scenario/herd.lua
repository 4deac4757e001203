--- DEMO-14: a lock without an order against one with (S1, ALG-05, PIT-01).
--- Eight processes wait for a ninth, which releases. Each counts what that does
--- to it: the watch events that it gets, and the creates that it sends because
--- of them, until it has the lock or waits again. One of the eight has it; what
--- the other seven did was for nothing.
---
---   none          one node: all eight are woken, and all eight create
---   none, jitter  the same number, spread over the time of the pauses
---   fifo          a chain: one is woken, and nobody creates

local clock = require "zklock.seckill.clock"
local zklock = require "zklock"


local WAITERS = 8
local JITTER = 1 -- seconds

-- With jitter all eight creates come within this part of it once in 10^5 runs:
-- 8 p^7 - 7 p^8 for p = 0.15.
local SPREAD = 0.15 * JITTER

-- How long a waiter waits for what must come of the release.
local PATIENCE = 10
local POLL = 0.005


local herd = {}


-- in the demo -----------------------------------------------------------------------------------

local LINE = "%d woken, %d created, %s"
local SHAPE = "^(%d+) woken, (%d+) created, (.+)$"


-- The waiters' figures, added up.
local function sums(journal)
    local sum = { waiters = 0, woken = 0, created = 0, granted = 0 }
    for _, entry in ipairs(journal) do
        local woken, created, rest = entry.line:match(SHAPE)
        if woken then
            sum.waiters = sum.waiters + 1
            sum.woken = sum.woken + tonumber(woken)
            sum.created = sum.created + tonumber(created)
            if entry.token then sum.granted = sum.granted + 1 end
            local at = tonumber(rest:match "^after (%S+) s")
            if at then
                sum.first = math.min(sum.first or at, at)
                sum.last = math.max(sum.last or at, at)
            end
        end
    end
    return sum
end


--- What the journal says.
---@param scenario zklock.seckill.Herd
---@param records zklock.seckill.Store
---@return zklock.seckill.Outcome
function herd.judge(scenario, records)
    local journal = records:journal()
    local sum = sums(journal)
    local spread = sum.first and sum.last - sum.first or 0
    local finding = ("%d of %d woken, %d creates"):format(sum.woken, sum.waiters, sum.created)
    if sum.first then finding = ("%s in %.0f ms"):format(finding, spread * 1000) end
    return {
        right = sum.waiters == WAITERS and sum.granted == 1 and sum.woken == scenario.woken
            and sum.created == scenario.created and spread >= scenario.spread,
        finding = finding, log = journal,
    }
end


local function play(scenario, run)
    local function start(name, role)
        return run:start("herd", name, {
            role = role, order = scenario.order, jitter = scenario.jitter or "",
            created = scenario.created > 0 and 1 or 0,
        })
    end
    start("holder", "holder"):expect "holds"
    for n = 1, WAITERS do start("waiter-" .. n, "waiter") end
    run:open_barrier "waiting"
    run:open_barrier "counted"
    run:finish()
    return herd.judge(scenario, run.store)
end


--- A scenario of this kind.
---@class zklock.seckill.Herd: zklock.seckill.Scenario
---@field order "none" | "fifo"
---@field jitter number?   seconds
---@field woken integer    how many waiters a release must wake
---@field created integer  how many creates that must make of them
---@field spread number?   seconds that must be between the first and the last
---@param scenario zklock.seckill.Herd
function herd.scenario(scenario)
    scenario.play = play
    scenario.zookeeper = true
    scenario.expect = scenario.expect or "right"
    scenario.spread = scenario.spread or 0
    return scenario
end


herd.scenarios = {
    herd.scenario {
        id = "DEMO-14a", title = "no order: a release wakes the herd",
        order = "none", woken = WAITERS, created = WAITERS,
    },
    herd.scenario {
        id = "DEMO-14b", title = "no order, jitter 1 s: one by one",
        order = "none", jitter = JITTER, woken = WAITERS, created = WAITERS, spread = SPREAD,
    },
    herd.scenario {
        id = "DEMO-14c", title = "order of arrival: it wakes one",
        order = "fifo", woken = 1, created = 0,
    },
}


-- in a process ----------------------------------------------------------------------------------

local roles = {}


function roles.holder(worker, lock)
    local lease = assert(lock:acquire())
    worker:say "holds"
    worker:wait_for_all "waiting"
    worker:note("releases", lease)
    assert(lease:release { wait = PATIENCE })
    worker:wait_for_all "counted"
end


local function wait_until(condition)
    local deadline = clock.now() + PATIENCE
    while not condition() and clock.now() < deadline do zklock.sleep(POLL) end
end


-- Looks until the lock has another holder, and whoever that is knows it. A reply
-- that shows it comes after the event, if the server sent one.
local function wait_for_successor(lock, token, results)
    wait_until(function()
        local first = assert(lock:queue())[1]
        return first and first.token ~= token and (results.lease or not first.mine)
    end)
end


-- What the release made of this waiter. `results.lease` is there once it has the lock.
local function count(worker, session, lock, results)
    wait_until(function() return session:stats().in_flight == 0 end) -- the watch is set
    local before, token = session:stats(), assert(lock:queue())[1].token
    worker:wait_for_all "waiting"
    local began, created_at = clock.now(), nil
    local expected = before.creates + tonumber(worker.given.created)
    wait_until(function()
        if session:stats().creates > before.creates then created_at = clock.now() - began end
        return session:stats().creates >= expected
    end)
    wait_for_successor(lock, token, results)
    wait_until(function() return session:stats().in_flight == 0 end)
    local after = session:stats()
    worker:note(LINE:format(after.events - before.events, after.creates - before.creates,
        created_at and ("after %.3f s"):format(created_at) or "stood still"), results.lease)
    worker:wait_for_all "counted"
end


function roles.waiter(worker, lock, session)
    local results, queued = {}, false
    zklock.run(function()
        results.lease = lock:acquire { on_queued = function() queued = true end }
    end, function()
        wait_until(function() return queued end)
        count(worker, session, lock, results)
        session:close() -- ends the wait
    end)
end


---@param worker zklock.seckill.Worker
function herd.act(worker)
    local session = worker:connect()
    local lock = session:mutex(worker:path "/locks/herd", {
        order = worker.given.order, jitter = tonumber(worker.given.jitter),
    })
    roles[worker.given.role](worker, lock, session)
end


return herd
