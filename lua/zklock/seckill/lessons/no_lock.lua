--- Lesson: buyers of one server read and write the stock without a lock.

local times = require "zklock.seckill.lessons.site.times"

local function run(strategy)
    return {
        buyers = 6, servers = 1, products = { bun = 10 }, strategy = strategy,
        simulated = true, seed = 1,
    }
end

return {
    runs = { first = run "none", second = run "local" },
    modules = {},
    expect = {
        first = { verdict = "wrong", sold = 6, left = 9 },
        second = { verdict = "right", sold = 6, left = 4 },
    },
    predicted = function(facts) return facts.first.left end,
    facts = function(facts)
        local first = facts.first.purchases[1]
        return { work = times.milliseconds(first.written - first.granted) }
    end,
    values = { 4, 10, 9, "error" },
    code = [[
lock:acquire()                 -- new
local stock = read_stock()
write_stock(stock - 1)
lock:release()                 -- new]],
    command = "make demo DEMO=\"--strategy none,local --servers 1 --buyers 6 --report sale.html\"",
}
