--- Lesson: two locks, taken in different orders.

local buyers = require "zklock.seckill.lessons.site.buyers"
local seckill = require "zklock.seckill"
local steps = require "zklock.seckill.lessons.site.steps"


local TIMEOUT = 2 -- seconds
local SEEDS = 100

local function run(parameters, seed)
    return {
        buyers = 2, servers = 2, products = { bun = 10 }, strategy = "zookeeper",
        purchase = "zklock.seckill.lessons.two_locks", parameters = parameters, pause = 0.2,
        timeout = TIMEOUT, simulated = true, seed = seed or 1,
    }
end


local function notes_of(sale, buyer)
    local list = {}
    for _, note in ipairs(sale.notes) do
        if note.buyer == buyer then list[#list + 1] = note end
    end
    table.sort(list, function(a, b) return a.at < b.at end)
    return list
end


-- The parts of a buyer's note: "has" or "asks", the lock, and the token of a held lock.
local function parts_of(note)
    local what, lock, token = note.line:match "^(%a+) (%a+) ?(%d*)$"
    if what == "has" or what == "asks" then return what, lock, token end
end


-- The row of a buyer's lock, before the grant. (The purchase reads and writes under both locks. The
-- row of "stock" shows that.)
local function new_row(purchase, lock, asked)
    local row = {
        buyer = purchase.buyer, server = purchase.server, lock = lock, label = lock,
        asked = asked, told = purchase.told, outcome = purchase.outcome,
    }
    if lock == "stock" then
        row.read, row.left, row.written = purchase.read, purchase.left, purchase.written
    end
    return row
end


local function rows(sale)
    local list = {}
    for _, purchase in ipairs(sale.purchases) do
        local by_lock = {}
        for _, note in ipairs(notes_of(sale, purchase.buyer)) do
            local what, lock, token = parts_of(note)
            if what and not by_lock[lock] then
                local asked = what == "asks" and note.at or purchase.asked
                by_lock[lock] = new_row(purchase, lock, asked)
                list[#list + 1] = by_lock[lock]
            end
            if what == "has" then
                local row = by_lock[lock]
                row.granted, row.token, row.released = note.at, token, purchase.released
            end
        end
    end
    return list
end


local function steps_of(sale)
    local list, add = steps.list()
    for _, note in ipairs(sale.notes) do
        local what, lock = parts_of(note)
        for _, row in ipairs(sale.rows) do
            local is_same_buyer = row.buyer == note.buyer
            if is_same_buyer and row.lock == lock then
                add(note.at, what, row, lock)
            elseif is_same_buyer and note.line == "gives up" and not row.granted then
                add(note.at, "gives_up", row)
            end
        end
    end
    return steps.sorted(list)
end


-- The least time that was left until its timeout when a waiter got its lock.
local function least_time_left(sale)
    local least = TIMEOUT
    for _, row in ipairs(sale.rows) do
        if row.granted then least = math.min(least, TIMEOUT - buyers.waited(row)) end
    end
    return ("%.1f s"):format(least)
end


-- Counts random seeds with which nobody buys, if both buyers come at the same moment.
local function count_without_sale()
    local count = 0
    for seed = 1, SEEDS do
        local sale = assert(seckill.sale(run({ gap = 0 }, seed)))
        assert(sale.sold < 2, "both have bought")
        if sale.sold == 0 then count = count + 1 end
    end
    return count
end


return {
    runs = { first = run{ gap = 0.1 }, second = run{ gap = 0.1, sorted = true } },
    modules = { first = { "two_locks" } },
    expect = {
        first = { verdict = "right", sold = 1, left = 9, failed = 1 },
        second = { verdict = "right", sold = 2, left = 8, failed = 0 },
    },
    predicted = function(facts) return facts.first.sold end,
    rows = rows, steps = steps_of,
    facts = function(facts)
        return { spare = least_time_left(facts.first), seeds = SEEDS, none = count_without_sale() }
    end,
    values = { 2, 1, 0, "never" },
    code = [[
table.sort(names)                               -- new, or:
local both = session:multi{ session:mutex "/account/7", session:mutex "/stock/bun" }]],
}
