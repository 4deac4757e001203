--- Runs a simulated sale under many schedules, counts the sales that are not right, and keeps the
--- first of them.

local explore = require "zklock.world.explore"
local found_of_worlds = require "zklock.world.found"
local misuse = require "zklock.value.misuse"
local moments = require "zklock.world.moment"
local options_of_worlds = require "zklock.world.options"
local plans = require "zklock.seckill.plan"
local simulated = require "zklock.seckill.simulated"
local worlds = require "zklock.world"

local refuse, show = misuse.refuse, misuse.show


local SEEDS = 100 -- default; fewer than zklock.simulate's, because sales take longer
local CURVE_POINTS = 8 -- additional points of the curve of zklock.Moment
local FAULTS = { stop = true, kill = true, cut = true }
-- A second fault would multiply the schedules of a systematic search by ten.
local SYSTEMATIC_FAULTS = { stop = { most = 1 } }

local KNOWN = { seeds = true, all = true, schedule = true, pct = true, moment = true }


---@class zklock.seckill.Exploration
---@field name string
---@field schedules integer
---@field wrong integer    number of sales that are wrong or stuck
---@field sold integer     number of buyers told "sold", over all schedules
---@field complete boolean?  true if a systematic search ran all schedules
---@field bounds table<string, integer>?  of a systematic search
---@field first zklock.seckill.Sale?  the first of these, with no more faults than it needs
local Exploration = { __name = "zklock.seckill.exploration" }
Exploration.__index = Exploration


local exploration = {}


-- Returns the options of zklock.simulate that choose the schedules.
local function search_of(given)
    given = given == nil and {} or given
    local what = "explore has a sale's options, and a table of seeds, all, schedule, pct, moment"
    if type(given) ~= "table" then refuse("%s, not %s", what, show(given)) end
    local search = {}
    for name, value in pairs(given) do
        if name == "faults" then refuse "faults are the sale's: put them into its options" end
        if not KNOWN[name] then refuse("%s, without %s", what, show(name)) end
        search[name] = value
    end
    if search.seeds == nil and not search.all and not search.schedule then
        search.seeds = SEEDS
    end
    return options_of_worlds.simulation(search)
end


local function with_exploration_defaults(options, is_systematic)
    if options.seed ~= nil then refuse "explore has the seeds from 1 on, and no other" end
    local all = { faults = is_systematic and SYSTEMATIC_FAULTS or FAULTS }
    for name, value in pairs(options) do all[name] = value end
    all.simulated = true
    local kinds = type(all.faults) == "table" and not all.faults[1] and all.faults
    if is_systematic and kinds then options_of_worlds.faults(kinds, true) end -- checks them
    return all
end


--- Raises an error if an option is wrong.
---@param options table
---@param given table?
---@return zklock.seckill.Plan plan
---@return table search  of zklock.world.options
function exploration.plan(options, given)
    local search = search_of(given)
    if type(options) == "table" then
        options = with_exploration_defaults(options, search.all or search.schedule)
    end
    return plans.read(options), search
end


local function first_wrong_sale(found, sale_of)
    local first = found.first
    if not first then return nil end
    local sale = sale_of(first.world)
    sale.moment, sale.schedule, sale.depth = first.moment, first.schedule, first.depth
    return sale
end


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
    local options, sold = simulated.world_options(plan), 0
    options.more = CURVE_POINTS
    function options.on_schedule(so_far, world)
        sold = sold + sold_in(world)
        on_schedule(so_far)
    end
    local found = explore(program, setmetatable(options, { __index = search }))
    return setmetatable({
        name = plan.name, schedules = found.schedules, wrong = found.wrong, sold = sold,
        complete = found.complete, bounds = found.bounds,
        first = first_wrong_sale(found, sale_of),
    }, Exploration)
end


function Exploration:__tostring()
    local text = ("%s: %d of %s wrong, %d sold"):format(self.name, self.wrong,
        found_of_worlds.schedules_text(self), self.sold)
    local first = self.first
    if not first then return text end
    local lines = {
        ("%s; the first: %s"):format(text, found_of_worlds.name_of(first)), tostring(first),
    }
    if first.moment then lines[3] = moments.text(first.moment) end
    lines[#lines + 1] = first.story
    return table.concat(lines, "\n")
end


return exploration
