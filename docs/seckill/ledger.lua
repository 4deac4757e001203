--- A store of one's own: a file with the stock of each product, and one with a line an order.

local Ledger = {}
Ledger.__index = Ledger


function Ledger.open(place) return setmetatable({ folder = place.folder }, Ledger) end


function Ledger.create(place)
    local self = Ledger.open(place)
    for product, stock in pairs(place.products) do self:write("stock-" .. product, "w", stock) end
    return self
end


function Ledger:write(name, mode, text)
    local file = assert(io.open(self.folder .. "/" .. name, mode))
    file:write(text, "\n")
    file:close()
end


function Ledger:stock(product)
    local file = assert(io.open(self.folder .. "/stock-" .. product))
    local stock = tonumber(file:read "*l")
    file:close()
    return stock
end


function Ledger:sell(order)
    self:write("stock-" .. order.product, "w", order.left)
    self:write("orders", "a", ("%d %s %d"):format(order.buyer, order.product, order.quantity))
    return true
end


function Ledger:orders()
    local orders, file = {}, io.open(self.folder .. "/orders")
    for line in file and file:lines() or function() end do
        local buyer, product, quantity = line:match "^(%d+) (%S+) (%d+)$"
        orders[#orders + 1] = {
            buyer = tonumber(buyer), product = product, quantity = tonumber(quantity),
        }
    end
    return orders
end


function Ledger.close() end


return Ledger
