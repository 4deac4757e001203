--- Nine buyers, each in a server of its own. The first has the lock until the others wait for it;
--- each of these counts what its end does to it. One of them has the lock then, and buys; the
--- others leave.

local core = require "zklock.core"
local zklock = require "zklock"


-- How long a waiter waits for what must come of the release.
local PATIENCE = 10
local POLL = 0.005

local LINE = "%d woken, %d created, %s"


local function wait_until(condition)
    local deadline = core.now() + PATIENCE
    while not condition() and core.now() < deadline do zklock.sleep(POLL) end
end


local function hold(buyer, all)
    if not buyer:enter() then return end
    buyer:wait_for("held", all)
    buyer:try_to_buy()
    buyer:wait_for("waiting", all)
    buyer:note "releases"
    buyer:leave()
end


-- Looks until the lock has another holder; if that is this buyer, until it knows that. A reply
-- that shows the holder comes after the event, if the server sent one.
local function wait_for_successor(buyer, lock, token)
    wait_until(function()
        local first = assert(lock:queue())[1]
        return first and first.token ~= token and (buyer.hold or not first.mine)
    end)
end


-- What the end of the first made of this one. True: it has the lock; the others may have it after
-- that, and do not wait for it any more.
local function count(buyer, lock, all)
    local session = buyer.server:session()
    local function is_quiet() return session:stats().in_flight == 0 end
    wait_until(is_quiet) -- the watch is set
    local before, token = session:stats(), assert(lock:queue())[1].token
    buyer:wait_for("waiting", all)
    local began, created_at = core.now(), nil
    local expected = before.creates + buyer.server.parameters.created
    wait_until(function()
        if session:stats().creates > before.creates then created_at = core.now() - began end
        return session:stats().creates >= expected
    end)
    wait_for_successor(buyer, lock, token)
    wait_until(is_quiet)
    local after, has_it = session:stats(), buyer.hold ~= nil
    buyer:note(LINE:format(after.events - before.events, after.creates - before.creates,
        created_at and ("after %.3f s"):format(created_at) or "stood still"))
    buyer:wait_for("counted", all - 1)
    return has_it
end


-- A process that was stopped is told that it waits before it asks for a node.
local function wait(buyer, all)
    local queued, session = false, buyer.server:session()
    buyer:wait_for("held", all)
    zklock.run(function()
        buyer:enter{ on_queued = function() queued = true end }
    end, function()
        wait_until(function() return queued and session:stats().creates > 0 end)
        if count(buyer, buyer.strategy:lock(buyer.lock), all) then
            buyer:try_to_buy()
            buyer:leave()
        else
            buyer:want{} -- and leaves the line
        end
        session:close() -- ends the wait
    end)
end


return function(buyer)
    local all = buyer.server.plan.servers
    if buyer.number == 1 then hold(buyer, all) else wait(buyer, all) end
end
