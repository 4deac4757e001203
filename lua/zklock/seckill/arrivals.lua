--- Arrival times of buyers, all at once or at random with a constant or changing rate.

local misuse = require "zklock.value.misuse"
local option = require "zklock.seckill.option"

local refuse, show = misuse.refuse, misuse.show


local MOST_RATE = 1e6 -- buyers a second


local arrivals = {}


local function is_rate(value)
    return type(value) == "number" and value >= 0 and value <= MOST_RATE
end


-- Buyers a second at the beginning and at the end; nil if all come at once.
local function rates(given)
    if given == nil then return nil end
    if is_rate(given) and given > 0 then return given, given end
    if type(given) == "table" and #given == 2 and is_rate(given[1]) and is_rate(given[2])
        and given[1] + given[2] > 0 then
        return given[1], given[2]
    end
    refuse("arrivals must be buyers a second, as in 50, or a ramp, as in { 10, 100 }, not %s",
        show(given))
end


-- Returns a generator of random numbers in (0, 1]. A seed gives the same numbers in every Lua.
local function random_numbers(seed)
    local state = seed % 2147483646 + 1
    return function()
        state = state * 48271 % 2147483647
        return state / 2147483647
    end
end


-- Random arrival times at a rate of one buyer a second, in ascending order, scaled so that the last
-- is `buyers` seconds.
local function times_at_rate_one(buyers, seed)
    local random, times, sum = random_numbers(seed), {}, 0
    for i = 1, buyers do
        sum = sum - math.log(random())
        times[i] = sum
    end
    for i = 1, buyers do times[i] = times[i] * buyers / sum end
    return times
end


---@param given number|number[]|nil  the option
---@param buyers integer
---@param seed integer
---@return number[] times  in ascending order; empty if all come at once
function arrivals.read(given, buyers, seed)
    local first, last = rates(given)
    if not first then return {} end
    local seconds = 2 * buyers / (first + last)
    if seconds > option.MOST_SECONDS then
        refuse("arrivals = %s: %d buyers would come within %.0f s, and %d s are allowed",
            show(given), buyers, seconds, option.MOST_SECONDS)
    end
    local times, growth = times_at_rate_one(buyers, seed), (last - first) / seconds
    for i, time in ipairs(times) do -- solves first * t + growth * t^2 / 2 = time for t
        local root = math.sqrt(math.max(0, first ^ 2 + 2 * growth * time))
        times[i] = 2 * time / (first + root)
    end
    return times
end


return arrivals
