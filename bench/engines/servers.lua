--- The servers of the benchmark, each as its users have it where that decides the speed: ZooKeeper
-- and MariaDB wait for their disk before they answer, Redis keeps nothing on it. All of them are
-- throwaway, on this machine, and end with it.

local connections = require "zklock.seckill.engine.redis"
local database = require "zklock.seckill.database"
local engine_options = require "zklock.seckill.engine.options"
local mariadb = require "zklock.seckill.throwaway.mariadb"
local rig = require "spec.rig"
local throwaway = require "zklock.seckill.throwaway"

local MASTERS = 5
local ANSWER = 5 -- seconds

local Servers = {}
Servers.__index = Servers

local servers = {}


-- How an engine is told of its server.
local OPTION = { sqlite = "sqlite", mysql = "mysql", redis = "redis", masters = "redis",
                 zookeeper = "zookeeper" }


local function start_mysql(self)
    local url = mariadb.start(self.throwaway.reaper, { durable = true })
    url = url:gsub("/%?", "/engines?")
    database.create(url)
    self.mysql = database.open(url)
    return url
end


local starts = {
    sqlite = function(self) return self.throwaway.folder .. "/locks.db" end,
    mysql = start_mysql,
    redis = function(self) return self.throwaway:redis(1) end,
    masters = function(self) return self.throwaway:redis(MASTERS) end,
    zookeeper = function(self)
        self.ensemble = rig.server{ fsync = true, tick = 1000 }
        return self.ensemble.hosts
    end,
}


--- Where the servers of that kind are, started when they are first needed.
---@param kind string  see bench.engines.contenders
function Servers:address(kind)
    self.addresses[kind] = self.addresses[kind] or starts[kind](self)
    return self.addresses[kind]
end


--- The option of a client's engine, as "NAME=VALUE".
function Servers:option(kind) return OPTION[kind] .. "=" .. self:address(kind) end


local function ask_redis(self, address, section)
    local connection = self.connections[address] or connections.new(address, ANSWER)
    self.connections[address] = connection
    self.asked[address] = (self.asked[address] or 0) + 1
    return connection:call("info", section)[section]
end


-- Packets of clients: a command is a packet, and the commands within a script do not count. Our own
-- questions are left out.
local function packets_to_redis(self, addresses)
    local sum = 0
    for _, address in ipairs(engine_options.addresses_of(addresses)) do
        local packets = ask_redis(self, address, "stats").total_reads_processed
        sum = sum + packets - self.asked[address]
    end
    return sum
end


local function statements_of_mysql(self, address)
    self.asked[address] = (self.asked[address] or 0) + 1
    local row = self.mysql:rows("SHOW GLOBAL STATUS LIKE 'Questions'")[1]
    return tonumber(row[2]) - self.asked[address]
end


--- Requests that the servers of that kind have had, by their own count; nil: the clients count.
function Servers:requests(kind)
    local address = self:address(kind)
    if kind == "redis" or kind == "masters" then return packets_to_redis(self, address) end
    if kind == "mysql" then return statements_of_mysql(self, address) end
end


--- Bytes that a Redis has in use.
function Servers:redis_memory()
    return tonumber(ask_redis(self, self:address "redis", "memory").used_memory)
end


--- Where the data is: "ext4".
function Servers:filesystem()
    return rig.shell("df --output=fstype '%s' | tail -n 1", self.throwaway.folder):match("%S+")
end


function Servers:stop()
    if self.mysql then self.mysql:close() end
    for _, connection in pairs(self.connections) do connection:close() end
    if self.ensemble then self.ensemble:stop() end
    self.throwaway:close()
end


--- Nothing is started yet. All have their data in ${TMPDIR:-/tmp}.
function servers.new()
    return setmetatable({
        throwaway = throwaway.open(), addresses = {}, connections = {}, asked = {},
    }, Servers)
end


return servers
