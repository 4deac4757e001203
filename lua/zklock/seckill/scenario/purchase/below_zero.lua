--- S1's purchase with its defect (BUG-08): whoever sees a stock that is not below 0 takes one off
--- the counter, and sees only then whether there was any. A server is a thread of the seed's pool.

return function(buyer)
    buyer:wait_for_its_turn()
    if buyer:stock() < 0 then return buyer:tell "refused" end
    if not buyer:enter() then return end
    local left = buyer:stock() - buyer.quantity
    if left < 0 then
        buyer.store:set_stock(buyer.product, left)
        buyer:tell "refused"
    else
        buyer:buy(left)
    end
    buyer:leave()
end
