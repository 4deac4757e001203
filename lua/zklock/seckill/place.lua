--- The place where a sale keeps its data. The store is an SQLite file in the sale's folder, a
--- database in MariaDB or a path in ZooKeeper; the strategy may have locks in SQL or Redis. Each
--- sale has its own place. Data on servers are removed after the sale, or after a kill of this
--- process.

local database = require "zklock.seckill.database"
local interpreter = require "zklock.system.interpreter"
local json_file = require "zklock.seckill.json_file"
local redis = require "zklock.seckill.throwaway.redis"
local shell = require "zklock.system.shell"
local stores = require "zklock.seckill.stores"
local switch = require "zklock.seckill.engine.cerberus.place"


--- The argument of a store's functions.
---@class zklock.seckill.Place
---@field url string           the sale's SQLite file, or the URL of its database
---@field zookeeper string?    addresses
---@field root string          a path in ZooKeeper for this sale only
---@field folder string        of the sale
---@field products table<string, integer>  the initial stock of each
---@field buyers integer       numbered from 1
---@field parameters table?    the plan's
---@field database string?     for locks in SQL
---@field redis string?        addresses of the user's servers
---@field switch string?       path of a switch in the user's ZooKeeper


local places = {}


local function store_url(play, name)
    local plan = play.plan
    if not stores.is_mysql(plan.store) then return play.folder .. "/store.db" end
    local server = database.is_url(plan.store) and plan.store or plan.mysql
    return database.on_server_of(server or play.throwaway:mysql(), name)
end


-- Locks in SQL share the store's database in MariaDB, else they use a separate database or file.
local function lock_database_of(play, name)
    local plan = play.plan
    if not plan.needs.database then return nil end
    if stores.is_mysql(plan.store) then return store_url(play, name) end
    if not plan.needs.mysql then return play.folder .. "/locks.db" end
    return database.on_server_of(plan.mysql or play.throwaway:mysql(), name .. "_locks")
end


---@param play zklock.seckill.Play
---@param name string  unique among sales
---@return zklock.seckill.Place
function places.of(play, name)
    local plan = play.plan
    return {
        url = store_url(play, name), zookeeper = play.zookeeper, root = play.root .. "/store",
        folder = play.folder, products = plan.products, buyers = plan.buyers,
        parameters = plan.parameters, database = lock_database_of(play, name),
        redis = plan.needs.redis and plan.redis or nil,
        switch = plan.needs.switch and plan.zookeeper and play.root .. "/switch" or nil,
    }
end


-- True if MariaDB has a database for the locks alone.
local function has_own_lock_database(place)
    return place.database and place.database ~= place.url and database.is_url(place.database)
end


function places.create_database(place)
    if has_own_lock_database(place) then database.create(place.database) end
end


-- A shell command that removes a sale's data, with this process's module paths.
local function removal(store, file)
    local code = ("package.path, package.cpath = %q, %q "
        .. "require(\"zklock.seckill.place\").remove_late(%q, %q)")
        :format(package.path, package.cpath, store, file)
    return shell.quote(interpreter.own()) .. " -e " .. shell.quote(code)
end


--- Lets the reaper remove the sale's data on servers, if this process is killed.
function places.guard(place, store, reaper)
    if not (stores.load(store).remove or place.redis or place.switch
        or has_own_lock_database(place)) then
        return
    end
    local name = place.folder .. "/place.json"
    json_file.write(name, place)
    reaper:later(removal(store, name))
end


function places.remove(place, store)
    local module = stores.load(store)
    if module.remove then module.remove(place) end
    if has_own_lock_database(place) then database.drop(place.database) end
    if place.redis then redis.delete_keys(place.redis, (place.root:gsub("/store$", "/"))) end
    if place.switch then switch.remove(place.zookeeper, place.switch) end
    os.remove(place.folder .. "/place.json")
end


--- Removes the data after a kill of the sale's process. Without the file they are removed already.
function places.remove_late(store, file)
    local opened = io.open(file)
    if not opened then return end
    opened:close()
    places.remove(json_file.read(file), store)
end


return places
