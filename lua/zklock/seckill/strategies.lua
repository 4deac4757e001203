--- A strategy decides which buyer may enter the critical section of a purchase. It is built in, or
--- a module of the user.
---
---     local strategy = module.open(server)          -- in each server
---     local hold, message, code = strategy:enter(lock, buyer)
---     …
---     strategy:leave(hold)
---
--- docs/design/laboratory.md lists its optional functions and fields.

local lua_module = require "zklock.seckill.lua_module"


local built_in = {
    ["cerberus"] = "engine",
    ["cerberus-safe"] = "engine",
    ["local"] = "local",
    ["none"] = "none",
    ["redis-expire"] = "engine",
    ["redis-set"] = "engine",
    ["redis-timestamp"] = "engine",
    ["redisson"] = "engine",
    ["redisson-fair"] = "engine",
    ["redisson-rw"] = "engine",
    ["redlock"] = "engine",
    ["shared"] = "shared",
    ["sql-optimistic"] = "optimistic",
    ["sql-pessimistic"] = "engine",
    ["sql-table"] = "engine",
    ["zookeeper"] = "zookeeper",
    ["zookeeper-none"] = "zookeeper",
    ["zookeeper-rw"] = "zookeeper",
    ["zookeeper-turns"] = "zookeeper",
}

local NAMES = "none, local, shared, zookeeper, zookeeper-turns, zookeeper-none, zookeeper-rw, "
    .. "sql-table, sql-pessimistic, sql-optimistic, redis-timestamp, redis-expire, redis-set, "
    .. "redisson, redisson-fair, redisson-rw, redlock, cerberus, cerberus-safe"


local strategies = { names = NAMES }


function strategies.load(name)
    local file = built_in[name]
    if not file then
        return lua_module.load(name, "strategy", { "open" }, NAMES)
    end
    local module = require("zklock.seckill.strategy." .. file)
    return module[name] or module
end


function strategies.open(name, server)
    local strategy = assert(strategies.load(name)).open(server)
    if type(strategy) ~= "table" or not strategy.enter or not strategy.leave then
        error(("the strategy %s opens to something without enter and leave"):format(name), 0)
    end
    return strategy
end


return strategies
