--- Finds buyers who waited in vain for a free lock while there was stock. A killed holder holds
--- nothing, even if its lock remains.

local record = require "zklock.seckill.record"

local huge, max = math.huge, math.max

-- Seconds until a free lock gets to its next holder, also on a slow machine.
local HAND_OFF = 0.75


local stuck = {}


-- Outcomes that rule out a wait in vain.
local UNRELATED = {
    sold = true, refused = true, late = true, conflict = true, error = true, untold = true,
}


local function killed_server_test(faults)
    local killed = {}
    for _, fault in ipairs(faults) do
        if fault.kind == "kill" then killed[fault.target] = true end
    end
    return function(purchase) return killed["server " .. purchase.server] end
end


-- The time from which no fault of its server kept the buyer from the lock; infinite if a cut or the
-- end of its session may have done so until the end. After a stop it has to get a free lock, unless
-- it failed in another way than by waiting too long.
local function able_since(purchase, faults, the_end)
    local since, server = 0, "server " .. purchase.server
    for _, fault in ipairs(faults) do
        if fault.target == server and fault.at < (purchase.told or the_end) then
            local is_over = fault.kind == "stop" and purchase.outcome == "timeout"
            since = math.max(since, is_over and fault.ended or huge)
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
local function was_free(purchase, holds, faults, the_end)
    local wait_end, of_lock = purchase.told or the_end, holds[purchase.lock] or {}
    local wait = wait_end - purchase.asked
    local since = max(free_since(of_lock, wait_end), able_since(purchase, faults, the_end))
    if of_lock[1] and of_lock[#of_lock].from > wait_end then
        return wait_end - max(since, purchase.asked) >= max(HAND_OFF, wait / 2)
    end
    return wait_end - since >= max(HAND_OFF, wait / 10)
end


--- True if the wait ended only with the sale, or was given up as hung.
function stuck.is_hung(purchase)
    return purchase.outcome == "unanswered" or purchase.outcome == "hung"
end


local function was_kept_out(purchase, holds, outcome, the_end)
    return purchase.asked ~= nil and not purchase.granted and not UNRELATED[purchase.outcome]
        and was_free(purchase, holds, outcome.faults, the_end)
end


--- The buyers who waited in vain. An unanswered or hung buyer counts even without stock.
---@param outcome zklock.seckill.Outcome
---@param the_end number  time of the sale's end
---@param can_be_served fun(purchase: zklock.seckill.Purchase): boolean  by the remaining stock
---@return table<zklock.seckill.Purchase, true>
function stuck.find(outcome, the_end, can_be_served)
    local is_killed, found = killed_server_test(outcome.faults), {}
    local holds = holds_of(outcome.purchases, is_killed)
    for _, purchase in ipairs(outcome.purchases) do
        if not is_killed(purchase) and (stuck.is_hung(purchase)
           or was_kept_out(purchase, holds, outcome, the_end) and can_be_served(purchase)) then
            found[purchase] = true
        end
    end
    return found
end


return stuck
