--- The moment of a wrong schedule is the step from which it was likely to end wrong. To find it,
-- the schedule is repeated up to a step, and many seeds decide the later steps.

local ceil, floor, log, min = math.ceil, math.floor, math.log, math.min
local sort = table.sort

local TURNS = 200000 -- most turns of all repeated schedules together, about
local LEAST = 10     -- seeds; fewer show nothing

---@class zklock.Moment
---@field step integer 0 is the beginning
---@field text string that step in words
---@field seeds integer that were tried from a step on
---@field wrong integer seeds that end wrong from that step on
---@field before? integer seeds that end wrong from the step before it on
---@field curve { step: integer, at: number, wrong: integer }[] of all steps that were tried

local _M = {}


-- Finds the step that adds the most wrong seeds, by bisection in the halves that add more.
local function bisect(wrong_after, last)
    local low, high = 0, last
    while high - low > 1 do
        local middle = floor((low + high) / 2)
        local is_later = 2 * wrong_after(middle) < wrong_after(low) + wrong_after(high)
        if is_later then low = middle else high = middle end
    end
    return high
end


-- The number of seeds for each point, for which TURNS suffice.
local function affordable_seeds(wanted, points, turns)
    local seeds = min(wanted, floor(TURNS / points / turns))
    return seeds < min(wanted, LEAST) and 0 or seeds
end


-- Returns the points so far, and a function that counts the seeds that end wrong after a step.
local function curve_of(seeds, play)
    local curve, points = {}, {}
    return curve, function(step)
        local point = points[step] or { step = step, wrong = 0 }
        if points[step] then return point.wrong end
        for seed = 1, seeds do
            local world = play{ branch = { after = step, seed = seed } }
            if world.problem ~= nil then point.wrong = point.wrong + 1 end
            point.at = world.branched_at or world:now()
        end
        points[step], curve[#curve + 1] = point, point
        return point.wrong
    end
end


local function odds_text(moment)
    local text = ("%d of %d end wrong"):format(moment.wrong, moment.seeds)
    return moment.before and ("%s, before it %d"):format(text, moment.before) or text
end


---@param moment zklock.Moment
---@return string
function _M.text(moment)
    if moment.step == 0 then return "from the beginning " .. odds_text(moment) end
    return ("from step %d (%s) %s"):format(moment.step, moment.text, odds_text(moment))
end


-- Plays the schedule again with the moment in its story, from which the moment gets its text.
local function play_marked(moment, play)
    local mark = {
        step = moment.step,
        line = ("%13s  %-10s  from here %s"):format("", "step " .. moment.step, odds_text(moment)),
    }
    local world = play{ story = true, mark = mark }
    moment.text = mark.text or mark.turn_of.name .. " goes on"
    return world
end


---@param world zklock.World that ended wrong
---@param wanted integer seeds
---@param more integer further points of the curve
---@param play fun(how) plays the schedule again
---@return zklock.Moment? moment nil if the schedule has too many steps, or none
---@return zklock.World world with the moment in its story
function _M.find(world, wanted, more, play)
    local last = world.step_count
    if last == 0 then return nil, world end
    local points = ceil(log(last) / log(2)) + 2 + more
    local seeds = affordable_seeds(wanted, points, world.turn_count + 1)
    if seeds == 0 then return nil, world end
    local curve, wrong_after = curve_of(seeds, play)
    local step = bisect(wrong_after, last)
    if wrong_after(step) <= wrong_after(step - 1) then step = 0 end
    for i = 1, more do wrong_after(floor(last * i / (more + 1))) end
    sort(curve, function(a, b) return a.step < b.step end)
    local moment = {
        step = step,
        text = "the beginning",
        seeds = seeds,
        wrong = wrong_after(step),
        before = step > 0 and wrong_after(step - 1) or nil,
        curve = curve,
    }
    return moment, step > 0 and play_marked(moment, play) or world
end


return _M
