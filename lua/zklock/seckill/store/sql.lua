--- The store of a sale in SQLite or MariaDB, with seed article S0's table of products and a row for
--- each order. The server computes the new stock, as in S0, and writes it with the order in one
--- transaction. Stock and orders agree after any kill, unless two servers read the same stock.

local database = require "zklock.seckill.database"
local sorted_names = require "zklock.value.sorted_names"

local literal_token = database.literal_token


---@class zklock.seckill.Sql: zklock.seckill.Database
local Sql = database.new_subclass()


local sql = {}


-- S0's table with two more columns. `token` is the highest fencing token of a reader or writer;
-- `version` is S4's, for writes without a lock (ALG-02).
local COMMODITY_TABLE = [[CREATE TABLE tb_commodity_info (
    id varchar(64) PRIMARY KEY,
    commodity_name varchar(512) DEFAULT NULL,
    commodity_price varchar(36) DEFAULT '0',
    number int(10) DEFAULT 0,
    description varchar(2048) DEFAULT '',
    token bigint DEFAULT 0,
    version bigint DEFAULT 0)]]

local ORDER_TABLE = [[CREATE TABLE tb_order (
    id %s,
    commodity_id varchar(64),
    number int(10),
    buyer varchar(64),
    server varchar(64),
    token bigint,
    paid bigint)]]


function sql.open(place)
    return setmetatable(database.open(place.url), Sql)
end


--- Creates the tables and the stock, in MariaDB in a new database.
function sql.create(place)
    if database.is_url(place.url) then database.create(place.url) end
    local self = sql.open(place)
    self:execute_all{ COMMODITY_TABLE, ORDER_TABLE:format(self.dialect.serial) }
    for id, stock in pairs(place.products) do
        self:execute(("INSERT INTO tb_commodity_info (id, commodity_name, number) "
            .. "VALUES (%s, 'char siu bun', %d)"):format(self:text(id), stock))
    end
    return self
end


-- Stores the token before its holder reads, so that later writes of earlier holders are refused.
-- The update is a transaction of its own, so that no row lock remains.
local function store_token(self, product, token)
    local digits = literal_token(token)
    self:execute(("UPDATE tb_commodity_info SET token = %s WHERE id = %s AND token < %s")
        :format(digits, self:text(product), digits))
end


--- The remaining stock, or nil without such a product.
---@param product string
---@param token string?  of a holder that will write
---@return integer?
function Sql:stock(product, token)
    if token then store_token(self, product, token) end
    return self:number(("SELECT number FROM tb_commodity_info WHERE id = %s")
        :format(self:text(product)))
end


function Sql:version(product)
    return self:number(("SELECT version FROM tb_commodity_info WHERE id = %s")
        :format(self:text(product)))
end


function Sql:ordered(product)
    return self:number(("SELECT coalesce(sum(number), 0) FROM tb_order WHERE commodity_id = %s")
        :format(self:text(product)))
end


---@return { buyer: integer, product: string, quantity: integer, paid: integer? }[]
function Sql:orders()
    local orders = {}
    for i, row in ipairs(self:rows "SELECT buyer, commodity_id, number, paid FROM tb_order") do
        orders[i] = {
            buyer = tonumber(row[1]), product = row[2], quantity = tonumber(row[3]),
            paid = tonumber(row[4]),
        }
    end
    return orders
end


-- S0's update. With a token it changes no row if a later holder has stored a greater token (Q-01,
-- Q-03); with a version, if anybody has written since the version was read (ALG-02).
local function update_of(self, order)
    local set, where = "", ""
    if order.token then
        local token = literal_token(order.token)
        set, where = ", token = " .. token, " AND token <= " .. token
    end
    if order.version then where = where .. (" AND version = %d"):format(order.version) end
    return ("UPDATE tb_commodity_info SET number = %d, version = version + 1%s WHERE id = %s%s")
        :format(order.left, set, self:text(order.product), where)
end


---@param product string
---@param number integer
---@return boolean written  false without such a product
function Sql:set_stock(product, number)
    return self:execute(("UPDATE tb_commodity_info SET number = %d WHERE id = %s")
        :format(number, self:text(product))) == 1
end


---@class zklock.seckill.Order
---@field product string
---@field quantity integer
---@field left integer    the stock after the order
---@field buyer integer?
---@field paid integer?   amount paid, if the sale has prices
---@field server string?
---@field token string?   digits; the write is refused if a later holder has read or written
---@field version integer?  the write is refused if the version has changed

local function row_of(self, order)
    return ("(%s, %d, %s, %s, %s, %s)"):format(self:text(order.product), order.quantity,
        self:text(tostring(order.buyer or "")), self:text(order.server or ""),
        literal_token(order.token), order.paid and ("%d"):format(order.paid) or "NULL")
end


local function write_all(self, orders)
    local last = {}
    for _, order in ipairs(orders) do last[order.product] = order end
    for _, product in ipairs(sorted_names(last)) do
        if self:execute(update_of(self, last[product])) ~= 1 then return false end
    end
    local rows = {}
    for i, order in ipairs(orders) do rows[i] = row_of(self, order) end
    self:execute("INSERT INTO tb_order (commodity_id, number, buyer, server, token, paid) VALUES "
        .. table.concat(rows, ", "))
    return true
end


---@param order zklock.seckill.Order
---@return boolean written  false if a later holder has read or written
function Sql:write(order) return write_all(self, { order }) end


---@param order zklock.seckill.Order
---@return boolean written  false if a later holder has read or written
function Sql:sell(order)
    return self:transaction(function() return self:write(order) end)
end


--- Writes the stock and several orders of one holder, all or none.
---@param orders zklock.seckill.Order[]  several orders of one product in the order of sale
---@return boolean written  false if a later holder has read or written
function Sql:sell_all(orders)
    return self:transaction(function() return write_all(self, orders) end)
end


--- Drops the database. (A file goes with its folder.)
function sql.remove(place)
    if database.is_url(place.url) then database.drop(place.url) end
end


return sql
