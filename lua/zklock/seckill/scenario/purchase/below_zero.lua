--- S1's purchase with its defect (BUG-08): a stock of 0 is not below 0, so the buyer takes one off
--- the counter, and sees only then that there was none. (The seed makes that test before it has the
--- lock, so that its counter ends lower still.)

local function take_off_the_counter(buyer, left)
    if left >= 0 then return buyer:buy(left) end
    buyer.store:set_stock(buyer.product, left)
    buyer:tell "refused"
end


return function(buyer)
    if not buyer:enter() then return end
    local stock = buyer:stock()
    if stock < 0 then
        buyer:tell "refused"
    else
        take_off_the_counter(buyer, stock - buyer.quantity)
    end
    buyer:leave()
end
