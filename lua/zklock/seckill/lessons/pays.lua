--- A purchase whose buyer pays for what it has got, which takes `parameters.payment` seconds: while
--- it has the lock, or after it has given it up.

local zklock = require "zklock"

return function(buyer)
    local parameters = buyer.server.parameters
    if not buyer:enter() then return end
    local stock = buyer:stock()
    buyer:pause()
    local got = buyer:may_buy(stock) and buyer:write(stock - buyer.quantity)
    if parameters.pays_after then buyer:leave() end
    if got then zklock.sleep(parameters.payment) end
    buyer:tell(got and "sold" or "refused")
    buyer:leave() -- nothing, if it has left
end
