--- When buyers come: all at once, or by chance, so many in a second, or more and more.

local misuse = require "zklock.value.misuse"
local option = require "zklock.seckill.option"

local refuse, show = misuse.refuse, misuse.show


local MOST = 1e6 -- buyers a second


local arrivals = {}


local function is_rate(value) return type(value) == "number" and value >= 0 and value <= MOST end


-- Buyers a second at the beginning and at the end; nil: they come at once.
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


-- Numbers from 0 to 1, 0 excluded: a seed's, whatever else draws numbers.
local function chance(seed)
    local state = seed % 2147483646 + 1
    return function()
        state = state * 48271 % 2147483647
        return state / 2147483647
    end
end


-- Places of the buyers by chance between 0 and their number, which is the last one's place.
local function counts(buyers, seed)
    local random, list, sum = chance(seed), {}, 0
    for i = 1, buyers do
        sum = sum - math.log(random())
        list[i] = sum
    end
    for i = 1, buyers do list[i] = list[i] * buyers / sum end
    return list
end


--- When each of so many buyers comes, in seconds; nil: all come at once.
---@param given number|number[]|nil  the option
---@param buyers integer
---@param seed integer
---@return number[]? times  they do not fall
function arrivals.read(given, buyers, seed)
    local first, last = rates(given)
    if not first then return nil end
    local seconds = 2 * buyers / (first + last)
    if seconds > option.MOST_SECONDS then
        refuse("arrivals = %s: %d buyers would come within %.0f s, and %d s are allowed",
            show(given), buyers, seconds, option.MOST_SECONDS)
    end
    local times, growth = counts(buyers, seed), (last - first) / seconds
    for i, count in ipairs(times) do -- first * t + growth * t^2 / 2 = count
        times[i] = 2 * count / (first + math.sqrt(math.max(0, first ^ 2 + 2 * growth * count)))
    end
    return times
end


return arrivals
