--- The odds that a game ends wrong if chance makes all choices from a state on, each with the same
--- probability. All states are known, so the odds are computed, not sampled.

local markup = require "zklock.seckill.lessons.site.markup"

local odds = {}

local LEAST_CHANGE = 1e-9 -- of the odds in a round; after a smaller change they are final
local WIDTH, HEIGHT = 30, 100 -- of a choice in the curve


local function mean_of_next_states(states, state)
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
        for i = #states, 1, -1 do -- later states are nearer to an end
            local state = states[i]
            if state.to[1] and not state.wrong then
                local before = state.odds
                state.odds = mean_of_next_states(states, state)
                change = math.max(change, math.abs(state.odds - before))
            end
        end
    until change < LEAST_CHANGE
end


--- The choice of a way that adds the most to the odds.
---@param states zklock.scheduler.State[]
---@param way integer[]  indices of states
---@return { choice: integer, odds: number, before: number }
function odds.turning_point(states, way)
    local turn = { choice = 0, odds = 0, before = 0 }
    for i = 1, #way - 1 do
        local before, after = states[way[i]].odds, states[way[i + 1]].odds
        if after - before > turn.odds - turn.before then
            turn = { choice = i, odds = after, before = before }
        end
    end
    return turn
end


---@param share number
---@return integer
function odds.of_hundred(share) return math.floor(100 * share + 0.5) end


--- The odds along a way as a picture, a step for each choice.
---@param states zklock.scheduler.State[]
---@param way integer[]
---@param label string
---@return string html
function odds.curve(states, way, label)
    local points = {}
    for i, index in ipairs(way) do
        local height = HEIGHT - odds.of_hundred(states[index].odds)
        points[i] = ("%d,%d %d,%d"):format((i - 1) * WIDTH, height, i * WIDTH, height)
    end
    return ('<svg class="odds" viewBox="0 -2 %d %d" role="img" aria-label="%s"'
        .. ' preserveAspectRatio="xMinYMid">'
        .. '<path d="M0 0H%d M0 %dH%d"/><polyline points="%s"/></svg>'):format(#way * WIDTH,
        HEIGHT + 4, markup.escape(label), #way * WIDTH, HEIGHT, #way * WIDTH,
        table.concat(points, " "))
end


return odds
