--- A simulated sale under many schedules: how many were wrong, and the first wrong one.

local misuse = require "zklock.misuse"
local options_of_worlds = require "zklock.world.options"
local search = require "zklock.world.search"
local simulated = require "zklock.seckill.simulated"


local SEEDS = 100 -- as many as zklock.simulate has


---@class zklock.seckill.Exploration
---@field name string
---@field schedules integer
---@field wrong integer
---@field first zklock.seckill.Sale?  the first wrong one, with the faults that it needs
local Exploration = { __name = "zklock.seckill.exploration" }
Exploration.__index = Exploration


local exploration = {}


--- How many schedules there are to be.
---@param given table?  the options of seckill.explore
---@return integer
function exploration.seeds(given)
    given = given == nil and {} or given
    local what = "explore has a sale's options, and a table { seeds = how many }"
    if type(given) ~= "table" then misuse.refuse("%s, not %s", what, misuse.show(given)) end
    for name in pairs(given) do
        if name == "faults" then misuse.refuse "faults are the sale's: put them into its options" end
        if name ~= "seeds" then misuse.refuse("%s: it has no %s", what, misuse.show(name)) end
    end
    return options_of_worlds.whole(given.seeds == nil and SEEDS or given.seeds, "seeds")
end


--- Carries it out.
---@param plan zklock.seckill.Plan
---@param seeds integer
---@param heard fun(found: zklock.Found)  called after each schedule
---@return zklock.seckill.Exploration? exploration
---@return string? message
---@return string? code
function exploration.carry_out(plan, seeds, heard)
    local message, code = simulated.problem(plan)
    if message then return nil, message, code end
    local program, sale_of = simulated.program(plan)
    local options = simulated.options(plan)
    options.first, options.last = 1, seeds
    local found = search.run(program, options, heard)
    return setmetatable({
        name = plan.name, schedules = found.schedules, wrong = found.wrong,
        first = found.first and sale_of(found.first.world),
    }, Exploration)
end


--- How many were wrong; and the first one, with what happened in it.
function Exploration:__tostring()
    local text = ("%s: %d of %d schedules wrong"):format(self.name, self.wrong, self.schedules)
    local first = self.first
    if not first then return text end
    return ("%s, the first: seed %d\n%s\n%s"):format(text, first.seed, tostring(first), first.story)
end


return exploration
