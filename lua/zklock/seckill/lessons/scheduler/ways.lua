--- Ways through a game that the page has as lists. A way is a list of the places of states, from
--- the first one on.

local ways = {}


-- The place that a choice leads to.
local function place_after(state, choice)
    for i, each in ipairs(state.view.choices) do
        if each == choice then return state.to[i] end
    end
end


--- The way of these choices.
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


-- Does a server write next that has lost the lock, while the other one has it?
local function is_late(view, number)
    local server = view.servers[number]
    return server.at == "write" and server.lease == "lost" and not server.stopped
        and view.queues[1][1] == 3 - number
end


--- A shortest way on which a late write is admitted, and what the servers do after it.
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
        place = states[place].to[1] -- a server's own step is the first choice
    end
    return places
end


--- The choices on a way, in their order.
---@param states zklock.scheduler.State[]
---@param places integer[]
---@return { view: zklock.scheduler.View, choice: string }[]  each with what there was before it
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
