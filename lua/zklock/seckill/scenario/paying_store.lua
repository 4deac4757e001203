--- The store of a shop in which customers pay: stock, orders and payments (S1), in SQLite. An order
--- is paid with all payments of its buyer.

local sql = require "zklock.seckill.store.sql"


local paying_store = {}


local function count(self, table_name, customer)
    return self:number(("SELECT count(*) FROM %s WHERE buyer = %s"):format(table_name,
        self:text(tostring(customer))))
end


local methods = {}


function methods:has_ordered(customer) return count(self, "tb_order", customer) > 0 end
function methods:is_paid(customer) return count(self, "tb_payment", customer) > 0 end


function methods:pay(customer, amount)
    self:execute(("INSERT INTO tb_payment VALUES (%s, %d)"):format(self:text(tostring(customer)),
        amount))
end


function methods:orders()
    local orders, sums = self:unpaid_orders(), {}
    for _, row in ipairs(self:rows "SELECT buyer, sum(amount) FROM tb_payment GROUP BY buyer") do
        sums[tonumber(row[1])] = tonumber(row[2])
    end
    for _, order in ipairs(orders) do order.paid = sums[order.buyer] end
    return orders
end


---@param place zklock.seckill.Place
function paying_store.open(place)
    local self = sql.open(place)
    self.unpaid_orders = self.orders
    for name, method in pairs(methods) do self[name] = method end
    return self
end


---@param place zklock.seckill.Place
function paying_store.create(place)
    sql.create(place):close()
    local self = paying_store.open(place)
    self:execute "CREATE TABLE tb_payment (buyer varchar(64), amount bigint)"
    return self
end


return paying_store
