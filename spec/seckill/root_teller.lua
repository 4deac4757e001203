--- A purchase that notes the sale's path in ZooKeeper and Redis.

return function(buyer)
    buyer:note("root " .. buyer.server.plan.root)
    if not buyer:enter() then return end
    buyer:try_to_buy()
    buyer:leave()
end
