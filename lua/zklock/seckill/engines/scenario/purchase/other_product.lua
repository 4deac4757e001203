--- Two buyers of two products, each with its lock, in two servers (PIT-15). The first has its lock
--- until the second has its own, or has given up. Before, the second has had its lock once, so that
--- there is a row for it.

local zklock = require "zklock"


local function first(buyer)
    buyer.server:wait_for("known", 1, zklock.sleep)
    if not buyer:enter() then return end
    buyer:come "held"
    buyer:try_to_buy()
    buyer.server:wait_for("tried", 1, zklock.sleep)
    buyer:leave()
end


local function second(buyer)
    if not buyer:enter() then return end
    buyer:leave()
    buyer:come "known"
    buyer.server:wait_for("held", 1, zklock.sleep)
    local entered = buyer:enter()
    buyer:come "tried"
    if not entered then return end
    buyer:try_to_buy()
    buyer:leave()
end


return function(buyer) (buyer.number == 1 and first or second)(buyer) end
