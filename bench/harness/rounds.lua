--- Rounds: contenders are measured in turn, again and again. The ratio of each round is what
-- counts, for the machine's speed drifts.

local core = require "zklock.core"

local LEAST = 3

local rounds = {}


--- Gives the figures of each contender, by round. After options.patience seconds no further round
-- begins, if there were enough.
function rounds.run(options, contenders, measure)
    local figures, begin = {}, core.now()
    for i = 1, #contenders do figures[i] = {} end
    for round = 1, options.rounds do
        for k = 1, #contenders do -- each is the first, in turn
            local i = (round + k - 2) % #contenders + 1
            figures[i][round] = measure(contenders[i])
        end
        if round >= LEAST and core.now() - begin > (options.patience or math.huge) then break end
    end
    return figures
end


--- The median of a list, which is sorted by that; least, most.
function rounds.median(values)
    table.sort(values)
    return values[math.ceil(#values / 2)], values[1], values[#values]
end


--- Median, least and most of a figure, by its name.
function rounds.middle(figures, name)
    local values = {}
    for i, each in ipairs(figures) do values[i] = each[name] end
    return rounds.median(values)
end


--- The mean, for figures of coarse ticks.
function rounds.mean(figures, name)
    local sum = 0
    for _, each in ipairs(figures) do sum = sum + each[name] end
    return sum / #figures
end


--- How many times as large a figure is as another contender's, each round by itself: median, least,
-- most.
function rounds.ratio(figures, base, name)
    local ratios = {}
    for i, each in ipairs(figures) do ratios[i] = each[name] / base[i][name] end
    return rounds.median(ratios)
end


return rounds
