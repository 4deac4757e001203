--- When several buyers held one lock at the same time, though one of them had it for itself.
---
--- A hold is taken to begin when the lock was had, and to end just before it is given up: so
--- two holds of a lock that excludes do not overlap, however slow the machine is. A hold that
--- was never given up ends with its server.

local sort = table.sort


local overlaps = {}


-- The beginnings and ends of all holds, by lock and in the order of time.
local function changes_by_lock(purchases)
    local locks = {}
    for _, purchase in ipairs(purchases) do
        local from = purchase.granted
        local to = purchase.released or purchase.ended
        if from and to and to > from then
            local lock = purchase.lock or purchase.product
            local changes = locks[lock] or {}
            locks[lock] = changes
            changes[#changes + 1] = { at = from, by = 1, shared = purchase.shared }
            changes[#changes + 1] = { at = to, by = -1, shared = purchase.shared }
        end
    end
    for _, changes in pairs(locks) do
        sort(changes, function(a, b) return a.at < b.at end)
    end
    return locks
end


-- What changes at one moment changes at once: a hold that begins where another ends does not
-- overlap with it, nor does it cut a stretch of others in two.
local function find(lock, changes, found)
    local alone, shared, open = 0, 0, nil
    for i, change in ipairs(changes) do
        if change.shared then shared = shared + change.by else alone = alone + change.by end
        local following = changes[i + 1]
        if not following or following.at > change.at then
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
end


--- A stretch of time in which a lock had several holders, at least one of which excludes others.
---@class zklock.seckill.Overlap
---@field lock string
---@field from number      seconds since the sale began
---@field to number
---@field holders integer  how many held it at once, at most

--- All overlaps, in the order of time.
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
