--- The reason for a sale's verdict in words. The verdict comes from the store, the overlaps from
--- the record. A right sale mostly has no overlaps, a wrong sale some; if not, the reason says why.

local lock_name = require "zklock.seckill.lock_name"


local words = {}


local function count(list, matches)
    local n = 0
    for _, each in ipairs(list) do
        if matches(each) then n = n + 1 end
    end
    return n
end


-- 12345 as 12,345
local function grouped(n)
    return (("%d"):format(n):reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", ""))
end


local function plural(n, one, many)
    return grouped(n) .. " " .. (n == 1 and one or many)
end


local function wrote_late(purchase)
    return purchase.written ~= nil and purchase.released ~= nil
        and purchase.written > purchase.released
end


local function was_refused_late(purchase)
    return purchase.outcome == "late"
end


-- The number of purchases under a lock that does not exclude the product's first lock.
local function count_under_other_lock(purchases)
    local lock_of = {}
    return count(purchases, function(purchase)
        local lock = tostring(purchase.lock or purchase.product)
        lock_of[purchase.product] = lock_of[purchase.product] or lock
        return not lock_name.meet(lock_of[purchase.product], lock)
    end)
end


local function wrote_as_reader(purchase)
    return purchase.shared and purchase.written ~= nil
end


-- True if more of a product was taken off the stock than was ordered.
local function is_stock_missing(record)
    for product, stock in pairs(record.products) do
        local left, ordered = record.left[product], record.ordered[product]
        if left and ordered and left + ordered < stock then return true end
    end
    return false
end


-- The beginning of a sentence, for sales without overlaps.
local function who_held(record)
    if record.unlocked then return "No lock kept buyers apart, and " end
    if count(record.purchases, function(purchase) return purchase.shared end) > 0 then
        return "Each lock had readers, or one writer, at a time, and "
    end
    return "Each lock had one holder at a time, and "
end


local function wrong_without_overlap(record)
    local late = count(record.purchases, wrote_late)
    local other = count_under_other_lock(record.purchases)
    local readers = count(record.purchases, wrote_as_reader)
    local begin = who_held(record) .. "yet the result is wrong: "
    if other > 0 then
        return begin .. plural(other, "purchase was", "purchases were") .. " made under another "
            .. "lock than the first one of the same product, and different locks do not exclude "
            .. "each other."
    end
    if late > 0 then
        return begin .. plural(late, "write", "writes") .. " reached the store after the lock had "
            .. "been released (released before the commit, or a holder that was stopped and wrote "
            .. "late), when somebody else had already read the stock."
    end
    if readers > 0 then
        return begin .. plural(readers, "purchase was", "purchases were") .. " made under a read "
            .. "lock, which others share, so that several read the same stock."
    end
    if is_stock_missing(record) then
        return begin .. "more was taken off the stock than was ordered. A lock does not prevent "
            .. "that; the program does it with the lock in its hand."
    end
    if record.unlocked then return begin .. "two read the same stock." end
    return begin .. "what was written was not protected by it (released before the commit, or a "
        .. "late write that the record does not show)."
end


local function no_writes_in_overlaps(record)
    for _, overlap in ipairs(record.overlaps) do
        local writes = count(record.purchases, function(purchase)
            local at = purchase.written
            return at and at >= overlap.from and at <= overlap.to
                and lock_name.meet(purchase.lock or purchase.product, overlap.lock)
        end)
        if writes > 0 then return false end
    end
    return true
end


-- The beginning of a sentence, with the number of concurrent holders.
local function several(record, persons)
    local most = 2
    for _, overlap in ipairs(record.overlaps) do most = math.max(most, overlap.holders or 2) end
    local who = most == 2 and "Two " or "Up to " .. grouped(most) .. " "
    return who .. persons .. (record.unlocked and " bought at once, for there is no lock"
        or " held one lock at once")
end


local function right_with_overlap(record)
    local late = count(record.purchases, was_refused_late)
    local begin = several(record, "buyers") .. ", and yet the result is right: "
    if late > 0 then
        return begin .. "the store refused " .. plural(late, "late write", "late writes")
            .. ", because a later holder had already shown it a larger token."
    end
    if no_writes_in_overlaps(record) then return begin .. "nobody wrote while they did." end
    return begin .. "by luck. Nothing in the store refused a late write; the holders just did not "
        .. "happen to read the same stock."
end


local function of_history(record)
    if not record.overlaps[1] then return "No two exclusive holds of one lock overlap." end
    local begin = several(record, "clients") .. ": "
    if record.verdict == "right" then
        return begin .. "a fault explains each, for a holder that is stopped or cut off learns "
            .. "late that it has lost the lock; a write of its own is refused by its token."
    end
    return begin .. "and no fault explains all that happened."
end


--- The mismatch of one product's figures; nil if they add up, or are unknown.
---@param stock integer  initial stock
---@param left integer?
---@param ordered integer?
---@return string?
function words.mismatch_of(stock, left, ordered)
    if not (left and ordered) then return nil end
    local off = left + ordered - stock
    if ordered > stock then return grouped(ordered - stock) .. " more sold than there were" end
    if off > 0 then return grouped(off) .. " sold, and still in stock" end
    if off < 0 then return grouped(-off) .. " gone, and not sold" end
end


local function adds_up(record)
    for product, stock in pairs(record.products) do
        if words.mismatch_of(stock, record.left[product], record.ordered[product]) then
            return false
        end
    end
    return true
end


local function wrong_sale(record)
    if record.in_vain then
        return "The numbers in the store add up. Wrong is that buyers waited in vain."
    end
    if adds_up(record) then
        return "The numbers in the store add up. Wrong is what buyers got, or were told."
    end
    if not record.overlaps[1] then return wrong_without_overlap(record) end
    return several(record, "buyers") .. ". Those who did may have read the same stock, and then "
        .. "each write undid the one before it."
end


function words.why(record, is_history)
    if is_history then return of_history(record) end
    if record.verdict == "failed" then
        return "The store could not be judged, so this sale is neither right nor wrong."
    end
    if record.verdict == "wrong" then return wrong_sale(record) end
    if record.verdict == "stuck" then
        return "Nothing false was sold, but buyers waited in vain, nobody was served, or a fault "
            .. "did not end."
    end
    if record.overlaps[1] then return right_with_overlap(record) end
    return who_held(record) .. "the numbers in the store add up."
end


return words
