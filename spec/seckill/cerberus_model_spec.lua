--- [lua luajit] The switch of `cerberus` with safe = true in worlds of virtual time, under many
--- orders of switch, hold, stop, kill, expiry, lost connection and death of an engine (PIT-21,
--- Q-08). The engine's own files run there, with zklock's sessions; only Redis is a model. No lock
--- ever has two holders; in the end the switch is through, and all buyers are served.

local clock = require "zklock.waiting.runtime"
local engines = require "zklock.seckill.engine"
local failure = require "zklock.seckill.engine.failure"
local redis = require "zklock.seckill.engine.redis"
local tasks = require "zklock.waiting.tasks"
local zklock = require "zklock"

local SEEDS = tonumber(os.getenv "ZKLOCK_WAYS") or 100
local LIFE = 2    -- seconds of a lock in Redis
local SESSION = 4 -- seconds of each session


-- A Redis in a world, with expiring `keys` and slow commands.
local Model = {}
Model.__index = Model

local function trip(self)
    zklock.sleep(0.001)
    if self.server.dead then failure.raise("connection", "Redis does not answer") end
end

function Model:ensure_client() trip(self) end
function Model.close() end

local function value_of(self, key)
    local entry = self.server.keys[key]
    return entry and entry.ends > clock.now() and entry.value or nil
end

function Model:call(command, key, value, _, _, milliseconds)
    trip(self)
    if command == "get" then return value_of(self, key) end
    if value_of(self, key) then return nil end
    self.server.keys[key] = { value = value, ends = clock.now() + milliseconds / 1000 }
    return "OK"
end

function Model:eval(_, keys, value)
    trip(self)
    if value_of(self, keys[1]) ~= value then return 0 end
    self.server.keys[keys[1]] = nil
    return 1
end


local servers -- of the present world, by address
local new, is_active, end_of_run = redis.new, tasks.is_active, tasks.end_of_run

setup(function()
    redis.new = function(address)
        servers[address] = servers[address] or { keys = {} }
        return setmetatable({ server = servers[address] }, Model)
    end
end)
teardown(function() redis.new = new end)
after_each(function() tasks.is_active, tasks.end_of_run = is_active, end_of_run end)


-- --- a shop -------------------------------------------------------------------------------------

local FIRST = { redis = "first:1", lease = LIFE, poll = 0.05 }
local OPTIONS = {
    ["redis-set"] = FIRST,
    other = { engine = "redis-set", redis = "second:1", lease = LIFE, poll = 0.05 },
    zookeeper = { zookeeper = "memory:sale", session = SESSION },
}

local function open(shop)
    local options = {}
    for _, name in ipairs(shop.order) do options[name] = OPTIONS[name] end
    while true do
        local engine = engines.open("cerberus", {
            order = shop.order, engines = options, zookeeper = "memory:sale", session = SESSION,
            safe = true, failover = shop.failover,
        })
        if engine then return engine end
    end
end


-- Renews like an engine's watchdog.
local function renew(lease)
    for _, part in ipairs(lease.parts) do
        local server = servers[FIRST.redis]
        local entry = server and server.keys[part.name]
        if entry and entry.value == part.value and entry.ends > clock.now()
            and part.renewed_with:held() then
            entry.ends, part.expires = clock.now() + LIFE, clock.now() + LIFE
        end
    end
end


-- Reads a number, and writes the next number while the lease is held. Nobody else may have written.
local function sell(shop, stock, lease)
    stock.leases[lease] = true
    local number = stock.number
    for _ = 1, 3 do
        local held = 0
        for each in pairs(stock.leases) do
            if each:held() then held = held + 1 end
        end
        assert(held <= 1, "two leases are held")
        zklock.sleep(0.05)
        if shop.renews then renew(lease) end
    end
    if lease:held() then
        assert(stock.number == number, "two had the lock")
        stock.number = number + 1
        return true
    end
end


local function buy(shop, engine, stock, left)
    local lock = engine:mutex "stock"
    while left.pieces > 0 do
        local lease = lock:acquire(1)
        if lease then
            if sell(shop, stock, lease) then left.pieces = left.pieces - 1 end
            lease:release()
        end
        zklock.sleep(0.02)
    end
end


local function is_killed(world, name)
    for _, fault in ipairs(world.happened) do
        if fault.kind == "kill" and fault.process == name then return true end
    end
end


-- A finished buyer lives on, and must not hold the switch up.
local function buyer(shop, world, stock)
    local engine, left = open(shop), { pieces = shop.wanted or 2 }
    local function go() buy(shop, engine, stock, left) end
    for _ = 1, shop.drops or 0 do
        local due = world:random() -- an error ends the run then
        pcall(zklock.run, go, function()
            zklock.sleep(due)
            error "the run ends"
        end)
        collectgarbage()
    end
    go()
    while not (stock.over or is_killed(world, "operator")) do zklock.sleep(0.5) end
    engine:close()
end


-- Sets the switch to each value, with or without waiting for its end.
local function operator(shop, stock)
    local engine = open(shop)
    for i, value in ipairs(shop.values) do
        zklock.sleep(0.1)
        local patience = i < #shop.values and shop.patience or 100
        repeat local done = engine:switch(value, patience) until done or patience == 0
    end
    stock.over = true
    engine:close()
end


local function shop_of(shop)
    return function(world)
        math.randomseed(world.seed)
        local stock = { number = 0, leases = setmetatable({}, { __mode = "k" }) }
        servers = {}
        for n = 1, 2 do
            world:process("buyer " .. n, function() buyer(shop, world, stock) end)
        end
        world:process("operator", function() operator(shop, stock) end)
        if shop.dies then
            world:at(0.3, function() servers[FIRST.redis] = { dead = true, keys = {} } end)
        end
    end
end


local THERE_AND_BACK = { "other", "redis-set" }
local ALL = { stop = { longest = 8 }, kill = true, cut = { longest = 8 }, expire = true }

describe("a safe switch keeps the locks", function()
    for _, shop in ipairs{
        { "whatever the order", delay = 0.02 },
        { "while sessions expire", expire = { most = 3 } },
        { "while connections are lost", cut = { most = 4, longest = 6, per_second = 6 } },
        { "while processes are stopped", stop = { most = 3, longest = 8 } },
        { "while processes are killed", kill = true },
        { "while all of that happens", all = true },
        { "outside of zklock.run, while all of that happens", plain = true, all = true },
        { "while errors end the runs of processes", drops = 2 },
        { "while holders renew their leases, and all of that happens", renews = true, all = true },
        { "from zookeeper and back, while all of that happens", all = true,
            order = { "zookeeper", "redis-set" }, values = { "redis-set", "zookeeper" } },
        { "from zookeeper and back, outside of zklock.run", plain = true, all = true,
            order = { "zookeeper", "redis-set" }, values = { "redis-set", "zookeeper" } },
        { "to zookeeper and back, while all of that happens", all = true,
            order = { "redis-set", "zookeeper" }, values = { "zookeeper", "redis-set" } },
        { "when an operator changes its mind again and again", patience = 0, wanted = 4, all = true,
            values = { "other", "redis-set", "other", "redis-set", "other" } },
        { "when the first engine dies, by hand or by itself", dies = true, failover = 0.5,
            all = true, values = { "other" } },
    } do
        it("a safe switch keeps the locks " .. shop[1] .. " #slow", function()
            shop.order = shop.order or { "redis-set", "other" }
            shop.values, shop.patience = shop.values or THERE_AND_BACK, shop.patience or 100
            if shop.plain then
                tasks.is_active = function() return false end
                tasks.end_of_run = function() return nil end
            end
            local result = assert(zklock.simulate(shop_of(shop), {
                seeds = SEEDS, limit = { seconds = 120 }, faults = shop.all and ALL or {
                    expire = shop.expire, cut = shop.cut, stop = shop.stop, kill = shop.kill,
                    delay = shop.delay,
                },
            }))
            assert.equal(0, result.wrong, tostring(result))
        end)
    end
end)
