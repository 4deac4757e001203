--- zklock.simulate: a program of the user's under many schedules, each in a world of its own.

local faults_of_worlds = require "zklock.world.faults"
local misuse = require "zklock.value.misuse"
local options = require "zklock.world.options"
local search = require "zklock.world.search"
local text_of = require "zklock.world.problem"
local worlds = require "zklock.world"

local ipairs, setmetatable = ipairs, setmetatable
local concat = table.concat

local NO_REPEAT = "\nIt does not repeat: chance, time or state comes from outside of the world "
    .. "(world:random, world:now)."

---@class zklock.Simulation
---@field schedules integer
---@field wrong integer
---@field tried zklock.Tried
---@field first? zklock.WrongSchedule
local Simulation = {}
Simulation.__index = Simulation
Simulation.__name = "zklock.simulation"


-- The faults, each as a line.
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


-- All that was tried, in words.
local function tried_of(tried)
    local struck = {}
    for _, kind in ipairs(faults_of_worlds.kinds) do
        local count = tried.faults[kind]
        if count then struck[#struck + 1] = kind .. " " .. count end
    end
    return ("%d critical sections ran; %s; %d schedules had the order of another"):format(
        tried.sections,
        struck[1] and "faults: " .. concat(struck, ", ") or "no fault was tried", tried.repeated)
end


function Simulation:__tostring()
    local first, tried = self.first, tried_of(self.tried)
    if not first then return ("%d schedules, none wrong\n%s"):format(self.schedules, tried) end
    local faults = first.faults[1] and concat(first.faults, "\n") or "no fault"
    return ("%d schedules, %d wrong; the first: seed %d, %s\n%s\n%s\n%s%s"):format(
        self.schedules, self.wrong, first.seed, text_of(first.problem), faults, first.story, tried,
        first.repeats and "" or NO_REPEAT)
end


--- See docs/testing-your-code.md.
---@param fn fun(world: zklock.World)
---@param given? { seeds?: integer, seed?: integer, faults?: table, limit?: table }
---@return zklock.Simulation? result
---@return string? message
---@return string? code "context", "unsupported"
return function(fn, given)
    if type(fn) ~= "function" then
        misuse.refuse("simulate takes a function, not %s", misuse.show(fn))
    end
    local opts = options.simulation(given)
    local message, code = worlds.problem_here()
    if message then return nil, message, code end
    local found = search.run(fn, opts)
    local first = found.first
    return setmetatable({
        schedules = found.schedules,
        wrong = found.wrong,
        tried = found.tried,
        first = first and {
            seed = first.seed,
            problem = first.problem,
            faults = lines_of(first.faults),
            story = concat(first.world.story, "\n"),
            repeats = first.repeats,
        },
    }, Simulation)
end
