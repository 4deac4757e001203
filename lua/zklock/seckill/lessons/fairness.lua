--- Lesson: a lock without a queue, where long waiters ask seldom.

local buyers = require "zklock.seckill.lessons.site.buyers"
local seckill = require "zklock.seckill"
local steps = require "zklock.seckill.lessons.site.steps"
local times = require "zklock.seckill.lessons.site.times"

local GAP, WORK = 0.09, 0.16 -- seconds between buyers, and of a purchase
local SEEDS = 40

local function run(strategy)
    return {
        buyers = 8, servers = 8, products = { bun = 7 }, strategy = strategy,
        purchase = "zklock.seckill.lessons.comes_later", parameters = { gap = GAP }, pause = WORK,
        simulated = true, seed = 1,
    }
end


local function overtakers(purchases, buyer)
    local list = {}
    for _, each in ipairs(purchases) do
        if each.asked > buyer.asked and each.granted < buyer.granted then list[#list + 1] = each end
    end
    return list
end


-- The buyer with the most overtakers, and these overtakers.
local function most_overtaken(sale)
    local found, most = nil, {}
    for _, each in ipairs(sale.rows) do
        local others = overtakers(sale.rows, each)
        if #others > #most then found, most = each, others end
    end
    return found, most
end


local function refused_buyer(sale)
    for _, each in ipairs(sale.purchases) do
        if each.outcome == "refused" then return each.buyer end
    end
end


local function sleeps_of(sale, buyer)
    local list = {}
    for _, note in ipairs(sale.notes) do
        local seconds = tonumber(note.line:match "^asked in vain, sleeps (%S+) s$")
        if seconds and note.buyer == buyer then
            list[#list + 1] = { at = note.at, ended = note.at + seconds, seconds = seconds }
        end
    end
    return list
end


-- The sleeps of the most overtaken buyer, with a text where there is room.
local function spans(sale)
    local waiter, list = most_overtaken(sale), {}
    for i, each in ipairs(waiter and sleeps_of(sale, waiter.buyer) or {}) do
        local text = each.seconds < 0.2 and "" or ("%g"):format(each.seconds)
        list[i] = {
            server = waiter.server, at = each.at, ended = each.ended,
            text = { en = text, zh = text },
        }
    end
    return list
end


-- The events while the most overtaken buyer waited.
local function steps_of(sale)
    local waiter, others = most_overtaken(sale)
    if not waiter then return {} end
    local list, add = steps.list()
    add(waiter.asked, "comes", waiter)
    for _, each in ipairs(others) do add(each.granted, "overtakes", each, waiter.buyer) end
    local sleeps = sleeps_of(sale, waiter.buyer)
    local last = sleeps[#sleeps]
    list[#list + 1] = { at = last.at, purchase = waiter, text = {
        en = ("asks in vain, and sleeps %g s"):format(last.seconds),
        zh = ("又没问到，睡 %g 秒"):format(last.seconds),
    } }
    add(waiter.granted, "comes_too_late", waiter)
    return steps.sorted(list)
end


-- Counts random seeds with which this buyer gets no bun.
local function count_refusals(buyer)
    local count, options = 0, run "zklock.seckill.lessons.polled_lock"
    for seed = 1, SEEDS do
        options.seed = seed
        if refused_buyer(assert(seckill.sale(options))) == buyer then count = count + 1 end
    end
    return count
end


-- The total time without a holder, and the longest pause between two holds.
local function pauses_of(sale)
    local holders, idle, longest = buyers.granted(sale.purchases), 0, 0
    for i = 2, #holders do
        local pause = holders[i].granted - holders[i - 1].released
        idle, longest = idle + pause, math.max(longest, pause)
    end
    return times.duration(idle), times.duration(longest)
end


return {
    runs = { first = run "zklock.seckill.lessons.polled_lock", second = run "zookeeper" },
    modules = { first = { "comes_later", "polled_lock" } },
    expect = {
        first = { verdict = "right", sold = 7, left = 0, refused = 1 },
        second = { verdict = "right", sold = 7, left = 0, refused = 1 },
    },
    predicted = function(facts) return facts.without.first end,
    facts = function(facts)
        local waiter, others = most_overtaken(facts.first)
        local sleeps, without = sleeps_of(facts.first, waiter.buyer), refused_buyer(facts.first)
        local idle = pauses_of(facts.first)
        local _, handover = pauses_of(facts.second)
        return {
            gap = GAP, work = WORK, idle = idle, handover = handover,
            without = { first = without, second = refused_buyer(facts.second) },
            overtakes = #others, vain = #sleeps, longest = sleeps[#sleeps].seconds,
            seeds = SEEDS, same = count_refusals(without),
        }
    end,
    spans = spans, steps = steps_of,
    column = {
        en = "overtaken by", zh = "被几人抢先",
        of = function(purchase, sale) return #overtakers(sale.purchases, purchase) end,
    },
    values = { 8, 2, "chance" },
    code = [[
-- while not redis:set(key, me, "NX") do sleep(pause); pause = 2 * pause end
session:mutex("/lock/bun"):acquire(10)   -- waits in a queue, 10 s at most]],
    command = "make demo DEMO=\"--strategy zookeeper,zookeeper-none --servers 8 --buyers 200 "
        .. "--pause 0.002 --report sale.html\"",
}
