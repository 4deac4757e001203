--- [lua luajit asan tsan memory worlds older] lock:with() holds the lock while its function runs,
-- and releases it however that ends.
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()
local close = coroutine.close -- luacheck: globals coroutine.close
local unpack = table.unpack or unpack


describe("with #lock:with", function()
    local session, path, lock
    before_each(function() lock, session, path = rig.mutex() end)
    after_each(rig.close_sessions)
    after_each(function() zklock.driver(nil) end)

    local function check_free()
        rig.come_to_rest(session)
        server:wait_for_nodes(path, 0)
    end

    local function pack(...)
        return { n = select("#", ...), ... }
    end

    for name, before in pairs{
        ["(fn, ...)"] = { n = 0 },
        ["(nil, fn, ...)"] = { n = 1 },
        ["(timeout, fn, ...)"] = { n = 1, 5 },
        ["(0, fn, ...)"] = { n = 1, 0 },
        ["(options, fn, ...)"] = { n = 1, { timeout = 5, owner = "me" } },
        ["({}, fn, ...)"] = { n = 1, {} },
    } do
        it("with" .. name .. " holds inside, and passes arguments and results, nils too", function()
            local args = { n = before.n + 5, before[1] }
            args[before.n + 1] = function(lease, ...)
                assert(lease:state() == "held" and lease.path == path)
                assert(#lock:queue() == 1)
                return select("#", ...), nil, lease, ..., nil
            end
            args[before.n + 2], args[before.n + 4] = "a", false
            local results = pack(lock:with(unpack(args, 1, args.n)))
            assert.equal(6, results.n)
            assert.same({ true, 4, nil }, { results[1], results[2], results[3] })
            assert.equal("released", results[4]:state())
            assert.equal("a", results[5])
            assert.is_nil(results[6])
            check_free()
        end)
    end

    it("with without the lock returns nil, message, code, and runs nothing", function()
        local holder = rig.hold_elsewhere(server, path)
        for _, arg in ipairs{ 0, 0.1, { timeout = 0.1 } } do
            local results = pack(lock:with(arg, error))
            assert.equal(3, results.n)
            rig.check_refused(arg == 0 and "busy" or "timeout", nil, unpack(results, 1, 3))
        end
        assert.equal("held", holder:state())
    end)

    it("with releases, and raises its function's error unchanged (PIT-13)", function()
        for _, value in ipairs{ {}, "text", 42, false, print } do
            assert.equal(value, rig.error_of(lock.with, lock, function() error(value, 0) end))
            check_free()
        end
        assert.equal(rig.error_of(error), rig.error_of(lock.with, lock, function() error() end))
        check_free()
    end)

    it("an inner with on the same lock is a re-entry, and the outer holds after it", function()
        lock:with(function(outer)
            lock:with(0, function(inner)
                assert(inner ~= outer and inner.token == outer.token)
            end)
            assert(outer:state() == "held")
            assert(not pcall(lock.with, lock, error))
            assert(outer:state() == "held" and outer:check(20))
        end)
        check_free()
    end)

    it("with's function may release the lease itself", function()
        local ok, result = lock:with(function(lease) return lease:release() end)
        assert.is_true(ok)
        assert.is_true(result)
        check_free()
    end)

    local function lose(lease)
        rig.delete_node(server, path)
        rig.wait_for("lost", function() return select(3, lease:check(20)) == "lost" end)
    end

    for kind, make in pairs(rig.kinds) do
        it("with on " .. kind .. " returns lost for a lost lease, and the results behind the code",
           function()
            local results = pack(make(session, path):with(5, function(lease, ...)
                lose(lease)
                return ..., nil, "sold", nil
            end, "first"))
            assert.equal(7, results.n)
            rig.check_refused("lost", path, unpack(results, 1, 3))
            assert.is_truthy(results[2]:find("has run", 1, true), results[2])
            assert.same({ "first", nil, "sold" }, { results[4], results[5], results[6] })
        end)
    end

    it("nested with() calls of a lost grant each return lost", function()
        local inner, outer
        outer = pack(lock:with(function()
            inner = pack(lock:with(function(lease) lose(lease) return 1 end))
            return 2
        end))
        assert.same({ 4, "lost", 1 }, { inner.n, inner[3], inner[4] })
        assert.same({ 4, "lost", 2 }, { outer.n, outer[3], outer[4] })
    end)

    it("with on a lost lock raises its function's error unchanged", function()
        local problem = {}
        assert.equal(problem, rig.error_of(lock.with, lock, function(lease)
            lose(lease)
            error(problem)
        end))
    end)

    it("with returns lost also if its function released after the loss", function()
        local code
        local results = pack(lock:with(function(lease)
            lose(lease)
            code = select(3, lease:release())
            return "sold"
        end))
        assert.equal("lost", code)
        assert.same({ 4, "lost", "sold" }, { results.n, results[3], results[4] })
    end)

    it("with returns true when the lease is suspect at the end", function()
        local memory = zklock.memory("with")
        memory:reset()
        local own = rig.session("memory:with", { timeout = 60 })
        local results = pack(own:mutex(path):with(function(lease)
            assert(memory:cut(own))
            return lease:state()
        end))
        assert.same({ n = 2, true, "suspect" }, results)
        memory:heal(own)
    end)

    it("with holds while its function yields #real", function()
        local thread = coroutine.wrap(function()
            return lock:with(function(_, a)
                local b = coroutine.yield(a + 1)
                error({ b })
            end, 1)
        end)
        assert.equal(2, thread())
        assert.equal(1, #lock:queue())
        assert.same({ "in" }, rig.error_of(thread, "in"))
        check_free()
    end)

    it("with ends when the session closes inside", function()
        local ok, state = lock:with(function(lease)
            session:close()
            return lease:state()
        end)
        assert.is_true(ok)
        assert.equal("released", state)
        assert.same({}, server:nodes(path))
    end)

    local function stop_in_fn()
        local thread = coroutine.create(function()
            lock:with(5, function() coroutine.yield("inside") end)
        end)
        assert.same({ true, "inside" }, { coroutine.resume(thread) })
        assert.equal(1, #server:nodes(path))
        return thread
    end

    local function stop_in_wait()
        zklock.driver{ wait = function(_, request)
            while not request:done() do coroutine.yield("waits") end
        end }
        local thread = coroutine.create(function() lock:with(error) end)
        assert.same({ true, "waits" }, { coroutine.resume(thread) })
        zklock.driver(nil)
        server:wait_for_nodes(path, 2)
        return thread
    end

    local function wait_until_collected()
        rig.wait_for("the collection", function()
            collectgarbage()
            return session:stats().claims == 0
        end)
    end

    local ends = { dropped = wait_until_collected }
    if close then
        ends.closed = function(thread) assert.is_true(close(thread)) end
    end
    for how, stop in pairs(ends) do
        it(("with releases when its coroutine is %s in its function #real"):format(how), function()
            stop(stop_in_fn())
            check_free()
        end)

        it(("with leaves nothing when its coroutine is %s in its wait #real"):format(how),
           function()
            local holder = rig.hold_elsewhere(server, path)
            stop(stop_in_wait())
            server:wait_for_nodes(path, 1)
            assert.is_true(holder:release())
            check_free()
        end)
    end

    if close then
        it("a nested with releases when its coroutine is closed", function()
            local thread = coroutine.create(function()
                lock:with(function()
                    lock:with(function() coroutine.yield() end)
                end)
            end)
            assert(coroutine.resume(thread))
            assert.is_true(close(thread))
            check_free()
        end)
    end

    if _VERSION >= "Lua 5.4" then
        it("a lease without with is released at the end of its scope, as <close>", function()
            local scope = load([[
                local lock, fail = ...
                local lease <close> = assert(lock:acquire(20))
                assert(lease:held())
                if fail then error("left") end
                return lease
            ]])
            assert.equal("released", scope(lock):state())
            check_free()
            assert.is_false(pcall(scope, lock, true))
            check_free()
        end)
    end
end)
