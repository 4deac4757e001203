--- [lua luajit asan tsan memory worlds tls] lock:acquire(): exclusion, order, deadlines, and no
-- nodes left after a failure.
local core = require "zklock.core"
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()


local hold, code_of = rig.hold, rig.code_of

after_each(rig.close_sessions)


describe("a mutex #session:mutex", function()
    local session, path, lock
    before_each(function() lock, session, path = rig.mutex() end)

    it("acquire takes no argument, nil, a number, or a table", function()
        for _, arg in ipairs{ 0, 5, 0.5, math.huge, 1e300, {}, { timeout = 5 }, { owner = "me" },
                              { timeout = 0, owner = 1, on_queued = print } } do
            local lease = assert(lock:acquire(arg))
            assert.equal("held", lease:state())
            assert.equal(path, lease.path)
            rig.release(lease)
        end
        rig.use(lock)
        rig.release(assert(lock:acquire(nil)))
    end)

    it("acquire makes missing parents, and accepts existing ones", function()
        local deep = path .. "/a/b/c"
        hold(session:mutex(deep), 5)
        hold(rig.session(server.hosts):mutex(path .. "/a/b/d"), 5)
        assert.equal(1, #server:nodes(deep))
    end)

    it("a lock's path is any text that ZooKeeper takes for a path", function()
        for _, name in ipairs{ "a b", "价格", "a.b..c", "...", "%s%d", "quote\"'", "\\" } do
            rig.use(session:mutex(path .. "/" .. name))
        end
    end)

    it("a failed acquire's message names the path and the reason", function()
        hold(lock, 5)
        for timeout, text in pairs{
            [0] = "busy: %s: it is taken",
            [0.05] = "timeout: %s: not done in time (waited 0.05 s)",
        } do
            local code, message = code_of(lock, { timeout = timeout, owner = "x" })
            assert.same({ text:match "^%a+", text:format(path) }, { code, message })
        end
    end)

    it("a try without an answer fails with timeout, not with busy", function()
        local link = rig.fragile(server, { timeout = 20, connect_timeout = 0.5 })
        local other = link.session:mutex(path)
        hold(lock, 5)
        assert.equal("busy", (code_of(other, 0)))
        link.cut()
        rig.check_refused("timeout", "nobody said whether it is taken", other:acquire(0))
        link.heal()
    end)

    it("tostring shows a lock's path, and a lease's path, token and state", function()
        assert.is_truthy(tostring(lock):find(path, 1, true))
        local lease = assert(lock:acquire(20))
        for _, text in ipairs{ path, lease:token_string(), "held" } do
            assert.is_truthy(tostring(lease):find(text, 1, true))
        end
        lease:release()
        assert.is_truthy(tostring(lease):find("released", 1, true))
    end)
end)


for kind, make in pairs(rig.kinds) do
    describe(kind, function()
        local one, two, path, lock, other
        before_each(function()
            local _
            _, path, one, two = rig.begin(2)
            lock, other = rig.excluding(kind, one, two, path)
        end)

        it("a second acquire fails with busy or timeout while the lock is held, and leaves no " ..
           "node (REQ-01)", function()
            local lease = hold(lock)
            local nodes = #server:nodes(path)
            for code, timeout in pairs{ busy = 0, timeout = 0.1 } do
                assert.equal(code, (code_of(make(one, path), { timeout = timeout, owner = "x" })))
                assert.equal(code, (code_of(other, timeout)))
            end
            rig.come_to_rest(two)
            assert.equal(nodes, #server:nodes(path))
            assert.is_true(lease:check(20))
            rig.release(lease)
            assert.equal("held", hold(other, 0):state())
        end)

        it("a waiter gets the lock once it is free, with a larger token", function()
            local first = hold(lock)
            local second = rig.wait_while(other, { timeout = 20 }, function() first:release() end)
            assert.is_true(second.token > first.token)
            assert.equal(tostring(second.token):match("^%d+"), second:token_string())
            assert.is_true(second:remaining() > 0)
            assert.is_true(second:check(20))
            rig.release(second)
            rig.check_over(second, "released")
            assert.equal("released", (select(3, second:release())))
        end)

        it("release_all gives the lock up with all other leases of its owner", function()
            local lease = hold(make(one, path), { owner = "a" })
            hold(one:mutex(path .. "/else"), { owner = "a" })
            local theirs = hold(one:mutex(path .. "/theirs"), { owner = "b" })
            assert.equal(2, one:release_all("a"))
            assert.equal("released", lease:state())
            assert.equal("held", theirs:state())
            server:wait_for_nodes(path, 1)
        end)

        it("closing the session releases the lock, and ends its waits there without a grant",
           function()
            local lease, mine = hold(lock), make(one, path)
            local codes = rig.line_up({ mine, mine, mine }, function() one:close() end)
            assert.same({ "closed", "closed", "closed" }, codes)
            assert.equal("released", lease:state())
            assert.equal(1, one:stats().grants)
            server:wait_for_nodes(path, 0)
        end)
    end)
end


describe("a wait for a mutex #lock:acquire", function()
    local path, lease
    before_each(function()
        path = rig.path()
        lease = rig.hold_elsewhere(server, path)
    end)

    local function wait_for_nodes(count)
        server:wait_for_nodes(path, count)
    end

    it("a wait ends at its deadline, and leaves nothing (REQ-02, BUG-03) #slow", function()
        local lock = rig.session(server.hosts):mutex(path)
        for _, seconds in ipairs{ 0.05, 0.3, 1.2 } do
            rig.wait_for("a wait of less than twice the time", function()
                local took, other, _, code = rig.timed(lock.acquire, lock, seconds)
                assert.is_nil(other)
                assert.equal("timeout", code)
                assert.is_true(took >= seconds, took)
                return took < 1.9 * seconds
            end)
        end
        wait_for_nodes(1)
        rig.come_to_rest(lock.session)
    end)

    describe("a wait without a connection #server:", function()
        local proxy, session, other
        before_each(function()
            session, proxy = rig.behind_proxy(server.hosts, { timeout = 10 })
            other = session:mutex(rig.path())
            proxy:break_off(session)
        end)

        it("a wait ends at its deadline by itself while the session is suspended", function()
            local code
            zklock.run(function() code = code_of(other, 0.2) end, function()
                rig.eventually(function() return code end)
                session:close()
            end)
            assert.equal("timeout", code)
        end)

        it("a wait begun while the session is suspended gets the lock after the reconnect",
           function()
            zklock.run(function() hold(other, 8) end,
                       function() zklock.sleep(0.1) proxy:command("accept") end)
        end)
    end)

    it("waiters are granted in order of arrival when a waiter in the middle gives up (REQ-06)",
       function()
        local sessions, locks = rig.sessions(5, server.hosts), {}
        for n = 1, 5 do locks[n] = sessions[n]:mutex(path) end
        local order = rig.line_up(locks, function(order)
            sessions[3]:interrupt(3)
            rig.wait_for("the middle waiter's end", function() return order[1] end)
            wait_for_nodes(5)
            lease:release()
        end, function() zklock.sleep(0.01) end)
        assert.same({ "interrupted", 1, 2, 4, 5 }, order)
        wait_for_nodes(0)
    end)

    it("many waiters of one session hold the lock one at a time (REQ-01, BUG-01)", function()
        local alone, lock = rig.alone(), rig.session(server.hosts):mutex(path)
        rig.run(5, function()
            local got = assert(lock:acquire(20))
            alone(0.02)
            got:release()
        end, function()
            wait_for_nodes(6)
            lease:release()
        end)
    end)

    -- The next heartbeat, which would make the clock certain, is seconds away.
    it("a waiter is granted after one sync when the clock is not certain #slow", function()
        local session = rig.session(server.hosts, { timeout = 60, margin = 0.01 })
        local released
        rig.wait_while(session:mutex(path), { timeout = 20 }, function()
            zklock.sleep(1)
            released = core.now()
            lease:release()
        end)
        local seconds = core.now() - released
        assert.is_true(seconds < 7, seconds)
    end)

    it("on_queued is told the waiter's position, once, and only if it queues", function()
        local session, told = rig.session(server.hosts), nil
        local lock = session:mutex(path)
        local _, each = rig.line_up({ lock, lock }, function()
            lease:release()
            hold(session:mutex(rig.path()), { on_queued = function() told = true end })
        end)
        assert.same({ { 2 }, { 3 } }, each)
        assert.is_nil(told)
    end)

    it("an error in on_queued is counted, and the wait goes on", function()
        local session = rig.session(server.hosts)
        zklock.run(function()
            hold(session:mutex(path), { on_queued = function() error("x") end })
        end, function()
            rig.wait_for("told", function() return session:stats().callback_errors == 1 end)
            lease:release()
        end)
    end)

    it("a waiter gets the lock after the holder's process was killed (REQ-08, DEMO-15) #server " ..
       "#slow", function()
        local other = rig.path()
        local child = rig.child(server.hosts, ([[
            local session = assert(zklock.connect(HOSTS, { timeout = 3 }))
            local lease = assert(session:mutex(%q):acquire(20))
            say("held")
            zklock.sleep(60)
            say(lease:state())
        ]]):format(other))
        assert.equal("held", child:line())
        local lock = rig.session(server.hosts):mutex(other)
        assert.equal("busy", (code_of(lock, 0)))
        child:signal("KILL")
        local got = lock:acquire(60)
        child:finish()
        assert.is_truthy(got)
    end)
end)


describe("paths that fill a session's 512 KB #session:mutex", function()

    it('a third path is refused with "too_many", and the session goes on when some are gone ' ..
       '(NUM-01)', function()
        local session, leases = rig.session(server.hosts, { timeout = 60 }), {}
        local long = rig.path() .. ("x"):rep(200 * 1024)
        for i = 1, 2 do leases[i] = hold(session:mutex(long .. i), 10) end
        for _, timeout in ipairs{ 0, 60 } do
            local lock = session:mutex(long .. 3)
            local code, message = rig.takes(0, 30, code_of, lock, timeout)
            assert.equal("too_many", code)
            assert.is_truthy(message:find("more than 512 KB of paths in one session", 1, true))
        end
        hold(session:mutex(rig.path()), 5)
        assert.is_true(leases[1]:release{ wait = 10 })
        hold(session:mutex(long .. 3), 10)
        assert.equal("held", leases[2]:state())
        assert.equal("connected", session:state())
    end)

    it("an acquire whose data is too long for a packet is refused, and the session stays connected",
       function()
        local session = rig.session(server.hosts, { timeout = 10 })
        local lease = assert(session:mutex(rig.path()):acquire(20))
        rig.blames("data must be at most 4096 bytes long", function()
            session:mutex(rig.path(), { data = ("x"):rep(2 ^ 21) }):acquire(1)
        end)
        assert.equal(0, session:stats().reconnects)
        assert.equal("held", lease:state())
    end)
end)
