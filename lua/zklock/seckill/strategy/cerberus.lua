--- Options of the strategies "cerberus" and "cerberus-safe". They use several engines, each with
--- its own servers, and a switch in ZooKeeper below the sale's path, which chooses the engine. A
--- fault can set the switch during a sale (DEMO-21).
---
--- `parameters.engine` has `order`, `engines`, `failover` and `session`, as in docs/engines.md.
--- Missing addresses of the engines' servers are filled in.

local engine_options = require "zklock.seckill.engine.options"
local engines = require "zklock.seckill.engine"
local misuse = require "zklock.value.misuse"
local sql_database = require "zklock.seckill.database"


local ORDER = { "redis-set", "zookeeper" }
local FIELDS = { "order", "engines", "failover", "session" }


local cerberus = {}


-- The user's options, checked as far as possible without addresses.
local function user_options(parameters)
    local given, fields, allowed = parameters.engine, engines.fields "cerberus", {}
    for _, name in ipairs(FIELDS) do allowed[name] = fields[name] end
    return engine_options.complete(given, allowed, { order = ORDER, engines = {} },
        "parameters.engine of cerberus")
end


-- Returns a copy of the user's options for the engine called `name`, and the engine's kind.
local function engine_options_of(given, name)
    local part = {}
    for option, value in pairs(given.engines[name] or {}) do part[option] = value end
    return part, part.engine or name
end


--- The servers that the engines need and for which the user gave no address.
---@param needs_of table<string, table>  by engine
---@param parameters table               the sale's
---@return table
function cerberus.needs(needs_of, parameters)
    local given, servers = user_options(parameters), { switch = true }
    for _, name in ipairs(given.order) do
        local part, kind = engine_options_of(given, name)
        local needs = needs_of[kind] or {}
        if needs.redis and not part.redis then
            servers.redis = (servers.redis or 0) + needs.redis
        end
        if needs.database and not (part.sqlite or part.mysql) then
            servers.database, servers.mysql = true, servers.mysql or needs.mysql
        end
    end
    return servers
end


--- True if one of the engines grants its lock to waiters in a queue.
---@param has_queue table<string, boolean?>  by engine
---@param parameters table                   the sale's
---@return boolean
function cerberus.has_queue(has_queue, parameters)
    local given = user_options(parameters)
    for _, name in ipairs(given.order) do
        local _, kind = engine_options_of(given, name)
        if has_queue[kind] then return true end
    end
    return false
end


local function take_addresses(addresses, count)
    local taken = {}
    for i = 1, count do taken[i] = table.remove(addresses, 1) end
    return table.concat(taken, ",")
end


local function fill_in(part, needs, server_plan, redis, root)
    if needs.redis then
        part.redis = part.redis or take_addresses(redis, needs.redis)
    elseif needs.database then
        if part.sqlite or part.mysql then return end
        local database = server_plan.place.database
        part[sql_database.is_url(database) and "mysql" or "sqlite"] = database
    else
        part.zookeeper = part.zookeeper or server_plan.zookeeper
        part.session, part.root = part.session or server_plan.session, part.root or root
    end
end


---@param needs_of table<string, table>
---@param server_plan table  a server's plan, or a draft of one
---@param safe boolean
---@return table
function cerberus.options(needs_of, server_plan, safe)
    local all = user_options(server_plan.parameters or {})
    local redis, parts = engine_options.addresses_of(server_plan.redis or ""), {}
    local lock_root = server_plan.root .. "/lock/"
    for _, name in ipairs(all.order) do
        local part, kind = engine_options_of(all, name)
        fill_in(part, needs_of[kind] or {}, server_plan, redis, lock_root .. name)
        parts[name] = part
    end
    for name, part in pairs(all.engines) do parts[name] = parts[name] or part end
    all.engines, all.safe = parts, safe
    all.zookeeper, all.root = server_plan.zookeeper, server_plan.root .. "/switch"
    all.session = all.session or server_plan.session
    return all
end


-- A draft of a server's plan with made-up addresses, to check the options before the sale.
local function draft_plan(plan)
    local redis = {}
    for i = 1, plan.needs.redis or 0 do redis[i] = "127.0.0.1:1" end
    return {
        parameters = plan.parameters, session = plan.session, root = "",
        zookeeper = "127.0.0.1:1", redis = plan.redis or table.concat(redis, ","),
        place = { database = plan.needs.mysql and "mysql://root@127.0.0.1:1/locks" or "locks.db" },
    }
end


---@param needs_of table<string, table>
---@param plan zklock.seckill.Plan
---@param safe boolean
function cerberus.check(needs_of, plan, safe)
    local count = plan.needs.redis or 0
    if plan.redis and #engine_options.addresses_of(plan.redis) ~= count then
        misuse.refuse("redis must be \"HOST:PORT\" of %d servers, one for each engine, not %s",
            count, misuse.show(plan.redis))
    end
    engines.validate("cerberus", cerberus.options(needs_of, draft_plan(plan), safe))
end


--- Sets the switch in ZooKeeper.
---@param needs_of table<string, table>
---@param play zklock.seckill.Play
---@param value string  an engine's name, or "" for the next in the order
function cerberus.switch(needs_of, play, value)
    local options = cerberus.options(needs_of, {
        parameters = play.plan.parameters, session = play.plan.session, root = play.root,
        zookeeper = play.zookeeper, redis = play.redis, place = play.place,
    }, false)
    options.failover = nil
    local client = assert(engines.open("cerberus", options))
    local done, message = client:switch(value)
    client:close()
    assert(done, message)
end


return cerberus
