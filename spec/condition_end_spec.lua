-- Waits in a condition that end otherwise than by a signal; whose the signal is then; and
-- what cannot wait, or signal, at all.

local conditions = require "spec.conditions"
local rig = require "spec.rig"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: globals unpack
local close_coroutine = coroutine.close -- luacheck: ignore 143

local LONG = 30 -- seconds

local server, scene, path, a, b, c

before_each(function()
    server = rig.shared()
    scene = conditions(server)
    path = scene.path
    a, b, c = rig.session(server.hosts), rig.session(server.hosts), rig.session(server.hosts)
end)

after_each(rig.close_sessions)


describe("a wait in a condition", function()
    -- Waits on one side, and does fn() meanwhile; gives what the wait gave, and the lease.
    local function meanwhile(fn, timeout) -- a timeout that lets fn() begin
        local lock, condition = scene:side(a)
        local lease = rig.hold(lock, { timeout = 5, owner = "me" })
        local code
        zklock.run(function()
            code = select(3, condition:wait(lease, timeout or LONG))
        end, function()
            scene:waiting(1)
            fn(lease)
        end)
        return code, lease
    end

    -- What is over is over: the same owner may have the lock again, and wait again.
    local function all_over(code, expected, lease)
        assert.equal(expected, code)
        local state = expected == "lost" and "lost" or "released"
        assert.equal(state, lease:state())
        assert.equal(state, (select(3, lease:release())))
        scene:nothing_left(a, b, c)
        assert.equal("timeout", (scene:await(a, 0, nil, "me")))
    end

    it("ends with its deadline, and nothing is left", function()
        local lock, condition = scene:side(a)
        local lease = rig.hold(lock, { timeout = 5, owner = "me" })
        local seconds, _, _, code = rig.timed(condition.wait, condition, lease, 0.3)
        assert.is_true(seconds >= 0.3 and seconds < 5, ("took %.2f s"):format(seconds))
        all_over(code, "timeout", lease)
    end)

    it("of 0 seconds gives the lock up, and no more", function()
        for _ = 1, 20 do
            local code, state = scene:await(a, 0)
            assert.equal("timeout", code)
            assert.equal("released", state)
        end
        scene:nothing_left(a, b, c)
    end)

    it("without a deadline waits for as long as it takes", function()
        local lock, condition = scene:side(a)
        local back
        zklock.run(function()
            local lease = rig.hold(lock)
            assert.is_true(condition:wait(lease))
            back = true
            lease:release()
        end, function()
            scene:waiting(1)
            zklock.sleep(0.5)
            assert.is_nil(back)
            assert.equal(1, scene:wake(b))
        end)
    end)

    it("says how long it was, and where", function()
        local lock, condition = scene:side(a)
        local _, message = condition:wait(rig.hold(lock), 0.05)
        assert.equal(("timeout: %s: not done in time (waited 0.05 s)"):format(scene:folder()),
                     message)
    end)

    it("has one deadline for the signal and the lock", function()
        local lock, condition = scene:side(b)
        local held
        local code, lease = meanwhile(function()
            held = rig.hold(lock)
            assert.equal(1, condition:signal(held))
        end, 4)
        assert.equal("timeout", code)
        assert.equal("released", lease:state())
        scene:contending(1)
        rig.released(held)
        all_over(code, "timeout", lease)
    end)

    it("ends with an interrupt of the lease's owner", function()
        local count
        local code, lease = meanwhile(function() count = a:interrupt("me") end)
        assert.equal(1, count)
        all_over(code, "interrupted", lease)
    end)

    it("ends with all else of its owner", function()
        local count
        local code, lease = meanwhile(function() count = a:release_all("me") end)
        assert.equal(1, count)
        all_over(code, "released", lease)
    end)

    it("ends with its last handle", function()
        local code, lease = meanwhile(function(lease) lease:release() end)
        all_over(code, "released", lease)
    end)

    it("ends with the session", function()
        local code, lease = meanwhile(function() a:close() end)
        assert.equal("closed", code)
        assert.equal("released", lease:state())
        scene:contending(0)
        scene:waiting(0)
    end)

    it("is lost when somebody removes its node: that is no signal (Menagerie)", function()
        local code, lease = meanwhile(function()
            server:foreign("delete %s", server:nodes(scene:folder())[1])
        end)
        all_over(code, "lost", lease)
    end)

    it("is lost, and leaves nothing, when the lock's node went unseen", function()
        local lock, condition = scene:side(a)
        local lease = rig.hold(lock)
        server:foreign("delete %s", server:nodes(path)[1])
        assert.equal("lost", (select(3, condition:wait(lease, LONG))))
        assert.equal("lost", lease:state())
        scene:nothing_left(a, b, c)
    end)

    it("ends when its coroutine is closed", function()
        if not close_coroutine then return end -- of Lua 5.4
        local lock, condition = scene:side(a)
        zklock.run(function()
            local thread = coroutine.create(function()
                lock:with(5, function(lease) condition:wait(lease, LONG) end)
            end)
            assert(coroutine.resume(thread))
            scene:waiting(1)
            assert(close_coroutine(thread))
            scene:nothing_left(a, b, c)
        end)
    end)

    it("ends when another task fails, and its scope, too", function()
        local lock, condition = scene:side(a)
        local ok, problem = pcall(zklock.run, function()
            lock:with(5, function(lease) condition:wait(lease, LONG) end)
        end, function()
            scene:waiting(1)
            error("mine", 0)
        end)
        assert.is_false(ok)
        assert.equal("mine", problem)
        collectgarbage() -- a coroutine that is dropped, on LuaJIT
        collectgarbage()
        scene:nothing_left(a, b, c)
    end)

    it("in a scope gives the lock up once, whether or not it came back", function()
        zklock.run(function()
            local lock, condition = scene:side(a)
            for _, expected in ipairs{ true, "timeout" } do
                local _, result = assert(lock:with(LONG, function(lease)
                    local ok, _, code = condition:wait(lease, expected == true and LONG or 0.1)
                    return ok or code
                end))
                assert.equal(expected, result)
            end
        end, function()
            scene:waiting(1)
            assert.equal(1, scene:wake(b))
        end)
        scene:nothing_left(a, b, c)
    end)

    it("does not need the timeout of others: many give up at once", function()
        local tasks, codes = {}, {}
        for n = 1, 30 do
            tasks[n] = function() codes[n] = scene:await(({ a, b, c })[n % 3 + 1], 0.3) end
        end
        zklock.run(unpack(tasks))
        for n = 1, 30 do assert.equal("timeout", codes[n]) end
        scene:nothing_left(a, b, c)
    end)
end)


describe("a signal that is not taken", function()
    local order

    -- Three wait, in this order, and tell when they are back.
    local function three(timeout)
        order = {}
        local tasks = {}
        for n, session in ipairs{ a, b, c } do
            tasks[n] = function()
                scene:waiting(n - 1)
                local result = scene:await(session, n == 1 and timeout or LONG, nil, "owner " .. n)
                order[#order + 1] = result == true and n or result
            end
        end
        return tasks
    end

    -- The first one is told, cannot have the lock, and gives up: the second one has the
    -- signal, and the third waits on.
    local function passed_on(expected, timeout, give_up)
        local tasks = three(timeout)
        tasks[4] = function()
            scene:waiting(3)
            local lock, condition = scene:side(c)
            local held = rig.hold(lock)
            assert.equal(1, condition:signal(held))
            scene:contending(2)
            if give_up then give_up() end
            rig.wait_for("the end of the first", function() return order[1] end)
            scene:waiting(2) -- its node, and the signal, went at once
            scene:contending(2) -- it is the second who wants the lock now
            assert.same({ expected }, order)
            held:release()
            rig.wait_for("the second", function() return order[2] end)
            scene:waiting(1)
            assert.same({ expected, 2 }, order)
            assert.equal(1, scene:wake(a))
        end
        zklock.run(unpack(tasks))
        assert.same({ expected, 2, 3 }, order)
        scene:nothing_left(a, b, c)
    end

    it("in time goes to the next (Menagerie swallows it)", function()
        passed_on("timeout", 6)
    end)

    it("for an interrupt goes to the next", function()
        passed_on("interrupted", LONG, function() assert.equal(1, a:interrupt("owner 1")) end)
    end)

    it("for its handles are given up goes to the next", function()
        passed_on("released", LONG, function() assert.equal(1, a:release_all("owner 1")) end)
    end)

    it("goes by those who have one, to the first who has none", function()
        local tasks, count = three(LONG), nil
        tasks[4] = function()
            scene:waiting(3)
            local lock, condition = scene:side(c)
            local held = rig.hold(lock)
            assert.equal(1, condition:signal(held))
            assert.equal(1, condition:signal(held))
            scene:contending(3)
            assert.equal(1, a:interrupt("owner 1"))
            rig.wait_for("the end of the first", function() return order[1] end)
            scene:waiting(2)
            scene:contending(3) -- the second, the third, and the holder
            count = condition:signal(held)
            held:release()
        end
        zklock.run(unpack(tasks))
        assert.equal(0, count)
        assert.equal("interrupted", table.remove(order, 1))
        table.sort(order)
        assert.same({ 2, 3 }, order)
        scene:nothing_left(a, b, c)
    end)

    it("by the last one is gone: nobody who comes later has it", function()
        zklock.run(function()
            assert.equal("interrupted", (scene:await(a, LONG, nil, "first")))
            assert.equal("timeout", (scene:await(b, 0.3)))
        end, function()
            scene:waiting(1)
            local lock, condition = scene:side(c)
            local held = rig.hold(lock)
            assert.equal(1, condition:signal(held))
            scene:contending(2)
            assert.equal(1, a:interrupt("first"))
            scene:waiting(0)
            held:release()
        end)
        scene:nothing_left(a, b, c)
    end)

    -- Wherever the deadline falls: between signal, return, delete and passing on.
    it("at any moment of the deadline wakes one of two", function()
        for round = 1, 30 do
            local first, second
            zklock.run(function()
                first = scene:await(a, 0.1 + round / 1000)
                if first == true then scene:wake(a) end
            end, function()
                rig.wait_for("the first", function()
                    return first or #server:nodes(scene:folder()) == 1
                end)
                second = scene:await(b)
            end, function()
                rig.wait_for("both, or the second", function()
                    local alone = first and a:stats().claims == 0
                    return #server:nodes(scene:folder()) == (alone and 1 or 2)
                end)
                assert.equal(1, scene:wake(c))
            end)
            assert.is_true(second)
            assert.is_true(first == true or first == "timeout")
        end
        scene:nothing_left(a, b, c)
    end)
end)


describe("a lease that has no part in a condition", function()
    local lock, condition, lease

    before_each(function()
        lock, condition = scene:side(a)
        lease = rig.hold(lock)
    end)

    -- Each method refuses it, and nothing comes of it.
    local function refused(code, with)
        for _, method in ipairs{ "wait", "signal", "broadcast" } do
            local result, message, why = condition[method](condition, with, 5)
            assert.is_nil(result)
            assert.equal(code, why, method)
            assert.is_truthy(message:find(scene:folder(), 1, true), message)
        end
    end

    it("is one of another lock, session or side: not_owner, and it stays as it is", function()
        local others = { rig.hold(a:mutex(path .. "-2")), rig.hold(a:semaphore(path .. "-3", 2)) }
        for _, each in ipairs(others) do refused("not_owner", each) end
        rig.released(lease)
        others[3] = rig.hold(b:mutex(path))
        refused("not_owner", others[3])
        for _, each in ipairs(others) do
            assert.equal("held", each:state())
            assert.is_true(each:check(5))
        end
    end)

    it("is a reader's: not_owner", function()
        rig.released(lease)
        local rw = a:rwlock(path)
        condition = assert(rw:write():condition("c"))
        local reader = rig.hold(rw:read())
        refused("not_owner", reader)
        assert.equal("held", reader:state())
    end)

    it("was given up: released", function()
        rig.released(lease)
        refused("released", lease)
    end)

    it("was lost: it wakes nobody, and says so", function()
        server:foreign("delete %s", server:nodes(path)[1])
        rig.wait_for("lost", function() return lease:state() == "lost" end)
        refused("lost", lease)
    end)

    it("is stale, and does not know it: the server knows, and wakes nobody", function()
        rig.released(lease)
        local woken
        zklock.run(function() woken = scene:await(b) end, function()
            scene:waiting(1)
            for _, method in ipairs{ "signal", "broadcast" } do
                lease = rig.hold(lock)
                -- Between the list and the write: nothing is dispatched.
                local node = server:nodes(path)[1]
                server:foreign("delete %s", node)
                local count, message, code = condition[method](condition, lease)
                assert.is_nil(count)
                assert.equal("lost", code, message)
            end
            assert.is_nil(woken)
            scene:waiting(1)
            assert.equal(1, scene:wake(c))
        end)
    end)

    it("cannot be used for what is no lease, and no name", function()
        local function raises(text, fn, ...)
            local ok, message = pcall(fn, ...)
            assert.is_false(ok)
            assert.is_truthy(message:find(text, 1, true), message)
            assert.is_truthy(message:find("condition_end_spec.lua", 1, true), message)
        end
        for _, method in ipairs{ "wait", "signal", "broadcast" } do
            local fn = condition[method]
            raises(("condition:%s takes a lease of its lock first, not nil"):format(method),
                   function() fn(condition) end)
            raises(("condition:%s takes a lease of its lock first, not number"):format(method),
                   function() fn(condition, 5) end)
            raises(("condition:%s takes a lease of its lock first, not table"):format(method),
                   function() fn(condition, lock) end)
            raises("timeout must be seconds", function() fn(condition, lease, -1) end)
            raises(("call it with a colon: condition:%s(...)"):format(method),
                   function() fn(lease) end)
        end
        for name, shown in pairs{ [""] = '""', ["a/b"] = '"a/b"', [5] = "5" } do
            raises('a condition\'s name must be a string that is not empty, without "/", not '
                   .. shown, function() lock:condition(name) end)
        end
        raises("not nil", function() lock:condition() end)
        raises("call it with a colon: lock:condition(...)", function() lock.condition("c") end)
        assert.equal("held", lease:state())
        assert.equal(("zklock.condition (%s)"):format(scene:folder()), tostring(condition))
    end)

    it("is of a lock without conditions: unsupported", function()
        local rw = a:rwlock(path .. "-2")
        for _, each in ipairs{ rw:read(), a:semaphore(path .. "-3", 2),
                               a:mutex(path .. "-4", { order = "none" }), a:multi{ lock } } do
            local none, message, code = each:condition("c")
            assert.is_nil(none)
            assert.equal("unsupported", code)
            assert.is_truthy(message:find('only a mutex with order = "fifo" or a write lock', 1,
                                          true), message)
        end
    end)

    it("is one of a session that is closed", function()
        a:close()
        refused("released", lease)
    end)
end)
