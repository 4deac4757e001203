--- The causes of failed purchases, such as a fault before the answer or another holder of the lock.
--- zklock.seckill.stuck judges buyers that waited in vain.

local lock_name = require "zklock.seckill.lock_name"
local record = require "zklock.seckill.record"
local stuck = require "zklock.seckill.stuck"
local tokens = require "zklock.seckill.token"

local huge = math.huge


local cause = {}


-- Outcomes that a lock cannot cause.
local PROGRAM_ERRORS = { error = true, untold = true }


-- True if a fault before the answer may be the cause. A fault of a server concerns its own buyers,
-- and also all buyers that got a lock, because a stopped server may block the store.
local function may_have_been_struck(purchase, faults)
    for _, fault in ipairs(faults) do
        local server = fault.target:match "^server (%d+)$"
        local concerns_buyer = not server or tonumber(server) == purchase.server or purchase.granted
        if concerns_buyer and fault.at <= (purchase.told or huge) then return true end
    end
    return false
end


-- True if another buyer got the lock before this buyer's answer, and released it after this buyer's
-- grant or has a greater token.
local function had_another_holder(purchase, requests)
    local from, to = purchase.granted, purchase.told or huge
    for _, other in ipairs(requests) do
        if other ~= purchase and other.granted and other.granted < to
           and lock_name.meet(other.lock, purchase.lock) then
            if (other.released or other.ended or huge) > from then return true end
            if other.token and purchase.token and tokens.is_less(purchase.token, other.token) then
                return true
            end
        end
    end
    return false
end


-- True if a "timeout" came after at least half of the buyer's patience. A buyer of several locks
-- may have spent the rest of its patience on the locks before.
local function waited_long_enough(purchase, plan)
    local patience = purchase.patience or plan.timeout or 0
    return purchase.told - purchase.asked >= patience / 2
end


--- Returns a function that is true if a failed purchase had a cause.
function cause.test_of(plan, outcome)
    local requests = record.requests(outcome.purchases)
    return function(purchase)
        if stuck.is_hung(purchase) then return true end
        if may_have_been_struck(purchase, outcome.faults) then return true end
        if PROGRAM_ERRORS[purchase.outcome] or not purchase.asked then return false end
        if purchase.outcome == "timeout" then return waited_long_enough(purchase, plan) end
        if not purchase.granted or purchase.suspect or purchase.lost then return true end
        return had_another_holder(purchase, requests)
    end
end


return cause
