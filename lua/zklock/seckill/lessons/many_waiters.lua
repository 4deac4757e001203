--- Lesson: many wait for one lock, and each waits for all holds before its own.

local buyers = require "zklock.seckill.lessons.site.buyers"
local steps = require "zklock.seckill.lessons.site.steps"
local times = require "zklock.seckill.lessons.site.times"


local function run(pays_after)
    return {
        buyers = 16, servers = 4, products = { bun = 20 }, strategy = "zookeeper",
        purchase = "zklock.seckill.lessons.pays",
        parameters = { payment = 0.18, pays_after = pays_after },
        pause = 0.02, timeout = 1.5, simulated = true, seed = 1,
    }
end


local function mean_hold(sale)
    local sum, holders = 0, buyers.granted(sale.purchases)
    for _, each in ipairs(holders) do sum = sum + each.released - each.granted end
    return times.duration(sum / #holders)
end


local function last_holder(sale)
    local holders = buyers.granted(sale.purchases)
    return holders[#holders]
end


local function steps_of(sale)
    local last, list, add = last_holder(sale), steps.list()
    for _, each in ipairs(sale.purchases) do
        if each.outcome == "timeout" then add(each.told, "gives_up", each) end
    end
    if not list[1] then return list end
    add(last.granted, "granted", last)
    return steps.sorted(list)
end

return {
    runs = { first = run(nil), second = run(true) },
    modules = { first = { "pays" } },
    expect = {
        first = { verdict = "right", sold = 8, left = 12, failed = 8 },
        second = { verdict = "right", sold = 16, left = 4, failed = 0 },
    },
    predicted = function(facts) return facts.first.sold end,
    facts = function(facts)
        local last = last_holder(facts.first)
        return {
            hold = { first = mean_hold(facts.first), second = mean_hold(facts.second) },
            last = ("%.2f s"):format(buyers.waited(last)),
        }
    end,
    steps = steps_of,
    values = { 16, 7, 8, 4 },
    code = [[
local lease = assert(lock:acquire(1.5))
local stock = read_stock()
if stock > 0 then write_stock(stock - 1) end
lease:release()                -- was the last line
if stock > 0 then pay() end]],
    command = "make demo DEMO=\"--strategy zookeeper --servers 4 --buyers 200 "
        .. "--products bun=200 --pause 0.02 --report sale.html\"",
}
