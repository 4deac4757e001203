--- The locks of seed article S1, a read-write lock (DEMO-08), and locks with and without an order
--- (DEMO-14).

local core = require "zklock.core"
local evidence = require "zklock.seckill.scenario.evidence"
local zklock = require "zklock"

local SELF = "zklock.seckill.scenario.s1_locks:"

local s1 = {}


-- the read-write lock ----------------------------------------------------------------------------

-- 16 tasks, a pool of 8 workers, a stock of 3. A task looks at the stock under the read lock, then
-- buys under the write lock. Two barriers and the lock's order of arrival, not times, force the
-- order of the seed's lines.
--
--   reads  A reader holds the read lock until all eight do, so no purchase
--          comes between two looks of a round.
--   line   The first writer waits until all eight are queued, so their
--          purchases come before any look of the next round.
--
-- Every worker is a server with its own session, and runs two tasks, which are buyers, in sequence.

local WORKERS, TASKS, STOCK = 8, 16, 3
local TIMEOUT = 2 -- the seed's (S1), seconds
local LONG = 60 -- seconds, for a second attempt

local CURRENT = "current stock: %d"
local BOUGHT = "purchase ok, remaining stock: %d"
local INSUFFICIENT = "insufficient"

local EXPECTED = {
    { times = 8, line = CURRENT:format(3) },
    { times = 1, line = BOUGHT:format(2) },
    { times = 1, line = BOUGHT:format(1) },
    { times = 1, line = BOUGHT:format(0) },
    { times = 5, line = INSUFFICIENT },
    { times = 8, line = CURRENT:format(0) },
    { times = 8, line = INSUFFICIENT },
}
local FINDING = "16 reads, 3 sold, 13 refused, 0 left"


-- Holds the read lock until all workers have read. False if there is nothing to buy (the seed's
-- rule is a stock below 0), or without a grant.
local function look(buyer, place, workers)
    if not buyer:enter{ side = "read" } then return false end
    local stock = buyer:stock()
    buyer:note(CURRENT:format(stock))
    if stock < 0 then
        buyer:note(INSUFFICIENT)
        buyer:tell "refused"
    end
    buyer:wait_for(place, workers)
    buyer:leave()
    return stock >= 0
end


-- Only the lock protects the stock, without transaction and tokens. All workers are queued before
-- the first writes. If the lock let all in at once, all would have read the same stock.
local function buy(buyer, place, workers)
    local function come() buyer:come(place) end
    if not buyer:enter{ side = buyer.server.parameters.side, on_queued = come } then return end
    local stock = buyer:stock()
    buyer:wait_for(place, workers)
    buyer:pause()
    if buyer:may_buy(stock) then
        buyer:note(BOUGHT:format(stock - buyer.quantity))
        buyer:buy(stock - buyer.quantity)
    else
        buyer:note(INSUFFICIENT)
        buyer:tell "refused"
    end
    buyer:leave()
end


--- A task, which looks at the stock under the read lock, and buys under the side given in the
--- parameters.
function s1.look_and_buy(buyer)
    buyer:wait_for_its_turn()
    local workers = buyer.server.plan.servers
    local round = math.ceil(buyer.number / workers)
    local reads, line = "reads" .. round, "line" .. round
    if look(buyer, reads, workers) then buy(buyer, line, workers) end
    buyer:come(reads) -- others need not wait for it
    buyer:come(line)
end


-- The first line that differs from the seed's, or nil.
local function disorder(log)
    local n = 0
    for _, run in ipairs(EXPECTED) do
        for _ = 1, run.times do
            n = n + 1
            local line = log[n] and log[n].line or "missing"
            if line ~= run.line then return ("line %d: %s"):format(n, line) end
        end
    end
    if #log > n then return ("%d lines, should be %d"):format(#log, n) end
end


-- Merges equal lines, once they are known to be the seed's.
local function shortened(log)
    local lines, n = {}, 1
    for i, run in ipairs(EXPECTED) do
        local first = log[n]
        local many = run.times > 1
        lines[i] = {
            at = first.at, who = many and "" or first.who, token = not many and first.token or nil,
            line = many and ("%d x %s"):format(run.times, run.line) or run.line,
        }
        n = n + run.times
    end
    return lines
end


function s1.judge_lines(sale)
    local log, reads = evidence.log(sale, "worker-%d"), #evidence.noted(sale, "^(current stock): ")
    local finding = ("%d reads, %d sold, %d refused, %d left"):format(reads, sale.sold,
        sale.refused, sale.left)
    local fault = finding ~= FINDING and finding or disorder(log)
        or not evidence.tokens_grow(sale) and "tokens do not grow"
    local right = sale.verdict == "right" and not fault
    return {
        right = right, finding = fault or finding, log = log, sales = { sale },
        glimpse = right and shortened(log) or nil,
    }
end


-- On a slow machine a buyer may exceed the seed's timeout and lose its place in the queue. That
-- proves nothing; the next attempt waits longer.
local function play_read_write(scenario, run, attempt)
    local sale = run:sale{
        products = { ["lockId_111"] = STOCK }, buyers = TASKS, servers = WORKERS,
        strategy = "zookeeper-rw", fenced = false,
        timeout = attempt == 1 and scenario.timeout or LONG,
        purchase = SELF .. "look_and_buy", parameters = { side = scenario.side },
    }
    if sale.failures.timeout then
        return {
            again = true, finding = ("waited longer than %g s"):format(scenario.timeout),
            sales = { sale },
        }
    end
    return s1.judge_lines(sale)
end


---@class zklock.seckill.ReadWrite: zklock.seckill.Scenario
---@field side "write" | "read"  the side to buy under
---@field timeout number?            seconds to wait; the seed's by default
function s1.read_write(scenario)
    scenario.play = play_read_write
    scenario.zookeeper = true
    scenario.timeout = scenario.timeout or TIMEOUT
    return scenario
end


-- the herd ---------------------------------------------------------------------------------------

-- Eight processes wait for a ninth, which releases (ALG-05, PIT-01). Each counts its watch events,
-- and its creates because of them, until it holds the lock or waits again.
--
--   none          a single node; all eight are woken, and all eight create
--   none, jitter  the same number, spread over time
--   fifo          a chain; one is woken, one learns that it is next, none creates

local WAITERS = 8
local JITTER = 1 -- seconds

-- With jitter all eight creates fall within this time once in 10^5 runs,
-- 8 p^7 - 7 p^8 for p = 0.15.
local SPREAD = 0.15 * JITTER

-- Longest wait for the effects of the release, and time between looks, in seconds.
local PATIENCE, POLL = 10, 0.005

local LINE, SHAPE = "%d woken, %d created, %s", "^(%d+) woken, (%d+) created, (.+)$"


local function wait_until(condition)
    local deadline = core.now() + PATIENCE
    while not condition() and core.now() < deadline do zklock.sleep(POLL) end
end


local function hold(buyer, all)
    if not buyer:enter() then return end
    buyer:wait_for("held", all)
    buyer:try_to_buy()
    buyer:wait_for("waiting", all)
    buyer:note "releases"
    buyer:leave()
end


-- Waits until the lock has another holder, and the holder knows it. The reply that shows it comes
-- after the watch event, if there is one.
local function wait_for_successor(buyer, lock, token)
    wait_until(function()
        local first = assert(lock:queue())[1]
        return first and first.token ~= token and (buyer.hold or not first.mine)
    end)
end


-- Notes the effects of the release on this waiter. True if it holds the lock; a later holder has no
-- effect on it.
local function count(buyer, lock, all)
    local session = buyer.server:session()
    local function is_quiet() return session:stats().in_flight == 0 end
    wait_until(is_quiet) -- the watch is set
    local before, token = session:stats(), assert(lock:queue())[1].token
    buyer:wait_for("waiting", all)
    local began, created_at = core.now(), nil
    local expected = before.creates + buyer.server.parameters.created
    wait_until(function()
        if session:stats().creates > before.creates then created_at = core.now() - began end
        return session:stats().creates >= expected
    end)
    wait_for_successor(buyer, lock, token)
    wait_until(is_quiet)
    local after, has_it = session:stats(), buyer.hold ~= nil
    buyer:note(LINE:format(after.events - before.events, after.creates - before.creates,
        created_at and ("after %.3f s"):format(created_at) or "stood still"))
    buyer:wait_for("counted", all - 1)
    return has_it
end


-- The callback may come before the create, so wait for both.
local function wait(buyer, all)
    local queued, session = false, buyer.server:session()
    buyer:wait_for("held", all)
    zklock.run(function()
        buyer:enter{ on_queued = function() queued = true end }
    end, function()
        wait_until(function() return queued and session:stats().creates > 0 end)
        if count(buyer, buyer.strategy:lock(buyer.lock), all) then
            buyer:try_to_buy()
            buyer:leave()
        else
            buyer:want{} -- buys nothing, and leaves the queue
        end
        session:close() -- ends the wait
    end)
end


--- Nine buyers in nine servers. The first holds the lock until all others wait; then one gets it
--- and buys, and the rest leave.
function s1.herd(buyer)
    local all = buyer.server.plan.servers
    if buyer.number == 1 then hold(buyer, all) else wait(buyer, all) end
end


function s1.judge_herd(scenario, sale)
    local sum = { waiters = 0, woken = 0, created = 0, granted = 0 }
    for _, note in ipairs(evidence.noted(sale, SHAPE)) do
        sum.waiters = sum.waiters + 1
        sum.woken, sum.created = sum.woken + note[1], sum.created + note[2]
        if note.token then sum.granted = sum.granted + 1 end
        local at = tonumber(note[3]:match "^after (%S+) s")
        if at then
            sum.first = math.min(sum.first or at, at)
            sum.last = math.max(sum.last or at, at)
        end
    end
    local spread = sum.first and sum.last - sum.first or 0
    local finding = ("%d of %d woken, %d creates"):format(sum.woken, sum.waiters, sum.created)
    if sum.first then finding = ("%s in %.0f ms"):format(finding, spread * 1000) end
    return sum.waiters == WAITERS and sum.granted == 1 and sum.woken == scenario.woken
        and sum.created == scenario.created and spread >= (scenario.spread or 0), finding
end


local function play_herd(scenario, run)
    local sale = run:sale{
        buyers = WAITERS + 1, servers = WAITERS + 1, timeout = 30, limit = 30,
        strategy = scenario.strategy, purchase = SELF .. "herd",
        parameters = {
            jitter = scenario.jitter, created = scenario.created > 0 and 1 or 0,
        },
    }
    local right, finding = s1.judge_herd(scenario, sale)
    return {
        right = right and sale.verdict == "right" and sale.sold == 2, finding = finding,
        sales = { sale }, log = evidence.log(sale, "server %d"),
    }
end


---@class zklock.seckill.Herd: zklock.seckill.Scenario
---@field strategy string
---@field jitter number?   seconds
---@field woken integer    waiters that a release must wake
---@field created integer  creates that they must send
---@field spread number?   seconds between the first create and the last

s1.scenarios = {
    s1.read_write {
        id = "DEMO-08", title = "read-write lock, 8 workers, stock 3",
        expect = "right", side = "write",
        explanation = "All eight read the stock together, and then buy one after the other, so "
            .. "three of them buy, and then nobody.",
    },
    s1.read_write { -- not the seed's
        id = "DEMO-08b", title = "purchases under the read lock",
        expect = "wrong", side = "read",
        explanation = "Readers have the lock together, so a buyer under a read lock shares it "
            .. "with seven others.",
    },
    {
        id = "DEMO-14a", title = "no order: a release wakes the herd",
        expect = "right", zookeeper = true, play = play_herd,
        strategy = "zookeeper-none", woken = WAITERS, created = WAITERS,
        explanation = "All wait for the same node, so its end wakes all of them, and all but one "
            .. "have asked for nothing.",
    },
    {
        id = "DEMO-14b", title = "no order, jitter 1 s: one by one",
        expect = "right", zookeeper = true, play = play_herd,
        strategy = "zookeeper-none", jitter = JITTER, woken = WAITERS, created = WAITERS,
        spread = SPREAD,
        explanation = "All are woken again, but each waits for a random moment first, so that "
            .. "they do not ask all at once.",
    },
    {
        id = "DEMO-14c", title = "order of arrival: it wakes the next",
        expect = "right", zookeeper = true, play = play_herd,
        strategy = "zookeeper", woken = 2, created = 0,
        explanation = "Each waits for the one before it, so the end of the first wakes the second, "
            .. "which has the lock, and tells the third that it is next.",
    },
}


return s1
