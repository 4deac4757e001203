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
-- order of the seed article's lines.
--
--   reads  A reader holds the read lock until all eight do, so no purchase
--          comes between two looks of a round.
--   line   The first writer waits until all eight are queued, so their
--          purchases come before any look of the next round.
--
-- Every worker is a server with its own session, and runs two tasks, which are buyers, in sequence.

local WORKERS, TASKS, STOCK = 8, 16, 3
local TIMEOUT = 2 -- the seed article's (S1), seconds
local LONG_TIMEOUT = 60 -- seconds, for a second attempt

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
local EXPECTED_FINDING = "16 reads, 3 sold, 13 refused, 0 left"


-- Holds the read lock until all workers have read. Returns false if there is nothing to buy (by the
-- seed article's rule a stock below 0), or without a grant.
local function look(buyer, reads, workers)
    if not buyer:enter{ side = "read" } then return false end
    local stock = buyer:stock()
    buyer:note(CURRENT:format(stock))
    if stock < 0 then
        buyer:note(INSUFFICIENT)
        buyer:tell "refused"
    end
    buyer:wait_for(reads, workers)
    buyer:leave()
    return stock >= 0
end


-- Only the lock protects the stock, without transaction and tokens. All workers are queued before
-- the first writes. If the lock let all in at once, all would have read the same stock.
local function buy(buyer, line, workers)
    local function come() buyer:come(line) end
    if not buyer:enter{ side = buyer.server.parameters.side, on_queued = come } then return end
    local stock = buyer:stock()
    buyer:wait_for(line, workers)
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


--- A task, which looks at the stock under the read lock, and buys under the lock's side
--- that the parameter `side` names.
function s1.look_and_buy(buyer)
    buyer:wait_for_its_turn()
    local workers = buyer.server.plan.servers
    local round = math.ceil(buyer.number / workers)
    local reads, line = "reads" .. round, "line" .. round
    if look(buyer, reads, workers) then buy(buyer, line, workers) end
    buyer:come(reads) -- others need not wait for a worker that is done
    buyer:come(line)
end


local function first_difference(log)
    local n = 0
    for _, group in ipairs(EXPECTED) do
        for _ = 1, group.times do
            n = n + 1
            local line = log[n] and log[n].line or "missing"
            if line ~= group.line then return ("line %d: %s"):format(n, line) end
        end
    end
    if #log > n then return ("%d lines, should be %d"):format(#log, n) end
end


-- Merges equal lines of a log that is as expected.
local function shortened(log)
    local lines, n = {}, 1
    for i, group in ipairs(EXPECTED) do
        local first = log[n]
        local many = group.times > 1
        lines[i] = {
            at = first.at, who = many and "" or first.who, token = not many and first.token or nil,
            line = many and ("%d x %s"):format(group.times, group.line) or group.line,
        }
        n = n + group.times
    end
    return lines
end


function s1.judge_lines(sale)
    local log = evidence.log(sale, "worker-%d")
    local reads = #evidence.match_notes(sale, "^(current stock): ")
    local finding = ("%d reads, %d sold, %d refused, %d left"):format(reads, sale.sold,
        sale.refused, sale.left)
    local problem = finding ~= EXPECTED_FINDING and finding or first_difference(log)
        or not evidence.tokens_grow(sale) and "tokens do not grow"
    local right = sale.verdict == "right" and not problem
    return {
        right = right, finding = problem or finding, log = log, sales = { sale },
        glimpse = right and shortened(log) or nil,
    }
end


-- On a slow machine a buyer may exceed the seed article's timeout and lose its place in the queue.
-- That proves nothing; the next attempt waits longer.
local function play_read_write(scenario, run, attempt)
    local sale = run:sale{
        products = { ["lockId_111"] = STOCK }, buyers = TASKS, servers = WORKERS,
        strategy = "zookeeper-rw", fenced = false,
        timeout = attempt == 1 and scenario.timeout or LONG_TIMEOUT,
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
---@field side "write" | "read"  side of the lock for purchases
---@field timeout number?            seconds to wait; the seed article's by default
function s1.read_write(scenario)
    scenario.play = play_read_write
    scenario.zookeeper = true
    scenario.timeout = scenario.timeout or TIMEOUT
    return scenario
end


-- the herd ---------------------------------------------------------------------------------------

-- Eight processes wait for a ninth, which releases (ALG-05, PIT-01). Each waiter counts its watch
-- events, and its creates because of them, until it holds the lock or waits again.
--
--   none          a single node; all eight are woken, and all eight create
--   none, jitter  as many, but spread over time
--   fifo          a chain; one is woken, one learns that it is next, none creates

local WAITERS = 8
local JITTER = 1 -- seconds

-- With jitter all eight creates fall within this time once in 10^5 runs,
-- 8 p^7 - 7 p^8 for p = 0.15.
local LEAST_SPREAD = 0.15 * JITTER

-- Longest wait for the effects of the release, and pause between checks, in seconds.
local PATIENCE, POLL = 10, 0.005

local NOTE, NOTE_PATTERN = "%d woken, %d created, %s", "^(%d+) woken, (%d+) created, (.+)$"


local function wait_until(condition)
    local deadline = core.now() + PATIENCE
    while not condition() and core.now() < deadline do zklock.sleep(POLL) end
end


local function hold_until_all_wait(buyer, servers)
    if not buyer:enter() then return end
    buyer:wait_for("held", servers)
    buyer:try_to_buy()
    buyer:wait_for("waiting", servers)
    buyer:note "releases"
    buyer:leave()
end


-- Waits until the lock has a new holder; if that is this buyer, until it knows of its grant. The
-- reply that shows the new holder comes after this waiter's watch event.
local function wait_for_successor(buyer, lock, old_token)
    wait_until(function()
        local first = assert(lock:queue())[1]
        return first and first.token ~= old_token and (buyer.hold or not first.mine)
    end)
end


-- Notes this waiter's events and creates after the release; returns true if the waiter holds the
-- lock then.
local function count_effects(buyer, lock, servers)
    local session = buyer.server:session()
    local function is_quiet() return session:stats().in_flight == 0 end
    wait_until(is_quiet) -- then the watch is set
    local before, old_token = session:stats(), assert(lock:queue())[1].token
    buyer:wait_for("waiting", servers)
    local began, created_after = core.now(), nil
    local expected = before.creates + buyer.server.parameters.created
    wait_until(function()
        if session:stats().creates > before.creates then created_after = core.now() - began end
        return session:stats().creates >= expected
    end)
    wait_for_successor(buyer, lock, old_token)
    wait_until(is_quiet)
    local after, holds_lock = session:stats(), buyer.hold ~= nil
    buyer:note(NOTE:format(after.events - before.events, after.creates - before.creates,
        created_after and ("after %.3f s"):format(created_after) or "stood still"))
    buyer:wait_for("counted", servers - 1)
    return holds_lock
end


local function wait_and_count(buyer, servers)
    local queued, session = false, buyer.server:session()
    buyer:wait_for("held", servers)
    zklock.run(function()
        buyer:enter{ on_queued = function() queued = true end }
    end, function()
        -- The callback may come before the create.
        wait_until(function() return queued and session:stats().creates > 0 end)
        if count_effects(buyer, buyer.strategy:lock(buyer.lock), servers) then
            buyer:try_to_buy()
            buyer:leave()
        else
            buyer:want{} -- buys nothing, and leaves the queue
        end
        session:close() -- ends the wait
    end)
end


--- Nine buyers in nine servers. The first holds the lock until all others wait; then another gets
--- the lock and buys, and the rest leave.
function s1.herd(buyer)
    local servers = buyer.server.plan.servers
    if buyer.number == 1 then
        hold_until_all_wait(buyer, servers)
    else
        wait_and_count(buyer, servers)
    end
end


function s1.judge_herd(scenario, sale)
    local sum = { waiters = 0, woken = 0, created = 0, granted = 0 }
    for _, note in ipairs(evidence.match_notes(sale, NOTE_PATTERN)) do
        sum.waiters = sum.waiters + 1
        sum.woken, sum.created = sum.woken + note[1], sum.created + note[2]
        if note.token then sum.granted = sum.granted + 1 end
        local at = tonumber(note[3]:match "^after (%S+) s")
        if at then
            sum.first_at = math.min(sum.first_at or at, at)
            sum.last_at = math.max(sum.last_at or at, at)
        end
    end
    local spread = sum.first_at and sum.last_at - sum.first_at or 0
    local finding = ("%d of %d woken, %d creates"):format(sum.woken, sum.waiters, sum.created)
    if sum.first_at then finding = ("%s in %.0f ms"):format(finding, spread * 1000) end
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
---@field created integer  creates that the waiters must send
---@field spread number?   least seconds from the first create to the last

s1.scenarios = {
    s1.read_write {
        id = "DEMO-08", title = "read-write lock, 8 workers, stock 3",
        expect = "right", side = "write",
        explanation = "All eight read the stock together, and then buy one after the other, so "
            .. "three of them buy, and then nobody.",
    },
    s1.read_write { -- not the seed article's
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
        spread = LEAST_SPREAD,
        explanation = "All are woken again, but each waits for a random moment first, so that "
            .. "they do not ask all at once.",
    },
    {
        id = "DEMO-14c", title = "in order: a release wakes the next",
        expect = "right", zookeeper = true, play = play_herd,
        strategy = "zookeeper", woken = 2, created = 0,
        explanation = "Each waits for the one before it, so the end of the first wakes the second, "
            .. "which has the lock, and tells the third that it is next.",
    },
}


return s1
