--- Times in which a lock had several holds, and at least one exclusive hold. A hold of several
--- locks is a hold of each.
---
--- A hold begins after the grant and ends before the release, so correct holds never overlap,
--- however slow the machine is. A hold without a release ends with its server.

local lock_name = require "zklock.seckill.lock_name"
local record = require "zklock.seckill.record"

local sort = table.sort


local overlaps = {}


local function add_hold(changes, from, to, shared)
    changes[#changes + 1] = { at = from, by = 1, shared = shared }
    changes[#changes + 1] = { at = to, by = -1, shared = shared }
end


-- The beginnings (by = 1) and ends (by = -1) of holds, by lock and in order of time.
local function changes_by_lock(purchases)
    local locks = {}
    for _, purchase in ipairs(record.requests(purchases)) do
        local from = purchase.granted
        local to = purchase.released or purchase.ended
        if from and to and to > from then
            for _, lock in ipairs(lock_name.parts(purchase.lock or purchase.product)) do
                locks[lock] = locks[lock] or {}
                add_hold(locks[lock], from, to, purchase.shared)
            end
        end
    end
    for _, changes in pairs(locks) do
        sort(changes, function(a, b) return a.at < b.at end)
    end
    return locks
end


-- Changes at the same time count together. A hold that begins when another hold ends neither
-- overlaps with it nor divides a longer overlap.
local function add_overlaps(lock, changes, found)
    local exclusive, shared, current = 0, 0, nil
    for i, change in ipairs(changes) do
        if change.shared then shared = shared + change.by else exclusive = exclusive + change.by end
        local next_change = changes[i + 1]
        if not next_change or next_change.at > change.at then
            local is_overlap = exclusive > 1 or exclusive == 1 and shared > 0
            if is_overlap and not current then
                current = { lock = lock, from = change.at, holders = 0 }
                found[#found + 1] = current
            end
            if is_overlap then current.holders = math.max(current.holders, exclusive + shared) end
            if current and not is_overlap then
                current.to = change.at
                current = nil
            end
        end
    end
end


---@class zklock.seckill.Overlap
---@field lock string
---@field from number      seconds since the sale began
---@field to number
---@field holders integer  most holders at once

function overlaps.of(purchases)
    local found = {}
    for lock, changes in pairs(changes_by_lock(purchases)) do
        add_overlaps(lock, changes, found)
    end
    sort(found, function(a, b)
        if a.from ~= b.from then return a.from < b.from end
        return a.lock < b.lock
    end)
    return found
end


return overlaps
