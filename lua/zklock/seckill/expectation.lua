--- The option `expect` of a sale sets numbers of buyers by outcome, and limits for their times.

local figures = require "zklock.seckill.figures"
local misuse = require "zklock.value.misuse"
local option = require "zklock.seckill.option"
local sorted_names = require "zklock.value.sorted_names"

local refuse, show = misuse.refuse, misuse.show


local COUNTS = { sold = true, refused = true, failed = true }
local TIMES = { wait = true, hold = true, answer = true }

local FORM = "expect is a table of counts of buyers (sold, refused, failed) and of times (wait, "
    .. "hold, answer), as in { sold = 100, failed = 0, answer = { p99 = 0.5 } }"


local expectation = {}


-- the option ------------------------------------------------------------------------------------

-- The fraction of a quantile's name, as 0.99 for p99 or 1 for max; nil for other names.
local function fraction_of(name)
    if name == "max" then return 1 end
    local percent = type(name) == "string" and tonumber(name:match "^p(%d+%.?%d*)$")
    return percent and percent > 0 and percent <= 100 and percent / 100 or nil
end


local function check_times(name, times, pause)
    local what = ("expect: %s is a table of the most seconds, by p50, p99, p99.9, …, mean or max")
        :format(name)
    if type(times) ~= "table" or next(times) == nil then refuse("%s, not %s", what, show(times)) end
    for each, most in pairs(times) do
        if each ~= "mean" and not fraction_of(each) then refuse("%s, not %s", what, show(each)) end
        if type(most) ~= "number" or not (most > 0) then
            refuse("%s; %s must be above 0, not %s", what, each, show(most))
        end
        if name == "answer" and fraction_of(each) == 1 and most < pause then
            refuse("expect can never be met: an answer after %g s at most, and each buyer pauses "
                .. "for %g s", most, pause)
        end
    end
end


local function most_buyers_served(plan)
    local buyers, most = {}, 0
    for _, assignment in ipairs(plan.assignments) do
        buyers[assignment.product] = (buyers[assignment.product] or 0) + 1
    end
    for product, count in pairs(buyers) do
        most = most + math.min(count, math.floor(plan.products[product] / plan.quantity))
    end
    return most
end


local function check_counts(counts, plan, is_built_in)
    local sum = (counts.sold or 0) + (counts.refused or 0) + (counts.failed or 0)
    local are_all_given = counts.sold and counts.refused and counts.failed
    if sum > plan.buyers or are_all_given and sum < plan.buyers then
        refuse("expect can never be met: sold, refused and failed are %d of %d buyers", sum,
            plan.buyers)
    end
    if is_built_in and (counts.sold or 0) > most_buyers_served(plan) then
        refuse("expect can never be met: sold = %d, and the stock serves %d at most", counts.sold,
            most_buyers_served(plan))
    end
end


--- Raises an error if the expectation is malformed or impossible.
---@param given any
---@param plan zklock.seckill.Plan
---@param is_built_in boolean  the sale's purchase is built in, so a buyer has at most one order
function expectation.check(given, plan, is_built_in)
    if given == nil then return end
    if type(given) ~= "table" or not next(given) then refuse("%s, not %s", FORM, show(given)) end
    local counts = {}
    for name, value in pairs(given) do
        if TIMES[name] then
            check_times(name, value, is_built_in and plan.pause or 0)
        elseif COUNTS[name] then
            counts[name] = option.whole(given, name, 0, plan.buyers)
        else
            refuse("%s; it has no %s", FORM, show(name))
        end
    end
    check_counts(counts, plan, is_built_in)
end


-- the result ------------------------------------------------------------------------------------

local function add_unmet_times(name, most, times, words)
    for _, each in ipairs(sorted_names(most)) do
        local fraction, seconds = fraction_of(each), times:mean()
        if fraction then seconds = times:quantile(fraction) end
        if not seconds or seconds > most[each] then
            words[#words + 1] = ("%s %s of at most %g s and not %s"):format(name, each,
                most[each], seconds and ("%.3g s"):format(seconds) or "none")
        end
    end
end


--- The unmet part of an expectation as a text, or nil.
function expectation.unmet(expect, purchases)
    if not expect then return nil end
    local counts, times, words = figures.counts(purchases), nil, {}
    for _, name in ipairs(sorted_names(expect)) do
        if TIMES[name] then
            times = times or figures.times(purchases)
            add_unmet_times(name, expect[name], times[name], words)
        elseif counts[name] ~= expect[name] then
            words[#words + 1] = ("%d %s and not %d"):format(expect[name], name, counts[name])
        end
    end
    return words[1] and table.concat(words, ", ")
end


return expectation
