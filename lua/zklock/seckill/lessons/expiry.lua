--- Lesson: a lock that ends by itself before the work is done.

local buyers = require "zklock.seckill.lessons.site.buyers"
local steps = require "zklock.seckill.lessons.site.steps"
local times = require "zklock.seckill.lessons.site.times"

local TTL = 1 -- seconds


local function run(purchase)
    return {
        buyers = 3, servers = 3, products = { bun = 10 },
        strategy = "zklock.seckill.lessons.ttl_lock",
        purchase = purchase, parameters = { ttl = TTL }, pause = 1.5, simulated = true, seed = 1,
    }
end


-- The end of a row's lock. The purchase of the second run renews the lock.
local function ends(row, sale) return sale.options.purchase and math.huge or row.granted + TTL end

-- The last grant, and the time that a renewed lock is held after its write.
local function facts_of(facts)
    local holders, renewed = buyers.granted(facts.first.purchases), facts.second.purchases[1]
    return {
        last = times.duration(holders[#holders].granted),
        after = times.duration(renewed.released - renewed.written),
    }
end

return {
    runs = { first = run(), second = run "zklock.seckill.lessons.watchdog" },
    modules = { first = { "ttl_lock" }, second = { "watchdog" } },
    expect = {
        first = { verdict = "wrong", sold = 3, left = 8 },
        second = { verdict = "right", sold = 3, left = 7 },
    },
    predicted = function(facts) return facts.first.left end,
    steps = steps.all, ends = ends, facts = facts_of,
    values = { 7, 8, 9, "error" },
    code = [[
local done = false
zklock.run(function()               -- runs both functions side by side
    work()
    done = true
end, function()
    while not done do
        lock:renew()                -- new: it lasts `ttl` seconds from now on
        zklock.sleep(ttl / 3)
    end
end)]],
    command = "make demo-engines DEMO=\"--only DEMO-13\"",
}
