--- A purchase of which buyer 2 has less patience than the sale's. Buyer 1 holds the lock until
--- buyer 2 has given up.

local zklock = require "zklock"

return function(buyer)
    if buyer.number == 2 then
        buyer.server:wait_for("held", 1, zklock.sleep)
        buyer:enter{ timeout = 0.1 }
        return buyer:come "gave up"
    end
    if not buyer:enter() then return end
    buyer:come "held"
    buyer.server:wait_for("gave up", 1, zklock.sleep)
    buyer:try_to_buy()
    buyer:leave()
end
