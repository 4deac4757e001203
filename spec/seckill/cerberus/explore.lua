--- The orders in which what may happen in a world can happen, one after the other. A world cannot
--- be copied, so it is made again and taken along the same way; what can follow from a moment is
--- looked at once.
---
--- Orders are bounded by how often a task is broken off that could go on, or something goes wrong:
--- all orders with so many surprises are looked at, or with any number (math.huge).

local explore = {}


-- The world and its choices after this way.
local function replay(build, way)
    local world = build()
    for _, number in ipairs(way) do world:choices()[number].fn() end
    return world
end


-- What happened, for who reads of a failure.
local function story(build, way)
    local world, lines = build(), {}
    for i, number in ipairs(way) do
        local choice = world:choices()[number]
        lines[i] = "  " .. choice.name
        choice.fn()
    end
    return table.concat(lines, "\n")
end


local function copy(list, last)
    local result = {}
    for i, each in ipairs(list) do result[i] = each end
    result[#result + 1] = last
    return result
end


-- Is the task that ran last among the choices?
local function goes_on(world, choices)
    for _, choice in ipairs(choices) do
        if choice.task and choice.task == world.running then return true end
    end
    return false
end


-- What each choice leaves of the surprises; those that cost too much are left out.
local function affordable(world, choices, surprises)
    local may_go_on, list = goes_on(world, choices), {}
    for number, choice in ipairs(choices) do
        local is_free = choice.task == world.running and may_go_on
            or (choice.task or choice.is_usual) and not may_go_on
        local left = is_free and surprises or surprises - 1
        if left >= 0 then list[#list + 1] = { number = number, left = left } end
    end
    return list
end


--- Looks at the orders; raises at the first that has a problem.
---@param build fun(): zklock.spec.World
---@param surprises number                at most so many
---@param at_end fun(world): string?      what is wrong when nothing more may happen
---@return integer moments
---@return integer ends
function explore.all(build, surprises, at_end)
    local seen, moments, ends = {}, 0, 0
    local open = { { way = {}, left = surprises } }
    while #open > 0 do
        local here = table.remove(open)
        local way, left, world = here.way, here.left, replay(build, here.way)
        while true do
            local problem, key = world:problem(), left .. world:key()
            if seen[key] then break end
            seen[key], moments = true, moments + 1
            local choices = world:choices()
            local next_ones = affordable(world, choices, left)
            if not problem and #next_ones == 0 then
                ends = ends + 1
                problem = at_end(world)
            end
            if problem then error(problem .. ", after\n" .. story(build, way), 0) end
            if #next_ones == 0 then break end
            for i = #next_ones, 2, -1 do
                open[#open + 1] = {
                    way = copy(way, next_ones[i].number), left = next_ones[i].left,
                }
            end
            local first = next_ones[1]
            choices[first.number].fn()
            way[#way + 1], left = first.number, first.left
        end
    end
    return moments, ends
end


-- In each way some are much slower than others, now these, now those: else it is rare that one
-- does a whole piece of work while another stands still.
local function new_pace()
    local paces = { "slow", "even", "quick" }
    local weights = { slow = 0.01, even = 0.3, quick = 1 }
    return setmetatable({}, { __index = function(pace, who)
        pace[who] = weights[paces[math.random(#paces)]]
        return pace[who]
    end })
end


-- The number of one of the choices.
local function choose(choices, pace)
    local sum = 0
    for _, choice in ipairs(choices) do sum = sum + pace[choice.who] end
    local at = math.random() * sum
    for number, choice in ipairs(choices) do
        at = at - pace[choice.who]
        if at <= 0 then return number end
    end
    return #choices
end


--- Goes so many ways, each by chance; raises at the first that has a problem.
---@param build fun(): zklock.spec.World
---@param ways integer
---@param seed integer
---@param at_end fun(world): string?
---@return integer moments
function explore.some(build, ways, seed, at_end)
    local moments = 0
    math.randomseed(seed)
    for _ = 1, ways do
        local world, way, pace = build(), {}, new_pace()
        local choices = world:choices()
        while #choices > 0 do
            if math.random() < 0.03 then pace = new_pace() end
            way[#way + 1] = choose(choices, pace)
            choices[way[#way]].fn()
            choices = world:choices()
            local problem = world:problem() or #choices == 0 and at_end(world)
            if problem then error(problem .. ", after\n" .. story(build, way), 0) end
        end
        moments = moments + #way
    end
    return moments
end


return explore
