--- [lua luajit] Sales with the engines' locks as strategies, docs/engines.md.

local cerberus_strategy = require "zklock.seckill.strategy.cerberus"
local connections = require "zklock.seckill.engine.redis"
local database = require "zklock.seckill.database"
local engines = require "spec.seckill.engines"
local is_refused = require "spec.seckill.refused"
local place = require "zklock.seckill.place"
local plans = require "zklock.seckill.plan"
local rig = require "spec.rig"
local seckill = require "zklock.seckill"
local switch = require "zklock.seckill.scenario.s4_switch"
local throwaway = require "zklock.seckill.throwaway"
local zklock = require "zklock"

local HOSTS = os.getenv "ZK_HOSTS"
local ANSWER = 20 -- seconds to wait for a server that runs
local LONG = 60   -- seconds, so that leases, sessions and waits end only on purpose

local STRATEGIES = {
    "redis-expire", "redis-set", "redis-timestamp", "redisson", "redisson-fair", "redisson-rw",
    "redlock", "sql-pessimistic", "sql-table", "cerberus", "cerberus-safe",
}

local servers

setup(function() servers = throwaway.open() end)
teardown(function() servers:close() end)


local patient = {}
for _, name in ipairs(STRATEGIES) do
    patient[name] = engines.patience[name:match "^redisson" or name]
end
for _, name in ipairs{ "cerberus", "cerberus-safe" } do
    patient[name] = { engines = { ["redis-set"] = patient["redis-set"] } }
end


local function sale(options)
    options.zookeeper = options.zookeeper or HOSTS
    options.pause = options.pause or 0.002
    options.session, options.timeout = options.session or LONG, options.timeout or LONG
    options.parameters = options.parameters or { engine = patient[options.strategy] }
    return seckill.sale(options, servers)
end


describe("a sale with an engine's lock", function()
    for _, strategy in ipairs(STRATEGIES) do
        it("a sale between two servers is right: " .. strategy, function()
            local it_is = sale{ strategy = strategy, products = { bun = 7 } }
            assert.equal("right", it_is.verdict, it_is.finding)
            assert.same({ 7, 3, 0, 0 }, { it_is.sold, it_is.refused, it_is.failed, it_is.left })
            assert.same({}, it_is.overlaps)
            assert.is_nil(it_is.purchases[1].token)
        end)
    end

    it("an SQL engine's rows are beside the stock in MariaDB", function()
        for _, strategy in ipairs{ "sql-table", "sql-pessimistic", "sql-optimistic" } do
            assert.equal("right", sale{ strategy = strategy, store = "mysql",
                parameters = { engine = strategy == "sql-optimistic" and { base = 0 } or nil },
            }.verdict)
        end
    end)

    it("redisson-fair grants in order of arrival", function()
        local it_is = sale{ strategy = "redisson-fair", servers = 1, buyers = 8 }
        assert.equal(0, it_is.fairness.overtakes)
    end)

    it("buyers of a held lock are refused in time", function()
        local it_is = sale{ strategy = "redis-set", timeout = 0, servers = 1, buyers = 4,
            pause = 0.1 }
        assert.same({ busy = 3 }, it_is.failures)
    end)
end)


describe("a sale with sql-optimistic", function()
    it("a buyer with an old version tries again, and the sale is right (ALG-02)", function()
        local it_is = sale{ strategy = "sql-optimistic", products = { bun = 7 },
            parameters = { engine = { retries = 50, base = 0.002 } } }
        assert.equal("right", it_is.verdict, it_is.finding)
        assert.same({ 7, 3, 0 }, { it_is.sold, it_is.refused, it_is.failed })
        local retries = 0
        for _, each in ipairs(it_is.purchases) do retries = retries + (each.retries or 0) end
        assert.is_true(retries > 0)
    end)

    it("a sale with too few tries leaves stock, and is right all the same (BUG-09)", function()
        local it_is = sale{ strategy = "sql-optimistic", pause = 0.3, servers = 1,
            parameters = { engine = { retries = 0 } } }
        assert.equal("right", it_is.verdict, it_is.finding)
        assert.is_true(it_is.sold < 10)
        assert.same({ conflict = 10 - it_is.sold }, it_is.failures)
    end)
end)


describe("a stopped holder of an engine's lock", function()
    it("a stopped holder's late write makes the sale wrong without a token (Q-03) #slow", function()
        -- On a slow machine nobody may buy before the stopped holder goes on.
        local it_is = rig.wait_for("another one that bought meanwhile", function()
            local it_is = sale{ strategy = "redis-set", buyers = 6, servers = 2,
                parameters = { engine = { lease = 0.5, answer = ANSWER } },
                faults = { { at = 0, stop = "holder", length = 2 } } }
            local fault = it_is.faults[1]
            for _, purchase in ipairs(it_is.purchases) do
                if fault.target ~= "server " .. purchase.server
                    and (purchase.written or LONG) < fault.ended then return it_is end
            end
        end, LONG)
        assert.equal("wrong", it_is.verdict)
        assert.matches("wakes, and its hold is lost", it_is.notes[1].line)
    end)

    it("a stopped holder of sql-table keeps its lock, which has no end #slow", function()
        local it_is = sale{ strategy = "sql-table", buyers = 6, servers = 2,
            faults = { { at = 0, stop = "holder", length = 1 } } }
        assert.equal("right", it_is.verdict)
        assert.equal(0, it_is.failed)
        assert.matches("wakes, and its hold is held", it_is.notes[1].line)
    end)
end)


describe("the servers that a sale names", function()
    it("a named Redis is used, and nothing of the sale stays there", function()
        local address = servers:redis(1)
        local connection = connections.new(address, ANSWER)
        connection:call "flushall"
        connection:call("set", "mine", "1")
        connection:call("config", "resetstat")
        for _, strategy in ipairs{ "redis-expire", "redisson-fair" } do
            local it_is = sale{ strategy = strategy, redis = address, timeout = 0.1,
                faults = { { at = 0, kill = "holder" } } }
            assert.not_equal("wrong", it_is.verdict, it_is.finding)
            assert.is_true(it_is.failures.timeout > 0) -- a killed buyer left the lock
        end
        assert.is_truthy(connection:call("info", "commandstats").commandstats.cmdstat_setnx)
        assert.same({ "mine" }, connection:call("keys", "*"))
        connection:close()
    end)

    it("a named MariaDB is used, and nothing of the sale stays there", function()
        local url = servers:mysql()
        local it_is = sale{ strategy = "sql-pessimistic", mysql = url }
        assert.equal("right", it_is.verdict)
        local connection = database.open(url)
        assert.same({}, connection:rows "SHOW DATABASES LIKE 'zklock%'")
        connection:close()
    end)

    it("the reaper removes the sale's data from named servers, even with a user's store", function()
        local function is_guarded(about)
            local guarded = false
            about.folder = servers.reaper.folder
            place.guard(about, "spec.seckill.liar", {
                later = function() guarded = true end,
            })
            return guarded
        end
        assert.is_true(is_guarded{ redis = "127.0.0.1:1" })
        assert.is_true(is_guarded{ switch = "/switch" })
        assert.is_true(is_guarded{ database = "mysql://a@b/c" })
        assert.is_false(is_guarded{ database = "locks.db" })
    end)

    it("a server that does not answer is named in the error", function()
        assert.error_matches(function()
            sale{ strategy = "redis-set", redis = "127.0.0.1:1", servers = 1 }
        end, "server 1: connection: redis%-set: .*127.0.0.1:1.*refused")
    end)
end)


describe("a sale with a switch", function()
    -- The first engine, the second, the switch's new value, options of the engines.
    local switches = {
        { "redisson", "sql-table", "sql-table" },
        { "sql-pessimistic", "zookeeper", "" },
        { "first", "second", "no such engine", {
            first = { engine = "redis-set", lease = LONG }, second = { engine = "redis-timestamp" },
        } },
    }

    for _, each in ipairs(switches) do
        it(("the sale goes on after a switch: %s, %s"):format(each[1], each[2]), function()
            local value = each[3]
            local it_is = sale{
                strategy = "cerberus-safe", buyers = 20, pause = 0.01,
                parameters = { engine = { order = { each[1], each[2] }, engines = each[4] } },
                faults = { { at = 0, switch = value, held = true } },
            }
            assert.equal("right", it_is.verdict, it_is.finding)
            assert.same({ 20, 0 }, { it_is.sold, it_is.failed })
            assert.same({}, it_is.overlaps)
            local fault = it_is.faults[1]
            assert.same({ "switch to " .. (value == "" and "the next" or value),
                "cerberus_engine" }, { fault.kind, fault.target })
            assert.is_true(fault.ended > fault.at)
        end)
    end

    it("a sale with a switch needs no servers that its engines were given", function()
        local function needs(options)
            return cerberus_strategy.needs({ ["sql-table"] = { database = true } },
                { engine = { order = { "sql-table" }, engines = { ["sql-table"] = options } } })
        end
        assert.same({ switch = true, database = true }, needs{})
        assert.same({ switch = true }, needs{ sqlite = "locks.db" })
    end)

    it("the scenario is wrong if its sale is wrong, a lock has two holders, or nothing was " ..
       "switched (DEMO-21)", function()
            local function judge(about, beside)
                local it_is = {
                    verdict = "right", left = 80, overlaps = {}, notes = {}, purchases = {},
                    faults = {},
                }
                for i, name in ipairs{ "redis-set", "zookeeper" } do
                    it_is.notes[i] = { at = i, server = 1, line = "by " .. name }
                end
                for name, value in pairs(about) do it_is[name] = value end
                return switch.of_engines[2].judge(it_is, beside).right
            end
            assert.is_true(judge({}, false))
            assert.is_false(judge({ verdict = "wrong" }, false))
            assert.is_false(judge({ overlaps = { {} } }, false))
            local one = { { at = 1, server = 1, line = "by redis-set" } }
            assert.is_false(judge({ notes = one }, false))
            assert.is_false(judge({}, true))
        end)

    it("the servers named for the switch are used, and nothing stays there", function()
        local address = servers:redis(1)
        local session = assert(zklock.connect(HOSTS))
        for _, strategy in ipairs{ "cerberus", "cerberus-safe" } do
            local root
            local it_is = sale{
                strategy = strategy, redis = address, purchase = "spec.seckill.root_teller",
                faults = { { at = 0, switch = "zookeeper", held = true } },
            }
            for _, note in ipairs(it_is.notes) do root = root or note.line:match "^root (.*)$" end
            assert.equal(10, it_is.sold)
            for _, node in ipairs{ "cerberus_engine", "epoch", "members" } do
                assert.equal("no_node", select(3, session:get(root .. "/switch/" .. node)))
            end
        end
        session:close()
        local connection = connections.new(address, ANSWER)
        assert.same({}, connection:call("keys", "*zklock*"))
        connection:close()
    end)
end)


describe("the options of a sale with an engine's lock", function()
    local function refused(options, pattern) is_refused(pattern, seckill.sale, options) end

    it("an engine's options are checked before anything starts", function()
        refused({ strategy = "redis-set", parameters = { engine = { leese = 1 } } },
            "unknown option \"leese\" in parameters.engine of redis%-set; known: ")
        refused({ strategy = "redis-set", parameters = { engine = { lease = -1 } } },
            "lease must be a number of seconds")
        refused({ strategy = "redis-set", redis = "localhost" }, "redis must be \"HOST:PORT")
        refused({ strategy = "redis-set", redis = "a:1,b:1" }, "of one server")
        refused({ strategy = "sql-optimistic", store = "zookeeper" },
            "sql%-optimistic needs store = \"sqlite\" or \"mysql\"")
        refused({ strategy = "sql-optimistic", parameters = { engine = { retries = 0.5 } } },
            "retries must be a whole number")
    end)

    it("cerberus checks the options of its engines", function()
        local function cerberus(engine, more)
            local options = { strategy = "cerberus-safe", parameters = { engine = engine } }
            for option, value in pairs(more or {}) do options[option] = value end
            return options
        end
        refused(cerberus{ ordre = { "a" } }, "unknown option \"ordre\" in parameters.engine of "
            .. "cerberus; known: engines, failover, order, session")
        refused(cerberus{ order = "redis-set" }, "order must be a list of names of engines")
        refused(cerberus{ order = { "redis" } }, "no engine \"redis\": there are")
        refused(cerberus{ engines = { redisson = {} } }, "engines has \"redisson\"")
        refused(cerberus{ engines = { ["redis-set"] = { leese = 1 } } }, "unknown option \"leese\"")
        refused(cerberus({}, { redis = "a:1,b:1" }), "of 1 servers, one for each engine")
        refused(cerberus({}, { strategy = "cerberus", parameters = { engine = { failover = 1 } } }),
            "failover needs safe = true")
    end)

    it("locks of Redisson's fair queue and of rows go to stopped waiters, also by way of cerberus",
       function()
        local function has_queue(strategy, ...)
            local parameters = ... and { engine = { order = { ... } } }
            return plans.read{ strategy = strategy, parameters = parameters }.lock_queue
        end
        assert.is_true(has_queue "redisson-fair" and has_queue "sql-pessimistic"
            and has_queue("cerberus", "sql-pessimistic", "zookeeper"))
        assert.is_falsy(has_queue "redisson" or has_queue "cerberus"
            or has_queue("cerberus-safe", "sql-table", "redisson"))
    end)

    it("only cerberus has a switch", function()
        refused({ strategy = "redis-set", faults = { { at = 0, switch = "zookeeper" } } },
            "the sale's strategy has no switch; a fault is ")
        refused({ strategy = "cerberus", faults = { { at = 0, switch = 1 } } },
            "switch must be the name of an engine")
        refused({ strategy = "cerberus", faults = { { at = 0, switch = "a", kill = "holder" } } },
            "a fault has one of stop, kill, restart, pause, cut, switch, run; ")
    end)
end)
