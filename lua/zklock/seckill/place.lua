--- The place of a sale's store: an SQLite file in the sale's folder, a database of its own in
--- MariaDB, or a path of its own in ZooKeeper; and of the locks that its strategy has in SQL or in
--- Redis. What would stay on a server is removed when the sale is over, also when this process was
--- killed.

local database = require "zklock.seckill.database"
local interpreter = require "zklock.system.interpreter"
local json_file = require "zklock.seckill.json_file"
local redis = require "zklock.seckill.throwaway.redis"
local shell = require "zklock.system.shell"
local stores = require "zklock.seckill.stores"
local switch = require "zklock.seckill.engine.cerberus.place"


--- What a store's functions are given.
---@class zklock.seckill.Place
---@field url string           the sale's SQLite file, or the URL of its database
---@field zookeeper string?    addresses
---@field root string          a path in ZooKeeper that no other sale has
---@field folder string        of the sale
---@field products table<string, integer>  the stock of each at first
---@field buyers integer       they have the numbers from 1
---@field parameters table?    the plan's
---@field database string?     where locks in SQL are: the store's, another one, or a file
---@field redis string?        addresses of servers of the user's
---@field switch string?       path of a switch in a ZooKeeper of the user's


local place = {}


-- A database of that name on the server.
local function url_of(server, name)
    return (server:gsub("^(mysql://[^/?]+)/?[^?]*", "%1/" .. name))
end


local function own_url(play, name)
    local plan = play.plan
    if not stores.is_mysql(plan.store) then return play.folder .. "/store.db" end
    if database.is_url(plan.store) then return url_of(plan.store, name) end
    return url_of(plan.mysql or play.throwaway:mysql(), name)
end


-- Where locks in SQL are: with the stock if that is in MariaDB, else apart from it.
local function database_of(play, name)
    local plan = play.plan
    if not plan.needs.database then return nil end
    if stores.is_mysql(plan.store) then return own_url(play, name) end
    if not plan.needs.mysql then return play.folder .. "/locks.db" end
    return url_of(plan.mysql or play.throwaway:mysql(), name .. "_locks")
end


--- The place for the store of a play.
---@param play zklock.seckill.Play
---@param name string  that no other sale has
---@return zklock.seckill.Place
function place.of(play, name)
    local plan = play.plan
    return {
        url = own_url(play, name), zookeeper = play.zookeeper, root = play.root .. "/store",
        folder = play.folder, products = plan.products, buyers = plan.buyers,
        parameters = plan.parameters, database = database_of(play, name),
        redis = plan.needs.redis and plan.redis or nil,
        switch = plan.needs.switch and plan.zookeeper and play.root .. "/switch" or nil,
    }
end


-- Is there a database on a server that has nothing but locks?
local function has_own_database(about)
    return about.database and about.database ~= about.url and database.is_url(about.database)
end


--- Makes the database that the strategy's locks have for themselves, if they have one.
function place.create_database(about)
    if has_own_database(about) then database.create(about.database) end
end


-- A shell command that removes what the store keeps, wherever this process finds its modules.
local function removal(store, file)
    local code = ("package.path, package.cpath = %q, %q "
        .. "require(\"zklock.seckill.place\").remove_late(%q, %q)")
        :format(package.path, package.cpath, store, file)
    return shell.quote(interpreter.own()) .. " -e " .. shell.quote(code)
end


--- Sees to it that the reaper removes what the store keeps, if nobody else does before.
function place.guard(about, store, reaper)
    if not (stores.load(store).remove or about.redis or about.switch
        or has_own_database(about)) then
        return
    end
    local name = about.folder .. "/place.json"
    json_file.write(name, about)
    reaper:later(removal(store, name))
end


--- Removes what the store keeps.
function place.remove(about, store)
    local module = stores.load(store)
    if module.remove then module.remove(about) end
    if has_own_database(about) then database.drop(about.database) end
    if about.redis then redis.remove(about.redis, (about.root:gsub("/store$", "/"))) end
    if about.switch then switch.remove(about.zookeeper, about.switch) end
    os.remove(about.folder .. "/place.json")
end


--- The same in another process, when this one is no more; `file` is there if it is to be done.
function place.remove_late(store, file)
    local opened = io.open(file)
    if not opened then return end
    opened:close()
    place.remove(json_file.read(file), store)
end


return place
