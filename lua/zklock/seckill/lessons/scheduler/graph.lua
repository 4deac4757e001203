--- All states of a game. Each choice of each state is carried out in a world of its own, from the
--- beginning of the game. The search is breadth first, so it finds shortest paths.

local odds = require "zklock.seckill.lessons.scheduler.odds"
local play = require "zklock.seckill.lessons.scheduler.play"

local graph = {}

---@class zklock.scheduler.State
---@field view zklock.scheduler.View
---@field path string[]    a shortest path
---@field to integer[]     the next state for each choice
---@field wrong boolean    more pieces ordered than taken from the stock
---@field distance? integer  choices to the nearest wrong state; nil if none can be reached
---@field hint? integer    the choice that leads there
---@field odds number      probability of a wrong end, with random choices from here on

---@class zklock.scheduler.Graph
---@field states zklock.scheduler.State[]  from the beginning on
---@field choices integer
---@field wrong integer     states
---@field shortest? zklock.scheduler.State  the wrong state nearest to the beginning


function graph.extended(path, ...)
    local longer = {}
    for i, choice in ipairs(path) do longer[i] = choice end
    for _, choice in ipairs{ ... } do longer[#longer + 1] = choice end
    return longer
end


-- Searches backward from the wrong states.
local function add_hints(states)
    local edges_to, queue = {}, {}
    for i, state in ipairs(states) do
        edges_to[i] = edges_to[i] or {}
        for choice, to in ipairs(state.to) do
            edges_to[to] = edges_to[to] or {}
            table.insert(edges_to[to], { state = i, choice = choice })
        end
        if state.wrong then
            state.distance = 0
            queue[#queue + 1] = i
        end
    end
    for _, to in ipairs(queue) do -- grows meanwhile
        for _, edge in ipairs(edges_to[to]) do
            local state = states[edge.state]
            if not state.distance then
                state.distance, state.hint = states[to].distance + 1, edge.choice
                queue[#queue + 1] = edge.state
            end
        end
    end
end


---@param game table     from games.lua
---@param seed integer?  of its worlds
---@return zklock.scheduler.Graph
function graph.of(game, seed)
    local states, indices = {}, {}
    local made = { states = states, choices = 0, wrong = 0 }
    local function ensure_state(view, path)
        local key = play.key(view)
        if not indices[key] then
            indices[key] = #states + 1
            local wrong = view.stock + view.orders ~= play.stock
            states[#states + 1] = { view = view, path = path, to = {}, wrong = wrong }
            if wrong then
                made.wrong = made.wrong + 1
                made.shortest = made.shortest or states[#states]
            end
        end
        return indices[key]
    end
    ensure_state(play.views(game, {}, seed)[1], {})
    for _, state in ipairs(states) do -- grows meanwhile
        for i, choice in ipairs(state.view.choices) do
            local path = graph.extended(state.path, choice)
            state.to[i] = ensure_state(play.views(game, path, seed)[#path + 1], path)
            made.choices = made.choices + 1
        end
    end
    add_hints(states)
    odds.add(states)
    return made
end


return graph
