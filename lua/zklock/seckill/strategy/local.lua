--- Strategy "local", a lock among coroutines of one process, like `synchronized` in the seed
--- articles. It does not exclude other servers.

local runtime = require "zklock.waiting.runtime"
local zklock = require "zklock"


local POLL = 0.001 -- seconds between a waiter's looks at the queue


local Local = { simulated = true } -- a simulated sale can use it
Local.__index = Local


function Local.open(server)
    return setmetatable({ queues = {}, timeout = server.timeout }, Local)
end


local function index_of(queue, ticket)
    for i, each in ipairs(queue) do
        if each == ticket then return i end
    end
end


local function due_of(self, wish)
    return runtime.now() + (wish and wish.timeout or self.timeout)
end


local function enter(self, lock, due)
    local queue = self.queues[lock] or {}
    self.queues[lock] = queue
    local ticket = { queue = queue }
    queue[#queue + 1] = ticket
    while queue[1] ~= ticket do
        if runtime.now() > due then
            table.remove(queue, index_of(queue, ticket))
            return nil, "waited too long for the local lock", "timeout"
        end
        zklock.sleep(POLL)
    end
    return ticket
end


function Local:enter(lock, _, wish) return enter(self, lock, due_of(self, wish)) end


local function leave(ticket)
    assert(ticket.queue[1] == ticket, "the local lock is held by another")
    table.remove(ticket.queue, 1)
end


--- Takes several locks, which the caller has sorted by name to avoid deadlocks.
function Local:enter_all(locks, _, wish)
    local due, tickets = due_of(self, wish), {}
    for i, lock in ipairs(locks) do
        local ticket, message, code = enter(self, lock, due)
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
