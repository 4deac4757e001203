--- lock:acquire(): who gets the lock, when, and what a failure leaves behind.
local core = require "zklock.core"
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()


local hold, code_of = rig.hold, rig.code_of

after_each(rig.close_sessions)


describe("a mutex", function()
    local session, path, lock
    before_each(function()
        session = rig.session(server.hosts)
        path = rig.path()
        lock = session:mutex(path)
    end)

    it("is held by one at a time (REQ-01)", function()
        local lease = assert(lock:acquire(1))
        assert.equal("busy", code_of(lock, { timeout = 0, owner = "another" }))
        assert.is_true(lease:release{ wait = 1 })
        assert.same({}, server:nodes(path))
    end)

    it("is taken with no argument, nil, a number, or a table", function()
        for _, arg in ipairs{ 0, 5, 0.5, math.huge, 1e300, {}, { timeout = 5 }, { owner = "me" },
                              { timeout = 0, owner = 1, on_queued = print } } do
            local lease = assert(lock:acquire(arg))
            assert.equal("held", lease:state())
            assert.equal(path, lease.path)
            assert.is_true(lease:release{ wait = 20 })
        end
        assert.is_true(assert(lock:acquire()):release{ wait = 20 })
        assert.is_true(assert(lock:acquire(nil)):release{ wait = 20 })
    end)

    it("is free again at once for the same session, though release does not wait", function()
        for _ = 1, 20 do
            local lease = assert(lock:acquire(20))
            assert.is_true(lease:release())
        end
        rig.wait_for("nothing left", function() return #server:nodes(path) == 0 end)
    end)

    it("makes missing parents, and works where others made them", function()
        local deep = path .. "/a/b/c"
        hold(session:mutex(deep), 5)
        hold(rig.session(server.hosts):mutex(path .. "/a/b/d"), 5)
        assert.equal(1, #server:nodes(deep))
    end)

    it("takes any text that ZooKeeper takes for a path", function()
        for _, name in ipairs{ "a b", "价格", "a.b..c", "...", "%s%d", "quote\"'", "\\" } do
            rig.used(session:mutex(path .. "/" .. name))
        end
    end)

    it("says who and why in a failure", function()
        hold(lock, 5)
        for timeout, text in pairs{
            [0] = "busy: %s: it is taken",
            [0.05] = "timeout: %s: not done in time (waited 0.05 s)",
        } do
            local code, message = code_of(lock, { timeout = timeout, owner = "x" })
            assert.equal(text:match "^%a+", code)
            assert.equal(text:format(path), message)
        end
    end)

    it("is not said to be taken if no answer comes", function()
        local link = rig.fragile(server, { timeout = 20, connect_timeout = 0.5 })
        local other = link.session:mutex(path)
        hold(lock, 5)
        assert.equal("busy", (code_of(other, 0)))
        link.cut()
        local code, message = code_of(other, 0)
        assert.equal("timeout", code)
        assert.matches("nobody said whether it is taken", message)
        link.heal()
        link.stop()
    end)

    it("shows itself by tostring", function()
        assert.is_truthy(tostring(lock):find(path, 1, true))
        local lease = assert(lock:acquire(20))
        for _, text in ipairs{ path, lease:token_string(), "held" } do
            assert.is_truthy(tostring(lease):find(text, 1, true))
        end
        lease:release()
        assert.is_truthy(tostring(lease):find("released", 1, true))
    end)
end)


describe("a wait for a mutex", function()
    local path, holder, lease
    before_each(function()
        path = rig.path()
        holder = rig.session(server.hosts)
        lease = assert(holder:mutex(path):acquire(20))
    end)

    local function nodes()
        return #server:nodes(path)
    end

    it("ends at its deadline, and leaves nothing (REQ-02, BUG-03) #slow", function()
        local lock = rig.session(server.hosts):mutex(path)
        for _, seconds in ipairs{ 0.05, 0.3, 1.2 } do
            rig.wait_for("one that took less than twice the time", function()
                local took, other, _, code = rig.timed(lock.acquire, lock, seconds)
                assert.is_nil(other)
                assert.equal("timeout", code)
                assert.is_true(took >= seconds, took)
                return took < 1.9 * seconds
            end)
        end
        rig.wait_for("only the holder", function()
            return nodes() == 1 and lock.session:stats().claims == 0
        end)
    end)

    describe("without a connection #server:", function()
        local proxy, session, other
        before_each(function()
            proxy = rig.proxy_for_test(server.hosts)
            session = rig.session(proxy.hosts, { timeout = 10 })
            other = session:mutex(rig.path())
            proxy:break_off(session)
        end)

        it("of 0 fails at once while the session is suspended #clock", function()
            local took, code = rig.timed(code_of, other, 0)
            assert.equal("timeout", code)
            assert.is_true(took < 5, took)
            proxy:command("accept")
            rig.wait_for("connected", function() return session:state() == "connected" end)
            assert.is_truthy(other:acquire(20))
        end)

        it('ends with "timeout", not "connection", while it is suspended #clock', function()
            local took, code = rig.timed(code_of, other, 0.2)
            assert.equal("timeout", code)
            assert.is_true(took >= 0.2 and took < 5, took)
            assert.equal("timeout", select(3, other:queue(0.1)))
        end)

        it("ends at its deadline by itself while the session is suspended", function()
            local code
            zklock.run(function() code = code_of(other, 0.2) end, function()
                rig.eventually(function() return code end)
                session:close() -- ends it if nothing else did
            end)
            assert.equal("timeout", code)
        end)

        it("that began while the session is suspended gets the lock when it is back", function()
            zklock.run(function() hold(other, 8) end,
                       function() zklock.sleep(0.1) proxy:command("accept") end)
        end)
    end)

    it("is granted in order of arrival when a waiter in the middle gives up (REQ-06)", function()
        local order, sessions = {}, {}
        local function in_line()
            return #holder:mutex(path):queue()
        end
        rig.run(5, function(n)
            sessions[n] = rig.session(server.hosts)
            rig.wait_for("turn to queue", function() return in_line() == n end)
            local got, _, code = sessions[n]:mutex(path):acquire{ timeout = 20, owner = n }
            order[#order + 1] = got and n or code
            if got then
                zklock.sleep(0.01)
                got:release()
            end
        end, function()
            rig.wait_for("all queue", function() return in_line() == 6 end)
            sessions[3]:interrupt(3)
            rig.wait_for("the middle gives up", function() return order[1] and in_line() == 5 end)
            lease:release()
        end)
        assert.same({ "interrupted", 1, 2, 4, 5 }, order)
        rig.wait_for("nothing left", function() return nodes() == 0 end)
    end)

    it("is had by one at a time, of many waiters of one session (REQ-01, BUG-01)", function()
        local alone, lock = rig.alone(), rig.session(server.hosts):mutex(path)
        rig.run(5, function()
            local got = assert(lock:acquire(20))
            alone(0.02)
            got:release()
        end, function()
            rig.wait_for("all queue", function() return nodes() == 6 end)
            lease:release()
        end)
    end)

    -- The heartbeat that would make it certain is seconds away.
    it("is granted after one sync when the clock is not certain #slow", function()
        local session = rig.session(server.hosts, { timeout = 60, margin = 0.01 })
        local released, granted
        zklock.run(
            function()
                hold(session:mutex(path), 20)
                granted = core.now()
            end,
            function()
                rig.wait_for("it queues", function() return session:stats().waits == 1 end)
                zklock.sleep(1)
                released = core.now()
                lease:release()
            end)
        assert.is_true(granted - released < 7, granted - released)
    end)

    it("tells on_queued its position, once, and only if it queues", function()
        local session, told = rig.session(server.hosts), { {}, {}, {} }
        local function note(n)
            return function(position, ...)
                assert(select("#", ...) == 0)
                table.insert(told[n], position)
            end
        end
        zklock.run(
            function()
                assert(session:mutex(path):acquire{ timeout = 20, on_queued = note(1) }):release()
            end,
            function()
                rig.wait_for("one waits", function() return told[1][1] end)
                assert(session:mutex(path):acquire{ timeout = 20, on_queued = note(2) }):release()
            end,
            function()
                rig.wait_for("two wait", function() return told[2][1] end)
                lease:release()
                hold(session:mutex(rig.path()), { on_queued = note(3) })
            end)
        assert.same({ { 2 }, { 3 }, {} }, told)
    end)

    it("survives an error in on_queued, and counts it", function()
        local session = rig.session(server.hosts)
        zklock.run(function()
            hold(session:mutex(path), { on_queued = function() error("x") end })
        end, function()
            rig.wait_for("told", function() return session:stats().callback_errors == 1 end)
            lease:release()
        end)
    end)

    it("outlives a cut connection #server", function()
        local session, proxy = rig.behind_proxy(server.hosts, { timeout = 10 })
        rig.wait_while(session:mutex(path), { timeout = 20 }, function()
            proxy:command("cut")
            rig.wait_for("back", function() return session:stats().reconnects == 1 end)
            lease:release()
        end)
        assert.equal(1, nodes())
    end)

    it("ends when the holder's process ends without a word (REQ-08, DEMO-15) #server #slow",
       function()
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
        assert.equal("busy", select(3, lock:acquire(0)))
        child:signal("KILL")
        local got = lock:acquire(60)
        child:finish()
        assert.is_truthy(got)
    end)
end)


describe("paths that fill a session's 512 KB", function()

    it('give "too_many", and the session goes on when some are gone (NUM-01)', function()
        local session, leases = rig.session(server.hosts, { timeout = 60 }), {}
        local long = rig.path() .. ("x"):rep(200 * 1024)
        for i = 1, 2 do leases[i] = hold(session:mutex(long .. i), 10) end
        for _, timeout in ipairs{ 0, 60 } do
            local lock = session:mutex(long .. 3)
            local seconds, code, message = rig.timed(code_of, lock, timeout)
            assert.equal("too_many", code)
            assert.is_truthy(message:find("more than 512 KB of paths in one session", 1, true))
            assert.is_true(seconds < 30, seconds)
        end
        hold(session:mutex(rig.path()), 5) -- a short one still fits
        assert.is_true(leases[1]:release{ wait = 10 })
        hold(session:mutex(long .. 3), 10)
        assert.equal("held", leases[2]:state())
        assert.equal("connected", session:state())
    end)

    it("are not all that a node can hold: data too long for a packet is refused", function()
        local session = rig.session(server.hosts, { timeout = 10 })
        local lease = assert(session:mutex(rig.path()):acquire(20))
        local fine, code = pcall(function()
            return select(3, session:mutex(rig.path(), { data = ("x"):rep(2 ^ 21) }):acquire(1))
        end)
        assert.not_equal("timeout", code)
        assert.equal(0, session:stats().reconnects, fine and code)
        assert.equal("held", lease:state())
    end)
end)
