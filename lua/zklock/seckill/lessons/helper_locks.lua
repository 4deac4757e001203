--- A purchase in two functions that both acquire the product's lock, because `sell` also has
--- callers that do not hold it.

local function sell(buyer)
    buyer:note "asks again"
    local hold, _, code = buyer.strategy:enter(buyer.lock, buyer)
    if not hold then
        buyer:note "gives up"
        buyer:tell(code)
        return false
    end
    buyer:note "has it again"
    local sold = buyer:try_to_buy()
    buyer:note "releases once"
    buyer.strategy:leave(hold)
    return sold
end


local function order(buyer)
    if not buyer:enter() then return end
    buyer:pause() -- checks the order
    if sell(buyer) then buyer:pause() end -- writes the receipt
    buyer:leave()
end


return order
