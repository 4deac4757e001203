--- Engines: locks of several servers behind one interface, to be compared with zklock's.
---
---     local engine = require("zklock.engine").open("redis-set", { redis = "127.0.0.1:6379" })
---     local lock = engine:mutex "stock"
---     local lease, message, code = lock:acquire(2)
---     …
---     lease:release()
---
--- Each is as its seed has it, with its faults: they are what there is to learn. docs/engines.md
--- is the reference.

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


-- The way of that name.
local function way_of(name)
    if not modules[name] then
        misuse.refuse("no engine %s: there are %s", misuse.show(name),
            table.concat(engine.names, ", "))
    end
    return require("zklock.seckill.engine." .. modules[name])
end


--- What the engine of that name has.
---@param name string
---@return zklock.engine.Has
function engine.has(name) return way_of(name).has end


--- Its options, and what checks each.
---@param name string
---@return table<string, function>
function engine.fields(name) return way_of(name).fields end


-- Its options, complete. Wrong ones raise.
local function complete(name, given)
    local way = way_of(name)
    local all = options.complete(given, way.fields, way.defaults, "the options of " .. name)
    way.validate(all)
    return all
end


--- Raises if these are no options of the engine.
---@param name string
---@param given table
function engine.validate(name, given) complete(name, given) end


--- For how long a lock may outlive the process that had it.
---@param name string
---@param given table  its options
---@return number seconds  math.huge: for ever
function engine.life(name, given)
    local all = complete(name, given)
    return engine.has(name).lease and all.lease or all.session or math.huge
end


-- The Lua modules for the server that an option names.
local needs = {
    mysql = { "luasql.mysql" }, redis = { "redis", "socket" }, sqlite = { "luasql.sqlite3" },
}

-- The reason why a module cannot be loaded, or nil.
local function missing(all)
    for option, names in pairs(needs) do
        for _, each in ipairs(all[option] and names or {}) do
            local found, problem = pcall(dependency.load, each)
            if not found then return problem end
        end
    end
end


--- Opens the engine of that name. Wrong options raise.
---@param name string
---@param given table
---@return zklock.engine.Engine? engine
---@return string? message
---@return string? code  "connection"; "unsupported": a Lua module is missing
function engine.open(name, given)
    local all, way = complete(name, given), way_of(name)
    local problem = missing(all)
    if problem then return failure.of("unsupported", name, problem) end
    return failure.catch(name, way.open, Engine.new(name, way, all))
end


return engine
