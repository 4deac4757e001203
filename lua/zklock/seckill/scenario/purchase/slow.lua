--- A buyer that has the lock until all others have given up waiting for it.

return function(buyer)
    if not buyer:enter() then return buyer:come "the end of waiting" end
    buyer:try_to_buy()
    buyer:wait_for("the end of waiting", buyer.server.plan.buyers)
    buyer:leave()
end
