--- The parts of a hold, while the lock is the buyer's by right, and after that.

local buyers = require "zklock.seckill.lessons.site.buyers"

local holds = {}

local NEAR = 0.01 -- share of the picture's width; shorter parts are merged


-- Strategies that exclude at most the buyers of one server, with the key of a row's lock.
local SEPARATE = {
    none = function(row) return row.buyer end,
    ["local"] = function(row) return row.server end,
}

-- The key of the row's lock, if several locks have the same name.
local function key_of(row, sale)
    local key = sale.lock_of or SEPARATE[sale.options.strategy]
    return key and key(row, sale)
end


local function name_of(row) return row.lock or row.product end

local function is_next_holder(other, row, sale)
    return other.granted and other.granted > row.granted and other.buyer ~= row.buyer
        and name_of(other) == name_of(row) and key_of(other, sale) == key_of(row, sale)
        and not (row.shared and other.shared)
end


-- The end of the buyer's right to the lock, by the lesson's rule or by the next grant.
local function end_of_right(row, sale)
    local ends = sale.ends and sale.ends(row, sale) or math.huge
    for _, other in ipairs(sale.rows) do
        if is_next_holder(other, row, sale) then ends = math.min(ends, other.granted) end
    end
    return ends
end


-- Times in which another buyer is at work, with a different lock or without a lock.
local function overlaps_of(row, sale, finish)
    local list, near = {}, NEAR * sale.finish
    for _, each in ipairs(key_of(row, sale) and sale.overlaps or {}) do
        local from, to = math.max(row.granted, each.from), math.min(finish, each.to)
        if each.lock == name_of(row) and from < to then
            list[#list + 1] = {
                from = from - row.granted < near and row.granted or from,
                to = finish - to < near and finish or to,
            }
        end
    end
    return list
end


--- The parts of a row's hold in order. "hold" is by right and alone, "share" by right with others,
--- "two" beside others or by a mere belief, "dead" without a living holder.
---@param row table  with a grant
---@param sale table
---@return { what: string, from: number, to: number }[]
function holds.parts(row, sale)
    local finish, ends = row.released or row.ended or sale.finish, end_of_right(row, sale)
    local parts, at = {}, row.granted
    local function add(what, to)
        parts[#parts + 1] = { what = what, from = at, to = to }
        at = to
    end
    for _, each in ipairs(overlaps_of(row, sale, finish)) do
        if each.from > at then add("hold", each.from) end
        add("two", each.to)
    end
    local till = math.min(ends, finish)
    if till > at or not parts[1] then add(row.shared and "share" or "hold", till) end
    if finish > at then add("two", finish) end
    if sale.ends and ends > finish and buyers.first_fault(row, sale, "kill") then
        add("dead", math.min(ends, sale.finish))
    end
    return parts
end


--- The meaning of a part that is "two" in this sale, as "many" buyers without a lock, two locks
--- "apart", or a lock that a buyer "believes" to hold.
function holds.meaning(sale)
    if sale.options.strategy == "none" then return "many" end
    return (sale.lock_of or SEPARATE[sale.options.strategy]) and "apart" or "believes"
end


return holds
