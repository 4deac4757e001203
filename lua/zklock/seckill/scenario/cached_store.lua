--- The store of REQ-15: an SQLite database with the stock and the orders, and a cache of the stock,
--- which nobody keeps in step but the writer.

local sql = require "zklock.seckill.store.sql"


local cached_store = {}


-- What the cache has of a product.
local function cached(self, product)
    return self:number("SELECT number FROM cache WHERE id = " .. self:text(product))
end


local function set_cached(self, product, number)
    self:execute(("UPDATE cache SET number = %d WHERE id = %s"):format(number, self:text(product)))
end


---@param place zklock.seckill.Place
function cached_store.open(place)
    local self = sql.open(place)
    self.cached, self.set_cached = cached, set_cached
    return self
end


---@param place zklock.seckill.Place
function cached_store.create(place)
    sql.create(place):close()
    local self = cached_store.open(place)
    self:execute "CREATE TABLE cache (id varchar(64) PRIMARY KEY, number int(10))"
    self:execute "INSERT INTO cache SELECT id, number FROM tb_commodity_info"
    return self
end


return cached_store
