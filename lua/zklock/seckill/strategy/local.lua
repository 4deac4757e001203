--- Strategy "local": a lock of the server's own process, the seed's `synchronized`, for
--- coroutines. It knows nothing of other servers.

local zklock = require "zklock"


-- How often a waiter looks whether it is its turn.
local POLL = 0.001


local Local = { simulated = true }
Local.__index = Local


function Local.open(server)
    return setmetatable({ queues = {}, timeout = server.timeout }, Local)
end


local function place_of(queue, ticket)
    for i, each in ipairs(queue) do
        if each == ticket then return i end
    end
end


function Local:enter(lock)
    local queue = self.queues[lock] or {}
    self.queues[lock] = queue
    local ticket, waited = { queue = queue }, 0
    queue[#queue + 1] = ticket
    while queue[1] ~= ticket do
        if waited > self.timeout then
            table.remove(queue, place_of(queue, ticket))
            return nil, "waited too long for the local lock", "timeout"
        end
        zklock.sleep(POLL)
        waited = waited + POLL
    end
    return ticket
end


function Local.leave(_, ticket)
    assert(ticket.queue[1] == ticket, "the local lock is held by another")
    table.remove(ticket.queue, 1)
end


return Local
