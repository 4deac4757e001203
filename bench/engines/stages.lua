--- The stages of faults. A stage has servers to strike, and
--
--   options         the engines' options for their servers, as "NAME=VALUE", by kind of server
--   prepare()       called before the first lock
--   strike()        inflicts the fault; returns its times by kind of server
--   recover()       called before the next round
--   stop()
--   lua_of_waiter   by engine, the Lua of the waiter if that needs the stage's clock; optional

local clocks = require "zklock.throwaway.clock"
local core = require "zklock.core"
local database = require "zklock.seckill.database"
local engine_options = require "zklock.seckill.engine.options"
local mariadb = require "zklock.seckill.throwaway.mariadb"
local redis = require "zklock.seckill.throwaway.redis"
local rig = require "spec.rig"
local throwaway = require "zklock.seckill.throwaway"

local LUA = os.getenv("ZKLOCK_LUA") or "lua5.4"
local TICK = 200  -- milliseconds
local MASTERS = 5 -- of redlock
local JUMP = 3600 -- seconds


local function do_nothing() end

local stages = {}


-- --- servers that are killed, and started again at once, each with what it has kept -------------

local Killed = { prepare = do_nothing, recover = do_nothing }
Killed.__index = Killed


local function start_mysql(self)
    local url
    url, self.mysql = mariadb.start(self.throwaway.reaper, { durable = true })
    return (url:gsub("/%?", "/engines?"))
end


-- A new server must not be killed before it has written its pages, so it is shut down once.
local function prepare_mysql(self)
    local url = start_mysql(self)
    database.create(url)
    local connection = database.open(url)
    connection:execute "SHUTDOWN"
    connection:close()
    self.mysql:finish()
    return start_mysql(self)
end


function stages.killed()
    local self = setmetatable({ throwaway = throwaway.open() }, Killed)
    local addresses = engine_options.addresses_of(self.throwaway:redis(1 + MASTERS))
    self.ensemble = rig.server{ fsync = true, tick = TICK }
    self.options = {
        sqlite = "sqlite=" .. self.throwaway.folder .. "/locks.db",
        mysql = "mysql=" .. prepare_mysql(self),
        redis = "redis=" .. table.remove(addresses, 1),
        masters = "redis=" .. table.concat(addresses, ","),
        zookeeper = "zookeeper=" .. self.ensemble.hosts,
    }
    return self
end


local function strike_redis(self, number)
    local servers, at = self.throwaway.redis_servers, core.now()
    servers[number].process:kill()
    servers[number] = redis.start(self.throwaway.reaper,
                                  { port = servers[number].address:match("%d+$") })
    return at
end


local function strike_zookeeper(self)
    local at = core.now()
    self.ensemble:kill()
    self.ensemble:restart()
    return at
end


local function strike_mysql(self)
    local at = core.now()
    self.mysql:kill()
    start_mysql(self)
    return at
end


--- Strikes a server of each kind; of the five masters the first.
function Killed:strike()
    return {
        redis = strike_redis(self, 1), masters = strike_redis(self, 2),
        zookeeper = strike_zookeeper(self), mysql = strike_mysql(self),
    }
end


function Killed:stop()
    self.ensemble:stop()
    self.throwaway:close()
end


-- --- a master that dies, whose replica takes its place; a leader that dies ----------------------

local Promoted = {}
Promoted.__index = Promoted


local function start_pair(self)
    self.pair, self.ensemble = self.throwaway:redis_pair(), self.throwaway:zookeepers(3)
    self.options = { redis = "redis=" .. self.pair.address,
                     zookeeper = "zookeeper=" .. self.ensemble.hosts }
end


function stages.promoted()
    local self = setmetatable({ throwaway = throwaway.open() }, Promoted)
    start_pair(self)
    return self
end


--- The replica does not hear of the locks.
function Promoted:prepare() self.pair:cut() end


function Promoted:strike()
    local struck = { redis = core.now() }
    self.pair:kill_master()
    self.pair:promote()
    struck.zookeeper = core.now()
    self.ensemble:kill_leader()
    return struck
end


function Promoted:recover()
    self.pair:close()
    self.ensemble:close()
    start_pair(self)
end


function Promoted:stop() self.throwaway:close() end


-- --- wall clocks that jump ----------------------------------------------------------------------

local Clock = {}
Clock.__index = Clock


function stages.clock()
    local self = setmetatable({ throwaway = throwaway.open() }, Clock)
    self.redis = self.throwaway:redis_masters(1)
    self.masters = self.throwaway:redis_masters(MASTERS)
    self.zookeeper = self.throwaway:zookeeper_with_clock()
    self.client = clocks.new(self.throwaway.reaper)
    self.lua_of_waiter = { ["redis-timestamp"] = self.client:program(LUA) }
    self.options = {
        redis = "redis=" .. self.redis.addresses, masters = "redis=" .. self.masters.addresses,
        zookeeper = "zookeeper=" .. self.zookeeper.hosts,
    }
    return self
end


--- Leaves three of five masters to the holders.
function Clock:prepare()
    for i = MASTERS - 1, MASTERS do self.masters[i]:cut() end
end


-- Sets the clocks that many seconds ahead.
local function set_clocks(self, seconds)
    for _, clock in ipairs{ self.redis[1], self.masters[3], self.zookeeper.clock, self.client } do
        clock:jump(seconds)
    end
end


--- Strikes a server of each kind, of the five masters the third; the two cut masters come back.
function Clock:strike()
    local at = core.now()
    for i = MASTERS - 1, MASTERS do self.masters[i]:heal() end
    set_clocks(self, JUMP)
    return { redis = at, masters = at, zookeeper = at }
end


function Clock:recover() set_clocks(self, 0) end


function Clock:stop() self.throwaway:close() end


return stages
