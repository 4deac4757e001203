--- [lua luajit asan tsan memory worlds] Waits in a condition that end otherwise than by a signal;
-- whose the signal is then; and what cannot wait, or signal, at all.

local conditions = require "spec.conditions"
local rig = require "spec.rig"
local zklock = require "zklock"

local close_coroutine = coroutine.close -- luacheck: ignore 143

local LONG = 30 -- seconds
local unpack = table.unpack or unpack

local server, scene, path, a, b, c

before_each(function()
    server, path, a, b, c = rig.begin(3)
    scene = conditions(server, path)
end)

after_each(rig.close_sessions)


describe("a wait in a condition #condition:wait", function()
    after_each(function() scene:nothing_left(a, b, c) end)
    -- The wait is over, and the same owner may get the lock again, and wait again.
    local function all_over(code, expected, lease)
        assert.equal(expected, code)
        local state = expected == "lost" and "lost" or "released"
        assert.equal(state, lease:state())
        assert.equal(state, (select(3, lease:release())))
        scene:nothing_left(a, b, c)
        assert.equal("timeout", (scene:await(a, 0, nil, "me")))
    end

    it("ends with its deadline, and nothing is left #clock", function()
        local lock, condition = scene:side(a)
        local lease = rig.hold(lock, { timeout = 5, owner = "me" })
        local _, message, code = rig.takes(0.3, 5, condition.wait, condition, lease, 0.3)
        assert.equal(("timeout: %s: not done in time (waited 0.3 s)"):format(scene:folder()),
                     message)
        all_over(code, "timeout", lease)
    end)

    it("of 0 seconds gives the lock up, and no more", function()
        for _ = 1, 20 do assert.same({ "timeout", "released" }, { scene:await(a, 0) }) end
    end)

    it("without a deadline waits for as long as it takes", function()
        local back
        zklock.run(function()
            local lease, condition = scene:holding(a)
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

    it("has one deadline for the signal and the lock #slow", function()
        local held
        local code, lease = scene:meanwhile(a, function()
            local condition
            held, condition = scene:holding(b)
            assert.equal(1, condition:signal(held))
        end, nil, 8)
        scene:contending(1)
        rig.released(held)
        all_over(code, "timeout", lease)
    end)

    for how, case in pairs{
        ["ends with an interrupt of the lease's owner"] = {
            "interrupted", function() assert.equal(1, a:interrupt("me")) end },
        ["ends with all else of its owner"] = {
            "released", function() assert.equal(1, a:release_all("me")) end },
        ["ends with its last handle"] = { "released", function(lease) lease:release() end },
        ["is lost when somebody removes its node: that is no signal (Menagerie)"] = {
            "lost", function() rig.delete_node(server, scene:folder()) end },
    } do
        it(how, function()
            local code, lease = scene:meanwhile(a, case[2])
            all_over(code, case[1], lease)
        end)
    end

    it("is over for a writer that was given up meanwhile: a reader's handle only reads", function()
        local side, far = a:rwlock(path), b:rwlock(path)
        local writer = rig.hold(side:write(), { timeout = 5, owner = "me" })
        local reader = rig.hold(side:read(), { timeout = 5, owner = "me" })
        local condition, code = side:write():condition("c"), nil
        zklock.run(function() code = select(3, condition:wait(writer, LONG)) end, function()
            scene:waiting(1)
            writer:release()
            local lease = rig.hold(far:write())
            assert.equal(1, far:write():condition("c"):signal(lease))
            lease:release()
        end)
        assert.equal("released", code)
        assert.equal("held", reader:state())
        rig.used(far:read())
        rig.released(reader)
    end)

    it("ends with the session", function()
        local code, lease = scene:meanwhile(a, function() a:close() end)
        assert.equal("closed", code)
        assert.equal("released", lease:state())
    end)

    it("is lost, and leaves nothing, when the lock's node went unseen", function()
        local lease, condition = scene:holding(a)
        rig.delete_node(server, path)
        assert.equal("lost", (select(3, condition:wait(lease, LONG))))
        assert.equal("lost", lease:state())
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
        assert.equal("mine", rig.raised(zklock.run, function()
            lock:with(5, function(lease) condition:wait(lease, LONG) end)
        end, function()
            scene:waiting(1)
            error("mine", 0)
        end))
        collectgarbage() -- a coroutine that is dropped, on LuaJIT
        collectgarbage()
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
    end)

    it("does not need the timeout of others: many give up at once", function()
        rig.run(30, function(n)
            assert.equal("timeout", (scene:await(({ a, b, c })[n % 3 + 1], 0.3)))
        end)
    end)
end)


describe("a signal that is not taken #condition:signal", function()
    after_each(function() scene:nothing_left(a, b, c) end)

    -- A holder that signals so many times: its lease, and the condition.
    local function signalling(times)
        local held, condition = scene:holding(c)
        for _ = 1, times do assert.equal(1, condition:signal(held)) end
        scene:contending(1 + times)
        return held, condition
    end

    -- Three wait, in this order. The first one is told, cannot have the lock, and gives up: the
    -- second one has the signal, and the third waits on.
    local function passed_on(expected, timeout, give_up)
        local order = scene:come({ a, b, c }, function(order)
            local held = signalling(1)
            if give_up then assert.equal(1, a[give_up](a, "owner 1")) end
            rig.wait_for("the end of the first", function() return order[1] end)
            scene:waiting(2) -- its node, and the signal, went at once
            scene:contending(2) -- it is the second who wants the lock now
            assert.same({ expected }, order)
            held:release()
            rig.wait_for("the second", function() return order[2] end)
            scene:waiting(1)
            assert.same({ expected, 2 }, order)
            assert.equal(1, scene:wake(a))
        end, timeout)
        assert.same({ expected, 2, 3 }, order)
    end

    for how, case in pairs{
        ["in time goes to the next (Menagerie swallows it) #slow"] = { "timeout", 6 },
        ["for an interrupt goes to the next"] = { "interrupted", LONG, "interrupt" },
        ["for its handles are given up goes to the next"] = { "released", LONG, "release_all" },
    } do
        it(how, function() passed_on(unpack(case, 1, 3)) end)
    end

    it("goes by those who have one, to the first who has none", function()
        local order = scene:come({ a, b, c }, function(order)
            local held, condition = signalling(2)
            assert.equal(1, a:interrupt("owner 1"))
            rig.wait_for("the end of the first", function() return order[1] end)
            scene:waiting(2)
            scene:contending(3) -- the second, the third, and the holder
            assert.equal(0, condition:signal(held))
            held:release()
        end)
        assert.equal("interrupted", table.remove(order, 1))
        table.sort(order)
        assert.same({ 2, 3 }, order)
    end)

    it("by the last one is gone: nobody who comes later has it", function()
        zklock.run(function()
            assert.equal("interrupted", (scene:await(a, LONG, nil, "first")))
            assert.equal("timeout", (scene:await(b, 0.3)))
        end, function()
            scene:waiting(1)
            local held = signalling(1)
            assert.equal(1, a:interrupt("first"))
            scene:waiting(0)
            held:release()
        end)
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
    end)
end)


describe("a lease that has no part in a condition #lock:condition", function()
    local lock, condition, lease

    before_each(function() lease, condition, lock = scene:holding(a) end)

    -- Each method refuses it, and nothing comes of it.
    local function refused(code, with)
        for _, method in ipairs{ "wait", "signal", "broadcast" } do
            rig.is_refused(code, scene:folder(), condition[method](condition, with, 5))
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
            assert.is_true(each:check(20))
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

    it("was lost: it wakes nobody, and says so #slow", function()
        rig.delete_node(server, path)
        rig.becomes(lease, "lost")
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
                rig.delete_node(server, path)
                rig.is_refused("lost", nil, condition[method](condition, lease))
            end
            assert.is_nil(woken)
            scene:waiting(1)
            assert.equal(1, scene:wake(c))
        end)
    end)

    it("cannot be used for what is no lease, and no name", function()
        local raises = rig.blames
        for _, method in ipairs{ "wait", "signal", "broadcast" } do
            local fn = condition[method]
            local takes = ("condition:%s takes a lease of its lock first, not "):format(method)
            raises(takes .. "nil", function() fn(condition) end)
            raises(takes .. "number", function() fn(condition, 5) end)
            raises(takes .. "table", function() fn(condition, lock) end)
            raises("timeout must be seconds", function() fn(condition, lease, -1) end)
        end
        for name, shown in pairs{ [""] = '""', ["a/b"] = '"a/b"', [5] = "5" } do
            raises('a condition\'s name must be a string that is not empty, without "/", not '
                   .. shown, function() lock:condition(name) end)
        end
        raises("not nil", function() lock:condition() end)
        assert.equal("held", lease:state())
        assert.equal(("zklock.condition (%s)"):format(scene:folder()), tostring(condition))
    end)

    it("is of a lock without conditions: unsupported", function()
        local rw = a:rwlock(path .. "-2")
        for _, each in ipairs{ rw:read(), a:semaphore(path .. "-3", 2),
                               a:mutex(path .. "-4", { order = "none" }), a:multi{ lock } } do
            rig.is_refused("unsupported", 'only a mutex with order = "fifo" or a write lock',
                           each:condition("c"))
        end
    end)

    it("is one of a session that is closed", function()
        a:close()
        refused("released", lease)
    end)
end)
