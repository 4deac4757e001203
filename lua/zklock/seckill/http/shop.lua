--- The store of the sale over HTTP: the seed's product (S0), and an order for
--- each purchase. The stock is written as a number that the server has worked
--- out, as in the seed; the order goes into the same transaction. So whatever is
--- killed, stock and orders agree, unless two servers worked with the same stock.

local database = require "zklock.seckill.database"
local store = require "zklock.seckill.store"

local literal_token = database.literal_token


---@class zklock.seckill.Shop: zklock.seckill.Database
local Shop = database.class()


local shop = {}


local ORDER_TABLE = [[CREATE TABLE tb_order (
    id %s,
    commodity_id varchar(32),
    number int(10),
    server varchar(32),
    token bigint)]]


---@param where string  an SQLite file, or a database's URL
---@return zklock.seckill.Shop
function shop.open(where)
    return setmetatable(database.open(where), Shop)
end


--- Makes the tables.
---@param where string
---@param stock integer  of the seed's product
---@return zklock.seckill.Shop
function shop.create(where, stock)
    local self = shop.open(where)
    self:execute_all {
        store.COMMODITY_TABLE,
        ORDER_TABLE:format(self.dialect.serial),
        ("INSERT INTO tb_commodity_info (id, commodity_name, number) "
            .. "VALUES ('%s', 'char siu bun', %d)"):format(store.PRODUCT, stock),
    }
    return self
end


--- What is left of a product; nil: there is no such product.
---@param id string
---@return integer?
function Shop:left(id)
    return self:number(("SELECT number FROM tb_commodity_info WHERE id = %s")
        :format(self:text(id)))
end


--- How many pieces were ordered.
---@param id string
---@return integer
function Shop:ordered(id)
    return self:number(("SELECT coalesce(sum(number), 0) FROM tb_order WHERE commodity_id = %s")
        :format(self:text(id)))
end


-- S0's update. With a token it is refused if a younger holder, that is a greater token,
-- has written before (Q-01, Q-03).
local function update_of(self, order)
    local id, token = self:text(order.id), order.token and literal_token(order.token)
    if not token then
        return ("UPDATE tb_commodity_info SET number = %d WHERE id = %s"):format(order.left, id)
    end
    return ("UPDATE tb_commodity_info SET number = %d, token = %s WHERE id = %s AND token < %s")
        :format(order.left, token, id, token)
end


---@class zklock.seckill.Order
---@field id string       the product
---@field number integer  how many
---@field left integer    the stock after that
---@field server string
---@field token string?

--- Writes the stock and the order, both or none.
---@param order zklock.seckill.Order
---@return boolean written  false: a younger holder of the lock came before
function Shop:sell(order)
    return self:transaction(function()
        if self:execute(update_of(self, order)) ~= 1 then return false end
        self:execute(("INSERT INTO tb_order (commodity_id, number, server, token) "
            .. "VALUES (%s, %d, %s, %s)"):format(self:text(order.id), order.number,
            self:text(order.server), literal_token(order.token)))
        return true
    end)
end


return shop
