--- A sale on the command line. Its options become the options of seckill.compare or, with
--- --explore, of seckill.explore.

local core = require "zklock.core"
local comparisons = require "zklock.seckill.comparison"
local explorations = require "zklock.seckill.exploration"
local fault_options = require "zklock.seckill.fault_options"
local plans = require "zklock.seckill.plan"
local reports = require "zklock.seckill.report"
local seckill = require "zklock.seckill"
local variable = require "zklock.system.variable"


local sale_command = {}


local function number(text) -- an argparse converter
    local value = tonumber(text)
    if value then return value end
    return nil, ("%q is not a number"):format(text)
end


local function products(text) -- an argparse converter
    local stocks = {}
    for word in text:gmatch "[^,]+" do
        local name, stock = word:match "^([^=]+)=(%d+)$"
        if not name then return nil, ("%q is not a product, as in bun=100,tea=50"):format(word) end
        if stocks[name] then return nil, ("%q names %s again"):format(word, name) end
        stocks[name] = tonumber(stock)
    end
    return stocks
end


-- "sold=10,answer.p99=0.5" → { sold = 10, answer = { p99 = 0.5 } }
local function expectation(text) -- an argparse converter
    local expect = {}
    for word in text:gmatch "[^,]+" do
        local name, part, value = word:match "^(%l+)%.?([%l%d.]*)=([%d.]+)$"
        if not tonumber(value) then
            return nil, ("%q is nothing to expect, as in sold=100,failed=0"):format(word)
        end
        local parts, key = expect, name
        if part ~= "" then
            expect[name] = expect[name] or {}
            parts, key = expect[name], part
        end
        if type(parts) == "number" or parts[key] then
            return nil, ("%q names %s again"):format(word, name)
        end
        parts[key] = tonumber(value)
    end
    return expect
end


local function yes_or_no(text) -- an argparse converter
    if text == "yes" or text == "no" then return text == "yes" end
    return nil, ("%q is neither yes nor no"):format(text)
end


local function rates(text) -- an argparse converter
    local first, last = text:match "^([%d.]+)%-([%d.]+)$"
    if tonumber(first) and tonumber(last) then return { tonumber(first), tonumber(last) } end
    return number(text)
end


-- The form of a fault on the command line; scripts use a table.
local FORM = "a fault is as \"stop holder at 0.5 for 3\", \"kill server 2 at 1\" or "
    .. "\"pause zookeeper at 1 for 2\""

local LASTING = { stop = true, kill = false, restart = false, pause = true, cut = true }

local function fault(text) -- an argparse converter
    local what, whom, at, length = text:match "^(%l+) (.+) at ([%d.]+)%f[^%d.] ?f?o?r? ?([%d.]*)$"
    at, length = tonumber(at), tonumber(length)
    local lasts = LASTING[what]
    if at and lasts == (length ~= nil) then return { at = at, [what] = whom, length = length } end
    return nil, ("%q is no fault; %s"):format(text, FORM)
end


local OPTIONS = {
    { "strategy", "NAMES", "Who may sell when: none, local, shared, zookeeper, zookeeper-turns, "
        .. "zookeeper-none, zookeeper-rw, an engine's (sql-table, redis-set, redisson, redlock, "
        .. "…: docs/engines.md), or modules of yours. Several: one sale each." },
    { "store", "STORE", "sqlite (default), mysql, zookeeper, mysql://USER:PASSWORD@HOST:PORT, or "
        .. "a module of yours." },
    { "purchase", "NAME", "plain (default), release_then_commit, commit_then_release, optimistic, "
        .. "or a module of yours." },
    { "mysql", "URL", "mysql://USER:PASSWORD@HOST:PORT for --store mysql, and for engines that "
        .. "need one (default: a throwaway server)." },
    { "redis", "ADDRESS", "HOST:PORT of a Redis, or several with commas, for engines that need it "
        .. "(default: throwaway servers)." },
    { "products", "LIST", "Products and their stocks, as in bun=100,tea=50.", products },
    { "buyers", "N", "How many buy (default 10).", number },
    { "arrivals", "RATE", "How many of them come in a second: 50, or 10-100, from 10 to 100 "
        .. "(default: all come at once).", rates },
    { "servers", "N", "How many servers sell (default 2).", number },
    { "quantity", "N", "Pieces that each wants (default 1).", number },
    { "lock", "KIND", "product: one each (default); one: one for all products." },
    { "timeout", "S", "Seconds for which a buyer waits for the lock (default 10).", number },
    { "fenced", "yes|no", "Does the store refuse late writes? (default yes)", yes_or_no },
    { "limit", "S", "Seconds after which the sale is ended (default: enough for all).", number },
    { "seed", "N", "Of the servers' random numbers, and of arrivals (default 1).", number },
    { "expect", "LIST", "Else the sale is wrong, as in sold=100,failed=0.", expectation },
    { "fault", "TEXT", "\"stop holder at 0.5 for 3\", \"kill server 2 at 1\", \"cut server 1 at "
        .. "1 for 2\" (off from ZooKeeper); of ZooKeeper: kill, restart, pause, cut, as in "
        .. "\"pause zookeeper at 1 for 2\"; may be repeated.", fault },
    { "explore", "N", "Simulate the sale in virtual time, with the seeds from 1 to N: how many "
        .. "schedules are wrong, and the first of them. Without --fault the seed stops, kills and "
        .. "cuts servers off, too.", number },
}


---@param parser table  argparse's
function sale_command.describe(parser)
    for _, each in ipairs(OPTIONS) do
        local name, argument, help, convert = each[1], each[2], each[3], each[4]
        local option = parser:option("--" .. name, help):argname(argument)
        if convert then option:convert(convert) end
        if name == "fault" then option:count "*" end
    end
end


local function words_of(text)
    local words = {}
    for word in text:gmatch "[^,%s]+" do words[#words + 1] = word end
    return words
end


local function check_options(request)
    if not request.seeds then return plans.read(request.options) end
    return (explorations.plan(request.options, { seeds = request.seeds }))
end


-- Replaces a script's form of a fault in a message by the form on the command line.
local function in_command_line_form(message)
    local first, last = message:find(fault_options.FORM, 1, true)
    return first and message:sub(1, first - 1) .. FORM .. message:sub(last + 1) or message
end


-- Returns the mistake in the options, or nil.
local function complaint(request)
    for _, strategy in ipairs(request.strategies) do
        request.options.strategy = strategy
        local ok, plan = pcall(check_options, request)
        if not ok then return in_command_line_form(plan:gsub("^[^:]+:%d+: ", "")) end
        request.zookeeper = request.zookeeper or plan.needs_zookeeper and plan.zookeeper
    end
    request.options.strategy = nil
end


local function strikes_zookeeper(faults)
    for _, each in ipairs(faults or {}) do
        for kind, whom in pairs(each) do
            if whom == "zookeeper" or kind == "cut" then return true end
        end
    end
    return false
end


---@param given table  argparse's result
---@return table? request  { strategies =, options =, seeds =, zookeeper = } for `run`; `seeds` is
---their number, nil without --explore; `zookeeper` are addresses that it needs
---@return string? message  the mistake, and the allowed values
function sale_command.read(given)
    local options, is_given = {}, false
    for _, each in ipairs(OPTIONS) do
        local value = given[each[1]]
        if each[1] == "fault" and value and not value[1] then value = nil end
        options[each[1]] = value
        is_given = is_given or value ~= nil
    end
    if not is_given then return nil end
    local seeds = options.explore
    options.faults, options.fault, options.explore = options.fault, nil, nil
    options.pause, options.hold, options.session = given.pause, given.hold, given.session
    options.zookeeper = given.zookeeper
        or not seeds and not strikes_zookeeper(options.faults) and variable "ZK_HOSTS" or nil
    options.lua = given.lua
    local request = {
        strategies = words_of(options.strategy or "zookeeper"), options = options, seeds = seeds,
    }
    local message = not request.strategies[1] and "--strategy names no strategy"
        or complaint(request)
    if message then return nil, message end
    return request
end


local function write_junit(cases, file, out)
    assert(reports.junit(file, cases))
    out:write(("junit: %s\n"):format(file))
end


local function write_files(sales, files, out, language)
    for _, kind in ipairs{ "report", "json", "csv" } do
        local file = files[kind]
        if file then
            assert(sales[kind](sales, file, language))
            out:write(("%s: %s\n"):format(kind, file))
        end
    end
end


local function case_of(name, seconds, is_right, text)
    return { name = name, seconds = seconds,
             problem = not is_right and tostring(text):match "^[^\n]*" or nil }
end


-- The output files show each strategy's first wrong sale.
local function explore(request, files, out, language)
    local first, cases = {}, {}
    for i, strategy in ipairs(request.strategies) do
        request.options.strategy = strategy
        local began = core.now()
        local found = assert(seckill.explore(request.options, { seeds = request.seeds }))
        out:write(tostring(found), "\n")
        first[#first + 1] = found.first
        cases[i] = case_of(found.name, core.now() - began, found.wrong == 0, found)
    end
    if files.junit then write_junit(cases, files.junit, out) end
    if first[1] then
        write_files(comparisons.of(first), files, out, language)
    elseif files.report or files.json or files.csv then
        out:write "No schedule was wrong: there is nothing to write into a file.\n"
    end
    return first[1] == nil
end


---@param request table  from `read`
---@param files { report: string?, json: string?, csv: string?, junit: string? }
---@param out file*
---@param language "en" | "zh"  of the page
---@return boolean right  true if all sales are right
function sale_command.run(request, files, out, language)
    if request.seeds then return explore(request, files, out, language) end
    local sales = seckill.compare(request.strategies, request.options)
    local cases = {}
    for i, sale in ipairs(sales) do
        out:write(tostring(sale), "\n")
        cases[i] = case_of(sale.name, sale.seconds, sale.verdict == "right", sale)
    end
    if sales[2] then out:write("\n", tostring(sales), "\n") end
    if files.junit then write_junit(cases, files.junit, out) end
    write_files(sales, files, out, language)
    return sales.verdict == "right"
end


return sale_command
