--- [lua luajit] The engine "cerberus", with several engines in an order and a switch, against real
-- servers, as docs/design/cerberus.md promises.

local core = require "zklock.core"
local engine = require "zklock.engine"
local engines = require "spec.seckill.engines"
local failure = require "zklock.seckill.engine.failure"
local is_refused = require "spec.seckill.refused"
local members = require "zklock.seckill.engine.cerberus.members"
local place = require "zklock.seckill.engine.cerberus.place"
local redis_servers = require "zklock.seckill.throwaway.redis"
local rig = require "spec.rig"
local zklock = require "zklock"

local HOSTS = os.getenv "ZK_HOSTS"
local SOON = 0.05    -- seconds to wait for nothing
local PATIENT = 20   -- seconds to wait for an event
local SESSION = 30   -- of live clients, long enough for slow machines
local SHORT = 2      -- of clients that die
local ANSWER = 20    -- to wait for a server that runs
local LIFE = 0.4     -- of a lock in Redis without renewal

local FIRST_TWO = { "redis-set", "zookeeper" } -- most common order

local server = rig.shared()
local servers, redis
local count = 0
local close_all, code_of = engines.close_all, engines.code_of


-- --- services ----------------------------------------------------------------------------------

-- Options of all engines, by name. A lock of redis-set outlasts the test by default.
local function engine_options()
    return {
        ["redis-set"] = { redis = redis, lease = 60, answer = ANSWER },
        ["redisson"] = { redis = servers:redis(2):match ",(.*)$", lease = 60, answer = ANSWER },
        ["sql-table"] = { sqlite = servers.folder .. "/locks.db" },
        ["zookeeper"] = { zookeeper = HOSTS, session = SESSION, root = "/locks" },
    }
end


local Service = {}
Service.__index = Service


-- A service is an order, a switch, and a lock for several clients.
local function service(order, options)
    count = count + 1
    local self = setmetatable({
        root = ("/cerberus-%d-%d"):format(rig.pid, count), name = "stock-" .. count,
    }, Service)
    self.options = {
        order = order, engines = {}, zookeeper = HOSTS, root = self.root, session = SESSION,
        safe = true,
    }
    for _, name in ipairs(order) do self.options.engines[name] = engine_options()[name] end
    for option, value in pairs(options or {}) do self.options[option] = value end
    return self
end


function Service:open()
    local client = engines.open_with("cerberus", self.options)
    return client, client:mutex(self.name)
end


-- A client in a process of its own, which runs the source with `client` and `lock`.
function Service:child(source)
    return rig.child(HOSTS, ([[
        local client = assert(require("zklock.engine").open("cerberus", %s))
        local lock = client:mutex(%q)
    ]]):format(rig.literal(self.options), self.name) .. source)
end


-- Starts a client that gets the lock and is to be killed. Its session is short, and may expire
-- before the kill.
function Service:holding_child()
    self.options.session = SHORT
    local child = self:child [[
        local lease
        repeat lease = lock:acquire(10) until lease
        say 'held'
        zklock.sleep(60)
    ]]
    self.options.session = SESSION
    assert.equal("held", child:line())
    return child
end


-- The data of a node, read without an engine.
function Service:read(node)
    return assert(rig.session(HOSTS):get(self.root .. "/" .. node))
end


function Service:epoch() return self:read("epoch"):match "^%d+ %-?%d+ (.*)$" end


function Service:set(text)
    server:foreign("set %s/cerberus_engine '%s'", self.root, text)
end


-- The code of a refused acquire. A slow ZooKeeper does not count, because cerberus does not wait
-- longer for its answers.
local function refusal(lock, timeout)
    return rig.wait_for("a reason", function()
        local code = code_of(lock:acquire(timeout))
        return code ~= "connection" and code
    end)
end


local function kill(child)
    rig.shell("kill -KILL %d", child.pid)
    child:finish()
end


-- Runs the functions at once, each as a client that watches the switch.
local function together(...) return zklock.run(...) end


-- Opens the engine itself, without cerberus.
local function open_directly(name) return engines.open_with(name, engine_options()[name]) end


setup(function() servers, redis = engines.start() end)
teardown(engines.stop)

after_each(function()
    close_all()
    rig.close_sessions()
end)


-- --- options -----------------------------------------------------------------------------------

describe("the options of cerberus", function()
    local function refused(pattern, options)
        is_refused(pattern, engine.open, "cerberus", options)
    end

    local function with(more)
        local options = service(FIRST_TWO).options
        for option, value in pairs(more) do options[option] = value end
        return options
    end

    it("impossible options are refused, and the allowed values are named", function()
        refused("needs order = a list of engines", { zookeeper = HOSTS })
        refused("needs zookeeper = \"HOST:PORT\", for its switch", { order = { "redis-set" } })
        refused("order must be a list of names of engines, not \"redis%-set\"",
            with{ order = "redis-set" })
        refused("order must have names without spaces, not \"a b\"", with{ order = { "a b" } })
        refused("order has redis%-set twice", with{ order = { "redis-set", "redis-set" } })
        refused("engines must be a table", with{ engines = "redis-set" })
        refused("engines has \"redison\", which is not in the order", with{
            engines = {
                ["redis-set"] = { redis = redis }, redison = {},
                zookeeper = engine_options().zookeeper,
            },
        })
        refused("no engine \"redis\": there are cerberus, redis%-expire", with{
            order = { "redis" },
        })
        refused("unknown option \"leese\" in the options of redis%-set", with{
            engines = { ["redis-set"] = { leese = 1 } },
        })
        refused("needs redis = \"HOST:PORT\"", with{ engines = {} })
        refused("failover needs safe = true", with{ failover = 1, safe = false })
        refused("safe must be a boolean", with{ safe = "yes" })
        refused("unknown option \"root_path\" in the options of cerberus; known: engines, "
            .. "failover, order, root, safe, session, zookeeper", with{ root_path = "/a" })
    end)

    it("an order with an engine that cannot be switched to is refused", function()
        refused("cerberus cannot be in the order of cerberus", with{
            order = { "second" }, engines = { second = { engine = "cerberus" } },
        })
        refused("sql%-optimistic cannot be in the order", with{
            order = { "sql-optimistic" }, engines = { ["sql-optimistic"] = { sqlite = "a" } },
        })
    end)

    it("the options of a switch are checked, too", function()
        local client = service(FIRST_TWO):open()
        assert.error_matches(function() client:switch() end,
            "switch takes the name of an engine, or \"\" for the next in the order, not nil")
        assert.error_matches(function() client:switch("zookeeper", -1) end,
            "timeout must be a number of seconds")
        assert.error_matches(function() client:switch("zookeeper", { wait = 1 }) end,
            'unknown option "wait" in the options of switch; known: timeout')
        assert.is_true(client:switch("zookeeper", { timeout = 10 }))
        assert.equal("unsupported", code_of(open_directly("redis-set"):switch "zookeeper"))
    end)

    it('an acquire at a silent engine of the order fails with "connection"', function()
        local client = service({ "nowhere", "zookeeper" }, { engines = {
            nowhere = { engine = "redis-set", redis = "127.0.0.1:1" },
            zookeeper = engine_options().zookeeper,
        } }):open()
        assert.equal("connection", code_of(client:mutex("a"):acquire(PATIENT)))
    end)
end)


describe("the properties of cerberus", function()
    local function properties_of(...)
        return (service{ ... }:open()).has
    end

    it("cerberus has the properties that its engines share, and a switch", function()
        assert.same({ switch = true, owned = true }, properties_of("redis-set", "zookeeper"))
        assert.same({ switch = true, owned = true, fair = true, reentrant = true, rwlock = true,
            wakes = true }, properties_of("redisson", "zookeeper"))
        local one = engine_options().zookeeper
        local two = { engine = "zookeeper", zookeeper = HOSTS, root = "/locks-two" }
        local client = service({ "zookeeper", "two" }, { engines = { zookeeper = one, two = two } })
            :open()
        assert.is_nil(client.has.condition)
        assert.equal("unsupported", code_of(client:mutex("a"):condition()))
        assert.same({ switch = true }, engine.has "cerberus")
    end)

    it('an option that an engine of the order lacks is "unsupported"', function()
        local client = service(FIRST_TWO):open()
        assert.equal("unsupported", code_of(client:mutex("a", { fair = true })))
        assert.equal("unsupported", code_of(client:mutex("a", { lease = 1 })))
        assert.equal("unsupported", code_of(client:rwlock "a"))
        assert.equal("unsupported", code_of(client:mutex("a"):acquire(PATIENT):token_string()))
    end)
end)


-- --- the seed's way ----------------------------------------------------------------------------

describe("the nodes of cerberus", function()
    it("the list of members has a decimal point under a locale with commas", function()
        local format = string.format
        finally(function() string.format = format end) -- luacheck: ignore 122
        function string.format(form, ...) -- luacheck: ignore 122
            local text = format(form, ...)
            return form == "%g" and text:gsub("%.", ",") or text
        end
        local one = { id = "3f2a", number = 7, life = 0.5 }
        assert.same({ one }, members.parse(members.with("", one)))
    end)

    it("a node that others write without the desk is not overwritten", function()
        local root = service(FIRST_TWO).root
        local own = place.open({ zookeeper = HOSTS, root = root, session = SESSION }, "sql-table")
        local pen = rig.hold(rig.session(HOSTS):mutex(root .. "-pen"))
        finally(function()
            own:close()
            rig.close_sessions()
        end)
        local _, message, code = failure.catch("sql-table", own.edit, own, "members", function()
            assert(pen:guard{ { "set", root .. "/members", "theirs" } })
            return "ours"
        end)
        assert.same({ "connection", "connection: sql-table: " .. root ..
                      "/members is changed by others" }, { code, message })
        assert.equal("theirs", (own:read "members"))
    end)
end)


describe("the switch of the seed (S4, CFG-17)", function()
    local function two_clients()
        local it_is = service({ "redis-set", "zookeeper", "sql-table" }, { safe = false })
        local first, mine = it_is:open()
        local second, yours = it_is:open()
        return it_is, mine, yours, first, second
    end

    local function wait_until_chosen(name, ...)
        for _, client in ipairs{ ... } do
            rig.wait_for("the switch to be heard of", function() return client.chosen == name end)
        end
    end

    it("all clients hear of the switch, and held locks are lost (PIT-21)", function()
        local _, mine, yours, first, second = two_clients()
        local lease = assert(mine:acquire(PATIENT))
        assert.equal("timeout", code_of(yours:acquire(SOON)))
        assert.is_true(first:switch "zookeeper")
        wait_until_chosen("zookeeper", first, second)
        assert.is_true(assert(yours:acquire(PATIENT)):release()) -- it had two holders
        assert.equal("held", lease:state())
        assert.is_true(lease:release())
    end)

    it("an empty or unknown value means the next engine of the order, the same for each client",
       function()
        local it_is, _, _, first, second = two_clients()
        for _, step in ipairs{
            { "", "zookeeper" }, { "no such engine", "sql-table" }, { "", "redis-set" },
            { "sql-table", "sql-table" },
        } do
            it_is:set(step[1])
            wait_until_chosen(step[2], first, second)
        end
    end)

    it("a client that is opened after a switch uses the same engine", function()
        local it_is, mine, _, first = two_clients()
        assert.is_true(first:switch "zookeeper")
        assert.is_true(first:switch "")
        assert.equal("sql-table", it_is:read "cerberus_engine")
        local later, yours = it_is:open()
        assert.same({ "sql-table", "sql-table" }, { first.chosen, later.chosen })
        local lease = assert(mine:acquire(PATIENT))
        assert.equal("busy", code_of(yours:acquire(0)))
        assert.is_true(lease:release())
    end)

    it("clients follow a switch that is removed and made again", function()
        local it_is, _, _, first, second = two_clients()
        server:foreign("delete %s/cerberus_engine", it_is.root)
        rig.wait_for("the failure", function()
            return code_of(first:switch "zookeeper") == "connection"
        end)
        assert.equal("redis-set", first.chosen)
        server:foreign("create %s/cerberus_engine sql-table", it_is.root)
        wait_until_chosen("sql-table", first, second)
    end)

    it("coroutines that use an engine first at the same time keep one", function()
        local it_is = service({ "zookeeper" }, { safe = false })
        local client = it_is:open()
        local open, opened = engine.open, {}
        finally(function() engine.open = open end)
        function engine.open(...)
            local new = assert(open(...))
            opened[#opened + 1] = new
            return new
        end
        local function use() assert(client:mutex(it_is.name):acquire(PATIENT)):release() end
        together(use, use, use)
        assert.equal(3, #opened)
        client:close()
        for _, each in ipairs(opened) do
            assert.equal("closed", code_of(each:mutex(it_is.name):acquire(0)))
        end
    end)

    it('a release without an answer gives "connection", and can be repeated', function()
        for _, safe in ipairs{ true, false } do
            local _, lock = service({ "redis-set" }, { safe = safe }):open()
            local lease = assert(lock:acquire(PATIENT))
            local connection = lease.parts[1].lock.engine.redis
            function connection.call() failure.raise("connection", "no answer") end
            assert.equal("connection", code_of(lease:release()))
            connection.call = nil
            assert.is_true(lease:release())
            assert.equal("released", lease:state())
        end
    end)

    it("a client that sets the switch moves by one engine, too", function()
        local _, _, _, first, second = two_clients()
        assert.is_true(first:switch "")
        wait_until_chosen("zookeeper", first, second)
        rig.wait_for("what else there is to hear", function()
            zklock.sleep(SOON)
            return true
        end)
        assert.equal("zookeeper", first.chosen)
    end)
end)


-- The reason of a switch's wait, without the id of a dead member; nil if there was no time to find
-- it.
local function reason_of(message)
    local reason = message and message:match "%((.*)%)$"
    return reason and reason:gsub("%x+, may", "ID, may")
end

-- Begins a switch that must wait; returns its reason.
local function begin_switch(client, name)
    return rig.wait_for("a switch that waits", function()
        local done, message, code = client:switch(name, 0.1)
        assert.is_nil(done)
        return code == "timeout" and reason_of(message)
    end)
end


local function set_switch(client, name)
    rig.wait_for("the switch to be set", function()
        local done, _, code = client:switch(name, 0)
        return done or code == "timeout"
    end)
end


-- --- with safe = true --------------------------------------------------------------------------

-- A test with two clients of a service with that order, fn(it_is, mine, yours, first, second).
local with_two = {}

function with_two.it(name, order, fn)
    it(name, function()
        local it_is = service(order)
        together(function()
            local first, mine = it_is:open()
            local second, yours = it_is:open()
            fn(it_is, mine, yours, first, second)
        end)
    end)
end


describe("a switch that keeps the locks", function()
    with_two.it("a switch waits for a holder of the old engine, which loses nothing", FIRST_TWO,
        function(it_is, mine, yours, first, second)
            local lease = assert(mine:acquire(PATIENT))
            local reason = begin_switch(second, "zookeeper")
            assert.equal("a process has locks of an epoch before", reason)
            assert.equal("redis-set zookeeper", it_is:epoch())
            assert.equal("timeout", refusal(yours, SOON))
            assert.is_true(lease:check())
            assert.is_true(lease:release())
            rig.wait_for("the switch", function() return it_is:epoch() == "zookeeper" end)
            assert.is_true(assert(mine:acquire(PATIENT)):release())
            assert.is_true(first:switch("zookeeper", PATIENT)) -- already there
        end)

    with_two.it("an acquire during a switch asks both engines, in their order", FIRST_TWO,
        function(_, mine, yours, _, second)
            local other = second:mutex "another"
            local lease = assert(mine:acquire(PATIENT))
            begin_switch(second, "zookeeper")
            local both = assert(other:acquire(PATIENT))
            for _, name in ipairs{ "redis-set", "zookeeper" } do
                local lock = open_directly(name):mutex "another"
                assert.equal("busy", code_of(lock:acquire(0)))
            end
            assert.is_true(both:release())
            local foreign = assert(open_directly("zookeeper"):mutex("another"):acquire(PATIENT))
            assert.equal("timeout", refusal(other, SOON))
            -- no client has kept it
            assert.is_true(open_directly("redis-set"):mutex("another"):acquire(0):release())
            foreign:release()
            lease:release()
            assert.is_true(assert(yours:acquire(PATIENT)):release())
        end)

    with_two.it("clients follow a switch that another client sets by hand",
        { "redis-set", "zookeeper", "sql-table" }, function(it_is, mine, yours)
            for _, step in ipairs{
                { "zookeeper", "zookeeper" }, { "", "sql-table" }, { "what?", "redis-set" },
            } do
                assert.is_true(assert(mine:acquire(PATIENT)):release())
                it_is:set(step[1])
                rig.wait_for(step[2], function() return it_is:epoch() == step[2] end)
                assert.is_true(assert(yours:acquire(PATIENT)):release())
            end
        end)
end)


-- --- deaths ------------------------------------------------------------------------------------

describe("a client that died with a lock", function()
    it("a dead holder delays the switch until its lock has ended #slow", function()
        local it_is = service(FIRST_TWO)
        it_is.options.engines["redis-set"].lease = LIFE
        local child = it_is:holding_child()
        local client, lock = it_is:open()
        together(function()
            local begin = core.now()
            set_switch(client, "zookeeper")
            kill(child)
            assert.is_true(client:switch("zookeeper", PATIENT))
            assert.is_true(core.now() - begin >= LIFE)
            assert.is_true(assert(lock:acquire(PATIENT)):release())
        end)
    end)

    it("a dead holder of sql-table blocks the switch until its lock is removed #slow", function()
        local it_is = service{ "sql-table", "zookeeper" }
        kill(it_is:holding_child())
        local client, lock = it_is:open()
        together(function()
            rig.wait_for("it to be known as dead", function()
                return begin_switch(client, "zookeeper")
                    == "the locks of a process that died, ID, may live on"
            end)
            assert.matches(" never\n", it_is:read "members")
            assert.is_nil((client:switch("zookeeper", 2 * LIFE)))
            assert.equal("timeout", refusal(lock, SOON))
            server:foreign("set %s/members ''", it_is.root)
            assert.is_true(client:switch("zookeeper", PATIENT))
            assert.is_true(assert(lock:acquire(PATIENT)):release())
        end)
    end)

    it("a dead or closed client is forgotten, and only three small nodes stay #slow", function()
        local own = rig.server{
            environment = "JVMFLAGS=-Dznode.container.checkIntervalMs=100",
        }
        local it_is = service({ "redis-set", "redisson" }, { zookeeper = own.hosts })
        it_is.options.engines["redis-set"].lease = LIFE
        local function nodes() return tonumber(own:ask "mntr":match "zk_znode_count%s+(%d+)") end
        local before = nodes()
        kill(it_is:holding_child())
        together(function()
            local client, lock = it_is:open()
            assert.is_true(client:switch("redisson", PATIENT))
            assert.is_true(assert(lock:acquire(PATIENT)):release())
            client:close()
        end)
        rig.wait_for("the folders to go", function() return nodes() == before + 4 end)
        assert.same({}, own:nodes(it_is.root))
        local session = rig.session(own.hosts)
        assert.equal("", session:get(it_is.root .. "/members"))
        assert.equal("redisson", session:get(it_is.root .. "/cerberus_engine"))
        rig.close_sessions()
        own:stop()
    end)
end)


-- --- unreachable services ----------------------------------------------------------------------

describe("an engine that cannot be reached", function()
    local own, it_is
    before_each(function()
        own = redis_servers.start(servers.reaper)
        it_is = service(FIRST_TWO)
        it_is.options.engines["redis-set"] = { redis = own.address, lease = LIFE, answer = 1 }
    end)
    after_each(function() own.process:kill() end)

    it("a silent engine is left, with no grant in between, and the next engine then grants #slow",
       function()
        local child = it_is:holding_child()
        own.process:signal "KILL"
        kill(child)
        together(function()
            local client, lock = it_is:open()
            local before = core.now()
            set_switch(client, "zookeeper")
            rig.wait_for("the switch", function()
                local lease = lock:acquire(SOON)
                if it_is:epoch() == "redis-set zookeeper" then assert.is_nil(lease) end
                return lease and lease:release()
            end)
            assert.equal("zookeeper", it_is:epoch())
            assert.is_true(core.now() - before >= LIFE)
        end)
    end)

    it("an acquire during a switch to a silent engine fails, and gives back the first lock",
       function()
        it_is = service{ "sql-table", "redis-set" }
        it_is.options.engines["redis-set"] = { redis = own.address }
        own.process:signal "KILL"
        local client, lock = it_is:open()
        local other, its_lock = it_is:open()
        local lease = assert(other:mutex "another":acquire(PATIENT))
        set_switch(client, "redis-set")
        assert.equal("sql-table redis-set", it_is:epoch())
        assert.equal("connection", code_of(lock:acquire(PATIENT)))
        assert.is_true(client:switch("sql-table", PATIENT))
        assert.is_true(lease:release())
        assert.is_true(assert(its_lock:acquire(PATIENT)):release())
    end)

    for _, failover in ipairs{ 0.2, false } do
        it((failover and "failover leaves a silent engine"
            or "without failover a silent engine stays") .. " #slow", function()
            it_is.options.failover = failover or nil
            together(function()
                local _, mine = it_is:open()
                local _, yours = it_is:open()
                local lease = rig.wait_for("the lock", function() return mine:acquire(PATIENT) end)
                own.process:signal "STOP"
                local got, _, code = yours:acquire(PATIENT)
                own.process:signal "CONT"
                assert.equal(failover and "zookeeper" or "redis-set", it_is:epoch())
                if failover then
                    assert.is_false(lease:held())
                    assert.is_true(got:release())
                else
                    assert.equal("connection", code)
                end
                lease:release()
            end)
        end)
    end

    it("failover does not leave ZooKeeper, which has the switch #slow", function()
        local proxy = rig.proxy(HOSTS)
        local other = service({ "zookeeper", "redis-set" }, { failover = 0.1 })
        other.options.engines.zookeeper = { zookeeper = proxy.hosts, session = SESSION }
        together(function()
            local _, lock = other:open()
            assert.is_true(assert(lock:acquire(PATIENT)):release())
            proxy:command "blackhole"
            assert.is_nil((lock:acquire(1)))
            assert.equal("zookeeper", other:epoch())
            proxy:command "flow"
        end)
        close_all()
        proxy:stop()
    end)
end)


describe("ZooKeeper that cannot be reached", function()
    it("a silent ZooKeeper stops all grants, and a held lease is lost in time #slow", function()
        local proxy = rig.proxy(HOSTS)
        local it_is = service{ "redis-set", "redisson" }
        local _, yours = it_is:open()
        it_is.options.zookeeper, it_is.options.session = proxy.hosts, 2 * SHORT
        together(function()
            local _, mine = it_is:open()
            local lease = assert(mine:acquire(PATIENT))
            local other = assert(mine.engine:mutex "another":acquire(PATIENT))
            assert.is_true(other:release())
            proxy:command "blackhole"
            local got, _, code = mine.engine:mutex "another":acquire(0.2)
            assert.is_nil(got)
            assert.is_true(code == "connection" or code == "timeout", code)
            local free = open_directly("redis-set"):mutex "another"
            assert.is_true(assert(free:acquire(0)):release())
            rig.wait_for("the end", function() return lease:state() == "lost" end)
            assert.equal(0, lease:remaining())
            assert.equal("timeout", refusal(yours, SOON)) -- Redis keeps it for its lease
            proxy:command "flow"
            assert.equal("lost", code_of(lease:release()))
            assert.is_true(assert(yours:acquire(PATIENT)):release())
            rig.wait_for("a grant", function()
                local again = mine:acquire(PATIENT)
                return again and again:release()
            end)
        end)
        close_all()
        proxy:stop()
    end)
end)


describe("a lease of zookeeper whose connection is lost for a moment is suspect, and", function()
    local proxy, it_is
    before_each(function()
        proxy, it_is = rig.proxy(HOSTS), service{ "zookeeper", "redis-set" }
        it_is.options.engines.zookeeper.zookeeper = proxy.hosts
    end)
    after_each(function()
        close_all()
        proxy:stop()
    end)

    local function cut(lease)
        proxy:shut()
        rig.wait_for("the doubt", function() return lease:state() == "suspect" end)
        assert.is_false(lease:held())
        assert.equal(0, lease:remaining())
    end

    local function mend(lease)
        proxy:command "accept"
        rig.wait_for("the lock again", function() return lease:held() end)
        assert.is_true(lease:check())
    end

    it("a switch waits for a suspect lease", function()
        together(function()
            local first, mine = it_is:open()
            it_is.options.engines.zookeeper.zookeeper = HOSTS
            local second, yours = it_is:open()
            local lease = assert(mine:acquire(PATIENT))
            begin_switch(second, "redis-set")
            cut(lease)
            first.member:tend()
            begin_switch(second, "redis-set")
            assert.equal("zookeeper redis-set", it_is:epoch())
            assert.equal("timeout", refusal(yours, SOON))
            mend(lease)
            assert.is_true(lease:release())
            rig.wait_for("the switch", function() return it_is:epoch() == "redis-set" end)
        end)
    end)

    it("the release of another lock leaves a suspect lease alone", function()
        local client, mine = it_is:open()
        local lease = assert(mine:acquire(PATIENT))
        local other = assert(client:mutex("another"):acquire(PATIENT))
        cut(lease)
        other:release()
        assert.equal("suspect", lease:state())
        mend(lease)
        assert.is_true(lease:release())
    end)

    it("a missing answer does not end a suspect lease #slow", function()
        it_is.options.engines.zookeeper.zookeeper = HOSTS
        it_is.options.zookeeper = proxy.hosts
        local _, mine = it_is:open()
        local lease = assert(mine:acquire(PATIENT))
        cut(lease)
        assert.equal("connection", code_of(lease:check()))
        assert.equal("suspect", lease:state())
        mend(lease)
        assert.is_true(lease:release())
    end)
end)


-- --- errors ------------------------------------------------------------------------------------

describe("an error that ends a run", function()
    if coroutine.close then -- luacheck: globals coroutine.close
        it("an ended run gives back one engine's lock after a wait for the other engine's",
           function()
            local it_is = service(FIRST_TWO)
            local keeper = it_is:open()
            local kept = assert(keeper:mutex("another"):acquire(PATIENT))
            set_switch(keeper, "zookeeper")
            local foreign = assert(open_directly("zookeeper"):mutex(it_is.name):acquire(PATIENT))
            local first = open_directly("redis-set"):mutex(it_is.name)
            local _, lock = it_is:open()
            local _, problem = pcall(together, function() lock:acquire(PATIENT) end, function()
                rig.wait_for("the first lock", function()
                    local lease = first:acquire(0)
                    return not lease or not lease:release()
                end)
                error("no", 0)
            end)
            assert.equal("no", problem)
            assert.is_true(assert(first:acquire(0)):release()) -- its lease outlasts this test
            foreign:release()
            kept:release()
        end)
    end
end)


-- --- further features of a lock ----------------------------------------------------------------

describe("a lock of cerberus", function()
    it("an interrupt of the owner ends the wait for a lock", function()
        local it_is = service(FIRST_TWO)
        together(function()
            for _, safe in ipairs{ true, false } do
                it_is.options.safe = safe
                local first, mine = it_is:open()
                local second, yours = it_is:open()
                assert.is_true(first:switch(safe and "zookeeper" or "redis-set", PATIENT))
                local lease = assert(mine:acquire(PATIENT))
                together(function()
                    assert.equal("interrupted", code_of(yours:acquire{ owner = "me" }))
                end, function()
                    rig.wait_for("the wait", function() return second:interrupt "me" == 1 end)
                end)
                assert.is_true(lease:release())
            end
        end)
    end)

    it("with releases the lock when its function returns or raises", function()
        local it_is = service(FIRST_TWO)
        local _, mine = it_is:open()
        engines.check_with(mine, select(2, it_is:open()))
    end)

    it("a timeout of 0 tries once, even for a client that was no member", function()
        local it_is = service(FIRST_TWO)
        local _, mine = it_is:open()
        local lease = rig.wait_for("the lock", function() return mine:acquire(0) end)
        local _, yours = it_is:open()
        rig.wait_for("busy", function() return refusal(yours, 0) == "busy" end)
        assert.is_true(lease:release())
    end)

    with_two.it("the owner gets the lock again if all engines can, even during a switch",
        { "redisson", "zookeeper" }, function(_, mine, yours, first)
            local outer = assert(mine:acquire(PATIENT))
            begin_switch(first, "zookeeper")
            local inner = assert(mine:acquire(PATIENT))
            assert.is_true(outer:release())
            assert.is_true(first:switch("zookeeper", PATIENT))
            assert.equal("timeout", refusal(yours, SOON))
            assert.is_true(inner:release())
            assert.is_true(assert(yours:acquire(PATIENT)):release())
        end)

    with_two.it("a lock can be fair and have two sides if all engines can, even during a switch",
        { "redisson", "zookeeper" }, function(_, _, _, first, second)
            local a, b = first:rwlock "book", second:rwlock "book"
            local reader = assert(a:read():acquire(PATIENT))
            begin_switch(first, "zookeeper")
            local beside = assert(b:read():acquire(PATIENT))
            local try = { timeout = 0, owner = "writer" }
            rig.wait_for("busy", function() return refusal(b:write(), try) == "busy" end)
            assert.is_true(reader:release())
            assert.is_true(first:switch("zookeeper", PATIENT))
            assert.equal("timeout", refusal(a:write(), SOON))
            assert.is_true(beside:release())
            assert.is_true(assert(a:write():acquire(PATIENT)):release())
            assert.is_true(first:mutex("book 2", { fair = true }):acquire(PATIENT):release())
        end)

    it("a lock has a token if all engines have one, and a later epoch has a greater token",
       function()
        local it_is = service({ "one", "two" }, { engines = {
            one = { engine = "zookeeper", zookeeper = HOSTS, root = "/locks-one" },
            two = { engine = "zookeeper", zookeeper = HOSTS, root = "/locks-two" },
        } })
        together(function()
            local client, lock = it_is:open()
            assert.is_true(client.has.token)
            local last = { epoch = 0, token = 0 }
            for _, name in ipairs{ "one", "one", "two", "two", "one" } do
                assert.is_true(client:switch(name, PATIENT))
                local lease = assert(lock:acquire(PATIENT))
                local epoch, by = lease:epoch()
                local token = tonumber(lease:token_string())
                assert.equal(name, by)
                assert.is_true(epoch > last.epoch or epoch == last.epoch and token > last.token)
                last = { epoch = epoch, token = token }
                assert.is_true(lease:release())
            end
            assert.equal(5, last.epoch)
        end)
        local other = open_directly("redis-set"):mutex(it_is.name)
        assert.equal("unsupported", code_of(assert(other:acquire(0)):epoch()))
    end)

    it("a lock that ends in the first engine during the wait for the second engine is not granted",
       function()
        local LEASE = 1 -- seconds, enough for both locks on a slow machine
        local it_is = service(FIRST_TWO)
        together(function()
            local keeper = it_is:open():mutex "another"
            local kept = assert(keeper:acquire(PATIENT)) -- keeps the switch on its way
            it_is.options.engines["redis-set"].lease = LEASE
            local first, lock = it_is:open()
            set_switch(first, "zookeeper")
            rig.wait_for("the way", function() return it_is:epoch() == "redis-set zookeeper" end)
            local foreign = assert(open_directly("zookeeper"):mutex(it_is.name):acquire(PATIENT))
            local got, freed
            together(function() got = assert(lock:acquire(PATIENT)) end, function()
                zklock.sleep(2 * LEASE)
                freed = core.now()
                foreign:release()
            end)
            assert.is_true(got.parts[1].expires > freed) -- it was taken anew
            got:release()
            kept:release()
        end)
    end)

    with_two.it("a client that is closed delays nobody", FIRST_TWO,
        function(it_is, mine, _, first, second)
            assert.is_true(assert(mine:acquire(PATIENT)):release())
            first:close()
            assert.is_true(second:switch("zookeeper", PATIENT)) -- PATIENT is less than SESSION
            assert.equal("", it_is:read "members")
        end)
end)


describe("a storm of switches, stops, kills and servers that end", function()
    it("a storm leaves each lock with one holder, and all goes on after it #slow", function()
        local output = rig.shell("%s spec/seckill/cerberus/storm.lua 4 17 2>&1",
            os.getenv "ZKLOCK_LUA" or "lua5.4")
        assert.matches("\nright\n$", output)
        assert.is_true(tonumber(output:match "(%d+) wrote") > 0, output)
        assert.is_true(tonumber(output:match "(%d+) epochs") >= 5, output) -- even after the storm
    end)
end)
