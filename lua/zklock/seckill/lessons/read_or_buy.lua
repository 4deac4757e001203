--- A purchase under a read-write lock, with buyers that arrive one by one. Two of every four buyers
--- only look at the stock under the read side, and two buy under `parameters.side`.

local zklock = require "zklock"

local function look(buyer)
    buyer:stock()
    buyer:pause()
    buyer:tell "looked"
end

return function(buyer)
    local parameters = buyer.server.parameters
    local only_looks = (buyer.number - 1) % 4 < 2
    zklock.sleep((buyer.number - 1) * parameters.gap)
    if not buyer:enter{ side = only_looks and "read" or parameters.side } then return end
    if only_looks then look(buyer) else buyer:try_to_buy() end
    buyer:leave()
end
