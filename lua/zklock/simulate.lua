--- zklock.simulate: a program of the user's under many schedules, each in a world of its own.

local misuse = require "zklock.misuse"
local options = require "zklock.world.options"
local worlds = require "zklock.world"

local ipairs, setmetatable, tostring = ipairs, setmetatable, tostring
local concat, remove = table.concat, table.remove

---@class zklock.Simulation
---@field schedules integer
---@field wrong integer
---@field first? zklock.WrongSchedule
local Simulation = {}
Simulation.__index = Simulation
Simulation.__name = "zklock.simulation"


-- One schedule: the world after it.
local function play(fn, opts, seed, story, list)
    local world = worlds.new(fn, {
        seed = seed, faults = opts.faults, limit = opts.limit, story = story, list = list,
    })
    world:run()
    return world
end


local function is_same(world, problem)
    return world.problem ~= nil and tostring(world.problem) == tostring(problem)
end


-- Of the faults that happened those without which it would not be wrong in this way.
local function needed(fn, opts, seed, world)
    local list, problem = {}, world.problem
    for i, fault in ipairs(world.happened) do list[i] = fault end
    local told = play(fn, opts, seed, false, list)
    if not is_same(told, problem) then return nil end
    for i = #list, 1, -1 do
        local fault = remove(list, i)
        if not is_same(play(fn, opts, seed, false, list), problem) then
            table.insert(list, i, fault)
        end
    end
    return list
end


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


-- The same schedule again, with its story.
local function tell(fn, opts, seed, world)
    local list = needed(fn, opts, seed, world)
    local told = play(fn, opts, seed, true, list)
    return {
        seed = seed,
        problem = world.problem,
        faults = lines_of(list or world.happened),
        story = concat(told.story, "\n"),
    }
end


function Simulation:__tostring()
    local first = self.first
    if not first then return ("%d schedules, none wrong"):format(self.schedules) end
    local faults = first.faults[1] and concat(first.faults, "\n") or "no fault"
    return ("%d schedules, %d wrong; the first: seed %d, %s\n%s\n%s"):format(
        self.schedules, self.wrong, first.seed, tostring(first.problem), faults, first.story)
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
    local self = setmetatable({ schedules = 0, wrong = 0 }, Simulation)
    for seed = opts.first, opts.last do
        local world = play(fn, opts, seed)
        self.schedules = self.schedules + 1
        if world.problem ~= nil then
            self.wrong = self.wrong + 1
            self.first = self.first or tell(fn, opts, seed, world)
        end
    end
    return self
end
