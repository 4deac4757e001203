--- The servers of the benchmark, as durable as in normal use. ZooKeeper and MariaDB wait for their
-- disk before they answer, Redis keeps nothing there. All are throwaway servers on this machine.

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


-- An engine's option for its server, by kind of server.
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


--- The address of the servers of that kind, which are started on first use.
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
    self.own_requests[address] = (self.own_requests[address] or 0) + 1
    return connection:call("info", section)[section]
end


-- Packets of clients. A command is a packet, a command within a script is none. Requests of this
-- process are left out.
local function packets_to_redis(self, addresses)
    local sum = 0
    for _, address in ipairs(engine_options.addresses_of(addresses)) do
        local packets = ask_redis(self, address, "stats").total_reads_processed
        sum = sum + packets - self.own_requests[address]
    end
    return sum
end


local function statements_of_mysql(self, address)
    self.own_requests[address] = (self.own_requests[address] or 0) + 1
    local row = self.mysql:rows("SHOW GLOBAL STATUS LIKE 'Questions'")[1]
    return tonumber(row[2]) - self.own_requests[address]
end


--- Requests to the servers of that kind, by their own count; nil if the clients must count.
function Servers:requests(kind)
    local address = self:address(kind)
    if kind == "redis" or kind == "masters" then return packets_to_redis(self, address) end
    if kind == "mysql" then return statements_of_mysql(self, address) end
end


--- Bytes that a Redis has in use.
function Servers:redis_memory()
    return tonumber(ask_redis(self, self:address "redis", "memory").used_memory)
end


--- The file system with the data, such as "ext4".
function Servers:filesystem()
    return rig.shell("df --output=fstype '%s' | tail -n 1", self.throwaway.folder):match("%S+")
end


function Servers:stop()
    if self.mysql then self.mysql:close() end
    for _, connection in pairs(self.connections) do connection:close() end
    if self.ensemble then self.ensemble:stop() end
    self.throwaway:close()
end


--- Servers that will be started on first use, with their data in ${TMPDIR:-/tmp}.
function servers.new()
    return setmetatable({
        throwaway = throwaway.open(), addresses = {}, connections = {}, own_requests = {},
    }, Servers)
end


return servers
