--- Finds buyers who waited in vain for a free lock while there was stock. A killed holder holds
--- nothing, even if its lock remains. A wait for several locks is in vain only if all were free.

local lock_name = require "zklock.seckill.lock_name"
local record = require "zklock.seckill.record"

local huge, max, min = math.huge, math.max, math.min

-- Seconds until a free lock gets to its next holder, also on a slow machine.
local HAND_OFF = 0.75

-- In a world a hand-off, or a grant of a free lock, takes so many times the longest message.
local HAND_OFF_MESSAGES, GRANT_MESSAGES = 10, 5


local stuck = {}


-- Outcomes that rule out a wait in vain.
local UNRELATED = {
    sold = true, refused = true, late = true, conflict = true, error = true, untold = true,
}


local function server_of(purchase) return "server " .. purchase.server end


-- Seconds, in a world.
local function longest_message(plan) return plan.random_faults and plan.random_faults.delay or 0 end


-- Returns a function for the time when a purchase's server was killed; nil if it was not.
local function kill_times(faults)
    local times = {}
    for _, fault in ipairs(faults) do
        if fault.kind == "kill" then times[fault.target] = fault.at end
    end
    return function(purchase) return times[server_of(purchase)] end
end


-- The end of a fault; of a killed ZooKeeper it is the end of its restart, if it has one.
local function end_of(fault, faults)
    for _, other in ipairs(fault.kind == "kill" and fault.target == "zookeeper" and faults or {}) do
        if other.kind == "restart" and other.at > fault.at then return other.ended or huge end
    end
    return fault.ended or huge
end


-- Outcomes of a wait in a session that lived on.
local WAITED = { busy = true, timeout = true }

-- The time until which a fault may have kept the buyer of the struck server from a free lock;
-- infinite if the end of its session may have done so until the end.
local function own_buyer_kept_until(fault, ended, purchase, remains)
    if not WAITED[purchase.outcome] then return huge end
    if fault.kind == "expire" then return fault.at + remains end
    return ended + remains / 2
end


-- The time until which a fault may have kept buyers of other servers from a free lock. In
-- ZooKeeper a waiting buyer of a server that is struck may be the next holder, without a record of
-- it, as long as its session lasts.
local function others_kept_until(fault, ended, remains)
    if remains == 0 then return 0 end
    local time = fault.at + remains
    return fault.kind == "stop" and min(time, ended + remains / 2) or time
end


-- The time until which a fault may have kept the buyer from a free lock. No session of ZooKeeper
-- gets a lock soon after an outage.
local function kept_until(fault, ended, purchase, plan)
    local remains = plan.lock_remains or 0
    if not fault.target:find "^server %d+$" then return ended + remains end
    if fault.target == server_of(purchase) then
        return own_buyer_kept_until(fault, ended, purchase, remains)
    end
    return others_kept_until(fault, ended, remains)
end


-- The time from which no fault kept the buyer from a free lock. A fault soon after the wait may
-- strike a server that does not yet know that its buyer got the lock.
local function able_since(purchase, wait_end, hand_off, faults, plan)
    local since = 0
    for _, fault in ipairs(faults) do
        if fault.at < wait_end + hand_off then
            since = max(since, kept_until(fault, end_of(fault, faults), purchase, plan))
        end
    end
    return since
end


-- times when locks were taken -------------------------------------------------------------------

-- Adds a time to the list of each lock. `to` becomes the time when this one and all earlier ones
-- were over.
local function add_time(lists, locks, from, to)
    for _, lock in ipairs(locks) do
        local list = lists[lock] or {}
        lists[lock] = list
        list[#list + 1] = { from = from, to = max(to, list[1] and list[#list].to or 0) }
    end
end


-- The end of all times in the list that had begun by `time`; 0 without such a time.
local function end_of_times(list, time)
    local first, last = 0, list and #list or 0 -- binary search for the last of these times
    while first < last do
        local middle = math.ceil((first + last) / 2)
        if list[middle].from <= time then first = middle else last = middle - 1 end
    end
    return first > 0 and list[first].to or 0
end


-- The holds of each lock, infinite without an end.
local function holds_of(requests, killed_at)
    local granted, holds = {}, {}
    for _, request in ipairs(requests) do
        if request.granted then granted[#granted + 1] = request end
    end
    table.sort(granted, function(a, b) return a.granted < b.granted end)
    for _, request in ipairs(granted) do
        local to = request.released or killed_at(request) and request.ended or huge
        add_time(holds, lock_name.parts(request.lock), request.granted, to)
    end
    return holds
end


-- True if a stop of the buyer's server may have struck its grant, or its release, under way. A
-- release soon before the stop shows that, or a grant soon after it. A lock with a queue may be
-- granted to any waiting buyer.
local function was_struck_under_way(request, stop, hand_off, has_queue)
    local granted, released = request.granted or huge, request.released or huge
    if not request.asked or request.asked > stop.at then return false end
    if granted <= stop.at then
        return released <= stop.at and stop.at <= released + hand_off
    end
    return has_queue and stop.at <= (request.told or huge)
        or granted <= (stop.ended or 0) + hand_off
end


-- Times in which a stopped server may hold a lock without a record of it; in ZooKeeper as long as
-- its session lasts.
local function stops_of(plan, outcome, requests, hand_off)
    local stops, most = {}, not plan.lock_queue and plan.lock_remains or huge
    for _, fault in ipairs(outcome.faults) do
        local to = min(fault.ended or huge, fault.at + most)
        for _, request in ipairs(fault.kind == "stop" and requests or {}) do
            if server_of(request) == fault.target
               and was_struck_under_way(request, fault, hand_off, plan.lock_queue) then
                add_time(stops, lock_name.parts(request.lock), fault.at, to)
            end
        end
    end
    return stops
end


-- The requests for several locks in order of time.
local function waits_for_several(requests, killed_at, the_end)
    local waits = {}
    for _, request in ipairs(requests) do
        local locks = request.asked and lock_name.parts(request.lock) or {}
        if locks[2] then
            waits[#waits + 1] = {
                locks = locks, from = request.asked, to = 0,
                ended = request.granted or request.told or killed_at(request) or the_end,
            }
        end
    end
    table.sort(waits, function(a, b) return a.from < b.from end)
    return waits
end


---@class zklock.seckill.Taken
---@field holds table<string, { from: number, to: number }[]>   by lock
---@field hand_off number  seconds
---@field stops table<string, { from: number, to: number }[]>   of servers that may hold the lock
---@field queues table<string, { from: number, to: number }[]>  waits for several locks, up to the
---time when they were free

-- The time from which none of the locks was taken, neither by a holder nor by a buyer that had
-- asked for several locks before, and waited for another of these.
local function free_since(taken, locks, asked, wait_end)
    local since = 0
    for _, lock in ipairs(locks) do
        since = max(since, end_of_times(taken.holds[lock], wait_end),
            end_of_times(taken.stops[lock], wait_end),
            end_of_times(taken.queues[lock], asked + taken.hand_off)) -- perhaps first in the queue
    end
    return since
end


-- A wait may take the locks of an earlier wait, so all are computed until nothing changes.
---@return zklock.seckill.Taken
local function taken_times(plan, outcome, killed_at, the_end)
    local requests = record.requests(outcome.purchases)
    local hand_off = HAND_OFF + HAND_OFF_MESSAGES * longest_message(plan)
    local taken = {
        hand_off = hand_off, holds = holds_of(requests, killed_at), queues = {},
        stops = stops_of(plan, outcome, requests, hand_off),
    }
    local waits = waits_for_several(requests, killed_at, the_end)
    repeat
        local is_new = false
        for _, wait in ipairs(waits) do
            local to = min(wait.ended, free_since(taken, wait.locks, wait.from, wait.ended))
            wait.to, is_new = to, is_new or to > wait.to
        end
        taken.queues = {}
        for _, wait in ipairs(waits) do add_time(taken.queues, wait.locks, wait.from, wait.to) end
    until not is_new
    return taken
end


local function was_granted_later(taken, locks, time)
    for _, lock in ipairs(locks) do
        local holds = taken.holds[lock]
        if holds and holds[#holds].from > time then return true end
    end
    return false
end


-- waits in vain ---------------------------------------------------------------------------------

-- True if the lock was free before the buyer's answer for longer than a normal hand-off takes. That
-- is up to a tenth of the wait, or half of it if a buyer got the lock later. In the latter case a
-- short wait tells nothing, because the next holder may have asked a moment before.
local function was_free(purchase, wait_end, taken, able)
    local locks, wait = lock_name.parts(purchase.lock), wait_end - purchase.asked
    local since = max(free_since(taken, locks, purchase.asked, wait_end), able)
    if was_granted_later(taken, locks, wait_end) then
        return wait_end - max(since, purchase.asked) >= max(taken.hand_off, wait / 2)
    end
    return wait_end - since >= max(taken.hand_off, wait / 10)
end


--- True if the wait ended only with the sale, or was given up as hung.
function stuck.is_hung(purchase)
    return purchase.outcome == "unanswered" or purchase.outcome == "hung"
end


-- True if the buyer's server lived until its answer, or the end.
local function is_living(purchase, killed_at)
    local killed = killed_at(purchase)
    return not killed or purchase.told and purchase.told < killed
end


local function was_kept_out(purchase, plan, outcome, the_end, taken)
    if not purchase.asked or purchase.granted or UNRELATED[purchase.outcome] then return false end
    local wait_end = purchase.told or the_end
    if purchase.outcome == "timeout"
       and wait_end - purchase.asked < GRANT_MESSAGES * longest_message(plan) then
        return false
    end
    return was_free(purchase, wait_end, taken,
        able_since(purchase, wait_end, taken.hand_off, outcome.faults, plan))
end


--- The buyers who waited in vain. An unanswered or hung buyer counts even without stock.
---@param plan zklock.seckill.Plan
---@param outcome zklock.seckill.Outcome
---@param the_end number  time of the sale's end
---@param can_be_served fun(purchase: zklock.seckill.Purchase): boolean  by the remaining stock
---@return table<zklock.seckill.Purchase, true>
function stuck.find(plan, outcome, the_end, can_be_served)
    local killed_at, found = kill_times(outcome.faults), {}
    local taken = taken_times(plan, outcome, killed_at, the_end)
    for _, purchase in ipairs(outcome.purchases) do
        if is_living(purchase, killed_at) then
            found[purchase] = stuck.is_hung(purchase) or can_be_served(purchase)
                and was_kept_out(purchase, plan, outcome, the_end, taken) or nil
        end
    end
    return found
end


return stuck
