--- A purchase of several products: the quantities of `parameters.basket`, all of them or none.

return function(buyer)
    local basket, products, orders = buyer.server.parameters.basket, {}, {}
    buyer:want(basket)                                        -- else it wants the sale's product
    for product in pairs(basket) do products[#products + 1] = product end
    if not buyer:enter{ products = products } then return end -- all their locks, or none
    for i, product in ipairs(products) do
        local left = buyer:stock(product) - basket[product]
        orders[i] = { product = product, quantity = basket[product], left = left }
        if left < 0 then buyer:tell "refused" end
    end
    buyer:pause()
    if not buyer.told then buyer:buy_all(orders) end          -- writes all, and tells
    buyer:leave()
end
