--- A simulated sale under many schedules: how many were wrong, and the first wrong one.

local misuse = require "zklock.value.misuse"
local options_of_worlds = require "zklock.world.options"
local plans = require "zklock.seckill.plan"
local search = require "zklock.world.search"
local simulated = require "zklock.seckill.simulated"
local worlds = require "zklock.world"

local refuse, show = misuse.refuse, misuse.show


local SEEDS = 100 -- sales take longer than programs of users
local FAULTS = { stop = true, kill = true, cut = true }


---@class zklock.seckill.Exploration
---@field name string
---@field schedules integer
---@field wrong integer
---@field sold integer     buyers who were told that they have bought, in all schedules
---@field first zklock.seckill.Sale?  the first wrong one, with the faults that it needs
local Exploration = { __name = "zklock.seckill.exploration" }
Exploration.__index = Exploration


local exploration = {}


-- How many schedules there are to be.
local function seeds_of(given)
    given = given == nil and {} or given
    local what = "explore has a sale's options, and a table { seeds = how many }"
    if type(given) ~= "table" then refuse("%s, not %s", what, show(given)) end
    for name in pairs(given) do
        if name == "faults" then refuse "faults are the sale's: put them into its options" end
        if name ~= "seeds" then refuse("%s, without %s", what, show(name)) end
    end
    return options_of_worlds.whole(given.seeds == nil and SEEDS or given.seeds, "seeds")
end


-- The options of the sale.
local function completed(options)
    if options.seed ~= nil then refuse "explore has the seeds from 1 on, and no other" end
    local all = { faults = FAULTS }
    for name, value in pairs(options) do all[name] = value end
    all.simulated = true
    return all
end


--- The plan of the sales, and how many there are to be; an error where the options are wrong.
---@param options table
---@param given table?
---@return zklock.seckill.Plan plan
---@return integer seeds
function exploration.plan(options, given)
    local plan = plans.read(type(options) == "table" and completed(options) or options)
    return plan, seeds_of(given)
end


--- Carries it out.
---@param plan zklock.seckill.Plan
---@param seeds integer
---@param heard fun(found: zklock.Found)  called after each schedule
---@return zklock.seckill.Exploration? exploration
---@return string? message
---@return string? code
function exploration.carry_out(plan, seeds, heard)
    local message, code = worlds.problem_here()
    if message then return nil, message, code end
    local program, sale_of, sold_in = simulated.program(plan)
    local options, sold = simulated.options(plan), 0
    options.first, options.last = 1, seeds
    local found = search.run(program, options, function(so_far, world)
        sold = sold + sold_in(world)
        heard(so_far)
    end)
    return setmetatable({
        name = plan.name, schedules = found.schedules, wrong = found.wrong, sold = sold,
        first = found.first and sale_of(found.first.world),
    }, Exploration)
end


--- How many were wrong; and the first one, with what happened in it.
function Exploration:__tostring()
    local text = ("%s: %d of %d schedules wrong, %d sold"):format(self.name, self.wrong,
        self.schedules, self.sold)
    local first = self.first
    if not first then return text end
    return ("%s; the first: seed %d\n%s\n%s"):format(text, first.seed, tostring(first), first.story)
end


return exploration
