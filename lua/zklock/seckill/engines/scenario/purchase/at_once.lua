--- A purchase without a pause, as S4's: no other buyer of the server has its turn in between.

return function(buyer)
    if not buyer:enter() then return end
    local stock = buyer:stock()
    if buyer:may_buy(stock) then
        buyer:buy(stock - buyer.quantity)
    else
        buyer:tell "refused"
    end
    buyer:leave()
end
