--- Throwaway ZooKeeper, MariaDB and Redis servers, with their folder and processes, for sales whose
--- user names no server. A server starts on first use and serves later sales, too. Servers for
--- faults are new at each call.

local mariadb = require "zklock.seckill.throwaway.mariadb"
local reapers = require "zklock.system.reaper"
local redis = require "zklock.seckill.throwaway.redis"
local redis_masters = require "zklock.seckill.throwaway.redis_masters"
local redis_pair = require "zklock.seckill.throwaway.redis_pair"
local zookeeper = require "zklock.throwaway.zookeeper"


---@class zklock.seckill.Throwaway
---@field reaper zklock.system.Reaper
---@field folder string
local Throwaway = {}
Throwaway.__index = Throwaway


local throwaway = {}


---@param reaper zklock.system.Reaper?  a new reaper by default
---@return zklock.seckill.Throwaway
function throwaway.open(reaper)
    reaper = reaper or reapers.open()
    return setmetatable({
        reaper = reaper, folder = reaper.folder,
        redis_servers = {}, ensembles = {}, mysql_count = 0,
    }, Throwaway)
end


--- Calls fn(servers, ...), and ends the servers, however the call ends.
function throwaway.with(fn, ...)
    local servers = throwaway.open()
    local ok, result = pcall(fn, servers, ...)
    servers:close()
    if not ok then error(result, 0) end
    return result
end


local function start_zookeeper(self, options)
    local started = zookeeper.start(self.reaper, options)
    self.ensembles[#self.ensembles + 1] = started
    return started
end


---@return string hosts
function Throwaway:zookeeper()
    self.zookeeper_hosts = self.zookeeper_hosts or start_zookeeper(self).hosts
    return self.zookeeper_hosts
end


---@return string url
function Throwaway:mysql()
    self.mysql_url = self.mysql_url or mariadb.start(self.reaper)
    return self.mysql_url
end


---@param count integer
---@return string addresses  "HOST:PORT,HOST:PORT"
function Throwaway:redis(count)
    local servers, addresses = self.redis_servers, {}
    for i = 1, count do
        servers[i] = servers[i] or redis.start(self.reaper)
        addresses[i] = servers[i].address
    end
    return table.concat(addresses, ",")
end


--- A new ensemble for faults. Its servers can be killed, restarted, paused and, with `relays`, cut
--- off from their clients.
---@param count 1|3
---@param options { relays: boolean? }?
---@return zklock.throwaway.ZooKeeper
function Throwaway:zookeepers(count, options)
    return start_zookeeper(self, { servers = count, relays = options and options.relays })
end


--- A new ZooKeeper for faults, with a `clock` that can jump.
---@return zklock.throwaway.ZooKeeper
function Throwaway:zookeeper_with_clock() return start_zookeeper(self, { clock = true }) end


--- A new MariaDB for faults, with a process to kill.
---@return string url
---@return zklock.system.Process process
function Throwaway:own_mysql()
    self.mysql_count = self.mysql_count + 1
    return mariadb.start(self.reaper, { name = "mariadb-" .. self.mysql_count })
end


---@return zklock.seckill.throwaway.RedisPair
function Throwaway:redis_pair() return redis_pair.start(self.reaper) end


---@param count integer
---@return zklock.seckill.throwaway.RedisMasters
function Throwaway:redis_masters(count) return redis_masters.start(self.reaper, count) end


function Throwaway:close()
    self.reaper:close()
    for _, each in ipairs(self.ensembles) do each:close() end
    self.ensembles = {}
end


return throwaway
