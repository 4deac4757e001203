--- The flash-sale laboratory as a command.

local zklock = require "zklock"
local catalogue = require "zklock.seckill.catalogue"
local consoles = require "zklock.seckill.console"
local dependency = require "zklock.system.dependency"
local is_interrupt = require "zklock.value.is_interrupt"
local languages = require "zklock.seckill.language"
local json_file = require "zklock.seckill.json_file"
local command_line = require "zklock.seckill.command_line"
local output_file = require "zklock.seckill.output_file"
local reapers = require "zklock.system.reaper"
local missing = require "zklock.system.missing"
local reports = require "zklock.seckill.report"
local runner = require "zklock.seckill.runner"
local utf8 = require "zklock.value.utf8"


local EXPECTED, UNEXPECTED, USAGE, MISSING, INTERRUPTED = 0, 1, 2, 3, 130

local CONNECT_LIMIT = 2 -- seconds, the seed article's (CFG-05)


local laboratory = { MISSING = MISSING, INTERRUPTED = INTERRUPTED }


local function print_list(scenarios, out)
    for _, scenario in ipairs(scenarios) do
        out:write(("%-38s  must be %-5s  %-19s  %s\n    %s\n"):format(scenario.title,
            scenario.expect, scenario.zookeeper and "" or "needs no ZooKeeper", scenario.id,
            scenario.explanation))
    end
end


local function id_with_zookeeper(scenarios)
    for _, scenario in ipairs(scenarios) do
        if scenario.zookeeper then return scenario.id end
    end
end


-- Returns a message if ZooKeeper does not answer, so that not every process complains.
local function zookeeper_problem(hosts)
    local ok, session, message = pcall(zklock.connect, hosts, { connect_timeout = CONNECT_LIMIT })
    if not ok then return session end -- a malformed address
    if not session then return message end
    session:close()
end


local function missing_part(chosen)
    for _, name in ipairs(chosen.environment.modules) do
        local found, message = pcall(dependency.load, name)
        if not found then return message end
    end
    local id = id_with_zookeeper(chosen.scenarios)
    if not id then return nil end
    if not chosen.zookeeper then
        return "no ZooKeeper: give --zookeeper HOSTS or set ZK_HOSTS; needed by " .. id
    end
    return zookeeper_problem(chosen.zookeeper)
end


--- True if the arguments choose scenarios that need a ZooKeeper, and name none. (A sale of one's
--- own starts its ZooKeeper itself.)
function laboratory.lacks_zookeeper(arguments)
    local chosen = command_line.parse(arguments, catalogue)
    return chosen and not (chosen.sale or chosen.help or chosen.list or chosen.zookeeper)
        and id_with_zookeeper(chosen.scenarios) ~= nil
end


-- The sale itself says, when it starts, which servers and modules of its own are missing.
local function missing_for_sale(request)
    return request.zookeeper and zookeeper_problem(request.zookeeper)
end


local function files_of(chosen)
    local files = {}
    for _, kind in ipairs(command_line.FILES) do files[kind] = chosen[kind] end
    return files
end


-- Returns a message if an output file cannot be written.
local function unwritable_file(chosen)
    for _, name in pairs(files_of(chosen)) do
        local message = output_file.problem(name)
        if message then return message end
    end
end


local function write_json(results, file_name)
    local records = {}
    for i, result in ipairs(results) do
        records[i] = {
            id = result.id, title = utf8.clean(result.title), expect = result.expect,
            verdict = result.verdict, finding = result.finding and utf8.clean(result.finding),
            tries = result.tries, seconds = tonumber(("%.3f"):format(result.seconds)),
            latency = result.latency,
        }
    end
    json_file.write(file_name, records, { indent = true })
end


local function records_of(results)
    local records, scenarios = {}, {}
    for i, result in ipairs(results) do
        local indices = {}
        for n, sale in ipairs(result.sales or {}) do
            records[#records + 1] = sale:record()
            indices[n] = #records
        end
        scenarios[i] = {
            title = result.title, id = result.id, expect = result.expect,
            verdict = result.verdict, finding = result.finding, sales = indices,
        }
    end
    return records, scenarios
end


local function write_report(chosen, results, out)
    local records, scenarios = records_of(results)
    assert(reports.write(chosen.report, {
        title = chosen.environment.title, sales = records, scenarios = scenarios,
        language = chosen.language,
    }))
    out:write("The report, a page for the browser: ", chosen.report, "\n")
end


local function write_junit(results, file_name)
    local cases = {}
    for i, result in ipairs(results) do
        cases[i] = {
            name = ("%s (%s)"):format(result.title, result.id), seconds = result.seconds,
            problem = not result.as_expected
                and ("%s, must be %s: %s"):format(result.verdict, result.expect, result.finding),
        }
    end
    assert(reports.junit(file_name, cases))
end


local function run_own_sale(chosen, out)
    return chosen.environment.sale_command.run(chosen.sale, files_of(chosen), out, chosen.language)
        and EXPECTED or UNEXPECTED
end


local function run(chosen, out, err)
    if chosen.sale then return run_own_sale(chosen, out) end
    local console = consoles.new(chosen, out, err)
    console:introduce()
    local reaper = reapers.open()
    local ok, results = pcall(function()
        chosen.environment.prepare(chosen, reaper)
        return runner.run(chosen, reaper, console)
    end)
    reaper:close()
    if not ok then
        console:clear_progress()
        error(results, 0)
    end
    console:sum_up(results)
    if chosen.json then write_json(results, chosen.json) end
    if chosen.junit then write_junit(results, chosen.junit) end
    if chosen.report then write_report(chosen, results, out) end
    return runner.all_as_expected(results) and EXPECTED or UNEXPECTED
end


---@param arguments string[]
---@param out file*
---@param err file*
---@param scenarios zklock.seckill.Scenario[]?  all by default
---@param environment table?  default: zklock.seckill.environment
---@return integer status
function laboratory.main(arguments, out, err, scenarios, environment)
    local chosen, message = command_line.parse(arguments, scenarios or catalogue, environment)
    if not chosen then
        err:write(message, "\n")
        return USAGE
    end
    out = languages.output(out, chosen.language)
    if chosen.help then out:write(chosen.help, "\n") return EXPECTED end
    if chosen.list then print_list(chosen.scenarios, out) return EXPECTED end
    message = unwritable_file(chosen)
    if message then
        err:write(message, "\n")
        return USAGE
    end
    if chosen.sale then message = missing_for_sale(chosen.sale)
    else message = missing_part(chosen) or chosen.environment.missing(chosen) end
    if message then
        err:write(message, "\n")
        return MISSING
    end
    local ok, status = pcall(run, chosen, out, err)
    if ok then return status end
    local interrupted = is_interrupt(status)
    err:write(interrupted and "interrupted" or tostring(status), "\n")
    return interrupted and INTERRUPTED or missing.is(status) and MISSING or UNEXPECTED
end


return laboratory
