-- What a lock costs: the requests of each act, counted between client and server.
-- Requirements PIT-01, PIT-19, REQ-10, BUG-01, BUG-03.

local core = require "zklock.core"
local rig = require "spec.rig"
local zklock = require "zklock"

local hold = rig.hold

local LONG = 60 -- seconds; a session whose first heartbeat is 10 s away

-- Replies take that long: what a client sends meanwhile is one flight. Between two requests of a
-- flight a thread may have to wait for a processor.
local DELAY = 60 -- milliseconds

after_each(rig.close_sessions)


describe("the requests", function()
    local server, proxy, session, lock

    -- A session through the proxy, and a lock whose path was used before.
    before_each(function()
        server = rig.shared()
        proxy = rig.proxy_for_test(server.hosts)
        session = rig.session(proxy.hosts, { timeout = LONG })
        lock = session:mutex(rig.path())
        rig.used(lock)
        proxy:command("delay %d", DELAY)
        proxy:reset()
    end)

    -- Holds the lock in a session that is not counted.
    local function held_elsewhere()
        return hold(rig.session(server.hosts, { timeout = LONG }):mutex(lock.path))
    end

    -- The counts without zeros, when they are as expected; else what they are in the end.
    local function counted(expected)
        local seen
        rig.eventually(function()
            seen = proxy:seen()
            for name, count in pairs(expected) do
                if seen[name] ~= count then return false end
            end
            return true
        end)
        return seen
    end

    -- More requests than expected may be on their way: waits until none comes any more.
    local function settle()
        local now = proxy:command("counts")
        local before
        repeat
            before = now
            zklock.sleep(2 * DELAY / 1000)
            now = proxy:command("counts")
        until now == before and session:stats().in_flight == 0
    end

    local function assert_counts(expected)
        counted(expected)
        settle()
        assert.same(expected, proxy:seen())
    end

    -- Counts from here on.
    local function start_counting()
        settle()
        proxy:reset()
    end

    -- The lock, which is had already when counting starts.
    local function held_from_here()
        local lease = assert(lock:acquire(20))
        start_counting()
        return lease
    end

    -- Gives what `waiting` is granted by the release of `lease`; counts from that on.
    local function hand_over(lease, waiting)
        return assert(rig.wait_while(waiting, { timeout = 20 }, function()
            start_counting()
            lease:release()
        end))
    end


    it("of a free acquire are one create and one list, in one flight", function()
        hold(lock)
        assert_counts{ create2 = 1, getChildren = 1, flights = 1 }
    end)

    -- The first finds no path; the parents, the create and the list are the second.
    it("of an acquire on a path that does not exist are two flights, whatever its depth", function()
        local path = rig.path() .. "/of/some/depth"
        hold(session:mutex(path))
        local seen = proxy:seen()
        assert.same({ create2 = 2, getChildren = 2, createContainer = seen.createContainer,
                      flights = 2 }, seen)
        assert.equal(select(2, path:gsub("/", "")), seen.createContainer)
    end)

    it("of the first acquire of a session are no more", function()
        local fresh = rig.session(proxy.hosts, { timeout = LONG })
        start_counting()
        hold(fresh:mutex(lock.path))
        assert_counts{ create2 = 1, getChildren = 1, flights = 1 }
    end)

    -- Behind a holder, so many that come before the first has an answer: how many lists.
    local function lists_of(count)
        local lease, queued, seen = held_elsewhere(), 0, nil
        start_counting()
        proxy:command("blackhole")
        rig.run(count, function()
            rig.released(assert(lock:acquire{ timeout = 60,
                                              on_queued = function() queued = queued + 1 end }))
        end, function()
            proxy:command("flow")
            rig.wait_for("all in line", function() return queued == count end, 30)
            seen = proxy:seen()
            rig.released(lease)
        end)
        assert.equal(count, seen.create2)
        return seen.getChildren
    end

    it("of many that come at once are two lists for all of them, not one each #slow", function()
        assert.equal(2, lists_of(50))
    end)

    it("of some that come at once are a list each: it is short, and spares a flight #slow",
       function()
        assert.equal(10, lists_of(10))
    end)

    it("of guarded writes are one, of a read one", function()
        local lease = assert(lock:acquire(20))
        proxy:reset()
        assert(lease:guard{ { "check", "/" }, { "check", lock.path } })
        assert_counts{ multi = 1, flights = 1 }
        proxy:reset()
        assert(session:get("/"))
        assert_counts{ getData = 1, flights = 1 }
    end)

    it("of a wish that the holder gives way are a list, and a get and a set for each", function()
        hold(lock)
        proxy:reset()
        assert.equal(1, lock:revoke(5))
        assert_counts{ getChildren = 1, getData = 1, setData = 1, flights = 3 }
    end)

    it("of a free acquire take one round trip", function()
        rig.wait_for("one that takes less than two", function()
            local seconds, lease = rig.timed(lock.acquire, lock, 20)
            assert(lease):release{ wait = 20 }
            assert.is_true(seconds >= DELAY / 1000, "the delay does not work")
            return seconds < 1.9 * DELAY / 1000
        end)
    end)

    it("of a release are one delete, which is not awaited", function()
        rig.wait_for("one that takes no round trip", function()
            local lease = held_from_here()
            local seconds = rig.timed(function() assert(lease:release()) end)
            assert_counts{ delete = 1, flights = 1 }
            return seconds < DELAY / 2000
        end)
    end)

    it("of a release and the next acquire need one round trip, not two", function()
        local lease = held_from_here()
        lease:release()
        hold(lock)
        local counts = counted{ create2 = 1 }
        assert.same({ 1, 1, 1 }, { counts.delete, counts.create2, counts.getChildren })
    end)

    it("of re-entry are none (REQ-04)", function()
        local first = held_from_here()
        assert(assert(lock:acquire(20)):release())
        assert.equal("held", first:state())
        settle()
        assert.same({}, proxy:seen())
    end)

    it("of a failed try are one list, and no write (BUG-03, kazoo-732)", function()
        held_elsewhere()
        assert.equal("busy", rig.code_of(lock, 0))
        assert_counts{ getChildren = 1, flights = 1 }
    end)

    it("of queueing are two gets more, in one flight more", function()
        local lease = held_elsewhere()
        rig.wait_while(lock, { timeout = 20 }, function()
            settle()
            assert.same({ create2 = 1, getChildren = 1, getData = 2, flights = 2 }, proxy:seen())
            lease:release()
        end)
    end)

    it("of the second in line, when it is granted, are none: the event is enough", function()
        hand_over(held_elsewhere(), lock)
        assert_counts{ events = 1 }
    end)

    -- Sessions that queue one after the other and are served one after the other; behind them come
    -- `behind` waiters of the session. Gives what it took until the first of those is granted.
    local function hand_over_by_many(sessions, behind)
        local queued, granted, counts = 0, 0, nil
        local holder = held_elsewhere()
        local function wait_in_line(waiting)
            return assert(waiting:acquire{
                timeout = 30, on_queued = function() queued = queued + 1 end })
        end
        rig.run(sessions + behind, function(i)
            if i <= sessions then
                local from = rig.session(server.hosts, { timeout = LONG })
                rig.wait_for("a turn to queue", function() return queued == i - 1 end)
                wait_in_line(from:mutex(lock.path)):release()
                return
            end
            rig.wait_for("the others in line", function() return queued >= sessions end)
            local lease = wait_in_line(lock)
            granted = granted + 1
            if granted == 1 then counts = proxy:seen() end
            lease:release()
        end, function()
            rig.wait_for("all in line", function() return queued == sessions + behind end)
            start_counting()
            holder:release()
        end)
        assert.equal(behind, granted)
        return counts
    end

    it("of a waiter that had many ahead, until it is granted, are one list, not a walk", function()
        assert.same({ events = 2, getChildren = 1, flights = 1 }, hand_over_by_many(6, 1))
    end)

    -- Another waiter of the session may ask as well, if it hears before the first has its answer.
    it("of one that had few ahead in a long line are gets, in one flight #slow", function()
        local seen = hand_over_by_many(2, 10)
        assert.is_true(seen.getData == 1 or seen.getData == 2)
        assert.same({ events = 2, getData = seen.getData, flights = 1 }, seen)
    end)

    it("of a waiter that looked ahead, when it is granted, are none, however long the line was",
       function()
        local leases, queued = { held_elsewhere() }, 0
        rig.run(6, function(i)
            local from = i < 6 and rig.session(server.hosts, { timeout = LONG }) or session
            rig.wait_for("a turn to queue", function() return queued == i - 1 end)
            leases[i + 1] = assert(from:mutex(lock.path):acquire{
                timeout = 60, on_queued = function() queued = i end })
        end, function()
            rig.wait_for("all in line", function() return queued == 6 end)
            start_counting()
            for i = 1, 5 do
                rig.wait_for("the next lease", function() return leases[i] end)
                rig.released(leases[i])
            end
            settle()
            assert.same({ events = 1, getChildren = 1, flights = 1 }, proxy:seen())
            proxy:reset()
            rig.released(leases[6])
            rig.wait_for("the last lease", function() return leases[7] end)
            settle()
            assert.same({ events = 1 }, proxy:seen())
        end)
    end)

    -- The session of the claim behind the one that is granted hears, too, and looks ahead.
    for sessions, events in pairs{ 1, [5] = 2 } do
        it(("of a release with waiters of %d sessions wake one of them, not all " ..
            "(REQ-10, PIT-01, many clients)"):format(sessions), function()
            local holder, queued, granted, others = held_elsewhere(), 0, 0, {}
            for i = 1, sessions do others[i] = rig.session(proxy.hosts, { timeout = LONG }) end
            rig.run(5, function(i)
                local lease = assert(others[i % sessions + 1]:mutex(lock.path):acquire{
                    timeout = 10, on_queued = function() queued = queued + 1 end })
                granted = granted + 1
                if granted == 1 then
                    settle()
                    assert.same({ events = events }, proxy:seen())
                end
                lease:release()
            end, function()
                rig.wait_for("five in line", function() return queued == 5 end)
                start_counting()
                holder:release()
            end)
            assert.equal(5, granted)
        end)
    end

    it("of a read-write lock are those of a mutex: free, to read or to write", function()
        local rw = session:rwlock(lock.path)
        for _, side in ipairs{ rw:read(), rw:write() } do
            local lease = assert(side:acquire(20))
            assert_counts{ create2 = 1, getChildren = 1, flights = 1 }
            assert.is_true(lease:release{ wait = 20 })
            proxy:reset()
        end
    end)

    it("of a read beside readers are one create and one list, of a try a list more", function()
        hold(rig.session(server.hosts, { timeout = LONG }):rwlock(lock.path):read())
        hold(session:rwlock(lock.path):read())
        assert_counts{ create2 = 1, getChildren = 1, flights = 1 }
        proxy:reset()
        hold(session:rwlock(lock.path):read(), { timeout = 0, owner = "x" })
        assert_counts{ create2 = 1, getChildren = 2, flights = 2 }
    end)

    it("of a downgrade are one transaction", function()
        local lease = assert(session:rwlock(lock.path):write():acquire(20))
        start_counting()
        assert.is_true(lease:downgrade())
        assert_counts{ multi = 1, flights = 1 }
    end)

    -- Somebody waits in a condition whose folder is there; then fn(). Gives the counts when he
    -- is back.
    local function with_waiter(waiter, fn)
        local condition = assert(waiter:condition("c"))
        rig.used(rig.session(server.hosts, { timeout = LONG }):mutex(condition.folder))
        local lease = assert(waiter:acquire(20))
        start_counting()
        zklock.run(function()
            assert.is_true(condition:wait(lease, 20))
        end, function()
            server:wait_for_nodes(condition.folder, 1)
            settle()
            fn()
        end)
        settle()
        local counts = proxy:seen()
        lease:release()
        return counts
    end

    it("of a wait in a condition are a transaction and a get; of the return create, list, delete",
       function()
        local holder = rig.session(server.hosts, { timeout = LONG }):mutex(lock.path)
        local counts = with_waiter(lock, function()
            assert.same({ multi = 1, getData = 1, flights = 2 }, proxy:seen())
            proxy:reset()
            assert(holder:with(5, function(lease)
                assert.equal(1, holder:condition("c"):signal(lease))
            end))
        end)
        assert.same({ 1, 1, 1 }, { counts.create2, counts.getChildren, counts.delete })
        assert.is_nil(counts.multi)
        assert.is_nil(counts.sync)
    end)

    -- What a signal or a broadcast asks when one waits.
    local function assert_wakes_by(method, expected)
        local holder = rig.session(server.hosts, { timeout = LONG }):mutex(lock.path)
        with_waiter(holder, function()
            local lease, condition = assert(lock:acquire(20)), lock:condition("c")
            start_counting()
            assert.equal(1, condition[method](condition, lease))
            assert_counts(expected)
            lease:release()
        end)
    end

    it("of a signal are one list and one transaction, however many wait #slow", function()
        assert_wakes_by("signal", { getChildren = 1, multi = 1, flights = 2 })
    end)

    it("of a broadcast are one list, a get for each, and one transaction #slow", function()
        assert_wakes_by("broadcast", { getChildren = 1, getData = 1, multi = 1, flights = 3 })
    end)

    it("of a signal that nobody waits for are one list", function()
        local lease = held_from_here()
        assert.equal(0, lock:condition("c"):signal(lease))
        assert_counts{ getChildren = 1, flights = 1 }
    end)

    it("of turns are those of one acquire and one release, however many it serves #slow", function()
        local turns = session:mutex(lock.path, { order = "turns", batch = 3 })
        local lease = assert(turns:acquire{ timeout = 20, owner = 1 })
        assert_counts{ create2 = 1, getChildren = 1, flights = 1 }
        for _ = 2, 3 do
            lease = hand_over(lease, turns)
            assert_counts{}
        end
        proxy:reset()
        assert(lease:release())
        assert_counts{ delete = 1, flights = 1 }
    end)

    it("of a reader behind a writer, when it is granted, are one list", function()
        local holder = rig.session(server.hosts, { timeout = LONG }):rwlock(lock.path):write()
        hand_over(hold(holder), session:rwlock(lock.path):read())
        assert_counts{ getChildren = 1, flights = 1, events = 1 }
    end)

    it("of three readers of a session behind a writer are one list, for all of them", function()
        local holder = rig.session(server.hosts, { timeout = LONG }):rwlock(lock.path):write()
        local lease, readers, queued = hold(holder), session:rwlock(lock.path):read(), 0
        rig.run(3, function()
            hold(readers, { timeout = 20, on_queued = function() queued = queued + 1 end })
        end, function()
            rig.wait_for("three in line", function() return queued == 3 end)
            start_counting()
            lease:release()
        end)
        assert_counts{ getChildren = 1, flights = 1, events = 1 }
    end)

    it("of the first use of a path make the parents that are missing", function()
        local deep = session:mutex(rig.path() .. "/a/b/c")
        local lease = assert(deep:acquire(20))
        settle()
        local counts = proxy:seen()
        -- Refused; then /spec, its child, a, b and c; then again. All in two flights.
        assert.equal(2, counts.create2)
        assert.equal(2, counts.getChildren)
        assert.equal(5, (counts.createContainer or 0) + (counts.create or 0))
        assert.equal(2, counts.flights)
        rig.released(lease)
        proxy:reset()
        hold(deep)
        assert_counts{ create2 = 1, getChildren = 1, flights = 1 }
    end)

    it("of a path that was never used make nothing when a try finds it free", function()
        local lease = hold(session:mutex(rig.path()), 0)
        assert.equal("held", lease:state())
        assert.equal(1, #server:nodes(lease.path))
    end)

    it("of a check are one sync and one get, in one flight", function()
        local lease = held_from_here()
        assert.is_true(lease:check(20))
        assert_counts{ sync = 1, getData = 1, flights = 1 }
    end)

    it("of asking for state, time left and token are none", function()
        local lease = held_from_here()
        for _ = 1, 100 do
            assert.equal("held", lease:state())
            assert.is_true(lease:held())
            assert.is_true(lease:remaining() > 0)
            assert.is_string(lease:token_string())
        end
        settle()
        assert.same({}, proxy:seen())
    end)

    it("of an idle session are none but pings #slow", function()
        local short = rig.session(proxy.hosts, { timeout = 3 })
        start_counting()
        rig.wait_for("pings", function() return proxy:counts().ping >= 2 end)
        local counts = proxy:seen()
        counts.ping = nil
        assert.same({}, counts)
        assert.equal("connected", short:state())
    end)

    it("of a holder are a heartbeat every sixth of the session timeout, and one watch #slow",
       function()
        local beating = rig.session(proxy.hosts, { timeout = 3 })
        local lease = assert(beating:mutex(rig.path()):acquire(20))
        start_counting()
        local begin = core.now()
        rig.wait_for("five heartbeats", function() return proxy:counts().sync >= 5 end)
        local seconds, counts = core.now() - begin, proxy:counts()
        assert.is_true(seconds > 1.5, ("five heartbeats in %.2f s"):format(seconds))
        assert.is_true(counts.getData <= 1)
        assert.equal(0, counts.create2 + counts.delete + counts.getChildren + counts.exists)
        rig.wait_for("held", function() return lease:held() end)
    end)
end)


describe("what was asked for in vain", function()
    local server, session, lock, lease, before

    before_each(function()
        server = rig.shared()
        session = rig.session(server.hosts, { timeout = LONG })
        lock = session:mutex(rig.path())
        lease = hold(rig.session(server.hosts, { timeout = LONG }):mutex(lock.path))
        before = server:watches()
    end)

    local function only_the_holder()
        server:wait_for_nodes(lock.path, 1)
        rig.wait_for("watches gone", function() return server:watches() <= before + 1 end)
    end

    it("leaves no node and no watch after 300 failed tries (BUG-03, CURATOR-107)", function()
        for _ = 1, 300 do assert.equal("busy", rig.code_of(lock, 0)) end
        assert.equal(1, #server:nodes(lock.path))
        assert.is_true(server:watches() <= before)
        assert.equal(0, session:stats().watches)
        assert.equal(0, session:stats().creates)
    end)

    it("leaves no node, and one watch on the holder, after 100 waits that timed out", function()
        for _ = 1, 100 do assert.equal("timeout", rig.code_of(lock, 0.005)) end
        only_the_holder()
        rig.wait_for("claims gone", function() return session:stats().claims == 0 end)
        assert.is_true(session:stats().watches <= 1)
        lease:release{ wait = 20 }
        rig.wait_for("no watch", function() return session:stats().watches == 0 end)
        rig.wait_for("no watch", function() return server:watches() < before + 1 end)
    end)

    it("leaves nothing after a crowd of waiters that gave up all at once", function()
        rig.run(100, function() assert.equal("timeout", rig.code_of(lock, 0.3)) end)
        only_the_holder()
    end)
end)


describe("memory", function()
    -- Bytes that this process has in use. A sanitizer's own malloc does not count: nil.
    local function in_use()
        if (os.getenv("ZKLOCK_LUA") or ""):find("san/") then return nil end
        collectgarbage()
        collectgarbage()
        local of_lua = jit and collectgarbage "count" * 1024 or 0 -- luacheck: globals jit
        return require "heap"() + of_lua
    end

    local server, taken, taken_lease

    before_each(function()
        server, taken = rig.shared(), rig.path()
        taken_lease = hold(rig.session(server.hosts, { timeout = LONG }):mutex(taken))
    end)

    -- Every way that a claim can go: held, tried in vain, waited in vain, re-entered.
    local function cycle(session, path)
        local lock = session:mutex(path)
        local lease = assert(lock:acquire(20))
        assert(lock:acquire(0)):release()
        lease:on_lost(function() end)
        lease:release()
        assert.is_nil((session:mutex(taken):acquire(0)))
        assert.equal("held", taken_lease:state())
    end

    -- At most so many bytes a cycle, after a fifth of the cycles for what is made only once.
    local function assert_growth(most, cycles, run)
        run(cycles / 5)
        local before = in_use()
        run(cycles)
        local after = in_use()
        if not before then return end
        local grown = (after - before) / cycles
        assert.is_true(grown <= most, ("grew by %.1f bytes a cycle"):format(grown))
    end

    it("does not grow over 5 000 locks taken and given up #slow", function()
        local session, path = rig.session(server.hosts, { timeout = LONG }), rig.path()
        -- No release is waited for: behind a server that is slow they would be a heap.
        assert_growth(60, 5000, function(count)
            for i = 1, count do
                cycle(session, path)
                if i % 50 == 0 then rig.at_rest(session) end
            end
        end)
        assert.equal(0, session:stats().watches)
    end)

    it("does not grow over 1 500 waits that time out #slow", function()
        local session = rig.session(server.hosts, { timeout = LONG })
        local lock = session:mutex(taken)
        assert_growth(60, 1500, function(count)
            for i = 1, count do
                assert.is_nil((lock:acquire(0.001)))
                -- What piles up on a busy machine is no leak.
                if i % 10 == 0 then
                    rig.wait_for("no claim", function() return session:stats().claims == 0 end)
                end
            end
        end)
        assert.equal("held", taken_lease:state())
    end)

    it("does not grow over 100 sessions", function()
        local path = rig.path()
        assert_growth(2000, 100, function(count)
            for _ = 1, count do
                local session = assert(zklock.connect(server.hosts, { timeout = 5 }))
                assert(session:mutex(path):acquire(20))
                session:close()
            end
        end)
    end)
end)
