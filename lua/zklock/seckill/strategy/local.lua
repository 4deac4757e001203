--- Strategy "local", a lock among coroutines of one process, as the seed's `synchronized`. It does
--- not exclude other servers.

local zklock = require "zklock"


-- Seconds between a waiter's looks.
local POLL = 0.001


local Local = { simulated = true }
Local.__index = Local


function Local.open(server)
    return setmetatable({ queues = {}, timeout = server.timeout }, Local)
end


local function index_of(queue, ticket)
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
            table.remove(queue, index_of(queue, ticket))
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


--- Several locks, taken in the order of their names to avoid deadlocks.
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
