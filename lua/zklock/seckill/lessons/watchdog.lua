--- A purchase that renews its lock in a task beside its work, thrice in each lifetime.

local zklock = require "zklock"

return function(buyer)
    if not buyer:enter() then return end
    local done = false
    zklock.run(function()
        buyer:try_to_buy()
        done = true
    end, function()
        while not done do
            buyer.strategy:renew(buyer.hold)
            zklock.sleep(buyer.server.parameters.ttl / 3)
        end
    end)
    buyer:leave()
end
