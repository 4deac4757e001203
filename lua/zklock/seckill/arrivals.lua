--- Arrival times of buyers, all at once or at random with a constant or changing rate.

local misuse = require "zklock.value.misuse"
local option = require "zklock.seckill.option"

local refuse, show = misuse.refuse, misuse.show


local MOST = 1e6 -- buyers a second


local arrivals = {}


local function is_rate(value) return type(value) == "number" and value >= 0 and value <= MOST end


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


-- Random positions of the buyers in ascending order. The last position is the number of buyers.
local function positions(buyers, seed)
    local random, list, sum = random_numbers(seed), {}, 0
    for i = 1, buyers do
        sum = sum - math.log(random())
        list[i] = sum
    end
    for i = 1, buyers do list[i] = list[i] * buyers / sum end
    return list
end


---@param given number|number[]|nil  the option
---@param buyers integer
---@param seed integer
---@return number[]? times  in ascending order
function arrivals.read(given, buyers, seed)
    local first, last = rates(given)
    if not first then return nil end
    local seconds = 2 * buyers / (first + last)
    if seconds > option.MOST_SECONDS then
        refuse("arrivals = %s: %d buyers would come within %.0f s, and %d s are allowed",
            show(given), buyers, seconds, option.MOST_SECONDS)
    end
    local times, growth = positions(buyers, seed), (last - first) / seconds
    for i, position in ipairs(times) do -- first * t + growth * t^2 / 2 = position
        local root = math.sqrt(math.max(0, first ^ 2 + 2 * growth * position))
        times[i] = 2 * position / (first + root)
    end
    return times
end


return arrivals
