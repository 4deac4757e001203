--- The fairness of a sale counts buyers that were overtaken by later buyers.
---
--- The order of arrival is the order of tokens if the strategy's lock grants by arrival (`fifo`).
--- Otherwise it is the order of the buyers' requests, which may reach the lock's server in a
--- different order within some milliseconds.

local lock_name = require "zklock.seckill.lock_name"
local tokens = require "zklock.seckill.token"

local sort = table.sort


local fairness = {}


local function asked_before(a, b) return a.asked < b.asked end

local function token_before(a, b)
    if a.token and b.token then return tokens.is_less(a.token, b.token) end
    return a.asked < b.asked
end


local function queues_by_lock(purchases, came_before)
    local locks = {}
    for _, purchase in ipairs(purchases) do
        if purchase.granted then
            for _, lock in ipairs(lock_name.parts(purchase.lock)) do
                local queue = locks[lock] or {}
                locks[lock] = queue
                queue[#queue + 1] = purchase
            end
        end
    end
    for _, queue in pairs(locks) do sort(queue, came_before) end
    return locks
end


-- Counts the times before `time` in a list that is sorted from late to early.
local function count_earlier(times, time)
    local low, high = 1, #times + 1
    while low < high do
        local middle = math.floor((low + high) / 2)
        if times[middle] >= time then low = middle + 1 else high = middle end
    end
    return #times + 1 - low
end


local function insert_time(times, time)
    table.insert(times, #times + 1 - count_earlier(times, time), time)
end


-- Returns the most overtakes of one buyer, and this buyer's index in the queue. Buyers that share
-- the lock do not overtake each other.
local function most_overtaken(queue)
    local most, whom, later, later_exclusive = 0, nil, {}, {}
    for i = #queue, 1, -1 do
        local each = queue[i]
        local overtakes = count_earlier(each.shared and later_exclusive or later, each.granted)
        insert_time(later, each.granted)
        if not each.shared then insert_time(later_exclusive, each.granted) end
        if overtakes > most then most, whom = overtakes, i end
    end
    return most, whom
end


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


--- Jain's index: 1 if all shares are equal, 1/n if one of n takes all.
--- R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness, DEC-TR-301, 1984.
---@param shares number[]
---@return number? index  nil if all shares are 0
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
---@field overtakes integer  number of later buyers that overtook the most overtaken buyer
---@field by_token boolean?  the order of arrival is that of tokens, not of requests
---@field lead number?       seconds between its request and the latest request that overtook it
---@field jain number?       Jain's index of the servers' numbers of grants; nil without grants

---@param purchases zklock.seckill.Purchase[]
---@param servers integer  number of servers
---@param fifo boolean?    tokens follow the order of arrival
---@return zklock.seckill.Fairness
function fairness.of(purchases, servers, fifo)
    local found, shares = { overtakes = 0, by_token = fifo }, {}
    for _, queue in pairs(queues_by_lock(purchases, fifo and token_before or asked_before)) do
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
