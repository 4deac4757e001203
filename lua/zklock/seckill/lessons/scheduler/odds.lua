--- The odds that a game ends wrong if chance makes all choices from a state on, each of them with
--- the same probability. All states are known, so the odds are worked out, not sampled.

local markup = require "zklock.seckill.lessons.site.markup"

local odds = {}

local CLOSE = 1e-9 -- enough between two rounds
local WIDTH, HEIGHT = 30, 100 -- of a choice in the curve


-- The mean of the states that its choices lead to.
local function mean(states, state)
    local sum = 0
    for _, to in ipairs(state.to) do sum = sum + states[to].odds end
    return sum / #state.to
end


--- Adds `odds` to each state, from 0 to 1.
---@param states zklock.scheduler.State[]
function odds.add(states)
    for _, state in ipairs(states) do state.odds = state.wrong and 1 or 0 end
    repeat
        local change = 0
        for place = #states, 1, -1 do -- a later state is nearer to an end
            local state = states[place]
            if state.to[1] and not state.wrong then
                local before = state.odds
                state.odds = mean(states, state)
                change = math.max(change, math.abs(state.odds - before))
            end
        end
    until change < CLOSE
end


--- The moment of a way is the choice that adds the most.
---@param states zklock.scheduler.State[]
---@param places integer[]  of the way
---@return { choice: integer, odds: number, before: number }
function odds.moment(states, places)
    local moment = { choice = 0, odds = 0, before = 0 }
    for i = 1, #places - 1 do
        local before, after = states[places[i]].odds, states[places[i + 1]].odds
        if after - before > moment.odds - moment.before then
            moment = { choice = i, odds = after, before = before }
        end
    end
    return moment
end


--- As one of 100 games.
---@param share number
---@return integer
function odds.of_hundred(share) return math.floor(100 * share + 0.5) end


--- The odds along a way as a picture, a step for each choice.
---@param states zklock.scheduler.State[]
---@param places integer[]
---@param label string
---@return string html
function odds.curve(states, places, label)
    local line = {}
    for i, place in ipairs(places) do
        local height = HEIGHT - odds.of_hundred(states[place].odds)
        line[i] = ("%d,%d %d,%d"):format((i - 1) * WIDTH, height, i * WIDTH, height)
    end
    return ('<svg class="odds" viewBox="0 -2 %d %d" role="img" aria-label="%s"'
        .. ' preserveAspectRatio="xMinYMid">'
        .. '<path d="M0 0H%d M0 %dH%d"/><polyline points="%s"/></svg>'):format(#places * WIDTH,
        HEIGHT + 4, markup.escape(label), #places * WIDTH, HEIGHT, #places * WIDTH,
        table.concat(line, " "))
end


return odds
