--- [lua luajit] Engines are locks of SQL, Redis and ZooKeeper behind one interface, tested against
-- real servers, as docs/engines.md promises, with the faults of the seeds' engines.

local checked = require "zklock.seckill.engine.checked"
local connections = require "zklock.seckill.engine.redis"
local core = require "zklock.core"
local database = require "zklock.seckill.database"
local engine = require "zklock.engine"
local engines = require "spec.seckill.engines"
local failure = require "zklock.seckill.engine.failure"
local is_refused = require "spec.seckill.refused"
local redis_servers = require "zklock.seckill.throwaway.redis"
local rig = require "spec.rig"
local socket = require "socket"
local zklock = require "zklock"

local HOSTS = os.getenv "ZK_HOSTS"
local SOON = 0.05    -- seconds to wait for nothing
local PATIENT = 20   -- seconds to wait for an event; less than any lease

local code_of, new_name, open, two = engines.code_of, engines.new_name, engines.open, engines.two
local unpack = table.unpack or unpack
local servers, redis


-- The server's answer, without an engine.
local function ask(address, ...)
    local connection = connections.new(address, PATIENT)
    local answer = connection:call(...)
    connection:close()
    return answer
end


setup(function() servers, redis = engines.start() end)
teardown(engines.stop)
after_each(engines.close_all)


describe("the options of an engine", function()
    local function refused(pattern, ...) is_refused(pattern, engine.open, ...) end

    it("an unknown engine or option is refused with a list of names", function()
        refused("no engine \"redis\": there are cerberus, redis%-expire, .*zookeeper", "redis")
        refused("unknown option \"reddis\" in the options of redis%-set; known: answer, lease, "
            .. "poll, redis", "redis-set", { reddis = redis })
    end)

    it("impossible options are refused, and the allowed values are named", function()
        refused("needs redis = \"HOST:PORT\"", "redis-set", {})
        refused("redis must be \"HOST:PORT\" of one server, not \"a:1,b:2\"", "redis-set",
            { redis = "a:1,b:2" })
        refused("not \"localhost\"", "redlock", { redis = { "localhost:1", "localhost" } })
        refused("lease must be a number of seconds from 0.001", "redis-set",
            { redis = redis, lease = 0 })
        refused("lease must be a whole number of seconds", "redis-expire",
            { redis = redis, lease = 1.5 })
        refused("needs mysql = .* or sqlite = ", "sql-table", {})
        refused("needs mysql = .* or sqlite = ", "sql-table", { sqlite = "a", mysql = "b" })
        refused("mysql must be a URL", "sql-table", { mysql = "localhost" })
        refused("retries must be a whole number", "sql-optimistic", { sqlite = "a", retries = -1 })
        refused("index must be a boolean", "sql-pessimistic", { mysql = "a", index = "name" })
        refused("needs zookeeper = ", "zookeeper", {})
        refused("failover needs safe = true", "cerberus",
            { order = { "redis-set" }, zookeeper = "127.0.0.1:1", failover = 1 })
    end)

    it("the defaults are the seeds' (CFG-06, CFG-09 to CFG-13)", function()
        local seeds = {
            ["sql-optimistic"] = { retries = 3, base = 1 },
            redisson = { lease = 30 },
            ["redis-expire"] = { timeout = 2, lease = 1000, poll = 0.003 },
        }
        for name, options in pairs(seeds) do
            local its = open(name).options
            for option, value in pairs(options) do assert.equal(value, its[option], option) end
        end
        local redlock = assert(engine.open("redlock", { redis = redis }))
        assert.equal(0.05, redlock.options.fast_fail)
        redlock:close()
    end)

    it("sql-pessimistic needs MariaDB, because SQLite lacks SELECT … FOR UPDATE", function()
        refused("needs mysql = a URL of MariaDB: SQLite has no SELECT … FOR UPDATE",
            "sql-pessimistic", { sqlite = "locks.db" })
    end)

    it("a lock's options are checked, too", function()
        local it_is = open "redis-set"
        assert.error_matches(function() it_is:mutex("a", { fare = true }) end,
            "unknown option \"fare\" in the options of mutex; known: fair, lease")
        assert.error_matches(function() it_is:mutex "" end, "the name of a lock must be a string")
        assert.error_matches(function() it_is.mutex "a" end, "call it with a colon")
    end)

    it('open fails with "connection" at a silent server', function()
        for name, given in pairs{
            ["redis-set"] = { redis = "127.0.0.1:1" },
            ["redisson"] = { redis = "127.0.0.1:1" },
            ["sql-table"] = { mysql = "mysql://root:@127.0.0.1:1/none" },
        } do
            assert.equal("connection", code_of(engine.open(name, given)))
        end
    end)
end)


-- engine_matrix_spec.lua tries each property on each engine.
describe("a missing feature of an engine", function()
    it('a lease time for a read-write lock of zookeeper is "unsupported"', function()
        assert.equal("unsupported", code_of(open("zookeeper"):rwlock(new_name(), { lease = 1 })))
    end)

    it('a fair lock of sql-optimistic, which excludes nobody, is "unsupported"', function()
        local it_is = open "sql-optimistic"
        assert.equal("unsupported", code_of(it_is:mutex(new_name(), { fair = true })))
    end)
end)


-- --- all locks -------------------------------------------------------------------------------

local LOCKS = {
    "redis-expire", "redis-set", "redis-timestamp", "redisson", "redlock", "sql-pessimistic",
    "sql-table", "sql-table on MariaDB", "zookeeper",
}

-- A lock of that name, as source text.
local function source_of(name, lock, more)
    return ("assert(require('zklock.engine').open(%q, %s)):mutex(%q)"):format(
        name:match "^%S+", rig.literal(engines.options(name, more)), lock)
end


describe("a lock", function()
    for _, name in ipairs(LOCKS) do
        describe("the engine " .. name, function()
            it("a lock is granted to one client at a time", function()
                local mine, yours = two(name)
                local lease = assert(mine:acquire(PATIENT))
                assert.is_true(lease:held())
                assert.equal("held", lease:state())
                assert.equal("timeout", code_of(yours:acquire(SOON)))
                assert.equal("busy", code_of(yours:acquire(0)))
                assert.is_true(lease:release())
                assert.equal("released", lease:state())
                assert.is_false(lease:held())
                assert.equal("released", code_of(lease:release()))
                assert.is_true(assert(yours:acquire(PATIENT)):release())
            end)

            it("a lock shows that the server answers, whether held or free", function()
                local lease = assert(open(name):mutex(checked):acquire(PATIENT))
                local other = open(name)
                assert.is_true(other:check())
                assert.is_true(lease:release())
                assert.is_true(other:check())
            end)

            it("a wait for a lock lets other coroutines go on", function()
                local mine, yours = two(name)
                local lease, steps = assert(mine:acquire(PATIENT)), 0
                zklock.run(function()
                    local got = assert(yours:acquire(PATIENT))
                    assert.is_true(steps > 5)
                    got:release()
                end, function()
                    while steps < 10 do
                        zklock.sleep(0.01)
                        steps = steps + 1
                    end
                    lease:release()
                end)
            end)

            it("locks of different names do not exclude each other", function()
                local it_is = open(name)
                local a, b = it_is:mutex(new_name()), it_is:mutex(new_name())
                local lease = assert(a:acquire(PATIENT))
                assert.is_true(b:with(PATIENT, function() return true end))
                lease:release()
            end)

            it("with releases the lock when its function returns or raises", function()
                engines.check_with(two(name))
            end)
        end)
    end
end)


-- Carries out the statement as an administrator would.
local function administer(path, statement, name)
    local connection = database.open(path)
    connection:execute(name and statement:format(connection:text(name)) or statement)
    connection:close()
end


local function lose_row(lock)
    administer(servers.folder .. "/locks.db",
        "DELETE FROM contentMethodLock WHERE resource_name = %s", lock.name)
end


-- --- with a lease time ------------------------------------------------------------------------

describe("a lock with a lease time", function()
    for _, name in ipairs{ "redis-set", "redis-timestamp", "redisson", "redlock" } do
        it("a lease ends, and its late release leaves the next holder's lock: " .. name, function()
            local mine, yours = two(name, nil, { lease = 0.1 })
            local lease = assert(mine:acquire(PATIENT))
            assert.is_true(lease:remaining() <= 0.1)
            local got = assert(open(name):mutex(yours.name):acquire(PATIENT))
            rig.wait_for("its end", function() return not lease:held() end)
            assert.equal("lost", lease:state())
            assert.equal(0, lease:remaining())
            local _, _, code = lease:release()
            assert.equal(name ~= "redisson" and "lost" or nil, code)
            assert.is_true(got:check())
            assert.equal("timeout", code_of(mine:acquire(SOON)))
            assert.is_true(got:release())
        end)
    end

    for _, name in ipairs{ "redis-set", "redlock", "sql-table" } do
        it("with fails if the lock was lost before its function's end: " .. name, function()
            local mine = open(name, name ~= "sql-table" and { lease = 0.1 } or nil)
                :mutex(new_name())
            local results = { mine:with(PATIENT, function(lease, word)
                if name == "sql-table" then lose_row(mine)
                else
                    rig.wait_for("its end", function() return not lease:held() end)
                    zklock.sleep(0.1) -- the servers end it a little later
                end
                return word, "sold"
            end, "done") }
            assert.is_nil(results[1])
            assert.same({ "lost", "done", "sold" }, { results[3], results[4], results[5] })
        end)
    end

    it("with succeeds with a silent server, and releases only once", function()
        local mine, releases = open("redis-set"):mutex(new_name()), 0
        mine.way = setmetatable({
            release = function()
                releases = releases + 1
                failure.raise("connection", "nobody is there")
            end,
        }, { __index = mine.way })
        assert.same({ true, "done" }, { mine:with(PATIENT, function() return "done" end) })
        assert.equal(1, releases)
    end)
end)


-- --- SQL ---------------------------------------------------------------------------------------

local function end_child(child)
    child:signal "KILL"
    child:finish()
end


local function kill_holder(lock)
    local child = rig.child(HOSTS, ("local lease = assert((%s):acquire(10)) say 'held' "
        .. "zklock.sleep(60)"):format(lock))
    assert.equal("held", child:line())
    end_child(child)
end


-- Ends the connection, as wait_timeout or a restart of the server does.
local function kill_connection(connection)
    administer(engines.mysql(), "KILL " .. connection:value "SELECT connection_id()")
end


describe("an SQL engine", function()
    it("an SQL engine goes on after its connection ended", function()
        for _, name in ipairs{ "sql-table on MariaDB", "sql-optimistic on MariaDB" } do
            local it_is = open(name)
            local lock = it_is:mutex(new_name())
            local lease = assert(lock:acquire(0))
            kill_connection(it_is.sql)
            assert.equal("connection", code_of(lease:check()))
            assert.is_true(lease:check())
            assert.is_true(lease:release())
            assert.is_true(assert(lock:acquire(0)):release())
        end
    end)

    it("a call of a closed engine fails", function()
        for _, name in ipairs{ "sql-table", "sql-optimistic" } do
            local it_is = engine.open(name, engines.options(name))
            local lock = it_is:mutex(new_name())
            local lease = assert(lock:acquire(0))
            it_is:close()
            assert.equal("closed", code_of(lock:acquire(0)))
            assert.equal("closed", code_of(lease:release()))
            it_is:close()
        end
    end)

    for _, name in ipairs{
        "sql-table", "sql-table on MariaDB", "sql-pessimistic", "sql-optimistic",
        "sql-optimistic on MariaDB",
    } do
        it("names of locks differ in each byte, and a longer name is refused: " .. name,
           function()
            local it_is, one = open(name), new_name()
            for _, each in ipairs{ one, one:upper(), one .. " ", one .. "\240\159\142\129" } do
                assert(it_is:mutex(each):acquire(0), each)
            end
            local longest = one .. ("x"):rep(255 - #one)
            assert(it_is:mutex(longest):acquire(0))
            assert.error_matches(function() it_is:mutex(longest .. "x") end,
                "the name of a lock of sql%-%l+ has at most 255 bytes, not 256")
        end)
    end

    it("a connection does not depend on the settings of MariaDB", function()
        administer(engines.mysql(), "SET GLOBAL autocommit = 0, GLOBAL lc_messages = 'de_DE'")
        local connection = database.open(engines.mysql())
        administer(engines.mysql(), "SET GLOBAL autocommit = 1, GLOBAL lc_messages = 'en_US'")
        assert.same({ { "1", "en_US" } }, connection:rows "SELECT @@autocommit, @@lc_messages")
        connection:close()
    end)

    it("Ctrl-C at a statement of an SQL engine passes through", function()
        local lease = assert(open("sql-pessimistic"):mutex(new_name()):acquire(PATIENT))
        local connection = lease.value
        local real = connection.try
        function connection.try() error("interrupted!", 0) end
        assert.same({ false, "interrupted!" }, { pcall(lease.check, lease) })
        assert.same({ false, "interrupted!" }, { pcall(lease.release, lease) })
        connection.try = real
        assert.is_true(lease:release())
        local opens = database.open
        finally(function() database.open = opens end)
        function database.open() error("interrupted!", 0) end
        assert.same({ false, "interrupted!" },
            { pcall(engine.open, "sql-table", engines.options "sql-table") })
    end)
end)


describe("sql-table (ALG-01)", function()
    it("a dead holder's lock of sql-table stays for ever", function()
        local name = new_name()
        kill_holder(source_of("sql-table", name))
        assert.equal("timeout", code_of(open("sql-table"):mutex(name):acquire(0.3)))
    end)

    it("a holder knows that its row has gone, and leaves the next holder's row", function()
        local mine, yours = two "sql-table"
        local lease = assert(mine:acquire(PATIENT))
        assert.is_true(lease:check())
        lose_row(mine)
        local got = assert(yours:acquire(PATIENT))
        assert.equal("lost", code_of(lease:release()))
        assert.is_true(got:check())
    end)
end)


describe("sql-pessimistic", function()
    it("the server releases a dead holder's lock of sql-pessimistic", function()
        local name = new_name()
        kill_holder(source_of("sql-pessimistic", name))
        assert.is_true(open("sql-pessimistic"):mutex(name):acquire(PATIENT):release())
    end)

    it("a lock of sql-pessimistic is lost with its connection", function()
        local mine, yours = two "sql-pessimistic"
        local lease = assert(mine:acquire(PATIENT))
        kill_connection(lease.value)
        local got = assert(yours:acquire(PATIENT))
        assert.equal("lost", code_of(lease:check()))
        assert.equal("lost", code_of(lease:release()))
        assert.is_true(got:release())
        assert.is_true(mine:acquire(PATIENT):release())
    end)

    it("a lock of sql-pessimistic excludes also after its row was removed", function()
        local statements = {
            "DELETE FROM contentMethodLock_row WHERE resource_name = %s",
            "TRUNCATE contentMethodLock_row",
        }
        local mine, yours = two "sql-pessimistic"
        for _, statement in ipairs(statements) do
            for _, lock in ipairs{ mine, yours } do assert(lock:acquire(PATIENT)):release() end
            administer(engines.mysql(), statement, mine.name)
            local lease = assert(mine:acquire(PATIENT))
            assert.is_nil((yours:acquire(SOON)))
            assert.is_true(lease:release())
        end
    end)
end)


describe("sql-optimistic (ALG-02)", function()
    it("two checks at the same time both find that the server answers", function()
        local it_is = open "sql-optimistic"
        local other, release = open "sql-optimistic", it_is.way.release
        it_is.way = setmetatable({
            release = function(lease)
                assert.is_true(other:check())
                return release(lease)
            end,
        }, { __index = it_is.way })
        assert.is_true(it_is:check())
    end)

    for where, name in pairs{ sqlite = "sql-optimistic", mysql = "sql-optimistic on MariaDB" } do
        local function both() return two(name, { retries = 3, base = 0.001 }) end

        it("all clients enter, and writes of old versions are refused: " .. where, function()
            local mine, yours = both()
            local first, second = assert(mine:acquire(0)), assert(yours:acquire(0))
            assert.equal(first.version, second.version)
            assert.is_true(second:release())
            assert.equal("lost", code_of(first:check()))
            assert.equal("lost", code_of(first:release()))
            assert.equal(tonumber(second.version) + 1, tonumber(mine:acquire(0).version))
        end)

        it("with runs the function again, up to the number of retries: " .. where, function()
            local mine, yours = both()
            local runs = 0
            local function disturbed_until(last)
                return function(_, word)
                    runs = runs + 1
                    if runs <= last then assert.is_true(yours:acquire(0):release()) end
                    return word
                end
            end
            assert.same({ true, "done" }, { mine:with(disturbed_until(2), "done") })
            assert.equal(3, runs)
            local results = { mine:with(disturbed_until(100), "done") }
            assert.same({ "lost", "done" }, { code_of(unpack(results, 1, 3)), results[4] })
            assert.equal(3 + 4, runs)
        end)
    end
end)


-- --- one Redis ---------------------------------------------------------------------------------

describe("redis-expire (ALG-09)", function()
    it("redis-expire has the seed's lease of 1000 s (CFG-12), and a first wait of 2 s (CFG-11) " ..
       "#slow", function()
        local mine, yours = two "redis-expire"
        assert(mine:acquire())
        assert.is_true(ask(redis, "ttl", mine.name) > 900)
        local seconds, _, _, code = rig.timed(yours.acquire, yours)
        assert.equal("timeout", code)
        assert.is_true(seconds >= 2)
    end)
end)


describe("redis-timestamp", function()
    it("a client with a fast clock takes the lock of redis-timestamp from its holder", function()
        local name = new_name()
        local lease = assert(open("redis-timestamp"):mutex(name):acquire(PATIENT))
        local fast = open("redis-timestamp", { skew = 61 }):mutex(name) -- the lease lasts 60 s
        assert(fast:acquire(0))
        assert.equal("held", lease:state()) -- both believe that they hold it
        assert.equal("lost", code_of(lease:check()))
    end)

    it("two clients take over, and the loser overwrites the winner's end (ALG-03)", function()
        local mine, yours = two "redis-timestamp"
        assert(ask(redis, "set", mine.name, "1000 somebody"))
        local connection, lease = yours.engine.redis, nil
        local call = connection.call
        function connection:call(command, ...)
            if command == "getset" then lease = lease or mine:acquire(0) end
            return call(self, command, ...)
        end
        assert.equal("busy", code_of(yours:acquire(0)))
        assert.equal("held", lease:state())
        assert.equal("lost", code_of(lease:release()))
        assert.equal("timeout", code_of(mine:acquire(SOON))) -- nobody's, until it ends
    end)
end)


describe("an engine whose Redis ends and comes again", function()
    local server
    before_each(function() server = redis_servers.start(servers.reaper) end)
    after_each(function() server.process:kill() end)

    for _, name in ipairs{ "redis-expire", "redis-set", "redis-timestamp", "redisson" } do
        it("an engine reports the end of its Redis, and goes on later: " .. name, function()
            local it_is = open(name, { redis = server.address })
            local lock = it_is:mutex(new_name())
            local lease = assert(lock:acquire(PATIENT))
            server.process:kill()
            assert.equal("connection", code_of(lock:acquire(PATIENT)))
            assert.equal("connection", code_of(lease:release()))
            server = redis_servers.start(servers.reaper, { port = server.address:match "%d+$" })
            assert.is_true(assert(lock:acquire(PATIENT)):release()) -- it was not on the disk
        end)
    end

    it("an engine does not wait long for a silent Redis #slow", function()
        local it_is = open("redis-set", { redis = server.address, answer = 0.5, lease = 0.5 })
        local lock = it_is:mutex(new_name())
        server.process:signal "STOP"
        local seconds, _, _, code = rig.timed(lock.acquire, lock, 3 * PATIENT)
        server.process:signal "CONT"
        assert.equal("connection", code)
        assert.is_true(seconds < PATIENT)
        -- After the unanswered requests.
        rig.wait_for("the lock", function() return lock:acquire(PATIENT) end)
    end)

    it("an interrupt ends the wait for a silent Redis, and is raised as no failure #slow",
       function()
        local child = rig.child(HOSTS, ([[
local lock = require("zklock.engine").open("redis-set", { redis = %q, answer = 1 }):mutex "x"
local failures = 0
local function ask()
    local lease = lock:acquire()
    if lease then lease:release() else failures = failures + 1 end
end
say "ready"
local fine, problem
repeat fine, problem = pcall(ask) until not fine or failures == 30
say(tostring(problem))]]):format(server.address))
        assert.equal("ready", child:line())
        server.process:signal "STOP"
        rig.shell("sleep 0.2; kill -INT %d", child.pid)
        local line = child:line()
        server.process:signal "CONT"
        assert.matches("interrupted!$", line)
        child:finish()
    end)
end)


-- --- Redisson ----------------------------------------------------------------------------------

describe("redisson (ALG-04, SYS-09)", function()
    it("the owner of a redisson lock gets it again, and others after the last release (REQ-04)",
       function()
        local mine, yours = two "redisson"
        local first, second = assert(mine:acquire(0)), assert(mine:acquire(0))
        assert.equal("busy", code_of(mine:acquire{ timeout = 0, owner = "another" }))
        assert.is_true(first:release())
        assert.equal("busy", code_of(yours:acquire(0)))
        assert.is_true(second:check())
        assert.is_true(second:release())
        assert.is_true(yours:acquire(0):release())
    end)

    -- The lease's lock has at least that many seconds to live.
    local function lasts(seconds, name)
        assert.is_true(ask(redis, "pttl", name) > 1000 * seconds)
    end

    it("no lease of an owner shortens another", function()
        local it_is, other, name = open "redisson", open "redisson", new_name()
        local brief = { lease = 0.001 }
        local function check(outer, inner, theirs)
            local lease = assert(outer:acquire(0))
            local second, third = assert(inner:acquire(0)), assert(inner:acquire(0))
            lasts(PATIENT, name)
            second:renew()
            lasts(PATIENT, name)
            assert.is_true(third:release())
            lasts(PATIENT, name)
            assert.is_nil((theirs:acquire(SOON)))
            assert.is_true(second:release())
            assert.is_true(lease:release())
        end
        check(it_is:mutex(name), it_is:mutex(name, brief), other:mutex(name))
        check(it_is:mutex(name, { fair = true }),
            it_is:mutex(name, { fair = true, lease = brief.lease }), other:mutex(name))
        check(it_is:rwlock(name):write(), it_is:rwlock(name, brief):write(),
            other:rwlock(name):write())
        check(it_is:rwlock(name):read(), it_is:rwlock(name, brief):read(),
            other:rwlock(name):write())
    end)

    it("a late release leaves the next lease of the same owner", function()
        local mine, yours = two "redisson"
        local late = assert(mine:acquire(0))
        ask(redis, "del", mine.name)
        local lease = assert(mine:acquire(0))
        assert.equal("lost", code_of(late:check()))
        late = assert(mine:acquire(0))
        ask(redis, "del", mine.name)
        assert.is_true(lease:release())
        lease = assert(mine:acquire(0))
        assert.is_true(late:release())
        assert.is_true(lease:check())
        assert.equal("busy", code_of(yours:acquire(0)))
        assert.is_true(lease:release())
        assert.is_true(assert(yours:acquire(0)):release())
    end)

    it("a release without an answer is carried out only once", function()
        local mine, yours = two "redisson"
        local outer, inner = assert(mine:acquire(0)), assert(mine:acquire(0))
        local connection = mine.engine.redis
        local call = connection.call
        function connection:call(...)
            call(self, ...)
            failure.raise("connection", "the answer is lost")
        end
        assert.equal("connection", code_of(inner:release()))
        connection.call = call
        assert.equal("connection", code_of(inner:release()))
        assert.is_true(outer:check())
        assert.equal("busy", code_of(yours:acquire(0)))
        assert.is_true(outer:release())
        assert.is_true(assert(yours:acquire(0)):release())
    end)

    it("a mutex and a read-write lock of one name exclude each other", function()
        local it_is, other, name = open "redisson", open "redisson", new_name()
        local function locks(of)
            local both = of:rwlock(name)
            return { of:mutex(name), of:mutex(name, { fair = true }), both:read(), both:write() }
        end
        local mine, yours = locks(it_is), locks(other)
        for i, j in pairs{ 3, 4, 1, 2 } do
            for _, lock in ipairs{ yours[j], mine[j] } do -- even of the same owner
                local lease = assert(mine[i]:acquire(0))
                assert.equal("busy", code_of(lock:acquire(0)))
                assert.is_true(lease:release())
            end
        end
    end)

    it("redisson has the layout of the seed (ALG-04)", function()
        local lock, begin = open("redisson"):mutex(new_name()), core.now()
        assert(lock:acquire(0))
        assert(lock:acquire(0))
        local fields = ask(redis, "hgetall", lock.name)
        local field, count = next(fields)
        assert.matches("^%x+:%S", field)
        assert.same({ "2", nil }, { count, next(fields, field) })
        local left = ask(redis, "pttl", lock.name) / 1000
        assert.is_true(left > 29.9 - (core.now() - begin) and left <= 30, left) -- CFG-09: 30 s
    end)

    it("the watchdog renews a lock of redisson while its holder lives #slow", function()
        local mine, yours = two("redisson", { lease = 12 })
        zklock.run(function()
            local lease = assert(mine:acquire(0))
            local ends = lease.expires
            ask(redis, "pexpire", mine.name, "11000")
            rig.wait_for("more than that", function()
                return ask(redis, "pttl", mine.name) > 11000
            end)
            assert.is_true(lease.expires > ends)
            assert.equal("busy", code_of(yours:acquire(0)))
            assert.is_true(lease:release())
        end)
        assert.is_true(yours:acquire(0):release())
    end)

    it("a lock with its own lease time is not renewed", function()
        local mine, yours = two("redisson", { lease = 0.3 }, { lease = 0.3 })
        zklock.run(function()
            local lease = assert(mine:acquire(0))
            assert(yours:acquire(PATIENT))
            assert.equal("lost", lease:state())
        end)
    end)

    it("renew renews the lock of a program without a watchdog", function()
        local lock = open("redisson", { lease = 60 }):mutex(new_name())
        local lease = assert(lock:acquire(0))
        ask(redis, "pexpire", lock.name, "20000")
        assert.is_true(lease:renew())
        assert.is_true(ask(redis, "pttl", lock.name) > 20000)
        ask(redis, "del", lock.name)
        assert.equal("lost", code_of(lease:renew()))
        assert.equal("lost", lease:state())
    end)

    it("a holder whose renewal came too late learns it only by a check #slow", function()
        local lock = open("redisson", { lease = 12 }):mutex(new_name())
        zklock.run(function()
            local lease = assert(lock:acquire(0))
            ask(redis, "del", lock.name)
            assert.equal("held", lease:state())
            rig.wait_for("the watchdog to know", function() return lease:state() == "lost" end)
            assert.equal("lost", lease.over) -- from the server, not from the clock
        end)
    end)

    it("a release wakes a waiter of redisson, which asks a few times and does not poll", function()
        local mine, yours = two "redisson"
        local lease = assert(mine:acquire(0))
        local waiting
        zklock.run(function()
            waiting = yours:acquire(PATIENT)
        end, function()
            zklock.sleep(SOON)
            ask(redis, "config", "resetstat")
            zklock.sleep(0.3)
            local stats = ask(redis, "info", "commandstats")
            assert.is_nil(stats.commandstats.cmdstat_eval)
            lease:release()
        end)
        assert.is_true(waiting:release())
    end)

    it("releases wake the waiters of one process one by one", function()
        local it_is, lock = open "redisson", new_name()
        local lease, served = assert(it_is:mutex(lock):acquire(0)), 0
        local function wait()
            local got = assert(it_is:mutex(lock):acquire(PATIENT))
            served = served + 1
            got:release()
        end
        zklock.run(wait, wait, wait, wait, function()
            zklock.sleep(SOON)
            lease:release()
        end)
        assert.equal(4, served)
    end)

    -- Runs both at once, until an error ends the run.
    local function broken_run(fn, other)
        local _, problem = pcall(zklock.run, fn, function()
            other()
            error("no", 0)
        end)
        assert.equal("no", problem)
    end

    it("a release wakes a waiter even if one before it was dropped with its run", function()
        local mine, yours = two("redisson", { lease = 60 })
        local lease, served = assert(mine:acquire(0)), false
        local function wait()
            assert(yours:acquire()):release()
            served = true
        end
        local function listens() return next(yours.engine.requests).waiter ~= nil end
        broken_run(wait, function() rig.wait_for("the first waiter", listens) end)
        zklock.run(wait, function()
            zklock.sleep(SOON)
            lease:release()
            rig.wait_for("the second one", function() return served end)
        end)
    end)

    it("a lock is renewed in a run that begins right after the failure of another run #slow",
       function()
        local it_is = open("redisson", { lease = 6 })
        local function hold(fn)
            local lease = assert(it_is:mutex(new_name()):acquire(0))
            fn(lease)
            lease:release()
        end
        broken_run(function() hold(function() zklock.sleep(PATIENT) end) end,
            function() zklock.sleep(0) end)
        zklock.run(function()
            hold(function(lease)
                local expires = lease.expires
                rig.wait_for("the renewal", function() return lease.expires > expires end)
            end)
        end)
    end)

    it("a lock is not renewed any more once nobody holds the lease", function()
        local it_is, name = open("redisson", { lease = 0.3 }), new_name()
        broken_run(function()
            local lease = assert(it_is:mutex(name):acquire(0))
            zklock.sleep(PATIENT)
            lease:release()
        end, function() zklock.sleep(0) end)
        collectgarbage()
        zklock.run(function()
            local other = assert(it_is:mutex(new_name()):acquire(0)) -- renewed
            assert.is_true(assert(open("redisson"):mutex(name):acquire(PATIENT)):release())
            other:release()
        end)
    end)

    if coroutine.close then -- luacheck: globals coroutine.close
        it("a run that ends during a wait for several locks gives back those it got", function()
            local it_is, first, second = open "redisson", new_name(), new_name()
            local other = open "redisson"
            local lease = assert(other:mutex(second):acquire(0))
            local several = it_is:multi{ it_is:mutex(first), it_is:mutex(second) }
            broken_run(function() several:acquire(PATIENT) end, function()
                rig.wait_for("the first", function()
                    local got = other:mutex(first):acquire(0)
                    return not got or not got:release()
                end)
            end)
            assert.is_true(assert(other:mutex(first):acquire(0)):release())
            lease:release()
        end)
    end

    it("a waiter looks again when the lock of a dead holder ends", function()
        local name = new_name()
        kill_holder(source_of("redisson", name, { lease = 0.5 }))
        assert.is_true(open("redisson"):mutex(name):acquire(PATIENT):release())
    end)

    it("a waiter subscribes again after its connection broke", function()
        local mine, yours = two "redisson"
        local lease = assert(mine:acquire(0))
        zklock.run(function()
            assert.is_true(assert(yours:acquire(PATIENT)):release())
        end, function()
            zklock.sleep(SOON)
            ask(redis, "client", "kill", "type", "pubsub")
            zklock.sleep(SOON)
            lease:release()
        end)
    end)
end)


describe("a read-write lock of redisson", function()
    local a, b
    before_each(function()
        local name = new_name()
        a, b = open("redisson"):rwlock(name), open("redisson"):rwlock(name)
    end)

    it("readers share a lock of redisson, and a writer excludes them", function()
        local first, second = assert(a:read():acquire(0)), assert(b:read():acquire(0))
        assert.equal("busy", code_of(b:write():acquire{ timeout = 0, owner = "another" }))
        assert.is_true(first:release())
        assert.equal("timeout", code_of(a:write():acquire(SOON)))
        assert.is_true(second:release())
        local writer = assert(a:write():acquire(0))
        assert.equal("busy", code_of(b:read():acquire(0)))
        assert.equal("busy", code_of(b:write():acquire(0)))
        assert.is_true(writer:check())
        assert.is_true(writer:release())
        assert.is_true(b:read():acquire(0):release())
    end)

    it("the read-write lock has the layout of the seed (ALG-04)", function()
        assert(a:read():acquire(0))
        local fields = ask(redis, "hgetall", a:read().name)
        assert.equal("read", fields.mode)
        fields.mode = nil
        assert.matches("^%x+:%S", (next(fields)))
    end)

    it("a writer that also reads keeps the reading after its release of the writing", function()
        local writer = assert(a:write():acquire(0))
        local reader = assert(a:read():acquire(0))
        assert.equal("busy", code_of(b:read():acquire(0)))
        assert.is_true(writer:release())
        assert.is_true(b:read():acquire(0):release())
        assert.equal("busy", code_of(b:write():acquire(0)))
        assert.is_true(reader:release())
        assert.is_true(b:write():acquire(0):release())
    end)

    it("a reader never becomes a writer, as in Redisson", function()
        assert(a:read():acquire(0))
        assert.equal("timeout", code_of(a:write():acquire(SOON)))
    end)

    it("a writer's release wakes all readers", function()
        local writer, reading = assert(a:write():acquire(0)), 0
        local function read()
            local seconds, lease = rig.timed(b:read().acquire, b:read(), 2 * PATIENT)
            assert(lease)
            assert.is_true(seconds < PATIENT)
            reading = reading + 1
            rig.wait_for("the other", function() return reading == 2 end)
        end
        zklock.run(read, read, function()
            zklock.sleep(SOON)
            writer:release()
        end)
    end)
end)


describe("a fair lock of redisson", function()
    it("a fair lock is granted in the order of requests", function()
        local mine, name = open "redisson", new_name()
        local lease = assert(mine:mutex(name, { fair = true }):acquire(0))
        local order, queue = {}, ("redisson_lock_queue:{%s}"):format(name)
        rig.run(5, function(i)
            local lock = open("redisson"):mutex(name, { fair = true })
            rig.wait_for("its turn", function()
                return ask(redis, "llen", queue) == i - 1
            end)
            local got = assert(lock:acquire(PATIENT))
            order[#order + 1] = i
            zklock.sleep(0.01)
            got:release()
        end, function()
            rig.wait_for("all", function()
                return ask(redis, "llen", queue) == 5
            end)
            lease:release()
        end)
        assert.same({ 1, 2, 3, 4, 5 }, order)
    end)

    it("a waiter that gave up has no place in a fair queue", function()
        local mine, yours = two("redisson", nil, { fair = true })
        local lease = assert(mine:acquire(0))
        assert.equal("busy", code_of(yours:acquire(0)))
        assert.equal("timeout", code_of(yours:acquire(SOON)))
        assert.is_false(ask(redis, "exists", ("redisson_lock_queue:{%s}"):format(mine.name)))
        assert.is_true(lease:release())
        assert.is_true(open("redisson"):mutex(mine.name, { fair = true }):acquire(0):release())
    end)

    it("a waiter that gave up has no place in a fair queue, even if it cannot unsubscribe",
       function()
        local mine, yours = two("redisson", nil, { fair = true })
        local lease = assert(mine:acquire(0))
        function yours.engine.wakeup.leave() failure.raise("connection", "no answer") end
        assert.equal("timeout", code_of(yours:acquire(SOON)))
        assert.is_true(lease:release())
        assert.is_true(open("redisson"):mutex(mine.name, { fair = true }):acquire(0):release())
    end)

    it("a dead client at the head of a fair queue delays it by fair_wait #slow", function()
        local name = new_name()
        local queue, times = ("redisson_lock_queue:{%s}"):format(name),
            ("redisson_lock_timeout:{%s}"):format(name)
        local lock = open("redisson", { fair_wait = 0.5 }):mutex(name, { fair = true })
        assert(lock:acquire(0))
        local child = rig.child(HOSTS, ("assert(require('zklock.engine').open('redisson', %s))"
            .. ":mutex(%q, { fair = true }):acquire(10)"):format(
            rig.literal{ redis = redis, answer = PATIENT, fair_wait = 0.5 }, name))
        rig.wait_for("the other in the queue", function() return ask(redis, "exists", queue) end)
        end_child(child)
        -- As if the dead client had come half a second before the lock's end.
        local first, time = ask(redis, "lindex", queue, "0"), socket.gettime() + 0.5 + 0.5
        ask(redis, "zadd", times, ("%.0f"):format(1000 * time), first)
        ask(redis, "del", name)
        assert(lock:acquire(PATIENT))
        assert.is_true(socket.gettime() >= time - 0.001)
    end)
end)


describe("several locks of redisson as one", function()
    local mine, yours, x, y, both
    before_each(function()
        mine, yours, x, y = open "redisson", open "redisson", new_name(), new_name()
        both = mine:multi{ mine:mutex(x), mine:mutex(y) }
    end)

    it("several locks are granted together or not at all", function()
        local single = assert(yours:mutex(y):acquire(0))
        assert.equal("timeout", code_of(both:acquire(SOON)))
        assert.is_true(assert(yours:mutex(x):acquire(0)):release())
        assert.is_true(single:release())
        local lease = assert(both:acquire(PATIENT))
        assert.is_true(lease:held() and lease:check())
        assert.equal("busy", code_of(yours:mutex(x):acquire(0)))
        assert.equal("busy", code_of(yours:mutex(y):acquire(0)))
        assert.is_true(lease:release())
        assert.is_true(assert(yours:mutex(x):acquire(0)):release())
        assert.is_true(assert(yours:mutex(y):acquire(0)):release())
    end)

    it("several locks are lost with any of them", function()
        local lease = assert(both:acquire(0))
        ask(redis, "del", both.parts[2].name)
        assert.equal("lost", code_of(lease:check()))
        assert.is_false(lease:held())
    end)

    it('a release of several without an answer gives "connection", and releases the rest',
       function()
        local lease = assert(both:acquire(0))
        local part = lease.parts[2]
        function part.release() return nil, "no answer", "connection" end
        assert.equal("connection", code_of(lease:release()))
        assert.is_true(assert(yours:mutex(x):acquire(0)):release())
        part.release = nil
        assert.is_true(lease:release())
        assert.is_true(assert(yours:mutex(y):acquire(0)):release())
    end)

    it("a waiter for several locks releases them now and then, so two cannot deadlock #slow",
       function()
        local other = assert(yours:mutex(y):acquire(0))
        zklock.run(function()
            assert(both:acquire(3 * PATIENT))
        end, function()
            assert.equal("busy", code_of(yours:mutex(x):acquire(0)))
            assert(yours:mutex(x):acquire(2 * PATIENT)):release()
            other:release()
        end)
    end)

    it("the list of several locks is checked", function()
        assert.error_matches(function() mine:multi{} end, "a list of one lock or more")
        assert.error_matches(function() mine:multi{ yours:mutex "a" } end,
            "lock 1 of multi must be a lock of this engine")
    end)
end)


-- --- Redlock -----------------------------------------------------------------------------------

describe("redlock (ALG-08)", function()
    local masters, at
    before_each(function()
        masters, at = {}, {}
        for i = 1, 5 do
            masters[i] = redis_servers.start(servers.reaper)
            at[i] = masters[i].address
        end
    end)
    after_each(function()
        for _, master in ipairs(masters) do
            if not master.ended then master.process:kill() end
        end
    end)

    local function kill(i)
        masters[i].process:kill()
        masters[i].ended = true
    end

    local function restart(i)
        masters[i] = redis_servers.start(servers.reaper, { port = at[i]:match "%d+$" })
    end

    -- The live masters with the key.
    local function having(name)
        local found = {}
        for i, master in ipairs(masters) do
            if not master.ended and ask(at[i], "exists", name) then found[#found + 1] = i end
        end
        return found
    end

    it("redlock grants with two of five masters down, and not with three", function()
        local mine = open("redlock", { redis = at }):mutex(new_name())
        local yours = open("redlock", { redis = table.concat(at, ",") }):mutex(mine.name)
        kill(1)
        kill(4)
        local lease = assert(mine:acquire(PATIENT))
        assert.same({ 2, 3, 5 }, having(mine.name))
        assert.equal("timeout", code_of(yours:acquire(SOON)))
        assert.is_true(lease:check())
        assert.is_true(lease:release())
        lease = assert(yours:acquire(PATIENT))
        kill(5)
        local _, message, code = mine:acquire(SOON)
        assert.equal("connection", code)
        assert.matches("3 of 5 masters do not answer", message)
        assert.equal("connection", code_of(lease:check()))
        assert.equal("connection", code_of(lease:release()))
        restart(5)
        restart(4)
        assert.is_true(assert(mine:acquire(PATIENT)):release())
    end)

    it("redlock gives back its locks after a failure to get enough", function()
        local lock = open("redlock", { redis = at }):mutex(new_name())
        for _, i in ipairs{ 1, 3, 4 } do ask(at[i], "set", lock.name, "another's") end
        assert.equal("timeout", code_of(lock:acquire(SOON)))
        assert.same({ 1, 3, 4 }, having(lock.name))
    end)

    it("redlock does not wait for silent masters (CFG-10)", function()
        local lock = open("redlock", { redis = at, fast_fail = 0.3 }):mutex(new_name())
        masters[2].process:signal "STOP"
        masters[3].process:signal "STOP"
        -- A slow machine may need a second try.
        local lease = rig.wait_for("the lock", function() return lock:acquire(PATIENT) end)
        masters[2].process:signal "CONT"
        masters[3].process:signal "CONT"
        lease:release()
    end)

    it("redlock refuses a lock if asking took longer than its lease #slow", function()
        local lock = open("redlock", { redis = at, lease = 0.02, fast_fail = 1 })
            :mutex(new_name())
        masters[2].process:signal "STOP"
        local lease, _, code = lock:acquire(0)
        masters[2].process:signal "CONT"
        assert.same({ nil, "timeout" }, { lease, code })
    end)

    it("redlock has two holders after a master lost its data", function()
        local mine, yours = two("redlock", { redis = at })
        kill(4)
        kill(5)
        local lease = assert(mine:acquire(PATIENT))
        kill(3)
        for i = 3, 5 do restart(i) end
        assert(yours:acquire(PATIENT))
        assert.is_true(lease:held())
        assert.equal("lost", code_of(lease:check()))
    end)
end)


-- --- ZooKeeper ---------------------------------------------------------------------------------

describe("the engine zookeeper", function()
    it("the engine zookeeper has zklock's own locks (tokens that grow, two sides, several as one)",
       function()
        local it_is = open "zookeeper"
        local lock = it_is:mutex "with / and ü"
        local first = assert(lock:acquire(PATIENT))
        local token = first:token_string()
        assert.matches("^%d+$", token)
        first:release()
        local second = assert(lock:acquire(PATIENT))
        assert.is_true(tonumber(second:token_string()) > tonumber(token))
        second:release()
        local both = it_is:rwlock "two sides"
        local reader = assert(both:read():acquire(PATIENT))
        assert.equal("busy", code_of(open("zookeeper"):rwlock("two sides"):write():acquire(0)))
        reader:release()
        assert.is_true(assert(it_is:multi{ it_is:mutex "a", it_is:mutex "b" }
            :acquire(PATIENT)):release())
        assert.is_true(assert(it_is:mutex("a", { fair = false }):acquire(PATIENT)):release())
    end)

    it("the engine zookeeper fails its check if nobody knows whether its lock is taken #slow",
       function()
        local proxy = rig.proxy_for_test(HOSTS)
        local it_is = open("zookeeper", { zookeeper = proxy.hosts, session = 60 })
        proxy:command "blackhole"
        local well, message, code = it_is:check()
        proxy:command "flow"
        assert.same({ nil, "connection" }, { well, code })
        assert.matches("nobody said", message)
    end)
end)
