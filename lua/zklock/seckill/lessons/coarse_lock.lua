--- Lesson: one lock for all products, where each product could have its own.

local buyers = require "zklock.seckill.lessons.site.buyers"
local steps = require "zklock.seckill.lessons.site.steps"


local function run(lock)
    return {
        buyers = 9, servers = 3, products = { bun = 10, pie = 10, tea = 10 },
        strategy = "zookeeper", lock = lock, pause = 0.2, simulated = true, seed = 1,
    }
end


local function rows(sale)
    local list = {}
    for i, purchase in ipairs(sale.purchases) do
        list[i] = setmetatable({ text = purchase.product }, { __index = purchase })
    end
    return list
end


local function longest_waiter(sale)
    local found = sale.rows[1]
    for _, row in ipairs(sale.rows) do
        if buyers.waited(row) > buyers.waited(found) then found = row end
    end
    return found
end


-- The buyers that held the waiter's lock before it, and wanted another product.
local function strangers_before(sale, waiter)
    local list = {}
    for _, row in ipairs(sale.rows) do
        local is_before = row.lock == waiter.lock and row.granted < waiter.granted
        if is_before and row.product ~= waiter.product then list[#list + 1] = row end
    end
    return list
end


-- The longest wait, and the holders for which that buyer waited without need.
local function steps_of(sale)
    local waiter = longest_waiter(sale)
    local strangers = strangers_before(sale, waiter)
    if not strangers[1] then return {} end
    local list, add = steps.list()
    add(waiter.asked, "comes_for", waiter, waiter.product)
    add(waiter.granted, "granted", waiter)
    for _, row in ipairs(strangers) do add(row.granted, "buys_other", row, row.product) end
    return steps.sorted(list)
end


return {
    runs = { first = run "one", second = run "product" },
    modules = {},
    expect = {
        first = { verdict = "right", sold = 9, left = 21 },
        second = { verdict = "right", sold = 9, left = 21 },
    },
    predicted = function(facts) -- in tenths of a second
        return math.floor(10 * buyers.waited(longest_waiter(facts.first)) + 0.5)
    end,
    facts = function(facts)
        local waiter = longest_waiter(facts.first)
        return { last = waiter, strangers = #strangers_before(facts.first, waiter) }
    end,
    rows = rows, steps = steps_of,
    column = {
        en = "wants", zh = "要买",
        of = function(row) return row.product end,
    },
    values = { 4, 16, "servers" },
    code = [[
-- session:mutex "/lock/all"
session:mutex("/lock/" .. product)]],
}
