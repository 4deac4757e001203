--- Lesson: the holder is killed, and the lock has no end of its own.

local steps = require "zklock.seckill.lessons.site.steps"

local TIMEOUT, KILLED_AT, TTL = 5, 0.2, 2 -- seconds


local function run(parameters)
    return {
        buyers = 4, servers = 4, products = { bun = 10 },
        strategy = "zklock.seckill.lessons.ttl_lock",
        parameters = parameters, pause = 0.5, timeout = TIMEOUT,
        faults = { { at = KILLED_AT, kill = "holder" } }, simulated = true, seed = 1,
    }
end


-- The end of a row's lock, if nobody releases it.
local function ends(row, sale)
    local parameters = sale.options.parameters
    return parameters and row.granted + parameters.ttl or math.huge
end


-- The first buyer, and the killed one.
local function facts_of(facts)
    local own = { timeout = TIMEOUT, struck = KILLED_AT, ttl = TTL }
    for _, purchase in ipairs(facts.first.purchases) do
        if purchase.outcome == "sold" then own.bought = purchase.buyer end
        if purchase.outcome == "unanswered" then own.killed = purchase.buyer end
    end
    return own
end


-- The killed buyer, the next holder, and the buyers that gave up.
local function steps_of(sale)
    local list, add = steps.list()
    for _, purchase in ipairs(sale.purchases) do
        for _, fault in ipairs(sale.faults) do
            if fault.target == "server " .. purchase.server then
                add(fault.at, "killed", purchase)
            elseif purchase.outcome == "timeout" then
                add(purchase.told, "gives_up", purchase)
            elseif purchase.granted > fault.at then
                add(purchase.granted, "granted", purchase)
            end
        end
    end
    return steps.sorted(list)
end

return {
    runs = { first = run(), second = run{ ttl = TTL } },
    modules = { first = { "ttl_lock" } },
    expect = {
        first = { verdict = "stuck", sold = 1, left = 9, failed = 3 },
        second = { verdict = "right", sold = 3, left = 7, failed = 1 },
    },
    predicted = function(facts) return facts.first.sold end,
    steps = steps_of, ends = ends, facts = facts_of,
    values = { 3, 2, 1 },
    code = [[
-- SETNX lock me
SET lock me NX PX 2000]],
    command = "make demo-engines DEMO=\"--only BUG-15\"",
}
