--- [lua luajit] The switch of `cerberus`, safe = true, in a small world with a model of three
--- engines and of ZooKeeper: through orders of switch, hold, stop, expiry, lost connection, lost
--- reply and death of an engine. What runs there are the engine's own files (PIT-21, Q-08).
--- Whatever happens, a lock is never had by two; and when nothing more goes wrong, the switch is
--- through and all have had the lock.

local explore = require "spec.seckill.cerberus.explore"
local worlds = require "spec.seckill.cerberus.world"

local WAYS = tonumber(os.getenv "ZKLOCK_WAYS") or 400
local SEED = tonumber(os.getenv "ZKLOCK_SEED") or 1

local engines, zklock

setup(function()
    worlds.enter()
    engines, zklock = require "zklock.seckill.engine", require "zklock"
end)
teardown(worlds.leave)


local function opener(order, failover)
    return function(process)
        process.engine = assert(engines.open("cerberus", {
            order = order, zookeeper = "in the world", safe = true, failover = failover,
        }))
        process.engine.looked = math.huge -- the keeper is a task of the world's
        process.engine.is_over = function() return false end
        process.engine.member:join()
    end
end


-- Has the lock so often, each time for so many moments.
local function buyer(wanted, moments)
    return function(process)
        local lock = process.engine:mutex "stock"
        while process.bought < wanted do
            local lease = lock:acquire{ owner = "buyer" }
            if lease then
                table.insert(process.leases, lease)
                for _ = 1, moments do coroutine.yield{ name = "work" } end
                lease:release()
                process.bought = process.bought + 1
            else
                zklock.sleep(1)
            end
        end
        process.served = true
    end
end


-- As the engine's coroutine in zklock.run.
local function keeper(process)
    while true do
        process.engine.member:tend()
        zklock.sleep(1)
    end
end


-- Sets the switch to each of these: with patience it waits until that is through.
local function operator(patience, values)
    return function(process)
        for i, value in ipairs(values) do
            if i < #values then process.engine:switch(value, patience) end
        end
        repeat until process.engine:switch(values[#values], 1000)
        process.served = true
    end
end


-- Two who buy and one who switches; plain: in no zklock.run, so that nobody looks after the switch
-- between two locks.
local function shop(budget, wanted, ...)
    local values = { ... }
    return function()
        local order = budget.order or { "redis-set", "sql-table" }
        local world, open = worlds.new(budget), opener(order, budget.failover)
        for _ = 1, 3 do world:process(open) end
        world.in_run = not budget.plain
        for n = 1, 2 do
            local process = world.processes[n]
            process.bought = 0
            world:begin(process, {
                { name = "buyer " .. n, fn = buyer(wanted, budget.work or 1) },
                world.in_run and { name = "keeper " .. n, fn = keeper } or nil,
            })
        end
        world:task(world.processes[3], "operator", operator(budget.patience or 1000, values))
        return world
    end
end


local function all_served(engine_in_use)
    return function(world)
        world:settle()
        for _, process in ipairs(world.processes) do
            if not process.halted and not process.served then
                return ("process %d is not served"):format(process.number)
            end
        end
        if not world.processes[3].halted
            and not world.nodes["/cerberus/epoch"].text:find(" " .. engine_in_use .. "$") then
            return "the switch is not through: " .. world.nodes["/cerberus/epoch"].text
        end
        return world:problem()
    end
end


describe("a safe switch keeps the locks", function()
    it("in every order in which a task goes on until it must wait #slow", function()
        local moments, ends = explore.all(shop({ plain = true, large_steps = true }, 1,
            "sql-table"), 0, all_served "sql%-table")
        assert.is_true(moments > 300 and ends > 3, moments .. " " .. ends)
    end)

    for name, budget in pairs{
        ["whatever the order"] = {},
        ["while sessions expire"] = { expiries = 2 },
        ["while replies are lost"] = { losses = 2 },
        ["while processes are stopped and time goes on"] = { halts = 1, expiries = 1, ticks = 4 },
        ["while all of that happens"] = { expiries = 2, losses = 2, halts = 1, ticks = 4 },
        ["outside of zklock.run, while all of that happens"] = {
            plain = true, expiries = 2, losses = 2, halts = 1, ticks = 4,
        },
        ["while errors end the runs of processes"] = { drops = 2, ticks = 4 },
        ["outside of zklock.run, while errors end all that a process does"] = {
            plain = true, drops = 2, ticks = 4, losses = 1, expiries = 1,
        },
        ["while holders renew their leases"] = {
            renews = true, expiries = 2, losses = 1, halts = 1, ticks = 6,
        },
    } do
        it("there and back, " .. name .. " #slow", function()
            explore.some(shop(budget, 2, "sql-table", "redis-set"), WAYS, SEED,
                all_served "redis%-set")
        end)
    end

    -- The engine `zookeeper` has leases that come to be suspect, and are held again.
    for name, budget in pairs{
        ["the engine's"] = { sessions = { "locks" } },
        ["the switch's"] = { sessions = { "switch" } },
        ["either"] = { losses = 1 },
        ["either, outside of zklock.run"] = { plain = true },
        ["either, while sessions expire, replies are lost and processes are stopped"] = {
            expiries = 1, losses = 1, halts = 1, ticks = 4,
        },
    } do
        budget.cuts, budget.work, budget.sessions = 12, 6, budget.sessions or { "switch", "locks" }
        for _, order in ipairs{ { "zookeeper", "redis-set" }, { "redis-set", "zookeeper" } } do
            it(("from %s and back, while connections are lost: %s #slow"):format(order[1], name),
                function()
                    budget.order = order
                    explore.some(shop(budget, 2, order[2], order[1]), WAYS, SEED,
                        all_served(order[1]:gsub("%-", "%%-")))
                end)
        end
    end

    it("when whoever switches cannot decide #slow", function()
        explore.some(shop({ patience = 0, expiries = 1, losses = 1, ticks = 2 }, 4,
            "sql-table", "redis-set", "sql-table", "redis-set", "sql-table"), WAYS, SEED,
            all_served "sql%-table")
    end)

    it("when the first engine dies, by hand or by itself, and all else happens #slow", function()
        explore.some(shop({
            deaths = 1, expiries = 1, losses = 1, halts = 1, ticks = 4, failover = 4,
        }, 2, "sql-table"), WAYS, SEED, all_served "sql%-table")
    end)
end)
