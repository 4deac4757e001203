--- All states of a game. Each choice of each state is carried out in a world of its own, which
--- begins at the beginning; breadth first, so the way to a state is a shortest one.

local odds = require "zklock.seckill.lessons.scheduler.odds"
local play = require "zklock.seckill.lessons.scheduler.play"

local graph = {}

---@class zklock.scheduler.State
---@field view zklock.scheduler.View
---@field path string[]    a shortest path
---@field to integer[]     the next state for each choice
---@field wrong boolean    more pieces ordered than taken from the stock
---@field left? integer    choices to the nearest wrong state; nil: none can be reached any more
---@field hint? integer    the choice that leads there
---@field odds number      that chance ends wrong from here, 0 to 1

---@class zklock.scheduler.Graph
---@field states zklock.scheduler.State[]  from the beginning on
---@field choices integer
---@field wrong integer     states
---@field shortest? zklock.scheduler.State  the wrong state nearest to the beginning


-- A path with more choices.
function graph.way(path, ...)
    local way = {}
    for i, choice in ipairs(path) do way[i] = choice end
    for _, choice in ipairs{ ... } do way[#way + 1] = choice end
    return way
end


-- Searches backward from the wrong states.
local function add_hints(states)
    local from, line = {}, {}
    for i, state in ipairs(states) do
        from[i] = from[i] or {}
        for choice, to in ipairs(state.to) do
            from[to] = from[to] or {}
            table.insert(from[to], { state = i, choice = choice })
        end
        if state.wrong then
            state.left = 0
            line[#line + 1] = i
        end
    end
    for _, to in ipairs(line) do -- grows meanwhile
        for _, edge in ipairs(from[to]) do
            local state = states[edge.state]
            if not state.left then
                state.left, state.hint = states[to].left + 1, edge.choice
                line[#line + 1] = edge.state
            end
        end
    end
end


--- All states of a game, with their choices and next states.
---@param game table     from games.lua
---@param seed integer?  of its worlds
---@return zklock.scheduler.Graph
function graph.of(game, seed)
    local states, places = {}, {}
    local made = { states = states, choices = 0, wrong = 0 }
    local function place_of(view, path)
        local key = play.key(view)
        if not places[key] then
            places[key] = #states + 1
            local wrong = view.stock + view.orders ~= play.stock
            states[#states + 1] = { view = view, path = path, to = {}, wrong = wrong }
            if wrong then
                made.wrong = made.wrong + 1
                made.shortest = made.shortest or states[#states]
            end
        end
        return places[key]
    end
    place_of(play.views(game, {}, seed)[1], {})
    for _, state in ipairs(states) do -- grows meanwhile
        for i, choice in ipairs(state.view.choices) do
            local path = graph.way(state.path, choice)
            state.to[i] = place_of(play.views(game, path, seed)[#path + 1], path)
            made.choices = made.choices + 1
        end
    end
    add_hints(states)
    odds.add(states)
    return made
end


return graph
