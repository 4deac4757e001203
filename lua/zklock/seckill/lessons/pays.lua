--- A purchase with a payment that takes `parameters.payment` seconds, under the lock or, with
--- `parameters.pays_after`, after its release.

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
    buyer:leave() -- no effect if it has left
end
