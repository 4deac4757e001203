--- Counts of purchases by outcome, and their times.

local distributions = require "zklock.seckill.distribution"
local sorted_names = require "zklock.value.sorted_names"


local figures = {}


--- True if the buyer got neither a product nor a refusal.
function figures.is_failed(purchase)
    return purchase.outcome ~= "sold" and purchase.outcome ~= "refused"
end


---@param purchases zklock.seckill.Purchase[]
---@return { sold: integer, refused: integer, failed: integer } counts
---@return table<string, integer> failures  by outcome
function figures.counts(purchases)
    local counts, failures = { sold = 0, refused = 0, failed = 0 }, {}
    for _, purchase in ipairs(purchases) do
        local outcome = purchase.outcome
        if figures.is_failed(purchase) then
            counts.failed = counts.failed + 1
            failures[outcome] = (failures[outcome] or 0) + 1
        else
            counts[outcome] = counts[outcome] + 1
        end
    end
    return counts, failures
end


---@param failures table<string, integer>
---@return string
function figures.outcomes_text(failures)
    local words = {}
    for i, outcome in ipairs(sorted_names(failures)) do
        words[i] = ("%d %s"):format(failures[outcome], outcome)
    end
    return table.concat(words, ", ")
end


---@param purchases zklock.seckill.Purchase[]
---@return table<string, zklock.seckill.Distribution> times  wait, hold, answer
function figures.times(purchases)
    local wait, hold, answer = distributions.new(), distributions.new(), distributions.new()
    for _, purchase in ipairs(purchases) do
        local asked, granted, released = purchase.asked, purchase.granted, purchase.released
        if granted then wait:add(granted - asked) end
        if granted and released then hold:add(released - granted) end
        if asked and purchase.told then answer:add(purchase.told - asked) end
    end
    return { wait = wait, hold = hold, answer = answer }
end


return figures
