--- [lua luajit asan tsan] The requests of each act of a lock, counted between client and server.
-- Requirements PIT-01, PIT-19, REQ-10, BUG-01, BUG-03.

local core = require "zklock.core"
local rig = require "spec.rig"
local zklock = require "zklock"

local hold = rig.hold

local LONG = 60

-- Milliseconds by which replies are delayed, so that all requests meanwhile are one flight. Between
-- two requests of a flight a thread may have to wait for a processor.
local DELAY = 60

after_each(rig.close_sessions)


describe("the requests #lock:acquire", function()
    local server, proxy, session, lock

    before_each(function()
        server = rig.shared()
        proxy = rig.proxy_for_test(server.hosts)
        session = rig.session(proxy.hosts, { timeout = LONG })
        lock = session:mutex(rig.path())
        rig.use(lock)
        proxy:command("delay %d", DELAY)
        proxy:reset()
    end)

    local function wait_for_counts(expected)
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
        wait_for_counts(expected)
        settle()
        assert.same(expected, proxy:seen())
    end

    local function start_counting()
        settle()
        proxy:reset()
    end

    local function stranger()
        return rig.session(server.hosts, { timeout = LONG })
    end

    local function hold_elsewhere()
        return hold(stranger():mutex(lock.path))
    end

    -- Counts from the release of `lease` on. Returns the lease granted to `waiting`.
    local function hand_over(lease, waiting)
        return assert(rig.wait_while(waiting, { timeout = 20 }, function()
            start_counting()
            lease:release()
        end))
    end


    local function hold_lock() return assert(lock:acquire(20)) end
    local function hold_to_write() return assert(session:rwlock(lock.path):write():acquire(20)) end
    local function hold_to_read() return hold(stranger():rwlock(lock.path):read()) end
    local function read(options) hold(session:rwlock(lock.path):read(), options) end

    -- Calls act(given), and keeps all replies back until the expected requests have come.
    local function in_one_flight(expected, act, given)
        proxy:command "halfopen"
        zklock.run(function() act(given) end, function()
            wait_for_counts(expected)
            proxy:command "flow"
        end)
    end

    local FREE = { create2 = 1, getChildren = 1, flights = 1 }

    for what, case in pairs{
        ["a free acquire costs one create and one list, in one flight"] = {
            FREE, act = function() hold(lock) end },
        ["the first acquire of a session costs no more"] = {
            FREE, before = function() return rig.session(proxy.hosts, { timeout = LONG }) end,
            act = function(fresh) hold(fresh:mutex(lock.path)) end },
        ["a free read costs the same as a mutex"] = { FREE, act = read },
        ["a free write costs the same as a mutex"] = { FREE, act = hold_to_write },
        ["a read beside readers costs one create and one list"] = {
            FREE, before = hold_to_read, act = function() read() end },
        ["a try to read beside readers costs a list more"] = {
            { create2 = 1, getChildren = 2, flights = 2 },
            before = hold_to_read, act = function() read{ timeout = 0 } end },
        ["a release costs one delete"] = {
            { delete = 1, flights = 1 },
            before = hold_lock, act = function(lease) assert(lease:release()) end },
        ["re-entry costs no request (REQ-04)"] = { {}, before = hold_lock, act = function(lease)
            assert(assert(lock:acquire(20)):release())
            assert.equal("held", lease:state())
        end },
        ["a failed try costs one list, and no write (BUG-03, kazoo-732)"] = {
            { getChildren = 1, flights = 1 }, before = hold_elsewhere,
            act = function() assert.equal("busy", rig.code_of(lock, 0)) end },
        ["guarded writes cost one request"] = { { multi = 1, flights = 1 }, before = hold_lock,
            act = function(lease)
                assert(lease:guard{ { "check", "/" }, { "check", lock.path } })
            end },
        ["a get costs one request"] = {
            { getData = 1, flights = 1 }, act = function() assert(session:get("/")) end },
        ["a revocation costs a list, and a get and a set for each holder"] = {
            { getChildren = 1, getData = 1, setData = 1, flights = 3 }, before = hold_lock,
            act = function() assert.equal(1, lock:revoke(5)) end },
        ["a downgrade costs one transaction"] = {
            { multi = 1, flights = 1 }, before = hold_to_write,
            act = function(lease) assert.is_true(lease:downgrade()) end },
        ["a signal without a waiter costs one list"] = {
            { getChildren = 1, flights = 1 }, before = hold_lock,
            act = function(lease) assert.equal(0, lock:condition("c"):signal(lease)) end },
        ["a check costs one sync and one get, in one flight"] = {
            { sync = 1, getData = 1, flights = 1 }, before = hold_lock,
            act = function(lease) assert.is_true(lease:check(20)) end },
        ["state, time left and token cost no request"] = { {}, before = hold_lock,
            act = function(lease)
                assert.equal("held", lease:state())
                assert.is_true(lease:held())
                assert.is_true(lease:remaining() > 0)
                assert.is_string(lease:token_string())
            end },
    } do
        it(what, function()
            local given = case.before and case.before()
            start_counting()
            if case[1].flights == 1 then in_one_flight(case[1], case.act, given)
            else case.act(given) end
            assert_counts(case[1])
        end)
    end

    -- The first flight finds no path; the second has the parents, the create and the list.
    it("an acquire on a path that does not exist takes two flights, whatever its depth", function()
        local path = rig.path() .. "/of/some/depth"
        local deep = session:mutex(path)
        rig.release(hold(deep))
        local parents = select(2, path:gsub("/", ""))
        assert_counts{ create2 = 2, getChildren = 2, createContainer = parents, delete = 1,
                       flights = 3 }
        proxy:reset()
        hold(deep)
        assert_counts(FREE)
    end)

    -- Returns the number of lists for `count` acquires behind a holder, all sent before an answer.
    local function lists_of(count)
        local lease, queued, seen = hold_elsewhere(), 0, nil
        start_counting()
        proxy:command("blackhole")
        rig.run(count, function()
            rig.release(assert(lock:acquire{ timeout = 60,
                                              on_queued = function() queued = queued + 1 end }))
        end, function()
            proxy:command("flow")
            rig.wait_for("all in line", function() return queued == count end, 30)
            seen = proxy:seen()
            rig.release(lease)
        end)
        assert.equal(count, seen.create2)
        return seen.getChildren
    end

    it("fifty acquires at once cost two lists in all, not one each #slow", function()
        assert.equal(2, lists_of(50))
    end)

    it("ten acquires at once cost a list each, and do not wait for another's list #slow", function()
        assert.equal(10, lists_of(10))
    end)

    it("a release and the next acquire need one round trip, not two", function()
        local lease = hold_lock()
        start_counting()
        lease:release()
        hold(lock)
        local counts = wait_for_counts{ create2 = 1 }
        assert.same({ 1, 1, 1 }, { counts.delete, counts.create2, counts.getChildren })
    end)

    it("a waiter's place in line costs two more gets, in one more flight", function()
        local lease = hold_elsewhere()
        rig.wait_while(lock, { timeout = 20 }, function()
            settle()
            assert.same({ create2 = 1, getChildren = 1, getData = 2, flights = 2 }, proxy:seen())
            lease:release()
        end)
    end)

    it("a grant to the second in line costs no request, because the event is enough", function()
        hand_over(hold_elsewhere(), lock)
        assert_counts{ events = 1 }
    end)

    -- Lets waiters of `sessions` other sessions queue, and behind them `behind` waiters of the
    -- session. Returns the counts from the release until the session's first grant.
    local function hand_over_by_many(sessions, behind)
        local holder, acquires, counts = hold_elsewhere(), {}, nil
        for n = 1, sessions + behind do
            acquires[n] = n <= sessions and stranger():mutex(lock.path) or lock
        end
        rig.line_up(acquires, function()
            start_counting()
            holder:release()
        end, function(n)
            if n == sessions + 1 then counts = proxy:seen() end
        end)
        return counts
    end

    it("a waiter that had many ahead costs one list until its grant, not a get for each", function()
        assert.same({ events = 2, getChildren = 1, flights = 1 }, hand_over_by_many(6, 1))
    end)

    -- Another waiter of the session may ask as well, if it hears before the first has its answer.
    it("a waiter with few ahead and many behind costs gets, in one flight #slow", function()
        local seen = hand_over_by_many(2, 10)
        assert.is_true(seen.getData == 1 or seen.getData == 2)
        assert.same({ events = 2, getData = seen.getData, flights = 1 }, seen)
    end)

    it("the grant of a waiter that looked ahead costs no request, however long the line was",
       function()
        local leases, acquires, done = { [0] = hold_elsewhere() }, {}, false
        for n = 1, 6 do acquires[n] = n < 6 and stranger():mutex(lock.path) or lock end
        local function release(n)
            rig.wait_for("the next lease", function() return leases[n] end)
            rig.release(leases[n])
        end
        rig.line_up(acquires, function()
            start_counting()
            for n = 0, 4 do release(n) end
            settle()
            assert.same({ events = 1, getChildren = 1, flights = 1 }, proxy:seen())
            proxy:reset()
            release(5)
            rig.wait_for("the last lease", function() return leases[6] end)
            settle()
            assert.same({ events = 1 }, proxy:seen())
            done = true
        end, function(n, lease)
            leases[n] = lease
            rig.wait_for("the lease's end", function()
                return done or lease:state() == "released"
            end)
        end)
    end)

    -- The session of the claim behind the granted claim hears, too, and looks ahead.
    for sessions, events in pairs{ 1, [5] = 2 } do
        it(("a release with waiters of %d sessions wakes one waiter, not all " ..
            "(REQ-10, PIT-01, many clients)"):format(sessions), function()
            local holder, others, acquires = hold_elsewhere(), {}, {}
            for n = 1, sessions do others[n] = rig.session(proxy.hosts, { timeout = LONG }) end
            for n = 1, 5 do acquires[n] = others[n % sessions + 1]:mutex(lock.path) end
            rig.line_up(acquires, function()
                start_counting()
                holder:release()
            end, function(n)
                if n > 1 then return end
                settle()
                assert.same({ events = events }, proxy:seen())
            end)
        end)
    end

    -- Waits in a condition whose folder exists, during fn(). Returns the counts after the wait.
    local function with_waiter(waiter, fn)
        local condition = assert(waiter:condition("c"))
        rig.use(stranger():mutex(condition.folder))
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

    it("a wait in a condition costs a transaction and a get, the return a create, a list and a " ..
       "delete", function()
        local holder = stranger():mutex(lock.path)
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

    local function assert_wakes_by(method, expected)
        local holder = stranger():mutex(lock.path)
        with_waiter(holder, function()
            local lease, condition = assert(lock:acquire(20)), lock:condition("c")
            start_counting()
            assert.equal(1, condition[method](condition, lease))
            assert_counts(expected)
            lease:release()
        end)
    end

    it("a signal costs one list and one transaction, however many wait #slow", function()
        assert_wakes_by("signal", { getChildren = 1, multi = 1, flights = 2 })
    end)

    it("a broadcast costs one list, a get for each waiter, and one transaction #slow", function()
        assert_wakes_by("broadcast", { getChildren = 1, getData = 1, multi = 1, flights = 3 })
    end)

    it("a turn costs an acquire and a release, however many it serves #slow", function()
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

    it("three readers of a session behind a writer cost one list in all", function()
        local holder = stranger():rwlock(lock.path):write()
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

    it("an idle session sends only pings #slow", function()
        local short = rig.session(proxy.hosts, { timeout = 3 })
        start_counting()
        rig.wait_for("pings", function() return proxy:counts().ping >= 2 end)
        assert.same({}, proxy:seen())
        assert.equal("connected", short:state())
    end)

    it("a holder sends a heartbeat every sixth of the session timeout, and one watch #slow",
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


describe("acquires in vain", function()
    local server, session, lock, lease, before

    before_each(function()
        server = rig.shared()
        session = rig.session(server.hosts, { timeout = LONG })
        lock = session:mutex(rig.path())
        lease = hold(rig.session(server.hosts, { timeout = LONG }):mutex(lock.path))
        before = server:watches()
    end)

    local function wait_for_only_the_holder()
        server:wait_for_nodes(lock.path, 1)
        rig.wait_for("watches gone", function() return server:watches() <= before + 1 end)
    end

    it("300 failed tries leave no node and no watch (BUG-03, CURATOR-107)", function()
        for _ = 1, 300 do assert.equal("busy", rig.code_of(lock, 0)) end
        assert.equal(1, #server:nodes(lock.path))
        assert.is_true(server:watches() <= before)
        assert.equal(0, session:stats().watches)
        assert.equal(0, session:stats().creates)
    end)

    it("100 waits that timed out leave no node, and one watch on the holder", function()
        for _ = 1, 100 do assert.equal("timeout", rig.code_of(lock, 0.005)) end
        wait_for_only_the_holder()
        rig.wait_for("claims gone", function() return session:stats().claims == 0 end)
        assert.is_true(session:stats().watches <= 1)
        lease:release{ wait = 20 }
        rig.wait_for("no watch", function() return session:stats().watches == 0 end)
        rig.wait_for("no watch", function() return server:watches() < before + 1 end)
    end)

    it("a crowd of waiters that give up at once leaves nothing", function()
        rig.run(100, function() assert.equal("timeout", rig.code_of(lock, 0.3)) end)
        wait_for_only_the_holder()
    end)
end)


describe("memory", function()
    -- Bytes that this process has in use; nil with a sanitizer, which has its own malloc.
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

    -- Holds and re-enters a lock, and tries and waits in vain for another one.
    local function cycle(session, path)
        local lock, other = session:mutex(path), session:mutex(taken)
        local lease = assert(lock:acquire(20))
        assert(lock:acquire(0)):release()
        lease:on_lost(function() end)
        lease:release()
        assert.is_nil((other:acquire(0)))
        assert.is_nil((other:acquire(0.001)))
        assert.equal("held", taken_lease:state())
    end

    -- Checks that run() takes at most `most` more bytes a cycle. A fifth of the cycles runs before,
    -- for one-time allocations.
    local function assert_growth(most, cycles, run)
        run(cycles / 5)
        local before = in_use()
        run(cycles)
        local after = in_use()
        if not before then return end
        local grown = (after - before) / cycles
        assert.is_true(grown <= most, ("grew by %.1f bytes a cycle"):format(grown))
    end

    it("memory does not grow over 1 500 locks taken and released, or wanted in vain #slow",
       function()
        local session, path = rig.session(server.hosts, { timeout = LONG }), rig.path()
        assert_growth(60, 1500, function(count)
            for i = 1, count do
                cycle(session, path)
                if i % 10 == 0 then rig.come_to_rest(session) end -- pending requests are no leak
            end
        end)
        rig.release(taken_lease)
        rig.wait_for_stats(session, { watches = 0 })
    end)

    it("memory does not grow over 100 sessions", function()
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
