--- What the specs of the engines share: throwaway servers, engines on them, and names of locks.

local database = require "zklock.seckill.database"
local engine = require "zklock.engine"
local rig = require "spec.rig"
local throwaway = require "zklock.seckill.throwaway"

local HOSTS = os.getenv "ZK_HOSTS"
local ANSWER = 20 -- seconds for which a server is waited for that is there
local LONG = 60   -- seconds, a lease or session that a test does not see end

local engines = {}

local opened, names = {}, 0
local servers, redis, mysql


--- Starts the servers.
---@return zklock.seckill.Throwaway servers
---@return string redis  address
---@return string mysql  URL of a database of its own
function engines.start()
    servers = throwaway.open()
    redis = servers:redis(1)
    mysql = servers:mysql():gsub("/%?", "/engines?")
    database.create(mysql)
    return servers, redis, mysql
end


function engines.stop() servers:close() end


-- Where the engine of that name finds its server. A machine that stands still for some seconds is
-- neither a server that does not answer nor the end of a lease.
local addresses = {
    ["redis-expire"] = function() return { redis = redis, answer = ANSWER } end,
    ["redis-set"] = function() return { redis = redis, answer = ANSWER, lease = LONG } end,
    ["redis-timestamp"] = function() return { redis = redis, answer = ANSWER, lease = LONG } end,
    ["redisson"] = function() return { redis = redis, answer = ANSWER } end,
    ["redlock"] = function()
        return { redis = servers:redis(5), fast_fail = ANSWER, lease = LONG }
    end,
    ["sql-optimistic"] = function() return { sqlite = servers.folder .. "/locks.db" } end,
    ["sql-pessimistic"] = function() return { mysql = mysql } end,
    ["sql-table"] = function() return { sqlite = servers.folder .. "/locks.db" } end,
    ["sql-table on MariaDB"] = function() return { mysql = mysql } end,
    ["zookeeper"] = function() return { zookeeper = HOSTS, session = LONG } end,
    ["cerberus"] = function()
        return {
            order = { "redisson", "zookeeper" }, zookeeper = HOSTS, root = "/engines-cerberus",
            session = LONG, engines = {
                redisson = { redis = redis, answer = ANSWER },
                zookeeper = { zookeeper = HOSTS, session = LONG },
            },
        }
    end,
}


--- Options with which the engine of that name finds its server, and these besides.
---@param name string  an engine's; words behind it tell its servers apart
---@param more table?
---@return table
function engines.options(name, more)
    local given = addresses[name]()
    for option, value in pairs(more or {}) do given[option] = value end
    return given
end


--- An engine with these options; it is a client of its own, and closed after the test.
---@param name string
---@param given table
function engines.open_with(name, given)
    local it_is = assert(engine.open(name, given))
    opened[#opened + 1] = it_is
    return it_is
end


--- The same on the shared servers, with these options besides.
---@param name string
---@param more table?
function engines.open(name, more)
    return engines.open_with(name:match "^%S+", engines.options(name, more))
end


--- After each test.
function engines.close_all()
    for _, each in ipairs(opened) do each:close() end
    opened = {}
end


--- A name that no other test uses.
---@return string
function engines.new_name()
    names = names + 1
    return ("stock-%d-%d"):format(rig.pid, names)
end


--- Two clients' locks of one name.
---@param name string
---@param more table?          of the engines
---@param lock_options table?
function engines.two(name, more, lock_options)
    local lock = engines.new_name()
    return engines.open(name, more):mutex(lock, lock_options),
        engines.open(name, more):mutex(lock, lock_options)
end


return engines
