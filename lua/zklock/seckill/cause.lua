--- Whether there is a cause for what a buyer failed with: a fault that struck before, or the lock,
--- which others held. A buyer that waited for a lock in vain is of zklock.seckill.stuck.

local stuck = require "zklock.seckill.stuck"
local tokens = require "zklock.seckill.token"

local huge = math.huge


local cause = {}


-- A lock causes neither.
local OF_A_PROGRAM = { error = true, untold = true }


-- A fault of a server meets its own buyers, and those that held a lock, because a stopped server
-- may hold the store.
local function is_struck(purchase, faults)
    for _, fault in ipairs(faults) do
        local server = fault.target:match "^server (%d+)$"
        local meets = not server or tonumber(server) == purchase.server or purchase.granted
        if meets and fault.at <= (purchase.told or huge) then return true end
    end
    return false
end


-- Did another buyer hold the lock, too, until the first one was told, or after it?
local function was_followed(purchase, purchases)
    local from, to = purchase.granted, purchase.told or huge
    for _, other in ipairs(purchases) do
        if other ~= purchase and other.lock == purchase.lock and other.granted
           and other.granted < to then
            if (other.released or other.ended or huge) > from then return true end
            if other.token and purchase.token and tokens.is_less(purchase.token, other.token) then
                return true
            end
        end
    end
    return false
end


-- Was its time over when it was told so? It may have had one lock, and waited for another.
local function is_in_time(purchase, plan)
    local patience = purchase.patience or plan.timeout or 0
    return purchase.told - purchase.asked >= patience / 2
end


--- A function that says whether a failed purchase has a cause.
function cause.of(plan, outcome)
    return function(purchase)
        if stuck.is_hung(purchase) then return true end
        if is_struck(purchase, outcome.faults) then return true end
        if OF_A_PROGRAM[purchase.outcome] or not purchase.asked then return false end
        if purchase.outcome == "timeout" then return is_in_time(purchase, plan) end
        if not purchase.granted or purchase.suspect or purchase.lost then return true end
        return was_followed(purchase, outcome.purchases)
    end
end


return cause
