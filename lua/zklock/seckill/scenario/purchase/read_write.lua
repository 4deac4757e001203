--- A task of S1: it looks at the stock under the read lock, then buys under the write lock, or
--- under the side of the lock that the parameters name.

local CURRENT = "current stock: %d"
local BOUGHT = "purchase ok, remaining stock: %d"
local INSUFFICIENT = "insufficient"


-- The read lock is held until all workers have read. False: there is nothing left to try (the
-- seed's rule: below 0), or the lock was not to be had.
local function look(buyer, place, workers)
    if not buyer:enter{ side = "read" } then return false end
    local stock = buyer:stock()
    buyer:note(CURRENT:format(stock))
    if stock < 0 then
        buyer:note(INSUFFICIENT)
        buyer:tell "refused"
    end
    buyer:wait_for(place, workers)
    buyer:leave()
    return stock >= 0
end


-- No transaction, no check of tokens: the lock alone keeps it right. All workers stand in line
-- before the first writes: if the lock lets all in at once, all have read the same stock.
local function buy(buyer, place, workers)
    local function come() buyer:come(place) end
    if not buyer:enter{ side = buyer.server.parameters.side, on_queued = come } then return end
    local stock = buyer:stock()
    buyer:wait_for(place, workers)
    buyer:pause()
    if buyer:may_buy(stock) then
        buyer:note(BOUGHT:format(stock - buyer.quantity))
        buyer:buy(stock - buyer.quantity)
    else
        buyer:note(INSUFFICIENT)
        buyer:tell "refused"
    end
    buyer:leave()
end


return function(buyer)
    buyer:wait_for_its_turn()
    local workers = buyer.server.plan.servers
    local round = math.ceil(buyer.number / workers)
    local reads, line = "reads" .. round, "line" .. round
    if look(buyer, reads, workers) then buy(buyer, line, workers) end
    buyer:come(reads) -- nobody waits there for one that gave up
    buyer:come(line)
end
