--- Two buyers of which the first is stopped between reading and writing, until the second has the
--- lock and has read, too. Then the first writes, and the second after it.
---
--- With the parameter `shown` the store is shown a buyer's token before it reads; else the token is
--- checked at the write alone.

local FIRST_HOLDS = "the first has the lock"
local BOTH_HAVE_READ = "both have read"
local FIRST_IS_DONE = "the first is done"


local function stock_of(buyer)
    if buyer.server.parameters.shown then return buyer:stock() end
    local stock = buyer.store:stock(buyer.product)
    buyer.server.faults:strike(buyer)
    return stock
end


return function(buyer)
    local is_first = buyer.number == 1
    if not is_first then buyer:wait_for(FIRST_HOLDS, 2) end
    if not buyer:enter() then return end
    buyer:come(FIRST_HOLDS)
    local stock = stock_of(buyer)
    buyer:wait_for(BOTH_HAVE_READ, 2)
    if not is_first then buyer:wait_for(FIRST_IS_DONE, 2) end
    buyer:buy_from(stock)
    buyer:come(FIRST_IS_DONE)
    buyer:leave()
end
