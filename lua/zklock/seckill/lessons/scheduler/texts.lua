--- The page's texts about a state, for each server, each lock, the store, the choices, the verdict
--- and the hint.

local odds = require "zklock.seckill.lessons.scheduler.odds"
local play = require "zklock.seckill.lessons.scheduler.play"

local texts = {}


---@param view zklock.scheduler.View
---@param choice string
---@param words table  of a language
---@return string
function texts.choice(view, choice, words)
    local name, number = choice:match "^(%l+) ?(%d?)$"
    number = tonumber(number)
    if name ~= "expire" then
        local stock = number and view.servers[number].stock or 0
        return words.steps[name]:format(number, stock - 1)
    end
    local stopped = {}
    for _, each in ipairs(view.queues[1]) do
        if view.servers[each].stopped then stopped[#stopped + 1] = each end
    end
    return stopped[2] and words.expire_both or words.expire_one:format(stopped[1])
end


local AS_HOLDER = { read = true, write = true, release = true }

local function acts_as_holder(server) return AS_HOLDER[server.at] end


-- The news that a server missed when it was stopped in the queue, a grant or the loss of its place;
-- nil if it still waits.
local function unheard(view, number)
    if view.servers[number].at ~= "wait" or not view.servers[number].stopped then return nil end
    local queue = view.queues[1]
    return queue[1] == number and "granted" or queue[2] ~= number and "expired" or nil
end


local function server_text(view, number, words)
    local parts, server = {}, view.servers[number]
    local function add(text) parts[#parts + 1] = text end
    if server.stopped then add(words.stopped) end
    add(server.told and words.told[server.told]
        or words.at[server.at]:format(server.stock, (server.stock or 0) - 1))
    add(words.unheard[unheard(view, number)])
    if acts_as_holder(server) then add(words.lease[server.lease_state]) end
    if server.token then add(words.token:format(server.token)) end
    return table.concat(parts, words.joint)
end


local function lock_text(view, queue, words)
    local parts = { queue[1] and words.holder:format(queue[1]) or words.free }
    if queue[2] then parts[2] = words.waiter:format(queue[2]) end
    -- Each server may hold a lock of its own; a shared lock must have one holder.
    for number, server in ipairs(view.queues[2] and {} or view.servers) do
        if queue[1] ~= number and acts_as_holder(server) then
            parts[#parts + 1] = (server.stopped and words.two_stopped or words.two):format(number)
        end
    end
    return table.concat(parts, words.joint)
end


local function store_text(view, game, words)
    local parts = { words.stock:format(view.stock), words.orders:format(view.orders) }
    if game.checks then
        parts[3] = view.greatest == 0 and words.no_token or words.greatest:format(view.greatest)
    end
    return table.concat(parts, words.list)
end


---@return string[]
function texts.heads(view, game, words)
    local heads = { words.server:format(1), words.server:format(2) }
    for number in ipairs(view.queues) do
        heads[#heads + 1] = words.locks[game.name]:format(number)
    end
    heads[#heads + 1] = words.store
    return heads
end


---@return string[]
function texts.rows(view, game, words)
    local rows = { server_text(view, 1, words), server_text(view, 2, words) }
    for _, queue in ipairs(view.queues) do rows[#rows + 1] = lock_text(view, queue, words) end
    rows[#rows + 1] = store_text(view, game, words)
    return rows
end


--- The servers' boxes as classes of site.css.
---@return string[]
function texts.boxes(view)
    local one, other = view.servers[1], view.servers[2]
    local both = acts_as_holder(one) and acts_as_holder(other)
    local boxes = {}
    for number, server in ipairs(view.servers) do
        local class = both and "two" or acts_as_holder(server) and "hold"
            or server.at == "wait" and "wait" or ""
        boxes[number] = class .. (server.stopped and " stop" or "")
    end
    return boxes
end


---@param state zklock.scheduler.State
---@return string kind
---@return string text
function texts.verdict(state, words)
    local view = state.view
    local kind = state.wrong and "oversold" or view.choices[1] and "playing" or "over"
    return kind, words.verdicts[kind]:format(view.orders, play.stock)
end


---@param state zklock.scheduler.State
---@return string
function texts.chance(state, words)
    return words.chance:format(odds.of_hundred(state.odds))
end


---@param state zklock.scheduler.State
---@return string
function texts.hint(state, words)
    local distance, hints = state.distance, words.hints
    if not distance then return hints.none end
    if distance == 0 then return hints.done end
    local choice = texts.choice(state.view, state.view.choices[state.hint], words)
    return distance == 1 and hints.one:format(choice) or hints.more:format(distance, choice)
end


return texts
