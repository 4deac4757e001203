--- Ways through a game for the page's lists. A way is a list of indices of states, from the
--- beginning on.

local ways = {}


local function index_after(state, choice)
    for i, each in ipairs(state.view.choices) do
        if each == choice then return state.to[i] end
    end
end


---@param states zklock.scheduler.State[]
---@param path string[]
---@return integer[]
function ways.of(states, path)
    local way = { 1 }
    for i, choice in ipairs(path) do
        way[i + 1] = assert(index_after(states[way[i]], choice))
    end
    return way
end


-- True if the server's next write comes after the loss of its lock to the other server.
local function is_late(view, number)
    local server = view.servers[number]
    return server.at == "write" and server.lease_state == "lost" and not server.stopped
        and view.queues[1][1] == 3 - number
end


--- A shortest way on which a late write is admitted, with the servers' steps after it.
---@param states zklock.scheduler.State[]
---@return integer[]
function ways.late_write(states)
    local function find_late_write()
        for _, state in ipairs(states) do
            for number in ipairs(state.view.servers) do
                local next_state = is_late(state.view, number)
                    and index_after(state, "write " .. number)
                if next_state and states[next_state].view.servers[number].told == "sold" then
                    return ways.of(states, state.path), next_state
                end
            end
        end
    end
    local way, next_state = find_late_write()
    while next_state do
        way[#way + 1] = next_state
        next_state = states[next_state].to[1] -- the first choice is a server's own step
    end
    return way
end


---@param states zklock.scheduler.State[]
---@param way integer[]
---@return { view: zklock.scheduler.View, choice: string }[]  each with the view before it
function ways.choices(states, way)
    local list = {}
    for i = 1, #way - 1 do
        local state = states[way[i]]
        for n, to in ipairs(state.to) do
            if to == way[i + 1] then
                list[i] = { view = state.view, choice = state.view.choices[n] }
            end
        end
    end
    return list
end


return ways
