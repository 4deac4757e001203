--- Throwaway servers, engines and names of locks for the specs of engines.

local database = require "zklock.seckill.database"
local engine = require "zklock.engine"
local rig = require "spec.rig"
local throwaway = require "zklock.seckill.throwaway"

local HOSTS = os.getenv "ZK_HOSTS"
local ANSWER = 20 -- seconds to wait for a server that runs
local LONG = 60   -- seconds; a lease or session that outlasts the test

local engines = {}

local opened, names = {}, 0
local servers, redis, mysql


---@return zklock.seckill.Throwaway servers
---@return string redis  address
function engines.start()
    servers, mysql = throwaway.open(), nil
    redis = servers:redis(1)
    return servers, redis
end


function engines.stop() servers:close() end


--- The URL of a database, created on first use.
---@return string
function engines.mysql()
    if not mysql then
        mysql = servers:mysql():gsub("/%?", "/engines?")
        database.create(mysql)
    end
    return mysql
end


--- Options for slow machines, so that a pause of some seconds neither counts as a silent server nor
--- ends a lease.
engines.patience = {
    ["redis-expire"] = { answer = ANSWER },
    ["redis-set"] = { answer = ANSWER, lease = LONG },
    ["redis-timestamp"] = { answer = ANSWER, lease = LONG },
    ["redisson"] = { answer = ANSWER },
    ["redlock"] = { fast_fail = ANSWER, lease = LONG },
    ["zookeeper"] = { session = LONG },
    ["cerberus"] = { session = LONG },
}


local function one_redis() return { redis = redis } end
local function sqlite() return { sqlite = servers.folder .. "/locks.db" } end
local function mariadb() return { mysql = engines.mysql() } end

-- The address of each engine's server.
local addresses = {
    ["redis-expire"] = one_redis, ["redis-set"] = one_redis, ["redis-timestamp"] = one_redis,
    ["redisson"] = one_redis,
    ["redlock"] = function() return { redis = servers:redis(5) } end,
    ["sql-optimistic"] = sqlite, ["sql-optimistic on MariaDB"] = mariadb,
    ["sql-pessimistic"] = mariadb, ["sql-table"] = sqlite, ["sql-table on MariaDB"] = mariadb,
    ["zookeeper"] = function() return { zookeeper = HOSTS } end,
    ["cerberus"] = function()
        return {
            order = { "redisson", "zookeeper" }, zookeeper = HOSTS, root = "/engines-cerberus",
            engines = {
                redisson = engines.options "redisson", zookeeper = engines.options "zookeeper",
            },
        }
    end,
}


--- The engine's options for its server, with more options.
---@param name string  an engine's; words behind it tell its servers apart
---@param more table?
---@return table
function engines.options(name, more)
    local given = addresses[name]()
    for option, value in pairs(engines.patience[name] or {}) do given[option] = value end
    for option, value in pairs(more or {}) do given[option] = value end
    return given
end


--- Opens an engine as a client of its own, closed after the test.
---@param name string
---@param given table
function engines.open_with(name, given)
    local it_is = assert(engine.open(name, given))
    opened[#opened + 1] = it_is
    return it_is
end


--- Opens an engine on the shared servers, as a client of its own.
---@param name string
---@param more table?
function engines.open(name, more)
    return engines.open_with(name:match "^%S+", engines.options(name, more))
end


function engines.close_all()
    for _, each in ipairs(opened) do each:close() end
    opened = {}
end


--- A name for this test only.
---@return string
function engines.new_name()
    names = names + 1
    return ("stock-%d-%d"):format(rig.pid, names)
end


--- Two clients' locks with the same name.
---@param name string
---@param more table?          of the engines
---@param lock_options table?
function engines.two(name, more, lock_options)
    local lock = engines.new_name()
    return engines.open(name, more):mutex(lock, lock_options),
        engines.open(name, more):mutex(lock, lock_options)
end


--- The code of a failed call.
function engines.code_of(result, _, code)
    assert(result == nil, "it has not failed")
    return code
end


--- Checks that `with` passes on its function's arguments and results, and releases the lock after
-- it
--- returns or raises.
function engines.check_with(mine, yours)
    local returned = { mine:with(ANSWER, function(lease, a, b)
        assert(lease:held())
        return a, nil, b
    end, 1, 3) }
    assert(returned[1] == true and returned[2] == 1 and returned[3] == nil and returned[4] == 3)
    local ok, problem = pcall(mine.with, mine, ANSWER, function() error("no", 0) end)
    assert(not ok and problem == "no", problem)
    assert(assert(yours:acquire(ANSWER)):release())
end


return engines
