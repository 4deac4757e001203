--- [lua luajit asan tsan worlds tls] States of a session, its close, and an expiry.
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()


after_each(function() zklock.driver(nil) end)
after_each(rig.close_sessions)


local function open_recorded()
    local proxy, states = rig.proxy_for_test(server.hosts), {}
    local session = rig.session(proxy.hosts, {
        timeout = 10, on_state = function(state) states[#states + 1] = state end })
    return session, proxy, states
end


describe("a session #zklock.connect", function()
    it("a session tells its state, id and timeout when open and, without a server, when closed " ..
       "#server #clock #session:state #session:id #session:timeout", function()
        local proxy = rig.proxy(server.hosts)
        local session = rig.session(proxy.hosts, { timeout = 2 })
        assert.equal("connected", session:state())
        assert.is_truthy(tostring(session):find("connected", 1, true))
        assert.is_truthy(tostring(session):find(session:id(), 1, true))
        session:close()
        proxy:stop()
        rig.takes(0, 5, function()
            assert.equal("closed", session:state())
            assert.is_nil(session:id())
            assert.equal(2, session:timeout())
            assert.equal("table", type(session:stats()))
            assert.is_truthy(tostring(session):find("closed", 1, true))
            assert.equal("number", type(session:fd()))
            assert.equal("number", type(session:dispatch()))
        end)
    end)

    it("a session with the longest timeout of its server holds a lock", function()
        local session = rig.session(server.hosts, { timeout = 1e300 })
        local lease = rig.hold(session:mutex(rig.path()))
        assert.is_true(lease:remaining() > 1 and lease:remaining() <= session:timeout() / 2)
        rig.release(lease)
    end)

    it("on_state hears when the connection goes and comes back #session:state", function()
        local session, proxy, states = open_recorded()
        rig.wait_for("connected", function() return states[1] end)
        proxy:break_off(session)
        rig.wait_for("suspended", function() return states[2] end)
        assert.equal("suspended", session:state())
        proxy:command("accept")
        rig.wait_for("connected again", function() return states[3] end)
        session:close()
        session:dispatch()
        assert.same({ "connected", "suspended", "connected", "closed" }, states)
        assert.equal(1, session:stats().reconnects)
    end)

    it("a session is not connected once a lease is seen to be lost by a stop of the process " ..
       "#server #slow", function()
        local child = rig.child(server.hosts, ([[
            local session = assert(zklock.connect(HOSTS, { timeout = 2 }))
            local own, lease = session:id(), assert(session:mutex(%q):acquire(20))
            local state, news
            say("held")
            repeat -- without a wait, to look at once after SIGCONT
                state = lease:state()
                news = session:state()
            until state == "lost"
            if session:id() ~= own and news == "connected" then news = "opened anew" end
            say(news)
        ]]):format(rig.path()))
        assert.equal("held", child:line())
        child:signal("STOP")
        -- Idle priority for the other threads, so that the script runs before they hear of the
        -- expiry.
        rig.shell("taskset -acp 0 %d; for t in /proc/%d/task/*; do chrt -ip 0 ${t##*/}; done; " ..
                  "chrt -op 0 %d", child.pid, child.pid, child.pid)
        zklock.sleep(3)
        child:signal("CONT")
        local state = child:line()
        local legal = { suspended = true, connecting = true, expired = true,
                        ["opened anew"] = true }
        assert.is_true(legal[state], state)
        child:finish()
    end)

    it("on_state hears the last 16 states, in order, if nobody dispatched meanwhile #server #slow",
       function()
        local session, proxy, states = open_recorded()
        session:dispatch()
        table.remove(states)
        for i = 1, 10 do
            proxy:command("cut")
            rig.wait_apart("a reconnect", function() return session:stats().reconnects == i end)
        end
        rig.wait_apart("connected", function() return session:state() == "connected" end)
        session:dispatch()
        assert.equal(16, #states)
        for i, state in ipairs(states) do
            assert.equal(i % 2 == 0 and "connected" or "suspended", state)
        end
    end)

    it("an error in on_state is counted, and the session goes on", function()
        local trouble = {}
        local session = rig.session(server.hosts, { on_state = function() error(trouble) end })
        rig.wait_for("error", function() return session:stats().callback_errors > 0 end)
        assert.equal(trouble, session:stats().callback_error)
        assert.is_truthy(session:mutex(rig.path()):acquire(20))
    end)

    it("20 sessions that open and close leave no descriptor, thread or session #server", function()
        local function in_use(kind)
            return tonumber(rig.shell("ls /proc/%d/%s | wc -l", rig.pid, kind))
        end
        local function connections()
            return tonumber(server:ask("srvr"):match("Connections: (%d+)"))
        end
        assert(rig.session(server.hosts)):close()
        rig.wait_for("quiet", function() return connections() <= 1 end)
        local descriptors, threads = in_use("fd"), in_use("task")
        local ids, count = {}, 0
        for i, session in ipairs(rig.sessions(20, server.hosts)) do
            session:fd()
            count = count + (ids[session:id()] and 0 or 1)
            ids[session:id()] = true
            rig.hold(session:mutex(rig.path()))
            if i > 10 then assert.is_true(session:close()) end
        end
        assert.equal(20, count)
        rig.close_sessions()
        rig.wait_for("all threads end", function() return in_use("task") <= threads end)
        rig.wait_for("all sessions end", function() return connections() <= 1 end)
        rig.wait_for("all descriptors close", function()
            collectgarbage()
            return in_use("fd") <= descriptors
        end)
    end)
end)


describe("close #session:close", function()
    -- A socket that closes with unread replies resets the connection, and the server may lose
    -- requests before the reset. Nodes would stay for the session timeout.
    it("close returns after all is released (REQ-02)", function()
        local observer = rig.session(server.hosts)
        for _ = 1, 20 do
            local session, locks, leases = rig.session(server.hosts), {}, {}
            for i = 1, 5 do
                locks[i] = observer:mutex(rig.path())
                leases[i] = assert(session:mutex(locks[i].path):acquire(20))
            end
            assert.is_true(session:close())
            for i = 1, 5 do
                assert.same({}, locks[i]:queue())
                assert.equal("released", leases[i]:state())
            end
        end
    end)

    it('close wakes every waiter with "closed", and they leave nothing (Curator)', function()
        local path, session = rig.path(), rig.session(server.hosts)
        local lease = rig.hold(rig.session(server.hosts):mutex(path))
        local lock, held = session:mutex(path), rig.hold(session:mutex(path .. "/below"))
        rig.run(2, function(n)
            assert.equal("closed", rig.code_of(lock, n == 1 and 60 or nil))
        end, function()
            rig.wait_for("all wait", function() return session:stats().waits == 2 end)
            session:close()
        end)
        assert.equal("released", held:state())
        assert.equal(1, #server:nodes(path))
        assert.equal("held", lease:state())
    end)

    it('after close, methods return "closed", or do nothing', function()
        local lock, session = rig.mutex()
        local lease = assert(lock:acquire(20))
        assert.is_true(session:close())
        rig.takes(0, 10, function()
            for _, arg in ipairs{ 0, 60, { timeout = 60, owner = "x" } } do
                rig.check_refused("closed", "the session is closed", lock:acquire(arg))
            end
            rig.check_refused("closed", "the session is closed", lock:with(error))
            rig.check_refused("closed", "the session is closed", lock:queue())
            rig.check_refused("closed", nil, session:rwlock("/a"):read():acquire())
            assert.equal("released", select(3, lease:release()))
            assert.equal("released", select(3, lease:release{ wait = 1 }))
            rig.check_over(lease, "released")
            assert.equal("number", type(lease.token))
            assert.equal(0, session:interrupt("x"))
            assert.equal(0, session:release_all("x"))
            assert.is_true(session:close())
            assert.is_true(zklock.run(session.close, session))
        end)
    end)

    it("close waits until a lost connection is back, to delete its nodes #server", function()
        local proxy = rig.proxy_for_test(server.hosts)
        local path = rig.path()
        local child = rig.child(proxy.hosts, ([[
            local session = assert(zklock.connect(HOSTS, { timeout = 20 }))
            local lease = assert(session:mutex(%q):acquire(20))
            say("held")
            while session:state() ~= "suspended" do zklock.sleep(0.01) end
            say(lease:state())
            say(session:close())
        ]]):format(path))
        assert.equal("held", child:line())
        proxy:shut()
        assert.equal("suspect", child:line())
        zklock.sleep(0.1)
        proxy:command("accept")
        assert.equal("true", child:line())
        assert.same({}, server:nodes(path))
        assert.equal(0, select(2, child:finish()))
    end)

    if _VERSION >= "Lua 5.4" then
        it("the end of a scope closes the session", function()
            local path = rig.path()
            local scope = load([[
                local session, path = ...
                local closing <close> = session
                local lease = assert(session:mutex(path):acquire(20))
                error(lease)
            ]])
            local session = rig.session(server.hosts)
            assert.is_false(pcall(scope, session, path))
            assert.equal("closed", session:state())
            assert.same({}, server:nodes(path))
        end)
    end
end)


describe("fd and dispatch #real #session:fd #session:dispatch", function()
    local function use_yielding_driver()
        zklock.driver{ wait = function(_, request)
            local thread = coroutine.running()
            request:on_done(function() coroutine.resume(thread) end)
            coroutine.yield()
        end }
    end

    it("dispatch drives a wait, and never waits itself", function()
        local session = rig.session(server.hosts)
        local path = rig.path()
        local holder = assert(rig.session(server.hosts):mutex(path):acquire(20))
        session:dispatch()
        assert.equal(0, rig.takes(0, 5, session.dispatch, session))
        use_yielding_driver()
        local lease
        coroutine.wrap(function() lease = session:mutex(path):acquire(20) end)()
        assert.is_nil(lease)
        zklock.driver(nil)
        assert.is_true(holder:release())
        local delivered = 0
        rig.wait_apart("lease", function()
            delivered = delivered + session:dispatch()
            return lease
        end)
        assert.is_true(delivered >= 1)
        assert.equal("held", lease:state())
    end)

    if rawget(_G, "jit") then -- for poll(), which Lua 5.4 lacks
        local ffi = require "ffi"
        ffi.cdef[[struct spec_pollfd { int fd; short events, revents; };
                  int poll(struct spec_pollfd *, unsigned long, int);]]
        local function readable(fd, seconds)
            local polled = ffi.new("struct spec_pollfd[1]", { { fd, 1, 0 } })
            return ffi.C.poll(polled, 1, seconds * 1000) == 1
        end

        local function quiet() end

        it("fd is readable only while dispatch has something to deliver", function()
            local session = rig.session(server.hosts)
            local fd = session:fd()
            assert.equal(fd, session:fd())
            local lock = rig.session(server.hosts):mutex(rig.path())
            session:dispatch()
            assert.is_false(readable(fd, 0))
            for _ = 1, 3 do
                local holder, lease = assert(lock:acquire(20)), nil
                use_yielding_driver()
                coroutine.wrap(function()
                    lease = session:mutex(lock.path):acquire{ timeout = 20, on_queued = quiet }
                end)()
                zklock.driver(nil)
                assert.is_true(readable(fd, 10))
                session:dispatch()
                assert.is_nil(lease)
                assert.is_false(readable(fd, 0))
                assert.is_true(holder:release())
                assert.is_true(readable(fd, 10))
                assert.is_nil(lease)
                assert.is_true(session:dispatch() >= 1)
                assert.is_false(readable(fd, 0))
                assert.is_true(lease:release{ wait = 20 })
                session:dispatch()
            end
        end)
    end
end)
