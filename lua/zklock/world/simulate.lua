--- zklock.simulate runs a program under many schedules, each in a world of its own.

local explore = require "zklock.world.explore"
local faults_of_worlds = require "zklock.world.faults"
local found_of_worlds = require "zklock.world.found"
local misuse = require "zklock.value.misuse"
local moments = require "zklock.world.moment"
local options = require "zklock.world.options"
local text_of = require "zklock.world.problem"
local worlds = require "zklock.world"

local ipairs, setmetatable = ipairs, setmetatable
local concat = table.concat
local schedules_text, name_of = found_of_worlds.schedules_text, found_of_worlds.name_of

local NO_REPEAT = "\nIt does not repeat: chance, time or state comes from outside of the world "
    .. "(world:random, world:now)."

---@class zklock.WrongSchedule
---@field seed integer
---@field problem any the error's value
---@field faults string[] in words, without faults that the problem does not need
---@field schedule? string its name, with `all`
---@field decisions? string[] its preemptions and faults in words, with `all`
---@field depth? integer with `pct`
---@field story string
---@field moment? zklock.Moment from which it was likely to be wrong
---@field repeats boolean false if the seed ended otherwise when it was run again

---@class zklock.Simulation
---@field public schedules integer
---@field public wrong integer
---@field public tried zklock.Tried
---@field public complete? boolean with `all`, false if there are more schedules
---@field public bounds? table<string, integer> with `all`, the bounds that left schedules out
---@field public steps? integer with `pct`, of the usual schedule
---@field public first? zklock.WrongSchedule
local Simulation = {}
Simulation.__index = Simulation
Simulation.__name = "zklock.simulation"


local function lines_of(faults)
    local lines = {}
    for i, fault in ipairs(faults) do
        local lasts = fault.lasts and (" for %.3f s"):format(fault.lasts) or ""
        local when = fault.after and ("%.3f s"):format(fault.after) or "just before it goes on"
        lines[i] = ("%s %s%s, %s after its turn %d"):format(fault.kind, fault.process, lasts, when,
            fault.turn)
    end
    return lines
end


local function tried_text(tried, in_search)
    local struck = {}
    for _, kind in ipairs(faults_of_worlds.kinds) do
        local count = tried.faults[kind]
        if count then struck[#struck + 1] = kind .. " " .. count end
    end
    return ("%d critical sections ran; %s; %d %s"):format(tried.sections,
        struck[1] and "faults: " .. concat(struck, ", ") or "no fault was tried", tried.repeated,
        in_search and "more came to what another had come to, and were ended there"
        or "schedules had the order of another")
end


function Simulation:__tostring()
    local first, tried = self.first, tried_text(self.tried, self.bounds)
    if not first then return ("%s, none wrong\n%s"):format(schedules_text(self), tried) end
    local lines = first.decisions or first.faults
    return ("%s, %d wrong; the first: %s, %s\n%s\n%s%s\n%s%s"):format(
        schedules_text(self), self.wrong, name_of(first), text_of(first.problem),
        lines[1] and concat(lines, "\n") or "no " .. (first.schedule and "deviation" or "fault"),
        first.moment and moments.text(first.moment) .. "\n" or "",
        first.story, tried, first.repeats and "" or NO_REPEAT)
end


--- See zklock.simulate.
return function(fn, given)
    if type(fn) ~= "function" then
        misuse.refuse("simulate takes a function, not %s", misuse.show(fn))
    end
    local opts = options.simulation(given)
    local message, code = worlds.problem_here()
    if message then return nil, message, code end
    local found = explore(fn, opts)
    local first = found.first
    return setmetatable({
        schedules = found.schedules,
        wrong = found.wrong,
        tried = found.tried,
        complete = found.complete,
        steps = found.steps,
        bounds = found.bounds,
        first = first and {
            seed = first.seed,
            schedule = first.schedule,
            depth = first.depth,
            decisions = first.decisions,
            problem = first.problem,
            faults = lines_of(first.faults),
            moment = first.moment,
            story = concat(first.world.story, "\n"),
            repeats = first.repeats,
        },
    }, Simulation)
end
