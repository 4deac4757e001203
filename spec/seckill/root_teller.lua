--- A purchase that notes under which path of ZooKeeper and Redis its sale has all that it has.

return function(buyer)
    buyer:note("root " .. buyer.server.plan.root)
    if not buyer:enter() then return end
    buyer:try_to_buy()
    buyer:leave()
end
