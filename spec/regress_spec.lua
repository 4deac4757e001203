--- [lua luajit asan tsan worlds tls] Defects found by a review; each test fails without the fix.

local core = require "zklock.core"
local rig = require "spec.rig"
local zklock = require "zklock"

describe("a session #session:state", function()
    after_each(rig.close_sessions)

    it("a session goes by the timeout that the server gives at a reconnect #server #slow",
       function()
        local server = rig.server()
        finally(function() server:stop() end)
        local session = rig.session(server.hosts, { timeout = 10 })
        assert.equal(10, session:timeout())
        rig.shell("sed -i 's/^maxSessionTimeout=.*/maxSessionTimeout=2000/' %s/1/zoo.cfg",
                  server.dir)
        server:kill()
        server:restart()
        -- A server that still loads may cost libzookeeper two thirds of the timeout.
        rig.wait_for("a reconnect", function() return session:stats().reconnects == 1 end, 20)
        assert.equal(2, session:timeout())
        local lease = assert(session:mutex(rig.path()):acquire(10))
        assert.is_true(lease:remaining() <= 1)
    end)

    it("a session counts the chroot in the size of its paths, as the server does", function()
        local server = rig.shared()
        local chroot = rig.path()
        assert(rig.session(server.hosts):mutex(chroot .. "/a"):acquire(20))
        local near, far = rig.session(server.hosts), rig.session(server.hosts .. chroot)
        local one, other = near:mutex("/b"):acquire(20), far:mutex("/b"):acquire(20)
        assert.equal(near:stats().path_bytes + #chroot, far:stats().path_bytes)
        assert.is_true(one:release() and other:release())
    end)

    it("a session counts the chroot in the size of its watches, too", function()
        local server, COUNT, LIMIT = rig.shared(), 100, 256 * 1024
        local chroot = "/" .. ("x"):rep(4000)
        local holder, codes = rig.session(server.hosts), {}
        for i = 1, COUNT do rig.hold(holder:mutex(("%s/%d"):format(chroot, i))) end
        local session = rig.session(server.hosts .. chroot)
        rig.run(COUNT, function(i)
            local code = rig.code_of(session:mutex("/" .. i))
            codes[code] = (codes[code] or 0) + 1
        end, function()
            rig.wait_for("all in line or refused", function()
                local stats = session:stats()
                return stats.in_flight == 0 and stats.claims + (codes.too_many or 0) == COUNT
            end)
            local stats = session:stats()
            assert.is_true(stats.watch_bytes > stats.claims * #chroot, stats.watch_bytes)
            assert.is_true(stats.watch_bytes <= LIMIT, stats.watch_bytes)
            session:close()
        end)
        assert.is_true((codes.closed or 0) > 0 and (codes.too_many or 0) > 0, "no limit was met")
        assert.equal(COUNT, codes.closed + codes.too_many)
    end)

    it("a session refuses a path that does not fit into a packet", function()
        local session = rig.session(rig.shared().hosts)
        local ok, message = pcall(session.mutex, session, "/" .. ("x"):rep(2 ^ 21))
        assert.is_false(ok)
        assert.is_truthy(message:find("at most 262144 bytes", 1, true))
    end)

    it("a session with a tiny margin does not send one sync after the other #slow",
       function()
        local session = rig.session(rig.shared().hosts, { margin = 1e-6 })
        assert.is_nil((session:mutex(rig.path()):acquire(1)))
        assert.is_true(session:stats().syncs < 20, session:stats().syncs)
    end)
end)


describe("a lease #lease:state", function()
    after_each(rig.close_sessions)

    it("every handle's on_lost hears the loss, also when a callback waits #server #slow",
       function()
        local session, proxy = rig.behind_proxy(rig.shared().hosts, { timeout = 2 })
        local lock, told = session:mutex(rig.path()), { {}, {} }
        local leases = { assert(lock:acquire(20)), assert(lock:acquire(20)) }
        for i, lease in ipairs(leases) do
            lease:on_lost(function(_, state)
                table.insert(told[i], state)
                zklock.sleep(2.4)
                session:dispatch()
            end)
        end
        proxy:command("blackhole")
        rig.wait_for("lost", function()
            session:dispatch()
            return told[1][#told[1]] == "lost" and told[2][#told[2]] == "lost"
        end)
        for i = 1, 2 do
            assert.is_true(#told[i] <= 2)
            if told[i][2] then assert.equal("suspect", told[i][1]) end
        end
        proxy:command("flow")
    end)

    it("a lease that is released during its check is released, not lost #server", function()
        local proxy = rig.proxy_for_test(rig.shared().hosts)
        local lock = rig.session(proxy.hosts, { timeout = 10 }):mutex(rig.path())
        local lease, code = assert(lock:acquire(20)), nil
        proxy:command("blackhole")
        zklock.run(
            function() code = select(3, lease:check(20)) end,
            function()
                lease:release()
                proxy:command("flow")
            end)
        assert.equal("released", code)
    end)
end)


describe("zklock.run #zklock.run", function()
    after_each(rig.close_sessions)

    it("a task that yields by itself goes on later", function()
        local count = 0
        zklock.run(
            function() for _ = 1, 3 do coroutine.yield() count = count + 1 end end,
            function() while count < 3 do zklock.sleep(0) end end)
        assert.equal(3, count)
    end)

    it("waits whose coroutine is closed leave no memory", function()
        if not coroutine.close then return end
        local session = rig.session(rig.shared().hosts)
        local path = rig.path()
        local held = assert(session:mutex(path):acquire(20))
        local function wait_and_close(count)
            for _ = 1, count do
                local thread = coroutine.create(function() session:mutex(path):acquire() end)
                coroutine.resume(thread)
                coroutine.close(thread)
            end
            collectgarbage()
            collectgarbage()
            return collectgarbage("count")
        end
        zklock.run(function()
            local before = wait_and_close(100)
            assert.is_true(wait_and_close(200) - before < 50)
        end)
        assert.is_true(held:release())
    end)

    it("a sleeper wakes no sooner than it asked for, however other tasks yield #real", function()
        local begin, woke = core.now(), nil
        zklock.run(
            function() zklock.sleep(0.1) woke = core.now() end,
            function() while not woke do coroutine.yield() end end)
        assert.is_true(woke - begin >= 0.1)
    end)
end)
