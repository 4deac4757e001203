--- A store keeps the stock and the orders. It is built in, a database by URL, or a module of the
--- user.
---
---     local store = module.create(place)     -- once, with place.products in stock
---     local store = module.open(place)       -- in each server
---     store:stock(product, token)            -- pieces left; stores the token, if any, first
---     store:sell{ product =, quantity =, left =, buyer =, server =, token =, hold = }
---     store:orders()                         -- { { buyer =, product =, quantity = }, … }
---     store:close()
---
--- docs/design/laboratory.md has the details. zklock.seckill.checked_store checks the results.

local database = require "zklock.seckill.database"
local lua_module = require "zklock.seckill.lua_module"


local modules = {
    memory = "zklock.seckill.store.memory",
    sqlite = "zklock.seckill.store.sql",
    mysql = "zklock.seckill.store.sql",
    zookeeper = "zklock.seckill.store.zookeeper",
}

local NAMES = "sqlite, mysql, zookeeper, mysql://USER:PASSWORD@HOST:PORT"


local stores = {}


--- True if MariaDB serves the store.
function stores.is_mysql(name)
    return name == "mysql" or database.is_url(name)
end


--- True for the stores of simulated sales, "memory" and modules of the user.
function stores.can_be_simulated(name)
    return name == "memory" or not (modules[name] or database.is_url(name))
end


function stores.load(name)
    if database.is_url(name) then
        if not database.parts(name) then
            return nil, ("%q is no database's URL: mysql://USER:PASSWORD@HOST:PORT"):format(name)
        end
        return require "zklock.seckill.store.sql"
    end
    if modules[name] then return require(modules[name]) end
    return lua_module.load(name, "store", { "create", "open" }, NAMES)
end


return stores
