--- The laboratory's command line.

local dependency = require "zklock.system.dependency"
local languages = require "zklock.seckill.language"
local default_environment = require "zklock.seckill.environment"
local variable = require "zklock.system.variable"


---@class zklock.seckill.Options
---@field environment table     a module such as zklock.seckill.environment
---@field scenarios zklock.seckill.Scenario[]  to run
---@field pause number      seconds between reading and writing the stock
---@field hold number?      seconds to hold a lock where the seed article sleeps
---@field session number    session timeout to ask for, in seconds
---@field zookeeper string? address
---@field lua string?       the interpreter for the processes
---@field throwaway zklock.seckill.Throwaway?  servers that all sales share
---@field verbose boolean
---@field language "en" | "zh"
---@field json string?      file for the results
---@field report string?    file for a page with the results
---@field csv string?       file for the purchases of a sale
---@field junit string?     file for the results, as JUnit's XML
---@field sale table?       the user's own sale, instead of scenarios
---@field list boolean?
---@field help string?      the text to print
---@field store string?     over HTTP: "sqlite", "mysql" or a URL
---@field ports integer[]?  over HTTP


local DEFAULTS = {
    pause = 0.02,
    session = 2, -- the seed article's (CFG-04)
}


local command_line = { FILES = { "report", "json", "csv", "junit" } } -- options for output files


local function seconds(text) -- an argparse converter
    local number = tonumber(text)
    if not number or number < 0 or number > 60 then
        return nil, ("%q is not a number of seconds between 0 and 60"):format(text)
    end
    return number
end


local function zookeeper_hosts(text) -- an argparse converter
    if not text:find "^memory:" then return text end
    return nil, text .. " is a server inside one process, and a sale has several"
end


---@param parser table  argparse's
---@param environment table
function command_line.describe(parser, environment)
    parser:add_help(false)
    parser:help_max_width(80)
    parser:flag("-h --help", "Show this help.")
    parser:flag("--list", "List the scenarios, run none.")
    parser:option("--only", ("Run these, for example %s."):format(environment.example))
        :argname "IDS"
    parser:option("--pause", ("Seconds between reading and writing the stock (default %g). The "
        .. "race is there without it; the pause widens it, so that ten buyers are enough to see "
        .. "it. With 0 a wrong strategy may look right."):format(DEFAULTS.pause))
        :argname "S" :convert(seconds)
    environment.describe(parser, seconds)
    parser:option("--session", ("Session timeout to ask for (default %g) where a fault waits for "
        .. "it, as when the holder is killed; the server may change it. Elsewhere it is longer, so "
        .. "that a busy machine ends no session."):format(DEFAULTS.session))
        :argname "S" :convert(seconds)
    parser:option("--zookeeper", "Address, for example 127.0.0.1:2181 (default: $ZK_HOSTS).")
        :argname "HOSTS" :convert(zookeeper_hosts)
    parser:option("--report", "Write what happened into a page for the browser.")
        :argname "FILE"
    parser:option("--json", "Write the results into a file as well.")
        :argname "FILE"
    parser:option("--junit", "Write the results as JUnit's XML, a case for each scenario or sale.")
        :argname "FILE"
    if environment.sale_command then
        parser:option("--csv", "Write the purchases of a sale into a file, a line each.")
            :argname "FILE"
        environment.sale_command.describe(parser)
    end
    parser:option("--language", "Of the output and of reports: en or zh (default: "
        .. "$ZKLOCK_LANGUAGE, or en).") :argname "NAME" :choices(languages.NAMES)
    parser:flag("--verbose", "Show what the processes did, line by line.")
    parser:epilog("Exit status: 0 all as expected, 1 not, 2 wrong options, "
        .. "3 something needed is missing, 130 interrupted.\n\n"
        .. ("Example: %s --only %s"):format(environment.command, environment.example))
end


local function parser_of(environment)
    local argparse = dependency.load "argparse"
    local parser = argparse(environment.command, environment.description)
    command_line.describe(parser, environment)
    return parser
end


local function ids(scenarios)
    local list = {}
    for i, scenario in ipairs(scenarios) do list[i] = scenario.id end
    return table.concat(list, " ")
end


-- DEMO-06 stands for DEMO-06a and DEMO-06b.
local function is_named_by(scenario, word)
    return scenario.id == word or scenario.id:gsub("%l$", "") == word
end


local function choose_scenarios(only, catalogue)
    if not only then return catalogue end
    local meant = {}
    for word in only:gmatch "[^,%s]+" do
        local known = false
        for _, scenario in ipairs(catalogue) do
            if is_named_by(scenario, word) then
                known = true
                meant[scenario] = true
            end
        end
        if not known then
            return nil, ("no scenario %q; there are %s"):format(word, ids(catalogue))
        end
    end
    local chosen = {}
    for _, scenario in ipairs(catalogue) do
        if meant[scenario] then chosen[#chosen + 1] = scenario end
    end
    if not chosen[1] then return nil, "--only names no scenario; there are " .. ids(catalogue) end
    return chosen
end


local OF_SCENARIOS = { "only", "seed_times", "verbose" }

-- Returns a message about an option that would be ignored.
local function misplaced_option(given, is_sale)
    if not is_sale then
        return given.csv and "--csv is of a sale of your own: give one of its options, such as "
            .. "--strategy"
    end
    for _, name in ipairs(OF_SCENARIOS) do
        if given[name] then
            return ("--%s is of the scenarios, and the other options make a sale of your own")
                :format((name:gsub("_", "-")))
        end
    end
end


local function clash_of_files(given)
    local option_of = {}
    for _, option in ipairs(command_line.FILES) do
        local file = given[option]
        if file and option_of[file] then
            return ("--%s and --%s name one file"):format(option_of[file], option)
        end
        if file then option_of[file] = option end
    end
end


---@param arguments string[]
---@param catalogue zklock.seckill.Scenario[]
---@param environment table?  zklock.seckill.environment by default
---@return zklock.seckill.Options? options
---@return string? message  the mistake, and the allowed values
function command_line.parse(arguments, catalogue, environment)
    environment = environment or default_environment
    local parser = parser_of(environment)
    local ok, given = parser:pparse(arguments)
    if not ok then return nil, given .. "\n" .. parser:get_usage() end
    local scenarios, message = choose_scenarios(given.only, catalogue)
    message = message or clash_of_files(given)
    if message then return nil, message end
    local language
    language, message = languages.choose(given.language)
    if not language then return nil, message end
    local chosen = environment.read(given)
    local common = {
        environment = environment, scenarios = scenarios,
        pause = given.pause or DEFAULTS.pause,
        session = given.session or DEFAULTS.session,
        zookeeper = given.zookeeper or variable "ZK_HOSTS",
        verbose = given.verbose or false,
        language = language,
        json = given.json,
        report = given.report,
        csv = given.csv,
        junit = given.junit,
        list = given.list,
        help = given.help and parser:get_help() or nil,
    }
    for name, value in pairs(common) do chosen[name] = value end
    if environment.sale_command then
        chosen.sale, message = environment.sale_command.read(given)
        message = message or misplaced_option(given, chosen.sale)
        if message then return nil, message end
    end
    return chosen
end


return command_line
