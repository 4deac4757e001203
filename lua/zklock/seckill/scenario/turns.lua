--- DEMO-09 and 10: two sessions, each in a process of its own, use one lock one after the other,
--- for a while each (S2 §5). In DEMO-10 each takes the lock twice, and gives it up twice.

local evidence = require "zklock.seckill.scenario.evidence"


-- Times in the record are cut to the microsecond.
local RESOLUTION = 0.001


local turns = {}


-- What one of the two notes, in order.
local SCRIPTS = {
    once = { "got the lock", "released" },
    twice = { "got", "got again", "released", "released again" },
}


-- Do the lines from `first` on come from one process, with one token, as the script has them?
-- What is wrong, or nil.
local function one_turn(log, first, script)
    local holder = log[first]
    for i, line in ipairs(script) do
        local entry = log[first + i - 1]
        if entry.who ~= holder.who then return entry.who .. " came between" end
        if entry.line ~= line then return ("%q instead of %q"):format(entry.line, line) end
        if entry.token ~= holder.token then return "another token inside a turn" end
    end
end


local function fault_of(sale, log, script, hold)
    if #log ~= 2 * #script then
        return ("%d lines instead of %d"):format(#log, 2 * #script)
    end
    local second = #script + 1
    local fault = one_turn(log, 1, script) or one_turn(log, second, script)
    if fault then return fault end
    if log[1].who == log[second].who then return log[1].who .. " twice" end
    if not evidence.tokens_grow(sale) then return "tokens do not grow" end
    local apart = log[second].at - log[1].at
    if apart < hold - RESOLUTION then
        return ("%.2f s apart, held %.2f s"):format(apart, hold)
    end
    return sale.verdict ~= "right" and sale.finding or nil
end


local function play(scenario, run)
    local hold, script = run.options.hold, SCRIPTS[scenario.script]
    local sale = run:sale{
        buyers = 2, servers = 2, strategy = "zookeeper", pause = 0, hold = hold,
        timeout = 30 + hold, purchase = "zklock.seckill.scenario.purchase.turns",
        parameters = { script = scenario.script },
    }
    local log = evidence.log(sale, "thread-%d")
    local fault = fault_of(sale, log, script, hold)
    return {
        right = not fault, log = log, sales = { sale },
        finding = fault or ("%s, then %s %.2f s later"):format(log[1].who, log[#script + 1].who,
            log[#script + 1].at - log[1].at),
    }
end


turns.scenarios = {
    {
        id = "DEMO-09", title = "two sessions, one lock",
        expect = "right", zookeeper = true, play = play, script = "once",
        explanation = "Two processes want one lock: the second has it only when the first has "
            .. "given it up.",
    },
    {
        id = "DEMO-10", title = "two sessions, each takes it twice",
        expect = "right", zookeeper = true, play = play, script = "twice",
        explanation = "A holder gets the lock a second time at once, and gives it up with the "
            .. "second release.",
    },
}


return turns
