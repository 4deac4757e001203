--- Locks on Redis, databases and ZooKeeper behind one interface, for comparison with zklock's.
---
---     local engine = require("zklock.engine").open("redis-set", { redis = "127.0.0.1:6379" })
---     local lock = engine:mutex "stock"
---     local lease, message, code = lock:acquire(2)
---     …
---     lease:release()
---
--- The faults of the seed article's locks are kept on purpose, because they are the lesson.
--- docs/engines.md is the reference.

local Engine = require "zklock.seckill.engine.engine"
local dependency = require "zklock.system.dependency"
local failure = require "zklock.seckill.engine.failure"
local misuse = require "zklock.value.misuse"
local options = require "zklock.seckill.engine.options"
local sorted_names = require "zklock.value.sorted_names"


local modules = {
    ["cerberus"] = "cerberus",
    ["redis-expire"] = "redis_expire",
    ["redis-set"] = "redis_set",
    ["redis-timestamp"] = "redis_timestamp",
    ["redisson"] = "redisson",
    ["redlock"] = "redlock",
    ["sql-optimistic"] = "sql_optimistic",
    ["sql-pessimistic"] = "sql_pessimistic",
    ["sql-table"] = "sql_table",
    ["zookeeper"] = "zookeeper",
}


local engine = { names = sorted_names(modules) }


local function way_of(name)
    if not modules[name] then
        misuse.refuse("no engine %s: there are %s", misuse.show(name),
            table.concat(engine.names, ", "))
    end
    return require("zklock.seckill.engine." .. modules[name])
end


---@param name string
---@return zklock.engine.Has
function engine.has(name) return way_of(name).has end


--- The checks of the engine's options by their names.
---@param name string
---@return table<string, function>
function engine.fields(name) return way_of(name).fields end


-- The engine's options with defaults; raises an error for wrong options.
local function complete(name, given)
    local way = way_of(name)
    local completed = options.complete(given, way.fields, way.defaults, "the options of " .. name)
    way.validate(completed)
    return completed
end


---@param name string
---@param given table
function engine.validate(name, given) complete(name, given) end


--- The longest time for which a lock may outlive its holder's process.
---@param name string
---@param given table  the engine's options
---@return number seconds  math.huge without a limit
function engine.life(name, given)
    local completed = complete(name, given)
    return engine.has(name).lease and completed.lease or completed.session or math.huge
end


local modules_of_option = {
    mysql = { "luasql.mysql" }, redis = { "redis", "socket" }, sqlite = { "luasql.sqlite3" },
}

-- An error message if a module cannot be loaded, or nil.
local function missing_module(completed)
    for option, names in pairs(modules_of_option) do
        for _, each in ipairs(completed[option] and names or {}) do
            local found, problem = pcall(dependency.load, each)
            if not found then return problem end
        end
    end
end


--- Opens an engine; raises an error for wrong options.
---@param name string
---@param given table
---@return zklock.engine.Engine? engine
---@return string? message
---@return string? code  "connection", or "unsupported" without a Lua module
function engine.open(name, given)
    local completed, way = complete(name, given), way_of(name)
    local problem = missing_module(completed)
    if problem then return failure.of("unsupported", name, problem) end
    return failure.catch(name, way.open, Engine.new(name, way, completed))
end


return engine
