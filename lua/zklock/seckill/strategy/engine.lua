--- Strategies that are locks of an engine (docs/engines.md). Each server opens one engine, with one
--- lock for each name. Buyers are coroutines, and each coroutine is an owner of locks.
---
--- `parameters.engine` has the engine's options. A wait for a lock lets other buyers of the server
--- go on, but a command or a statement blocks the server.

local cerberus = require "zklock.seckill.strategy.cerberus"
local engines = require "zklock.seckill.engine"
local engine_options = require "zklock.seckill.engine.options"
local failure = require "zklock.seckill.engine.failure"
local sql_database = require "zklock.seckill.database"
local wait_for = require "zklock.throwaway.wait_for"


local ANSWER_LIMIT = 1 -- seconds until one of redlock's masters must answer


local Strategy = {}
Strategy.__index = Strategy


---@param wish zklock.seckill.Wish
local function new_mutex(engine, name, wish) return engine:mutex(name, { lease = wish.lease }) end

local function new_fair_mutex(engine, name, wish)
    return engine:mutex(name, { fair = true, lease = wish.lease })
end

local function new_side(engine, name, wish)
    local lock = assert(engine:rwlock(name, { lease = wish.lease }))
    return wish.side == "read" and lock:read() or lock:write()
end


local definitions = {
    ["redis-expire"] = { needs = { redis = 1 } },
    ["redis-set"] = { needs = { redis = 1 } },
    ["redis-timestamp"] = { needs = { redis = 1 } },
    ["redisson"] = { needs = { redis = 1 } },
    ["redisson-fair"] = {
        needs = { redis = 1 }, engine = "redisson", new_lock = new_fair_mutex, queue = true,
    },
    ["redisson-rw"] = { needs = { redis = 1 }, engine = "redisson", new_lock = new_side },
    ["redlock"] = { needs = { redis = 5 } },
    ["sql-pessimistic"] = { needs = { database = true, mysql = true }, queue = true },
    ["sql-table"] = { needs = { database = true } },
}


local function address_options(needs, redis, database)
    if needs.redis then return { redis = redis } end
    return { [sql_database.is_url(database) and "mysql" or "sqlite"] = database }
end


---@param wish zklock.seckill.Wish?
function Strategy:enter(name, _, wish)
    wish = wish or {}
    local key = ("%s %s %s"):format(wish.side or "write", wish.lease or "", name)
    local lock = self.locks[key]
    if not lock then
        lock = assert(self.new_lock(self.engine, self.server:path("lock/" .. name), wish))
        self.locks[key] = lock
    end
    return lock:acquire(wish.timeout or self.server.timeout)
end


-- A lost lock needs no release; the store shows the damage to the stock, if any.
function Strategy.leave(_, lease)
    local released, message, code = lease:release()
    assert(released or code == "lost", message)
end


-- The lease's state in the engine's server or, without an answer, by the lease's clock.
function Strategy.state(_, lease)
    local held, _, code = lease:check()
    if held then return "held" end
    return (code == "lost" or code == "released") and code or lease:state()
end


function Strategy.shared(_, lease) return lease.lock.kind == "read" end
function Strategy:close() self.engine:close() end


local function check(definition, engine_name, plan)
    local given = plan.parameters and plan.parameters.engine
    local subject = "parameters.engine of " .. engine_name
    engine_options.complete(given, engines.fields(engine_name), {}, subject)
    if not (definition.needs.redis and plan.redis) then return end
    engine_options.addresses(plan.redis, "redis")
    if definition.needs.redis == 1 then engine_options.address(plan.redis, "redis") end
end


local function open_strategy(server, engine_name, options, new_lock)
    local opened, message = engines.open(engine_name, options)
    if not opened then error(message, 0) end
    return setmetatable({
        server = server, engine = opened, new_lock = new_lock, locks = {},
    }, Strategy)
end


local function ping(master) return master:call "ping" end

-- Redlock opens without its masters, but a sale needs at least one master.
local function wait_for_master(engine)
    local why
    local answered = wait_for(function()
        for _, master in ipairs(engine.masters) do
            local answer, message = failure.catch(master.address, ping, master)
            if answer then return true end
            why = message
        end
    end, ANSWER_LIMIT)
    if not answered then error("redlock: no master answers: " .. why, 0) end
end


-- Opens an engine other than cerberus.
local function open_single(definition, engine_name, server)
    local options = address_options(definition.needs, server.plan.redis,
        server.plan.place.database)
    for name, value in pairs(server.parameters.engine or {}) do options[name] = value end
    local strategy = open_strategy(server, engine_name, options, definition.new_lock or new_mutex)
    if engine_name == "redlock" then wait_for_master(strategy.engine) end
    return strategy
end


local strategies = {}

for name, definition in pairs(definitions) do
    local engine_name = definition.engine or name
    strategies[name] = {
        needs = definition.needs, queue = definition.queue,
        check = function(plan) check(definition, engine_name, plan) end,
        open = function(server) return open_single(definition, engine_name, server) end,
    }
end


local needs_of, has_queue = {}, {}
for name, definition in pairs(definitions) do
    needs_of[name], has_queue[name] = definition.needs, definition.queue
end

for name, safe in pairs{ ["cerberus"] = false, ["cerberus-safe"] = true } do
    strategies[name] = {
        needs_zookeeper = true,
        needs = function(parameters) return cerberus.needs(needs_of, parameters) end,
        queue = function(parameters) return cerberus.has_queue(has_queue, parameters) end,
        check = function(plan) cerberus.check(needs_of, plan, safe) end,
        switch = function(play, value) cerberus.switch(needs_of, play, value) end,
        open = function(server)
            local options = cerberus.options(needs_of, server.plan, safe)
            return open_strategy(server, "cerberus", options, new_mutex)
        end,
    }
end


return strategies
