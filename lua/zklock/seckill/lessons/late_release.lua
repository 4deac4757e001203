--- Lesson: a holder that lost its lock releases it, and deletes the next holder's lock.

local steps = require "zklock.seckill.lessons.site.steps"
local times = require "zklock.seckill.lessons.site.times"

local function run(careless)
    return {
        buyers = 4, servers = 4, products = { bun = 10 },
        strategy = "zklock.seckill.lessons.ttl_lock",
        purchase = "zklock.seckill.lessons.check_first",
        parameters = { ttl = 1, careless = careless }, pause = 0.6,
        faults = { { at = 0, stop = "holder", length = 1.3 } },
        simulated = true, seed = 1,
    }
end


-- The buyer whose lock this purchase's release deletes. That buyer got the lock later, and still
-- holds it.
local function victim_of(sale, purchase)
    for _, other in ipairs(sale.purchases) do
        if other.granted > purchase.granted and other.granted < purchase.released
            and other.released > purchase.released then
            return other
        end
    end
end


-- The stopped buyer, the holder whose lock it deleted, and the next holder.
local function chain(sale)
    for _, late in ipairs(sale.purchases) do
        if late.outcome == "lost" then
            local victim = victim_of(sale, late)
            return late, victim, victim_of(sale, victim)
        end
    end
end


local function steps_of(sale)
    if sale.verdict == "right" then return steps.of(sale) end
    local late, victim, other = chain(sale)
    local list, add = steps.list()
    add(sale.faults[1].at, "stop", late)
    add(sale.faults[1].ended, "wakes", late)
    for _, each in ipairs{ victim, other } do
        add(each.granted, "reads", each, each.read)
        add(each.written, "writes", each, each.left)
    end
    add(victim.written, "deletes", victim)
    steps.add_looks(add, sale, { late, victim })
    add(late.released, "deletes", late)
    return steps.sorted(list)
end

return {
    runs = { first = run(true), second = run(nil) },
    modules = { first = { "ttl_lock" } },
    expect = {
        first = { verdict = "wrong", sold = 3, left = 8, failed = 1 },
        second = { verdict = "right", sold = 3, left = 7, failed = 1 },
    },
    predicted = function(facts) return facts.first.verdict end,
    steps = steps_of,
    facts = function(facts)
        local late, victim, other = chain(facts.first)
        return {
            late = late.server, victim = victim.server, other = other.server,
            deleted = times.duration(late.released), again = times.duration(victim.released),
        }
    end,
    values = { "right", "wrong", "error" },
    code = [[
-- DEL lock
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end]],
    command = "make demo-engines DEMO=\"--only DEMO-18\"",
}
