--- Lesson: the holder is stopped between its last look at the lease and the write.

local seckill = require "zklock.seckill"
local steps = require "zklock.seckill.lessons.site.steps"

local SCHEDULES = 1000

local function run(fenced)
    return {
        buyers = 3, servers = 3, products = { bun = 10 }, strategy = "zookeeper",
        purchase = "zklock.seckill.lessons.check_first", pause = 0.5, session = 2, fenced = fenced,
        faults = { { at = 0.505, stop = "server 2", length = 5 } }, simulated = true, seed = 1,
    }
end


-- Counts wrong sales, with servers stopped at moments that the random seed chooses.
local function count_wrong(purchase, fenced)
    local found = assert(seckill.explore({
        buyers = 2, products = { bun = 2 }, purchase = purchase, fenced = fenced,
        faults = { stop = true, delay = 0.02 },
    }, { seeds = SCHEDULES, moment = false }))
    return found.wrong
end

return {
    runs = { first = run(false), second = run(true) },
    modules = { first = { "check_first" } },
    expect = {
        first = { verdict = "wrong", sold = 3, left = 9 },
        second = { verdict = "right", sold = 2, left = 8, failed = 1 },
    },
    predicted = function(facts) return facts.first.verdict end,
    steps = steps.all,
    facts = function()
        return { explored = {
            schedules = SCHEDULES, plain = count_wrong(nil, false),
            checked = count_wrong("zklock.seckill.lessons.check_first", false),
            fenced = count_wrong("zklock.seckill.lessons.check_first", true),
        } }
    end,
    values = { "right", "wrong", "longer" },
    code = [[
-- before the work, each statement on its own:
UPDATE product SET token = :token WHERE id = :id AND token < :token;
SELECT stock FROM product WHERE id = :id;
-- after it, in one transaction with the order:
UPDATE product SET stock = :left WHERE id = :id AND token <= :token;  -- 0 rows: too late]],
    command = "make demo DEMO=\"--only DEMO-17\"",
}
