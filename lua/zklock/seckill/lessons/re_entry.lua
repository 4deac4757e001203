--- Lesson: a function acquires the lock that its caller holds.

local buyers = require "zklock.seckill.lessons.site.buyers"
local steps = require "zklock.seckill.lessons.site.steps"


local function run(strategy)
    return {
        buyers = 3, servers = 3, products = { bun = 10 }, strategy = strategy,
        purchase = "zklock.seckill.lessons.helper_locks", pause = 0.2, timeout = 2,
        simulated = true, seed = 1,
    }
end


local function notes_by_line(sale, buyer)
    local notes = {}
    for _, note in ipairs(sale.notes) do
        if note.buyer == buyer then notes[note.line] = note end
    end
    return notes
end


local function time_of(notes, line) return notes[line] and notes[line].at end


-- A row for the lock as `sell` acquires it; nil if `sell` was not called.
local function row_of_sell(purchase, notes)
    local asked = time_of(notes, "asks again")
    if not asked then return nil end
    local again = notes["has it again"]
    return {
        buyer = purchase.buyer, server = purchase.server, lock = purchase.lock, label = "sell()",
        asked = asked, granted = again and again.at, token = again and again.token,
        read = purchase.read, left = purchase.left, written = purchase.written,
        released = time_of(notes, "releases once"), gave_up_at = time_of(notes, "gives up"),
        told = purchase.told, outcome = purchase.outcome, reentered = again ~= nil,
    }
end


-- A row for each acquire of each buyer. (`sell` makes the sale.)
local function rows(sale)
    local list = {}
    for _, purchase in ipairs(sale.purchases) do
        local notes = notes_by_line(sale, purchase.buyer)
        list[#list + 1] = {
            buyer = purchase.buyer, server = purchase.server, lock = purchase.lock,
            label = "order()", asked = purchase.asked, granted = purchase.granted,
            released = purchase.released, token = purchase.token,
            told = purchase.told, outcome = purchase.outcome,
        }
        list[#list + 1] = row_of_sell(purchase, notes)
    end
    return list
end


-- The steps of the first holder, and of the buyers that gave up.
local function steps_of(sale)
    local first, list, add = buyers.granted(sale.rows)[1], steps.list()
    for _, row in ipairs(sale.rows) do
        if row == first then
            add(row.granted, "granted", row)
        elseif row.buyer == first.buyer then
            add(row.asked, "asks_again", row)
            add(row.granted, "has_again", row)
            add(row.gave_up_at, "gives_up", row)
            add(row.released, "releases_once", row)
        elseif not row.granted then
            add(row.told, "gives_up", row)
        end
    end
    add(first.released, "releases", first) -- after the steps of `sell` at that moment
    return steps.sorted(list)
end

return {
    runs = { first = run "zklock.seckill.lessons.ttl_lock", second = run "zookeeper" },
    modules = { first = { "helper_locks", "ttl_lock" } },
    expect = {
        first = { verdict = "stuck", sold = 0, left = 10, failed = 3 },
        second = { verdict = "right", sold = 3, left = 7, failed = 0 },
    },
    predicted = function(facts) return facts.first.sold end,
    rows = rows, steps = steps_of,
    column = {
        en = "in", zh = "函数",
        of = function(row) return row.label end,
    },
    values = { 3, 2, 0 },
    code = [[
local lease = session:mutex("/lock/bun"):acquire(2)   -- knows its owner: sell() may acquire it
-- or:
local function sell(lease, item) … end                -- has the lock from its caller]],
}
