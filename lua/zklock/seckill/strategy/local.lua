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


local function leave(ticket)
    assert(ticket.queue[1] == ticket, "the local lock is held by another")
    table.remove(ticket.queue, 1)
end


--- Several locks, in the order of their names: no two wait for each other.
function Local:enter_all(locks)
    local tickets = {}
    for i, lock in ipairs(locks) do
        local ticket, message, code = self:enter(lock)
        if not ticket then
            self.leave(self, tickets)
            return nil, message, code
        end
        tickets[i] = ticket
    end
    return tickets
end


function Local.leave(_, hold)
    if hold.queue then return leave(hold) end
    for _, ticket in ipairs(hold) do leave(ticket) end
end


return Local
