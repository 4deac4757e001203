--- Contenders are measured in turn, in several rounds. Ratios are taken within a round, because the
-- machine's speed drifts.

local core = require "zklock.core"

local LEAST_ROUNDS = 3 -- even after the patience

local rounds = {}


--- Returns the figures of each contender, by round. After options.patience seconds and LEAST_ROUNDS
-- no further round begins.
function rounds.run(options, contenders, measure)
    local figures, begin = {}, core.now()
    for i = 1, #contenders do figures[i] = {} end
    for round = 1, options.rounds do
        for k = 1, #contenders do -- in each round another contender is the first
            local i = (round + k - 2) % #contenders + 1
            figures[i][round] = measure(contenders[i])
        end
        local has_patience = core.now() - begin <= (options.patience or math.huge)
        if round >= LEAST_ROUNDS and not has_patience then break end
    end
    return figures
end


--- Sorts the list; returns its median, least and most.
function rounds.median(values)
    table.sort(values)
    return values[math.ceil(#values / 2)], values[1], values[#values]
end


--- Median, least and most of the figure with that name.
function rounds.median_of(figures, name)
    local values = {}
    for i, each in ipairs(figures) do values[i] = each[name] end
    return rounds.median(values)
end


--- The mean, for figures that were counted in coarse ticks.
function rounds.mean(figures, name)
    local sum = 0
    for _, each in ipairs(figures) do sum = sum + each[name] end
    return sum / #figures
end


--- The ratio of a figure to another contender's in the same round: median, least, most.
function rounds.ratio(figures, base, name)
    local ratios = {}
    for i, each in ipairs(figures) do ratios[i] = each[name] / base[i][name] end
    return rounds.median(ratios)
end


return rounds
