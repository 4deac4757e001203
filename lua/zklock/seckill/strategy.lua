--- Strategies: who may enter the critical section of a purchase.
---
---     local hold, message, code = strategy:enter()
---     …
---     strategy:leave(hold)
---
--- strategy:token(hold) gives the digits of the fencing token; nil where the
--- strategy knows none.

local zklock = require "zklock"


-- How often a waiter for the local lock looks whether it is its turn.
local POLL = 0.001


local strategy = {}


--- Nobody waits for anybody.
local Nothing = {}
Nothing.__index = Nothing


function Nothing.enter() return true end
function Nothing.leave() end
function Nothing.token() end


--- A lock of this process: the seed's `synchronized`, for coroutines.
local Local = {}
Local.__index = Local


function Local:enter()
    local ticket = {}
    local queue = self.queue
    queue[#queue + 1] = ticket
    while queue[1] ~= ticket do zklock.sleep(POLL) end
    return ticket
end


function Local:leave(ticket)
    assert(self.queue[1] == ticket, "the local lock is held by another")
    table.remove(self.queue, 1)
end


function Local.token() end


--- A lock of all processes: one session a server, one lock a product. (The
--- seed opens a session for every request: BUG-05.)
local ZooKeeper = {}
ZooKeeper.__index = ZooKeeper


function ZooKeeper:enter()
    return self.lock:acquire(self.timeout)
end


-- There is nothing to give up when the lease was lost; what that did to the stock is the
-- store's to say.
function ZooKeeper.leave(_, lease)
    local released, message, code = lease:release()
    assert(released or code == "lost", message)
end


function ZooKeeper.token(_, lease)
    return lease:token_string()
end


local makers = {
    none = function()
        return setmetatable({}, Nothing)
    end,
    ["local"] = function()
        return setmetatable({ queue = {} }, Local)
    end,
    -- The same for a server of several processes.
    shared = function(worker)
        return require("zklock.seckill.http.shared_lock").open(worker.given.lock,
            tonumber(worker.given.timeout))
    end,
    zookeeper = function(worker)
        return setmetatable({
            lock = worker:connect():mutex(worker:path(worker.given.lock),
                                          { order = worker.given.order }),
            timeout = tonumber(worker.given.timeout), -- nil: for ever
        }, ZooKeeper)
    end,
}


--- The strategy that a worker was given.
---@param worker zklock.seckill.Worker
function strategy.open(worker)
    return makers[worker.given.strategy](worker)
end


return strategy
