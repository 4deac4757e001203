--- A buyer that takes the lock and gives it up, with nothing in between, before it buys. It counts
--- the waits in which no watch event came. A watch that is set on a node is told of the node's end
--- before any reply of the same connection that shows it; so the request that was to set the watch
--- found no node.

-- Counted are the requests of this session, which has one contender at a time.
local function take_and_give_up(buyer, lock, sum)
    local session, timeout = buyer.server:session(), buyer.server.timeout
    local before = session:stats()
    local lease = assert(lock:acquire(timeout))
    local after = session:stats()
    sum.rounds = sum.rounds + 1
    if after.waits > before.waits then
        sum.waits = sum.waits + 1
        if after.events == before.events and after.reconnects == before.reconnects then
            sum.vanished = sum.vanished + 1
        end
    end
    -- When it is answered, the event of the own node's end has come, too.
    assert(lease:release{ wait = timeout })
end


return function(buyer)
    local lock = buyer.strategy:lock(buyer.lock)
    local sum = { rounds = 0, waits = 0, vanished = 0 }
    for _ = 1, buyer.server.parameters.rounds do take_and_give_up(buyer, lock, sum) end
    buyer:note(("%d rounds, %d waits, %d vanished"):format(sum.rounds, sum.waits, sum.vanished))
    if not buyer:enter() then return end
    buyer:try_to_buy()
    buyer:leave()
end
