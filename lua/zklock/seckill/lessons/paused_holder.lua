--- Lesson: a holder pauses beyond its session timeout, and then writes.

local steps = require "zklock.seckill.lessons.site.steps"

local function run(purchase)
    return {
        buyers = 3, servers = 3, products = { bun = 10 }, strategy = "zookeeper",
        purchase = purchase, pause = 0.5, session = 2, fenced = false,
        faults = { { at = 0, stop = "holder", length = 5 } }, simulated = true, seed = 1,
    }
end

return {
    searched = true,
    runs = { first = run(), second = run "zklock.seckill.lessons.check_first" },
    modules = { second = { "check_first" } }, tokens = false,
    expect = {
        first = { verdict = "wrong", sold = 3, left = 9 },
        second = { verdict = "right", sold = 2, left = 8, failed = 1 },
    },
    predicted = function(facts) return facts.first.left end,
    steps = steps.all,
    values = { 7, 8, 9 },
    code = [[
local stock = read_stock()
if not lease:held() then return give_up() end      -- new
write_stock(stock - 1)]],
    command = "make demo DEMO=\"--only DEMO-17a --report sale.html\"",
}
