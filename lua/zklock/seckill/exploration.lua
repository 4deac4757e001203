--- A simulated sale under many schedules: how many were wrong, and the first wrong one.

local explore = require "zklock.world.explore"
local found_of_worlds = require "zklock.world.found"
local misuse = require "zklock.value.misuse"
local moments = require "zklock.world.moment"
local options_of_worlds = require "zklock.world.options"
local plans = require "zklock.seckill.plan"
local simulated = require "zklock.seckill.simulated"
local worlds = require "zklock.world"

local refuse, show = misuse.refuse, misuse.show


local SEEDS = 100 -- sales take longer than programs of users
local CURVE_POINTS = 8 -- more of the moment's curve
local FAULTS = { stop = true, kill = true, cut = true }
local FAULTS_OF_ALL = { stop = { most = 1 } } -- each more makes ten times as many schedules
local KNOWN = { seeds = true, all = true, schedule = true, pct = true, moment = true }


---@class zklock.seckill.Exploration
---@field name string
---@field schedules integer
---@field wrong integer
---@field sold integer     buyers who were told that they have bought, in all schedules
---@field complete boolean?  a systematic search came to its end
---@field bounds table<string, integer>?  of a systematic search
---@field first zklock.seckill.Sale?  the first wrong one, with the faults that it needs
local Exploration = { __name = "zklock.seckill.exploration" }
Exploration.__index = Exploration


local exploration = {}


-- The schedules that are wanted, as options of zklock.simulate.
local function search_of(given)
    given = given == nil and {} or given
    local what = "explore has a sale's options, and a table of seeds, all, schedule, pct, moment"
    if type(given) ~= "table" then refuse("%s, not %s", what, show(given)) end
    local wish = {}
    for name, value in pairs(given) do
        if name == "faults" then refuse "faults are the sale's: put them into its options" end
        if not KNOWN[name] then refuse("%s, without %s", what, show(name)) end
        wish[name] = value
    end
    if wish.seeds == nil and not wish.all and not wish.schedule then wish.seeds = SEEDS end
    return options_of_worlds.simulation(wish)
end


-- The options of the sale.
local function completed(options, is_systematic)
    if options.seed ~= nil then refuse "explore has the seeds from 1 on, and no other" end
    local complete = { faults = is_systematic and FAULTS_OF_ALL or FAULTS }
    for name, value in pairs(options) do complete[name] = value end
    complete.simulated = true
    local kinds = type(complete.faults) == "table" and not complete.faults[1] and complete.faults
    if is_systematic and kinds then options_of_worlds.faults(kinds, true) end -- may refuse
    return complete
end


--- The plan of the sales, and which schedules there are to be. Raises an error where the options
--- are wrong.
---@param options table
---@param given table?
---@return zklock.seckill.Plan plan
---@return table search  of zklock.world.options
function exploration.plan(options, given)
    local search = search_of(given)
    if type(options) == "table" then
        options = completed(options, search.all or search.schedule)
    end
    return plans.read(options), search
end


-- The first wrong sale, with the name and the moment of its schedule.
local function first_of(found, sale_of)
    local first = found.first
    if not first then return nil end
    local sale = sale_of(first.world)
    sale.moment, sale.schedule, sale.depth = first.moment, first.schedule, first.depth
    return sale
end


--- Carries it out.
---@param plan zklock.seckill.Plan
---@param search table
---@param on_schedule fun(found: zklock.Found)  called after each schedule
---@return zklock.seckill.Exploration? exploration
---@return string? message
---@return string? code
function exploration.carry_out(plan, search, on_schedule)
    local message, code = worlds.problem_here()
    if message then return nil, message, code end
    local program, sale_of, sold_in = simulated.program(plan)
    local options, sold = simulated.options(plan), 0
    options.more = CURVE_POINTS
    function options.heard(so_far, world)
        sold = sold + sold_in(world)
        on_schedule(so_far)
    end
    local found = explore(program, setmetatable(options, { __index = search }))
    return setmetatable({
        name = plan.name, schedules = found.schedules, wrong = found.wrong, sold = sold,
        complete = found.complete, bounds = found.bounds, first = first_of(found, sale_of),
    }, Exploration)
end


--- How many were wrong; and the first one, with what happened in it.
function Exploration:__tostring()
    local text = ("%s: %d of %s wrong, %d sold"):format(self.name, self.wrong,
        found_of_worlds.counted(self), self.sold)
    local first = self.first
    if not first then return text end
    local lines = {
        ("%s; the first: %s"):format(text, found_of_worlds.name_of(first)), tostring(first),
    }
    if first.moment then lines[3] = moments.line(first.moment) end
    lines[#lines + 1] = first.story
    return table.concat(lines, "\n")
end


return exploration
