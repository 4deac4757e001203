--- A store with a stock and the accepted orders. If it checks tokens, it refuses a read or a write
--- with a smaller token than before.

local Store = {}
Store.__index = Store


function Store.new(stock, checks)
    return setmetatable({
        stock = stock, orders = 0, checks = checks, greatest = 0,
    }, Store)
end


function Store:show(token)
    if not self.checks then return true end
    self.greatest = math.max(self.greatest, token)
    return token == self.greatest
end


function Store:read(token)
    return self:show(token) and self.stock or nil
end


function Store:write(stock, token)
    if not self:show(token) then return false end
    self.stock, self.orders = stock, self.orders + 1
    return true
end


return Store
