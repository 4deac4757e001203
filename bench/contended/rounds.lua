--- Rounds: contenders are measured in turn, again and again. The ratio of each round is what
-- counts, for the machine's speed drifts.

local core = require "zklock.core"
local median = require "bench.median"

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
        if round >= LEAST and core.now() - begin > options.patience then break end
    end
    return figures
end


--- Of a figure, by its name: median, least, most.
function rounds.middle(figures, name)
    local values = {}
    for i, each in ipairs(figures) do values[i] = each[name] end
    local value = median(values) -- sorts
    return value, values[1], values[#values]
end


--- How many times as long `slow` takes as `quick`, each round by itself: median, least, most.
function rounds.ratio(slow, quick)
    local ratios = {}
    for i = 1, #slow do ratios[i] = { ratio = slow[i].ms / quick[i].ms } end
    return rounds.middle(ratios, "ratio")
end


return rounds
