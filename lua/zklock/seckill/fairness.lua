--- How fair a sale was, from the times at which each buyer asked for the lock and had it.

local sort = table.sort


local fairness = {}


-- Purchases of one lock that had it, in the order in which they asked.
local function granted_by_lock(purchases)
    local locks = {}
    for _, purchase in ipairs(purchases) do
        if purchase.granted then
            local queue = locks[purchase.lock] or {}
            locks[purchase.lock] = queue
            queue[#queue + 1] = purchase
        end
    end
    for _, queue in pairs(locks) do
        sort(queue, function(a, b) return a.asked < b.asked end)
    end
    return locks
end


-- The most overtakes of one buyer: how many others asked later and had the lock earlier. `later`
-- are the grants of all that asked later, the last one first; each is put in by bisection, in a
-- fair sale at the end.
local function most_overtakes(queue)
    local most, later = 0, {}
    for i = #queue, 1, -1 do
        local granted = queue[i].granted
        local low, high = 1, #later + 1
        while low < high do
            local middle = math.floor((low + high) / 2)
            if later[middle] >= granted then low = middle + 1 else high = middle end
        end
        most = math.max(most, #later + 1 - low)
        table.insert(later, low, granted)
    end
    return most
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
---@field overtakes integer  most overtakes of one buyer: others that asked later and had it first
---@field jain number?       Jain's index over the servers' grants; nil: none

---@param purchases zklock.seckill.Purchase[]
---@param servers integer  how many there were
---@return zklock.seckill.Fairness
function fairness.of(purchases, servers)
    local overtakes, shares = 0, {}
    for _, queue in pairs(granted_by_lock(purchases)) do
        overtakes = math.max(overtakes, most_overtakes(queue))
    end
    for server = 1, servers do shares[server] = 0 end
    for _, purchase in ipairs(purchases) do
        if purchase.granted then shares[purchase.server] = shares[purchase.server] + 1 end
    end
    return { overtakes = overtakes, jain = fairness.jain(shares) }
end


return fairness
