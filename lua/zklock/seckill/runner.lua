--- Runs scenarios in order, and compares each verdict with the expected one.

local core = require "zklock.core"
local is_interrupt = require "zklock.value.is_interrupt"


-- Most attempts at a scenario. An attempt is repeated if a race came out right by luck, or if the
-- attempt proves nothing.
local MOST_TRIES = 3


---@class zklock.seckill.Result
---@field id string
---@field title string
---@field expect "right" | "wrong"
---@field verdict "right" | "wrong" | "failed"  "failed" if it could not be judged
---@field as_expected boolean
---@field finding string
---@field tries integer
---@field seconds number
---@field log table[]?
---@field glimpse table[]?
---@field latency zklock.seckill.Latency?
---@field sales zklock.seckill.Sale[]?


local runner = {}


local function play_once(scenario, attempt, options, reaper)
    local run = options.environment.open_run(scenario.id .. "-" .. attempt, options, reaper)
    local ok, outcome = pcall(scenario.play, scenario, run, attempt)
    run:close()
    if ok and outcome.again then return "failed", outcome end
    if ok then return outcome.right and "right" or "wrong", outcome end
    if is_interrupt(outcome) then error(outcome, 0) end
    return "failed", { finding = tostring(outcome) }
end


local function label(scenario, sales)
    for _, sale in ipairs(sales) do
        local own = sales[2] and ": " .. sale.name or ""
        sale.name = ("%s%s (%s)"):format(scenario.title, own, scenario.id)
        sale.expect, sale.explanation = scenario.expect, scenario.explanation
    end
    return sales
end


function runner.run_one(scenario, options, reaper)
    local started = core.now()
    local tries = 0
    local verdict, outcome
    repeat
        tries = tries + 1
        verdict, outcome = play_once(scenario, tries, options, reaper)
        local by_luck = scenario.race and scenario.expect == "wrong" and verdict == "right"
    until tries == MOST_TRIES or not (by_luck or outcome.again)
    return {
        id = scenario.id, title = scenario.title, expect = scenario.expect,
        verdict = verdict, as_expected = verdict == scenario.expect,
        finding = outcome.finding, tries = tries, seconds = core.now() - started,
        log = outcome.log, glimpse = outcome.glimpse, latency = outcome.latency,
        sales = outcome.sales and label(scenario, outcome.sales),
    }
end


---@param options zklock.seckill.Options
---@param reaper zklock.system.Reaper
---@param console { started: fun(self, scenario), finished: fun(self, result) }
---@return zklock.seckill.Result[]
function runner.run(options, reaper, console)
    local results = {}
    for i, scenario in ipairs(options.scenarios) do
        console:started(scenario)
        results[i] = runner.run_one(scenario, options, reaper)
        console:finished(results[i])
    end
    return results
end


function runner.all_as_expected(results)
    for _, result in ipairs(results) do
        if not result.as_expected then return false end
    end
    return true
end


return runner
