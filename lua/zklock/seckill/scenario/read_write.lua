--- DEMO-08: 16 tasks, a pool of 8 workers, a stock of 3, one read-write lock
--- (S1). A task looks at the stock under the read lock, then buys under the
--- write lock. What is printed has one order, the seed's. It does not come from
--- times; it follows from two barriers and from the lock's order of arrival:
---
---   reads  Who reads holds the read lock until all eight do. So readers must
---          share it, and no purchase comes between two looks of a round.
---   line   Who may write first waits until all eight stand in line. So their
---          purchases come before any look of the next round, which is asked
---          for later.
---
--- Every worker is a process with a session of its own. The barriers keep them in
--- step, so each takes two of the tasks.

local zklock = require "zklock"


local WORKERS = 8
local ROUNDS = 2
local STOCK = 3

-- The seed's (S1), seconds.
local SESSION = 5
local TIMEOUT = 2


local CURRENT = "current stock: %d"
local BOUGHT = "purchase ok, remaining stock: %d"
local INSUFFICIENT = "insufficient"

-- What the seed prints.
local EXPECTED = {
    { times = 8, line = CURRENT:format(3) },
    { times = 1, line = BOUGHT:format(2) },
    { times = 1, line = BOUGHT:format(1) },
    { times = 1, line = BOUGHT:format(0) },
    { times = 5, line = INSUFFICIENT },
    { times = 8, line = CURRENT:format(0) },
    { times = 8, line = INSUFFICIENT },
}
local READS, SOLD, REFUSED, LEFT = 16, 3, 13, 0


local read_write = {}


-- in the demo -----------------------------------------------------------------------------------

-- The first line that is not the seed's, or nil.
local function disorder(journal)
    local n = 0
    for _, run in ipairs(EXPECTED) do
        for _ = 1, run.times do
            n = n + 1
            local line = journal[n] and journal[n].line or "missing"
            if line ~= run.line then return ("line %d: %s"):format(n, line) end
        end
    end
    if #journal > n then return ("%d lines, should be %d"):format(#journal, n) end
end


-- A line for each run of equal ones, if they are the seed's.
local function shortened(journal)
    local lines, n = {}, 1
    for i, run in ipairs(EXPECTED) do
        local first = journal[n]
        local many = run.times > 1
        lines[i] = {
            at = first.at, who = many and "" or first.who, token = not many and first.token or nil,
            line = many and ("%d x %s"):format(run.times, run.line) or run.line,
        }
        n = n + run.times
    end
    return lines
end


local function reads_in(journal)
    local reads = 0
    for _, entry in ipairs(journal) do
        if entry.line:find "^current stock: " then reads = reads + 1 end
    end
    return reads
end


--- What the store says.
---@param records zklock.seckill.Store
---@return zklock.seckill.Outcome
function read_write.judge(records)
    local journal = records:journal()
    local reads = reads_in(journal)
    local sold, refused = records:told "sold", records:told "refused"
    local left = records:stock()
    local finding = ("%d reads, %d sold, %d refused, %d left"):format(reads, sold, refused, left)
    if reads ~= READS or sold ~= SOLD or refused ~= REFUSED or left ~= LEFT then
        return { right = false, finding = finding, log = journal }
    end
    local fault = disorder(journal)
    if not fault and not records:tokens_grow "answer" then fault = "tokens do not grow" end
    if fault then return { right = false, finding = fault, log = journal } end
    return { right = true, finding = finding, log = journal, glimpse = shortened(journal) }
end


local function direct(run)
    for round = 1, ROUNDS do
        run:open_barrier("reads" .. round)
        run:open_barrier("line" .. round)
    end
    run:finish()
end


-- A machine may be too slow for the seed's timeout: who waits too long loses
-- its place in line, and the order with it. That is no fault of the lock and no
-- proof of anything; the next attempt waits for ever.
local function play(scenario, run, attempt)
    run.store:set_stock(STOCK)
    for worker = 1, WORKERS do
        run:start("read_write", "worker-" .. worker, {
            session = math.max(SESSION, run.options.session),
            timeout = attempt == 1 and scenario.timeout or "",
            purchase = scenario.purchase,
        })
    end
    local ok, message = pcall(direct, run)
    if run.store:told "timeout" > 0 then
        return { again = true, finding = ("waited longer than %g s"):format(scenario.timeout) }
    end
    if not ok then error(message, 0) end
    return read_write.judge(run.store)
end


--- A scenario of this kind.
---@class zklock.seckill.ReadWrite: zklock.seckill.Scenario
---@field purchase "write" | "read"  the lock that a purchase is made under
---@field timeout number?            seconds for acquire; default: the seed's
---@param scenario zklock.seckill.ReadWrite
function read_write.scenario(scenario)
    scenario.play = play
    scenario.zookeeper = true
    scenario.timeout = scenario.timeout or TIMEOUT
    return scenario
end


read_write.scenarios = {
    read_write.scenario {
        id = "DEMO-08", title = "read-write lock, 8 workers, stock 3",
        expect = "right", purchase = "write",
    },
    read_write.scenario { -- not the seed's
        id = "DEMO-08b", title = "purchases under the read lock",
        expect = "wrong", purchase = "read",
    },
}


-- in a worker -----------------------------------------------------------------------------------

local function enter(worker, lock, on_queued)
    local lease, message, code = lock:acquire {
        timeout = tonumber(worker.given.timeout), -- nil: for ever
        on_queued = on_queued,
    }
    if lease then return lease end
    worker.store:tell(worker.name, worker.name, code)
    error(message, 0)
end


-- Gives false when there is nothing left to try (the seed's rule: below 0).
local function look(worker, lock, barrier)
    local lease = enter(worker, lock)
    local stock = worker.store:stock()
    worker:note(CURRENT:format(stock), lease)
    if stock < 0 then worker:note(INSUFFICIENT, lease) end
    worker:wait_for_all(barrier)
    assert(lease:release())
    return stock >= 0
end


-- No transaction: the lock alone keeps it right. The barrier is between reading
-- and writing: if the lock lets all in at once, all have read the same stock.
local function buy(worker, lock, barrier)
    local lease = enter(worker, lock, function() worker:say(barrier) end)
    local stock = worker.store:stock()
    worker:wait_for_all(barrier)
    zklock.sleep(worker.pause)
    local sold = stock > 0 and worker.store:set_stock(stock - 1)
    worker:note(sold and BOUGHT:format(stock - 1) or INSUFFICIENT, lease)
    worker.store:tell(worker.name, worker.name, sold and "sold" or "refused",
        lease:token_string())
    assert(lease:release())
end


---@param worker zklock.seckill.Worker
function read_write.act(worker)
    local lock = worker:connect():rwlock(worker:path "/lock/lockId_111/1111")
    local purchase = worker.given.purchase
    for round = 1, ROUNDS do
        if look(worker, lock:read(), "reads" .. round) then
            buy(worker, lock[purchase](lock), "line" .. round)
        end
    end
end


return read_write
