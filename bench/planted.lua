--- The number of schedules that each kind of search needs to find each planted bug of
-- spec/planted.lua. The number is an average for random schedules and PCT.
--
--   make bench WHAT=planted
--   make bench WHAT=planted LUA=luajit   the same table

local planted = require "spec.planted"
local zklock = require "zklock"

local SEEDS = 2000


local function average(program, depth)
    local result = assert(zklock.simulate(program, { seeds = SEEDS, pct = depth, moment = false }))
    if result.wrong == 0 then return "none of " .. SEEDS end
    return ("%.1f"):format(SEEDS / result.wrong)
end


-- After the first wrong schedule the search runs it again, with a story.
local function first_of_all(program)
    local runs, first = 0, nil
    local result = assert(zklock.simulate(function(world)
        if world.story then first = first or runs end
        runs = runs + 1
        program(world)
    end, { all = true, moment = false }))
    return first or (result.complete and "none" or "none of ") .. runs
end


print "| bug | depth | random | `pct` = depth | `all` |\n| --- | --- | --- | --- | --- |"
for _, bug in ipairs(planted) do
    print(("| %s | %d | %s | %s | %s |"):format(bug.name, bug.depth, average(bug.program),
        average(bug.program, bug.depth), first_of_all(bug.program)))
end
