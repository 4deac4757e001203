--- Stock, orders and answers add up, and nobody is sent away while there are buns.

return function(sale)
    local sold = sale.told.sold
    assert(sale.left == sale.stock - sale.orders, "an order has taken no bun")
    assert(sold <= sale.orders, "a buyer was told that it has bought, and has no order")
    assert(sale.orders <= sold + sale.untold, "a buyer has an order, and was told otherwise")
    assert(sale.told["sold out"] == 0 or sale.left == 0, "sold out, though there are buns")
end
