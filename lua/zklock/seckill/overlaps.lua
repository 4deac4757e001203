--- When several held one lock at the same time, though one of them had it for itself.
---
--- A hold is taken to begin when the lock was had, and to end just before it is given up: so
--- two holds of a lock that excludes do not overlap, however slow the machine is. One that was
--- never given up ends with its server.

local sort = table.sort


local overlaps = {}


-- The beginnings and ends of all holds, by lock and in the order of time; an end comes before a
-- beginning at the same time.
local function changes_by_lock(purchases)
    local locks = {}
    for _, purchase in ipairs(purchases) do
        local from = purchase.granted
        local to = purchase.released or purchase.ended
        if from and to and to > from then
            local changes = locks[purchase.lock] or {}
            locks[purchase.lock] = changes
            changes[#changes + 1] = { at = from, by = 1, shared = purchase.shared }
            changes[#changes + 1] = { at = to, by = -1, shared = purchase.shared }
        end
    end
    for _, changes in pairs(locks) do
        sort(changes, function(a, b)
            if a.at ~= b.at then return a.at < b.at end
            return a.by < b.by
        end)
    end
    return locks
end


local function find(lock, changes, found)
    local alone, shared, open = 0, 0, nil
    for _, change in ipairs(changes) do
        if change.shared then shared = shared + change.by else alone = alone + change.by end
        local several = alone > 1 or alone == 1 and shared > 0
        if several and not open then
            open = { lock = lock, from = change.at, holders = 0 }
            found[#found + 1] = open
        end
        if several then open.holders = math.max(open.holders, alone + shared) end
        if open and not several then
            open.to = change.at
            open = nil
        end
    end
end


--- A time in which all holds of a lock were in conflict with another.
---@class zklock.seckill.Overlap
---@field lock string
---@field from number      seconds since the sale began
---@field to number
---@field holders integer  how many held it at once, at most

--- All of them, in the order of time.
---@param purchases zklock.seckill.Purchase[]
---@return zklock.seckill.Overlap[]
function overlaps.of(purchases)
    local found = {}
    for lock, changes in pairs(changes_by_lock(purchases)) do find(lock, changes, found) end
    sort(found, function(a, b)
        if a.from ~= b.from then return a.from < b.from end
        return a.lock < b.lock
    end)
    return found
end


return overlaps
