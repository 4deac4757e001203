--- A purchase of buyers that arrive one by one, in the order of their numbers.

local zklock = require "zklock"

return function(buyer)
    zklock.sleep((buyer.number - 1) * buyer.server.parameters.gap)
    if not buyer:enter() then return end
    buyer:try_to_buy()
    buyer:leave()
end
