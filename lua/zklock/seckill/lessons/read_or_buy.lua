--- A purchase under a read-write lock, of buyers who come one after the other. Of each four the
--- first two only look at the stock, for which they have the read side. The others buy, with the
--- side that `parameters.side` names.

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
