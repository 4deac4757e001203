--- DEMO-08: 16 tasks, a pool of 8 workers, a stock of 3, one read-write lock
--- (S1). A task looks at the stock under the read lock, then buys under the
--- write lock. What is printed has one order, the seed's. It does not come from
--- times; it follows from two barriers and from the lock's order of arrival:
---
---   reads  A reader holds the read lock until all eight do. So readers must
---          share it, and no purchase comes between two looks of a round.
---   line   The first writer waits until all eight stand in line. So their
---          purchases come before any look of the next round, which is asked
---          for later.
---
--- Every worker is a server with a session of its own, and has two of the tasks, which are
--- buyers, one after the other.

local evidence = require "zklock.seckill.scenario.evidence"


local WORKERS, TASKS, STOCK = 8, 16, 3

local TIMEOUT = 2 -- the seed's (S1), seconds

local LONG = 60 -- seconds, for a second attempt

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


-- A line for each run of equal ones, if they are the seed's.
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


local function reads_in(log)
    local reads = 0
    for _, entry in ipairs(log) do
        if entry.line:find "^current stock: " then reads = reads + 1 end
    end
    return reads
end


--- What the sale says.
---@param sale zklock.seckill.Sale
---@return zklock.seckill.Played
function read_write.judge(sale)
    local log = evidence.log(sale, "worker-%d")
    local reads, sold, refused, left = reads_in(log), sale.sold, sale.refused, sale.left
    local finding = ("%d reads, %d sold, %d refused, %d left"):format(reads, sold, refused, left)
    local played = { right = false, finding = finding, log = log, sales = { sale } }
    if sale.verdict ~= "right" or reads ~= READS or sold ~= SOLD or refused ~= REFUSED
        or left ~= LEFT then
        return played
    end
    local fault = disorder(log)
    if not fault and not evidence.tokens_grow(sale) then fault = "tokens do not grow" end
    if fault then
        played.finding = fault
    else
        played.right, played.glimpse = true, shortened(log)
    end
    return played
end


-- A machine may be too slow for the seed's timeout: a buyer that waits too long loses its place in
-- line, and the order with it. That is no fault of the lock and no proof of anything; the next
-- attempt waits longer.
local function play(scenario, run, attempt)
    local sale = run:sale{
        products = { ["lockId_111"] = STOCK }, buyers = TASKS, servers = WORKERS,
        strategy = "zookeeper-rw", fenced = false,
        timeout = attempt == 1 and scenario.timeout or LONG,
        purchase = "zklock.seckill.scenario.purchase.read_write",
        parameters = { side = scenario.side },
    }
    if sale.failures.timeout then
        return {
            again = true, finding = ("waited longer than %g s"):format(scenario.timeout),
            sales = { sale },
        }
    end
    return read_write.judge(sale)
end


--- A scenario of this kind.
---@class zklock.seckill.ReadWrite: zklock.seckill.Scenario
---@field side "write" | "read"  of the lock, that a purchase is made under
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
        expect = "right", side = "write",
        explanation = "All eight read the stock together, and then buy one after the other, so "
            .. "three of them buy, and then nobody.",
    },
    read_write.scenario { -- not the seed's
        id = "DEMO-08b", title = "purchases under the read lock",
        expect = "wrong", side = "read",
        explanation = "Readers have the lock together, so a buyer under a read lock shares it "
            .. "with seven others.",
    },
}


return read_write
