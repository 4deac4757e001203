--- The flash-sale laboratory, for sales scripted in Lua with real servers and a real store.
---
---     local seckill = require "zklock.seckill"
---     local sale = seckill.sale{ buyers = 100, strategy = "zookeeper" }
---     print(sale)
---     sale:report "sale.html"
---
--- docs/seckill.md is its reference.

-- Buyers yield inside pcall, which plain Lua 5.1 cannot do.
if _VERSION == "Lua 5.1" and not rawget(_G, "jit") then
    error("the laboratory needs LuaJIT, or Lua 5.2 and later", 0)
end

local comparisons = require "zklock.seckill.comparison"
local explorations = require "zklock.seckill.exploration"
local failure = require "zklock.value.failure"
local is_interrupt = require "zklock.value.is_interrupt"
local misuse = require "zklock.value.misuse"
local plans = require "zklock.seckill.plan"
local play = require "zklock.seckill.play"
local progress = require "zklock.seckill.progress"
local sales = require "zklock.seckill.sale"
local simulated = require "zklock.seckill.simulated"
local throwaway = require "zklock.seckill.throwaway"

local ngx = ngx


local seckill = {}


local function carry_out(plan, throwaway_servers)
    local show, clear = progress.of(plan)
    local ok, outcome = pcall(play.carry_out, plan, throwaway_servers, show)
    clear()
    if not ok then error(outcome, 0) end
    return sales.of(plan, outcome)
end


local INTERRUPT = setmetatable({}, { __tostring = function() return "interrupted!" end })

local function return_or_raise(seed, ok, ...)
    math.randomseed(seed)
    if ok then return ... end
    local problem = (...)
    local is_of_server = tostring(problem):find "^server "
    -- Interpreters show no traceback for an error that is not a string.
    if is_interrupt(problem) and not is_of_server then problem = INTERRUPT end
    error(problem, 0)
end

-- Turns Ctrl-C into an error that interpreters show in one line. The script's own random numbers
-- go on after those of a simulated sale.
local function call(fn, ...) return return_or_raise(math.random(0x7FFFFFFF), pcall(fn, ...)) end


local function check_servers(servers)
    if servers ~= nil and (type(servers) ~= "table" or not servers.reaper) then
        misuse.refuse("the servers of a sale come from zklock.seckill.throwaway's open, "
            .. "and are not %s", misuse.show(servers))
    end
end


local function refuse_nginx() return failure("context", "a sale", "not in nginx") end


local function sell(options, servers)
    local plan = plans.read(options)
    check_servers(servers)
    if plan.simulated then return simulated.carry_out(plan) end
    if ngx then return refuse_nginx() end
    if servers then return carry_out(plan, servers) end
    return throwaway.with(function(own) return carry_out(plan, own) end)
end


--- Runs a sale.
---@param options table
---@param servers zklock.seckill.Throwaway?  for databases and locks; the sale's own by default
---@return zklock.seckill.Sale? sale  nil if the sale cannot be simulated here
---@return string? message
---@return string? code  "unsupported", "context"
function seckill.sale(options, servers) return call(sell, options, servers) end


local function with_strategy(options, strategy)
    if type(options) ~= "table" then return options end
    local changed = {}
    for name, value in pairs(options) do changed[name] = value end
    changed.strategy = strategy
    if type(options.name) == "string" then changed.name = options.name .. ": " .. strategy end
    return changed
end


local function explore(options, given)
    local plan, search = explorations.plan(options, given)
    local on_schedule, clear = progress.of_schedules(plan)
    local ok, found, message, code = pcall(explorations.carry_out, plan, search, on_schedule)
    clear()
    if not ok then error(found, 0) end
    if found then return found end
    return nil, message, code
end


--- Carries out a simulated sale with each seed from 1 on, or under the schedules that
--- zklock.simulate runs with these options.
---@param options table  of seckill.sale
---@param given zklock.SimulateOptions?  seeds, all, schedule, pct, moment
---@return zklock.seckill.Exploration? exploration  nil if the sale cannot be simulated here
---@return string? message
---@return string? code  "unsupported", "context"
function seckill.explore(options, given)
    return call(explore, options, given)
end


local function compare_simulated(checked_plans)
    local results = {}
    for i, plan in ipairs(checked_plans) do
        local sale, message, code = simulated.carry_out(plan)
        if not sale then return nil, message, code end
        results[i] = sale
    end
    return comparisons.of(results)
end


local function compare(strategies, options)
    if type(strategies) ~= "table" or not strategies[1] then
        misuse.refuse("compare needs a list of strategies, as in { \"none\", \"zookeeper\" }, "
            .. "not %s", type(strategies) == "table" and "an empty one" or misuse.show(strategies))
    end
    if options == nil then options = {} end
    if type(options) == "table" and options.strategy ~= nil then
        misuse.refuse("compare has a list of strategies, and options without a strategy, not "
            .. "strategy = %s", misuse.show(options.strategy))
    end
    local checked_plans = {}
    for i, strategy in ipairs(strategies) do
        checked_plans[i] = plans.read(with_strategy(options, strategy))
    end
    if checked_plans[1].simulated then return compare_simulated(checked_plans) end
    if ngx then return refuse_nginx() end
    return throwaway.with(function(servers)
        local results = {}
        for i, plan in ipairs(checked_plans) do results[i] = carry_out(plan, servers) end
        return comparisons.of(results)
    end)
end

--- Runs the same sale with several strategies.
---@param strategies string[]
---@param options table?
---@return zklock.seckill.Comparison? comparison  nil if a sale cannot be simulated here
---@return string? message
---@return string? code  "unsupported", "context"
function seckill.compare(strategies, options)
    return call(compare, strategies, options)
end


return seckill
