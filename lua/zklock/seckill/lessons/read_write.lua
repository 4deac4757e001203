--- Lesson: readers share a lock; a reader that writes shares it, too.

local seckill = require "zklock.seckill"


-- A `fenced` store compares tokens.
local function run(side, fenced)
    return {
        buyers = 8, servers = 2, products = { bun = 2 }, strategy = "zookeeper-rw",
        purchase = "zklock.seckill.lessons.read_or_buy", parameters = { side = side, gap = 0.02 },
        pause = 0.2, fenced = fenced, simulated = true, seed = 1,
    }
end


local function count_of(sale, outcome)
    local count = 0
    for _, each in ipairs(sale.purchases) do
        if each.outcome == outcome then count = count + 1 end
    end
    return count
end


-- The first run with a store that compares tokens.
local function fenced_run()
    local sale = assert(seckill.sale(run("read", true)))
    assert(sale.verdict == "right", sale.finding)
    return { sold = sale.sold, left = sale.left, late = count_of(sale, "late") }
end


return {
    searched = true,
    runs = { first = run("read", false), second = run("write", false) },
    modules = { first = { "read_or_buy" } },
    expect = {
        first = { verdict = "wrong", sold = 4, left = 1, overlap = 0 },
        second = { verdict = "right", sold = 2, left = 0, refused = 2, overlap = 0 },
    },
    predicted = function(facts) return facts.first.sold end,
    facts = function(facts)
        return { lookers = count_of(facts.first, "looked"), fenced = fenced_run() }
    end,
    values = { 2, 4, "refused" },
    code = [[
-- local lease = lock:read():acquire(3)
local lease = lock:write():acquire(3)
local stock = read_stock()
if stock > 0 then write_stock(stock - 1) end
lease:release()]],
}
