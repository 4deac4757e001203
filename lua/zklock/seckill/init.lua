--- The flash-sale laboratory: sales scripted in Lua, with real servers and a real store.
---
---     local seckill = require "zklock.seckill"
---     local sale = seckill.sale{ buyers = 100, strategy = "zookeeper" }
---     print(sale)
---     sale:report "sale.html"
---
--- docs/seckill.md is its reference.

-- Buyers wait inside of pcall, where a coroutine of plain Lua 5.1 cannot yield.
if _VERSION == "Lua 5.1" and not rawget(_G, "jit") then
    error("the laboratory needs LuaJIT, or Lua 5.2 and later", 0)
end

local comparisons = require "zklock.seckill.comparison"
local misuse = require "zklock.misuse"
local plans = require "zklock.seckill.plan"
local play = require "zklock.seckill.play"
local progress = require "zklock.seckill.progress"
local sales = require "zklock.seckill.sale"
local throwaway = require "zklock.seckill.throwaway"


local seckill = {}


local function carry_out(plan, servers)
    local show, clear = progress.of(plan)
    local ok, outcome = pcall(play.carry_out, plan, servers, show)
    clear()
    if not ok then error(outcome, 0) end
    return sales.of(plan, outcome)
end


--- Carries out a sale.
---@param options table
---@param servers zklock.seckill.Throwaway?  default: of its own
---@return zklock.seckill.Sale
function seckill.sale(options, servers)
    local plan = plans.read(options)
    if servers then return carry_out(plan, servers) end
    return throwaway.with(function(own) return carry_out(plan, own) end)
end


local function with_strategy(options, strategy)
    local changed = {}
    for name, value in pairs(options) do changed[name] = value end
    changed.strategy = strategy
    return changed
end


--- Carries out the same sale with one strategy after the other.
---@param strategies string[]
---@param options table?
---@return zklock.seckill.Comparison
function seckill.compare(strategies, options)
    if type(strategies) ~= "table" or not strategies[1] then
        misuse.refuse("compare needs a list of strategies, as in { \"none\", \"zookeeper\" }, "
            .. "not %s", misuse.show(strategies))
    end
    local all = {}
    for i, strategy in ipairs(strategies) do
        all[i] = plans.read(with_strategy(options or {}, strategy))
    end
    return throwaway.with(function(servers)
        local made = {}
        for i, plan in ipairs(all) do made[i] = carry_out(plan, servers) end
        return comparisons.of(made)
    end)
end


return seckill
