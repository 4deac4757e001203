--- Ways through a game for the page's lists. A way is a list of indices of states, from the
--- beginning on.

local ways = {}


-- The index of the state after a choice.
local function place_after(state, choice)
    for i, each in ipairs(state.view.choices) do
        if each == choice then return state.to[i] end
    end
end


---@param states zklock.scheduler.State[]
---@param path string[]
---@return integer[]
function ways.of(states, path)
    local places = { 1 }
    for i, choice in ipairs(path) do
        places[i + 1] = assert(place_after(states[places[i]], choice))
    end
    return places
end


-- True if the server's next write comes after the loss of its lock to the other server.
local function is_late(view, number)
    local server = view.servers[number]
    return server.at == "write" and server.lease == "lost" and not server.stopped
        and view.queues[1][1] == 3 - number
end


--- A shortest way on which a late write is admitted, with the servers' steps after it.
---@param states zklock.scheduler.State[]
---@return integer[]
function ways.late_write(states)
    local function found()
        for _, state in ipairs(states) do
            for number in ipairs(state.view.servers) do
                local place = is_late(state.view, number)
                    and place_after(state, "write " .. number)
                if place and states[place].view.servers[number].told == "sold" then
                    return ways.of(states, state.path), place
                end
            end
        end
    end
    local places, place = found()
    while place do
        places[#places + 1] = place
        place = states[place].to[1] -- its own step is the first choice
    end
    return places
end


---@param states zklock.scheduler.State[]
---@param places integer[]
---@return { view: zklock.scheduler.View, choice: string }[]  each with the view before it
function ways.choices(states, places)
    local list = {}
    for i = 1, #places - 1 do
        local state = states[places[i]]
        for n, to in ipairs(state.to) do
            if to == places[i + 1] then
                list[i] = { view = state.view, choice = state.view.choices[n] }
            end
        end
    end
    return list
end


return ways
