--- Lesson: the master dies before a replica knows of the lock.

local buyers = require "zklock.seckill.lessons.site.buyers"
local seckill = require "zklock.seckill"
local steps = require "zklock.seckill.lessons.site.steps"
local times = require "zklock.seckill.lessons.site.times"

local LAGS, FAILOVER, DIES_AFTER, WORK, TTL = { 0.2, 0.3 }, 0.2, 0.18, 0.5, 5 -- seconds
local SCHEDULES = 1000


local function options(majority, dies_after)
    return {
        buyers = 3, servers = 3, products = { bun = 10 },
        strategy = "zklock.seckill.lessons.replicated_lock", pause = WORK,
        parameters = {
            lags = LAGS, failover = FAILOVER, ttl = TTL, majority = majority,
            dies_after = dies_after,
        },
    }
end


local function run(majority)
    local made = options(majority, DIES_AFTER)
    made.simulated, made.seed = true, 1
    return made
end


-- Counts wrong schedules, with the master's death at a random moment.
local function count_wrong(majority)
    local explored = options(majority)
    explored.faults = {}
    return assert(seckill.explore(explored, { seeds = SCHEDULES, moment = false })).wrong
end


local function time_of_death(sale)
    return buyers.granted(sale.purchases)[1].granted + DIES_AFTER
end


local function spans(sale)
    local died = time_of_death(sale)
    return {
        { at = 0, ended = died, text = { en = "A", zh = "A" } },
        { at = died + FAILOVER, text = { en = "B", zh = "B" } },
    }
end


local function steps_of(sale)
    local list, b_knows = steps.of(sale), sale.verdict == "right"
    local died = time_of_death(sale)
    list[#list + 1] = { at = died, text = { en = "A, the master, dies", zh = "主节点 A 宕机" } }
    list[#list + 1] = { at = died + FAILOVER, text = {
        en = b_knows and "B becomes the master, and has the lock"
            or "B becomes the master, and does not have the lock",
        zh = b_knows and "B 成为主节点，它有这把锁" or "B 成为主节点，它没有这把锁",
    } }
    return steps.sorted(list)
end


return {
    searched = true,
    runs = { first = run(), second = run(true) },
    modules = { first = { "replicated_lock" } },
    expect = {
        first = { verdict = "wrong", sold = 3, left = 8 },
        second = { verdict = "right", sold = 3, left = 7 },
    },
    predicted = function(facts) return facts.first.left end,
    common = { en = "the lock's servers", zh = "锁的服务器" },
    spans = spans, steps = steps_of,
    facts = function()
        return {
            lag = times.milliseconds(LAGS[1]), longer = times.milliseconds(LAGS[2]),
            dies = times.milliseconds(DIES_AFTER), failover = times.milliseconds(FAILOVER),
            work = WORK, ttl = TTL,
            explored = {
                schedules = SCHEDULES, plain = count_wrong(), majority = count_wrong(true),
            },
        }
    end,
    values = { 7, 8, 9, "error" },
    code = [[
-- redis:set("lock", me, "NX", "PX", 5000)       -- the master has it
session:mutex("/lock/bun"):acquire()             -- most of the servers have it]],
    command = "make demo-engines DEMO=\"--only DEMO-19\"",
}
