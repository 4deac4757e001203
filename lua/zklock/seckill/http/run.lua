--- A run: one attempt at a sale. It has a store of its own, and the servers that sell from it.

local client = require "zklock.seckill.http.client"
local database = require "zklock.seckill.database"
local servers = require "zklock.seckill.http.server"
local shops = require "zklock.seckill.http.shop"
local store = require "zklock.seckill.store"


-- Seconds that a request waits for a lock, of whatever kind, and how many may come before it
-- that pause with the lock held; an answer takes longer by as much.
local TIMEOUT = 10
local AHEAD = 20
local PATIENCE = 10


---@class zklock.seckill.http.Run
---@field shop zklock.seckill.Shop
---@field options zklock.seckill.Options
---@field servers zklock.seckill.Server[]
local Run = {}
Run.__index = Run


local run = {}


-- A database of its own on the server of `url`, so that no table of others is touched.
local function new_database(url, name)
    local admin = database.open(url)
    admin:execute("CREATE DATABASE " .. name)
    local place = url:gsub("^(mysql://[^/?]+)/?[^?]*", "%1/" .. name)
    return place, function()
        admin:execute("DROP DATABASE " .. name)
        admin:close()
    end
end


---@param name string  of the attempt; no two have the same
---@param options zklock.seckill.Options
---@param reaper zklock.seckill.Reaper
---@return zklock.seckill.http.Run
function run.open(name, options, reaper)
    local id = reaper.folder:match "%.(%w+)$"
    local self = setmetatable({
        folder = reaper.folder .. "/" .. name,
        root = ("/zklock-seckill.%s/%s"):format(id, name),
        options = options, reaper = reaper, servers = {},
    }, Run)
    if options.store == "sqlite" then
        self.place = self.folder .. ".db"
    else
        local own = ("zklock_%s_%s"):format(id, name):gsub("%W", "_"):lower()
        self.place, self.drop = new_database(options.store, own)
    end
    return self
end


--- Fills the shop and starts servers, the first ones of the ports.
---@param count integer
---@param sale table { strategy, order, stock, pause, timeout }, the last four if they are given
function Run:start(count, sale)
    local options = self.options
    local pause = sale.pause or options.pause
    self.timeout = sale.timeout or TIMEOUT + AHEAD * pause
    self.shop = shops.create(self.place, sale.stock or store.STOCK)
    for i = 1, count do
        local port = options.ports[i]
        self.servers[i] = servers.start(self.folder .. "-" .. port, port, {
            name = port, store = self.place, root = self.root,
            strategy = sale.strategy, order = sale.order,
            pause = pause, timeout = self.timeout,
            zookeeper = options.zookeeper or "", session = options.session,
        }, self.reaper)
    end
end


--- The same, and returns when all are ready.
---@param count integer
---@param sale table
function Run:serve(count, sale)
    self:start(count, sale)
    for _, server in ipairs(self.servers) do server:await_ready() end
end


local PURCHASE = "/mall/commodity/purchase?commodityId=%s&number=%d"

--- The path and parameters of a purchase of the seed's product.
---@return string
function run.path()
    return PURCHASE:format(store.PRODUCT, 1)
end


--- Where the i-th request goes: the seed's "808" + (i mod 2).
---@param i integer
---@return zklock.seckill.Server
function Run:server_of(i)
    return self.servers[i % #self.servers + 1]
end


--- The i-th request, a purchase, in a coroutine of `client.run`.
---@param i integer
---@return integer? status
---@return string body
function Run:buy(i)
    local server = self:server_of(i)
    return client.request(server.port, "POST", run.path(), self.timeout + PATIENCE)
end


--- Waits until the servers that live have answered all.
function Run:settle()
    for _, server in ipairs(self.servers) do
        if server.process then server:await_quiet() end
    end
end


function Run:close()
    for _, server in ipairs(self.servers) do server:kill() end
    if self.shop then self.shop:close() end
    if self.drop then self.drop() end
end


return run
