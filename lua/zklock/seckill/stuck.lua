--- Finds buyers who waited in vain for a free lock while there was stock. A killed holder holds
--- nothing, even if its lock remains.

local record = require "zklock.seckill.record"

local huge, max, min = math.huge, math.max, math.min

-- Seconds until a free lock gets to its next holder, also on a slow machine.
local HAND_OFF = 0.75


local stuck = {}


-- Outcomes that rule out a wait in vain.
local UNRELATED = {
    sold = true, refused = true, late = true, conflict = true, error = true, untold = true,
}


local function server_of(purchase) return "server " .. purchase.server end


local function killed_server_test(faults)
    local killed = {}
    for _, fault in ipairs(faults) do
        if fault.kind == "kill" then killed[fault.target] = true end
    end
    return function(purchase) return killed[server_of(purchase)] end
end


-- The end of a fault; of a killed ZooKeeper it is the end of its restart, if it has one.
local function end_of(fault, faults)
    local ended = fault.ended
    for _, other in ipairs(fault.kind == "kill" and fault.target == "zookeeper" and faults or {}) do
        if other.kind == "restart" and other.at > fault.at then ended = other.ended end
    end
    return ended or huge
end


-- The time until which a fault may have kept the buyer from a free lock; infinite if a cut of its
-- server, or the end of its session, may have done so until the end. A stop of its server may not,
-- unless the buyer failed in another way than by waiting too long.
--
-- A waiting buyer of another server that is stopped may be the next holder, without a record of it;
-- in ZooKeeper also one that is cut off or killed. No session of ZooKeeper gets a lock soon after a
-- stop.
local function kept_until(fault, ended, purchase, plan)
    local remains = plan.lock_remains or 0
    if not fault.target:find "^server %d+$" then return ended + remains end
    if fault.target == server_of(purchase) then
        local is_over = fault.kind == "stop" and purchase.outcome == "timeout"
        return is_over and ended + remains / 2 or huge
    end
    if remains > 0 then return min(ended + remains / 2, fault.at + remains) end
    return plan.lock_queue and fault.kind == "stop" and ended or 0
end


-- The time from which no fault kept the buyer from a free lock.
local function able_since(purchase, wait_end, faults, plan)
    local since = 0
    for _, fault in ipairs(faults) do
        if fault.at < wait_end then
            since = max(since, kept_until(fault, end_of(fault, faults), purchase, plan))
        end
    end
    return since
end


-- The holds of each lock in order of their beginning. `to` is the time when a hold and all earlier
-- holds were over; infinite without an end.
local function holds_of(purchases, is_killed)
    local holds = {}
    for _, purchase in ipairs(record.requests(purchases)) do
        if purchase.granted then
            local of_lock = holds[purchase.lock] or {}
            holds[purchase.lock] = of_lock
            of_lock[#of_lock + 1] = {
                from = purchase.granted,
                to = purchase.released or is_killed(purchase) and purchase.ended or huge,
            }
        end
    end
    for _, of_lock in pairs(holds) do
        table.sort(of_lock, function(a, b) return a.from < b.from end)
        for i = 2, #of_lock do of_lock[i].to = math.max(of_lock[i].to, of_lock[i - 1].to) end
    end
    return holds
end


-- The time when all holds that had begun by `time` were over.
local function free_since(holds, time)
    local first, last = 0, #holds -- binary search for the last of these holds
    while first < last do
        local middle = math.ceil((first + last) / 2)
        if holds[middle].from <= time then first = middle else last = middle - 1 end
    end
    return first > 0 and holds[first].to or 0
end


-- True if the lock was free before the buyer's answer for longer than a normal hand-off takes. That
-- is up to a tenth of the wait, or half of it if a buyer got the lock later. In the latter case a
-- short wait tells nothing, because the next holder may have asked a moment before.
local function was_free(purchase, wait_end, holds, able)
    local of_lock, wait = holds[purchase.lock] or {}, wait_end - purchase.asked
    local since = max(free_since(of_lock, wait_end), able)
    if of_lock[1] and of_lock[#of_lock].from > wait_end then
        return wait_end - max(since, purchase.asked) >= max(HAND_OFF, wait / 2)
    end
    return wait_end - since >= max(HAND_OFF, wait / 10)
end


--- True if the wait ended only with the sale, or was given up as hung.
function stuck.is_hung(purchase)
    return purchase.outcome == "unanswered" or purchase.outcome == "hung"
end


local function was_kept_out(purchase, plan, outcome, the_end, holds)
    if not purchase.asked or purchase.granted or UNRELATED[purchase.outcome] then return false end
    local wait_end = purchase.told or the_end
    return was_free(purchase, wait_end, holds,
        able_since(purchase, wait_end, outcome.faults, plan))
end


--- The buyers who waited in vain. An unanswered or hung buyer counts even without stock.
---@param plan zklock.seckill.Plan
---@param outcome zklock.seckill.Outcome
---@param the_end number  time of the sale's end
---@param can_be_served fun(purchase: zklock.seckill.Purchase): boolean  by the remaining stock
---@return table<zklock.seckill.Purchase, true>
function stuck.find(plan, outcome, the_end, can_be_served)
    local is_killed, found = killed_server_test(outcome.faults), {}
    local holds = holds_of(outcome.purchases, is_killed)
    for _, purchase in ipairs(outcome.purchases) do
        if not is_killed(purchase) then
            found[purchase] = stuck.is_hung(purchase) or can_be_served(purchase)
                and was_kept_out(purchase, plan, outcome, the_end, holds) or nil
        end
    end
    return found
end


return stuck
