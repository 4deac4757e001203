--- How fair a sale was: who came earlier to a lock, and had it later.
---
--- The order of arrival is that of the servers' nodes, where a lock grants in that order and its
--- token tells it (`fifo` in the strategy). Elsewhere it is that of the requests in their servers,
--- from which the order at the lock's server differs by some milliseconds.

local tokens = require "zklock.seckill.token"

local sort = table.sort


local fairness = {}


local function asked_before(a, b) return a.asked < b.asked end

local function made_before(a, b)
    if a.token and b.token then return tokens.is_less(a.token, b.token) end
    return a.asked < b.asked
end


-- Purchases of one lock that had it, in the order in which they came.
local function granted_by_lock(purchases, came_before)
    local locks = {}
    for _, purchase in ipairs(purchases) do
        if purchase.granted then
            local queue = locks[purchase.lock] or {}
            locks[purchase.lock] = queue
            queue[#queue + 1] = purchase
        end
    end
    for _, queue in pairs(locks) do sort(queue, came_before) end
    return locks
end


-- How many of the times, whose first is the latest, are earlier. In a fair sale none.
local function count_earlier(times, time)
    local low, high = 1, #times + 1
    while low < high do
        local middle = math.floor((low + high) / 2)
        if times[middle] >= time then low = middle + 1 else high = middle end
    end
    return #times + 1 - low
end


local function insert(times, time)
    table.insert(times, #times + 1 - count_earlier(times, time), time)
end


-- The buyer that was overtaken most, and by how many. Those that share the lock do not overtake
-- each other.
local function most_overtaken(queue)
    local most, whom, all, alone = 0, nil, {}, {}
    for i = #queue, 1, -1 do
        local each = queue[i]
        local overtakes = count_earlier(each.shared and alone or all, each.granted)
        insert(all, each.granted)
        if not each.shared then insert(alone, each.granted) end
        if overtakes > most then most, whom = overtakes, i end
    end
    return most, whom
end


-- How long before the last of those that overtook it the buyer had asked.
local function lead_of(queue, whom)
    local overtaken, lead = queue[whom], 0
    for i = whom + 1, #queue do
        local other = queue[i]
        if other.granted < overtaken.granted and not (other.shared and overtaken.shared) then
            lead = math.max(lead, other.asked - overtaken.asked)
        end
    end
    return lead
end


--- Jain's index: 1 when all have the same, 1/n when one of n has all.
--- R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness, DEC-TR-301, 1984.
---@param shares number[]
---@return number? index  nil: nobody has anything
function fairness.jain(shares)
    local sum, squares = 0, 0
    for _, share in ipairs(shares) do
        sum = sum + share
        squares = squares + share * share
    end
    if squares == 0 then return nil end
    return sum * sum / (#shares * squares)
end


---@class zklock.seckill.Fairness
---@field overtakes integer  most overtakes of one buyer: others that came later and had it first
---@field by_token boolean?  the order of arrival is that of tokens; nil: of requests
---@field lead number?       seconds by which that buyer had asked before the last of them
---@field jain number?       Jain's index over the servers' grants; nil: none

---@param purchases zklock.seckill.Purchase[]
---@param servers integer  how many there were
---@param fifo boolean?    the order of tokens is that of arrival
---@return zklock.seckill.Fairness
function fairness.of(purchases, servers, fifo)
    local found, shares = { overtakes = 0, by_token = fifo }, {}
    for _, queue in pairs(granted_by_lock(purchases, fifo and made_before or asked_before)) do
        local overtakes, whom = most_overtaken(queue)
        if overtakes > found.overtakes then
            found.overtakes, found.lead = overtakes, lead_of(queue, whom)
        end
    end
    for server = 1, servers do shares[server] = 0 end
    for _, purchase in ipairs(purchases) do
        if purchase.granted then shares[purchase.server] = shares[purchase.server] + 1 end
    end
    found.jain = fairness.jain(shares)
    return found
end


return fairness
