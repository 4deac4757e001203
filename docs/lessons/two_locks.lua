--- A purchase that needs two locks: of the stock and of the buyer's account. Odd buyers take the
--- stock first, even ones the account, unless all are to take them in the order of their names.

return function(buyer)
    local first, second = "account", "stock"
    if not buyer.server.parameters.sorted and buyer.number % 2 == 1 then
        first, second = second, first
    end
    buyer.lock = first
    if not buyer:enter() then return end
    buyer:note("has " .. first)
    buyer:pause()
    buyer:note("asks " .. second)
    local hold, _, code = buyer.strategy:enter(second, buyer)
    if hold then
        buyer:note("has " .. second)
        buyer:try_to_buy()
        buyer.strategy:leave(hold)
    else
        buyer:note "gives up"
        buyer:tell(code)
    end
    buyer:leave()
end
