--- DEMO-14: a lock without an order against one with (S1, ALG-05, PIT-01).
--- Eight processes wait for a ninth, which releases. Each counts what that does
--- to it: the watch events that it gets, and the creates that it sends because
--- of them, until it has the lock or waits again. One of the eight has it; what
--- the other seven did was for nothing.
---
---   none          one node: all eight are woken, and all eight create
---   none, jitter  the same number, spread over the time of the pauses
---   fifo          a chain: one is woken, one is told that it is next, and nobody creates

local evidence = require "zklock.seckill.scenario.evidence"


local WAITERS = 8
local JITTER = 1 -- seconds

-- With jitter all eight creates come within this part of it once in 10^5 runs:
-- 8 p^7 - 7 p^8 for p = 0.15.
local SPREAD = 0.15 * JITTER


local herd = {}


-- What a waiter notes.
local SHAPE = "^(%d+) woken, (%d+) created, (.+)$"


-- The waiters' figures, added up.
local function sums(notes)
    local sum = { waiters = 0, woken = 0, created = 0, granted = 0 }
    for _, entry in ipairs(notes) do
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


--- What the notes of the waiters say.
---@param scenario zklock.seckill.Herd
---@param notes zklock.seckill.Note[]
---@return boolean right
---@return string finding
function herd.judge(scenario, notes)
    local sum = sums(notes)
    local spread = sum.first and sum.last - sum.first or 0
    local finding = ("%d of %d woken, %d creates"):format(sum.woken, sum.waiters, sum.created)
    if sum.first then finding = ("%s in %.0f ms"):format(finding, spread * 1000) end
    return sum.waiters == WAITERS and sum.granted == 1 and sum.woken == scenario.woken
        and sum.created == scenario.created and spread >= scenario.spread, finding
end


local function play(scenario, run)
    local sale = run:sale{
        buyers = WAITERS + 1, servers = WAITERS + 1, timeout = 30, limit = 30,
        strategy = scenario.order == "none" and "zookeeper-none" or "zookeeper",
        purchase = "zklock.seckill.scenario.purchase.herd",
        parameters = {
            jitter = scenario.jitter, created = scenario.created > 0 and 1 or 0,
        },
    }
    local right, finding = herd.judge(scenario, sale.notes)
    return {
        right = right and sale.verdict == "right" and sale.sold == 2, finding = finding,
        sales = { sale }, log = evidence.log(sale, "server %d"),
    }
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
        explanation = "All wait for the same node, so its end wakes all of them, and all but one "
            .. "have asked for nothing.",
    },
    herd.scenario {
        id = "DEMO-14b", title = "no order, jitter 1 s: one by one",
        order = "none", jitter = JITTER, woken = WAITERS, created = WAITERS, spread = SPREAD,
        explanation = "All are woken again, but each waits for a random moment first, so that "
            .. "they do not ask all at once.",
    },
    herd.scenario {
        id = "DEMO-14c", title = "order of arrival: it wakes the next",
        order = "fifo", woken = 2, created = 0,
        explanation = "Each waits for the one before it, so the end of the first wakes the second, "
            .. "which has the lock, and tells the third that it is next.",
    },
}


return herd
