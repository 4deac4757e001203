--- The steps of a run in order of time, for the page and its picture. They are the steps of all
--- buyers, or of two buyers, where the second read before the first had written, and so undid the
--- first write.

local buyers = require "zklock.seckill.lessons.site.buyers"

local steps = {}


-- The time from which others see the write, after a commit if the sale has transactions.
local function seen_at(sale, purchase)
    return purchase.written and (sale.commits and purchase.told or purchase.written)
end


--- The first pair of buyers of whom the later writer undid the earlier write; the earlier is first.
function steps.pair(sale)
    local written = {}
    for _, each in ipairs(sale.purchases) do
        if each.written then written[#written + 1] = each end
    end
    table.sort(written, function(a, b) return seen_at(sale, a) < seen_at(sale, b) end)
    for i, other in ipairs(written) do
        for n = i - 1, 1, -1 do
            local one = written[n]
            if one.product == other.product and other.granted < seen_at(sale, one) then
                return one, other
            end
        end
    end
end


local function granted_after(sale, moment)
    for _, each in ipairs(buyers.granted(sale.purchases)) do
        if each.granted > moment then return each end
    end
end


-- A holder with a late write, and the next holder.
local function refused_pair(sale)
    for _, late in ipairs(sale.purchases) do
        if (late.outcome == "late" or late.outcome == "lost") and late.granted then
            return late, granted_after(sale, late.granted)
        end
    end
end


--- A new list of steps, and a function that adds a buyer's step, or nothing without its time.
---@return table[] list
---@return fun(at: number?, what: string, purchase: table, detail: any?) add
function steps.list()
    local list = {}
    return list, function(at, what, purchase, detail)
        if at then
            list[#list + 1] = { at = at, what = what, purchase = purchase, detail = detail }
        end
    end
end


local function add_purchase(add, sale, purchase)
    add(purchase.granted, "reads", purchase, purchase.read)
    if sale.commits then
        add(purchase.written, "prepares", purchase, purchase.left)
        add(purchase.released, "releases", purchase)
        add(purchase.told, "commits", purchase, purchase.left)
    elseif purchase.written then
        add(purchase.written, "writes", purchase, purchase.left)
    elseif purchase.outcome == "late" then
        add(purchase.told, "late", purchase)
    end
end


-- Adds the stops, or their ends, of these buyers' servers.
local function add_faults(add, sale, purchases, what)
    for _, purchase in ipairs(purchases) do
        local fault = buyers.first_fault(purchase, sale, "stop")
        if fault then add(what == "stop" and fault.at or fault.ended, what, purchase) end
    end
end


--- Adds these buyers' looks at their leases.
function steps.add_looks(add, sale, purchases)
    for _, note in ipairs(sale.notes) do
        local state = note.line:match "^its hold is (%l+)$"
        for _, purchase in ipairs(purchases) do
            if state and note.buyer == purchase.buyer then
                add(note.at, "looks_" .. state, purchase)
            end
        end
    end
end


--- Sorts steps by time, and those of the same time by their order in the list.
---@param list table[]
---@return table[]  the same list
function steps.sorted(list)
    for i, step in ipairs(list) do step.index = i end
    table.sort(list, function(a, b)
        if a.at ~= b.at then return a.at < b.at end
        return a.index < b.index
    end)
    return list
end


local function steps_of(sale, purchases, lookers)
    local list, add = steps.list()
    add_faults(add, sale, purchases, "wakes")
    for _, purchase in ipairs(purchases) do add_purchase(add, sale, purchase) end
    steps.add_looks(add, sale, lookers)
    add_faults(add, sale, purchases, "stop")
    return steps.sorted(list)
end


--- The steps of two buyers, or none if each buyer read the stock after the write before.
---@param sale table
---@return table[]  { at =, what =, detail =, purchase = }; a lesson's own may have text = { en =,
---                 zh = } instead of `what`, and server = a number, or nothing, for `purchase`
function steps.of(sale)
    local one, other = steps.pair(sale)
    if not one then one, other = refused_pair(sale) end
    if not one then return {} end
    return steps_of(sale, { one, other }, { one, other })
end


--- The steps of all buyers. A server that was stopped adds its looks at a lease.
function steps.all(sale)
    local stopped = {}
    for _, purchase in ipairs(sale.purchases) do
        if buyers.first_fault(purchase, sale, "stop") then stopped[#stopped + 1] = purchase end
    end
    return steps_of(sale, sale.purchases, stopped)
end


return steps
