--- [lua luajit asan tsan memory worlds] Waits in a condition that end without a signal, the signals
-- that they leave, and leases that cannot wait or signal.

local conditions = require "spec.conditions"
local rig = require "spec.rig"
local zklock = require "zklock"

local close_coroutine = coroutine.close -- luacheck: ignore 143

local LONG = 30
local unpack = table.unpack or unpack

local server, scene, path, a, b, c

before_each(function()
    server, path, a, b, c = rig.begin(3)
    scene = conditions(server, path)
end)

after_each(rig.close_sessions)


describe("a wait in a condition #condition:wait", function()
    after_each(function() scene:come_to_rest(a, b, c) end)
    local function check_over(code, expected, lease)
        assert.equal(expected, code)
        local state = expected == "lost" and "lost" or "released"
        assert.equal(state, lease:state())
        assert.equal(state, (select(3, lease:release())))
        scene:come_to_rest(a, b, c)
        assert.equal("timeout", (scene:wait_once(a, 0, nil, "me")))
    end

    it("a wait ends at its deadline, and leaves nothing #clock", function()
        local lock, condition = scene:lock_and_condition(a)
        local lease = rig.hold(lock, { timeout = 5, owner = "me" })
        local _, message, code = rig.takes(0.3, 5, condition.wait, condition, lease, 0.3)
        assert.equal(("timeout: %s: not done in time (waited 0.3 s)"):format(scene:folder()),
                     message)
        check_over(code, "timeout", lease)
    end)

    it("a wait of 0 seconds only gives the lock up", function()
        for _ = 1, 20 do assert.same({ "timeout", "released" }, { scene:wait_once(a, 0) }) end
    end)

    it("a wait without a deadline lasts until the signal", function()
        local back
        zklock.run(function()
            local lease, condition = scene:hold(a)
            assert.is_true(condition:wait(lease))
            back = true
            lease:release()
        end, function()
            scene:wait_for_waiters(1)
            zklock.sleep(0.5)
            assert.is_nil(back)
            assert.equal(1, scene:wake(b))
        end)
    end)

    it("a wait's deadline covers the signal and the lock #slow", function()
        local held
        local code, lease = scene:wait_while(a, function()
            local condition
            held, condition = scene:hold(b)
            assert.equal(1, condition:signal(held))
        end, nil, 8)
        scene:wait_for_contenders(1)
        rig.release(held)
        check_over(code, "timeout", lease)
    end)

    for how, case in pairs{
        ["a wait ends with an interrupt of the lease's owner"] = {
            "interrupted", function() assert.equal(1, a:interrupt("me")) end },
        ["a wait ends with release_all of its owner"] = {
            "released", function() assert.equal(1, a:release_all("me")) end },
        ["a wait ends when its last handle is released"] = {
            "released", function(lease) lease:release() end },
        ["a wait is lost, without a signal, when its node is deleted (Menagerie)"] = {
            "lost", function() rig.delete_node(server, scene:folder()) end },
    } do
        it(how, function()
            local code, lease = scene:wait_while(a, case[2])
            check_over(code, case[1], lease)
        end)
    end

    it("a writer that is released during its wait stays so, though its owner is a reader, too",
       function()
        local side, far = a:rwlock(path), b:rwlock(path)
        local writer = rig.hold(side:write(), { timeout = 5, owner = "me" })
        local reader = rig.hold(side:read(), { timeout = 5, owner = "me" })
        local condition, code = side:write():condition("c"), nil
        zklock.run(function() code = select(3, condition:wait(writer, LONG)) end, function()
            scene:wait_for_waiters(1)
            writer:release()
            local lease = rig.hold(far:write())
            assert.equal(1, far:write():condition("c"):signal(lease))
            lease:release()
        end)
        assert.equal("released", code)
        assert.equal("held", reader:state())
        rig.use(far:read())
        rig.release(reader)
    end)

    it("a wait returns lost if the lock's node was deleted unseen before", function()
        local lease, condition = scene:hold(a)
        rig.delete_node(server, path)
        assert.equal("lost", (select(3, condition:wait(lease, LONG))))
        assert.equal("lost", lease:state())
    end)

    it("a wait ends when its coroutine is closed", function()
        if not close_coroutine then return end
        local lock, condition = scene:lock_and_condition(a)
        zklock.run(function()
            local thread = coroutine.create(function()
                lock:with(5, function(lease) condition:wait(lease, LONG) end)
            end)
            assert(coroutine.resume(thread))
            scene:wait_for_waiters(1)
            assert(close_coroutine(thread))
            scene:come_to_rest(a, b, c)
        end)
    end)

    it("a wait and its scope end when another task fails", function()
        local lock, condition = scene:lock_and_condition(a)
        assert.equal("mine", rig.error_of(zklock.run, function()
            lock:with(5, function(lease) condition:wait(lease, LONG) end)
        end, function()
            scene:wait_for_waiters(1)
            error("mine", 0)
        end))
        collectgarbage()
        collectgarbage()
    end)

    it("a scope whose wait was woken or timed out releases the lock once", function()
        zklock.run(function()
            local lock, condition = scene:lock_and_condition(a)
            for _, expected in ipairs{ true, "timeout" } do
                local _, result = assert(lock:with(LONG, function(lease)
                    local ok, _, code = condition:wait(lease, expected == true and LONG or 0.1)
                    return ok or code
                end))
                assert.equal(expected, result)
            end
        end, function()
            scene:wait_for_waiters(1)
            assert.equal(1, scene:wake(b))
        end)
    end)

    it("many waits time out at the same time", function()
        rig.run(30, function(n)
            assert.equal("timeout", (scene:wait_once(({ a, b, c })[n % 3 + 1], 0.3)))
        end)
    end)
end)


describe("a signal to a waiter that cannot take it #condition:signal", function()
    after_each(function() scene:come_to_rest(a, b, c) end)

    local function hold_and_signal(times)
        local held, condition = scene:hold(c)
        for _ = 1, times do assert.equal(1, condition:signal(held)) end
        scene:wait_for_contenders(1 + times)
        return held, condition
    end

    -- Three waiters, of which the first gets the signal, waits for the lock, and gives up. The
    -- second gets the signal then, and the third waits on.
    local function check_passed_on(expected, timeout, give_up)
        local order = scene:line_up({ a, b, c }, function(order)
            local held = hold_and_signal(1)
            if give_up then assert.equal(1, a[give_up](a, "owner 1")) end
            rig.wait_for("the first waiter's end", function() return order[1] end)
            scene:wait_for_waiters(2)
            scene:wait_for_contenders(2)
            assert.same({ expected }, order)
            held:release()
            rig.wait_for("the second waiter's end", function() return order[2] end)
            scene:wait_for_waiters(1)
            assert.same({ expected, 2 }, order)
            assert.equal(1, scene:wake(a))
        end, timeout)
        assert.same({ expected, 2, 3 }, order)
    end

    for how, case in pairs{
        ["a timeout passes the signal on (Menagerie swallows it) #slow"] = { "timeout", 6 },
        ["an interrupt passes the signal on"] = { "interrupted", LONG, "interrupt" },
        ["release_all passes the signal on"] = { "released", LONG, "release_all" },
    } do
        it(how, function() check_passed_on(unpack(case, 1, 3)) end)
    end

    it("a passed-on signal goes to the first waiter without a signal", function()
        local order = scene:line_up({ a, b, c }, function(order)
            local held, condition = hold_and_signal(2)
            assert.equal(1, a:interrupt("owner 1"))
            rig.wait_for("the first waiter's end", function() return order[1] end)
            scene:wait_for_waiters(2)
            scene:wait_for_contenders(3)
            assert.equal(0, condition:signal(held))
            held:release()
        end)
        assert.equal("interrupted", table.remove(order, 1))
        table.sort(order)
        assert.same({ 2, 3 }, order)
    end)

    it("the signal of a last waiter that gives up ends with it, and no later waiter gets it",
    function()
        zklock.run(function()
            assert.equal("interrupted", (scene:wait_once(a, LONG, nil, "first")))
            assert.equal("timeout", (scene:wait_once(b, 0.3)))
        end, function()
            scene:wait_for_waiters(1)
            local held = hold_and_signal(1)
            assert.equal(1, a:interrupt("first"))
            scene:wait_for_waiters(0)
            held:release()
        end)
    end)

    -- The deadline falls anywhere between signal, return, delete and passing on.
    it("a signal near a waiter's deadline wakes that waiter or the next one", function()
        for round = 1, 30 do
            local first, second
            zklock.run(function()
                first = scene:wait_once(a, 0.1 + round / 1000)
                if first == true then scene:wake(a) end
            end, function()
                rig.wait_for("the first waiter", function()
                    return first or #server:nodes(scene:folder()) == 1
                end)
                second = scene:wait_once(b)
            end, function()
                rig.wait_for("both waiters, or the second", function()
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


describe("a lease that cannot use a condition #lock:condition", function()
    local lock, condition, lease

    before_each(function() lease, condition, lock = scene:hold(a) end)

    local function check_all_refused(code, with)
        for _, method in ipairs{ "wait", "signal", "broadcast" } do
            rig.check_refused(code, scene:folder(), condition[method](condition, with, 5))
        end
    end

    it("a lease of another lock, session or side is refused with not_owner, and stays held",
       function()
        local others = { rig.hold(a:mutex(path .. "-2")), rig.hold(a:semaphore(path .. "-3", 2)) }
        for _, each in ipairs(others) do check_all_refused("not_owner", each) end
        rig.release(lease)
        others[3] = rig.hold(b:mutex(path))
        check_all_refused("not_owner", others[3])
        for _, each in ipairs(others) do
            assert.equal("held", each:state())
            assert.is_true(each:check(20))
        end
    end)

    it("a reader's lease is refused with not_owner", function()
        rig.release(lease)
        local rw = a:rwlock(path)
        condition = assert(rw:write():condition("c"))
        local reader = rig.hold(rw:read())
        check_all_refused("not_owner", reader)
        assert.equal("held", reader:state())
    end)

    it("a writer's lease is refused with not_owner as soon as its downgrade begins", function()
        rig.release(lease)
        local fragile = rig.fragile(server, { timeout = 20 })
        local writes = fragile.session:rwlock(path):write()
        condition = assert(writes:condition("c"))
        local writer = rig.hold(writes)
        fragile.cut()
        rig.check_refused("timeout", nil, writer:downgrade(0))
        check_all_refused("not_owner", writer)
        fragile.heal()
        rig.becomes(writer, "held")
        rig.release(writer)
        scene:come_to_rest(a, b, c, fragile.session)
        fragile.stop()
    end)

    it("a released lease is refused with released", function()
        rig.release(lease)
        check_all_refused("released", lease)
    end)

    it("a lost lease is refused with lost, and wakes nobody #slow", function()
        rig.delete_node(server, path)
        rig.becomes(lease, "lost")
        check_all_refused("lost", lease)
    end)

    it("a lease that is lost unseen is refused with lost by the server, and wakes nobody",
       function()
        rig.release(lease)
        local woken
        zklock.run(function() woken = scene:wait_once(b) end, function()
            scene:wait_for_waiters(1)
            for _, method in ipairs{ "signal", "broadcast" } do
                lease = rig.hold(lock)
                -- No dispatch, so that the loss falls between the list and the write.
                rig.delete_node(server, path)
                rig.check_refused("lost", nil, condition[method](condition, lease))
            end
            assert.is_nil(woken)
            scene:wait_for_waiters(1)
            assert.equal(1, scene:wake(c))
        end)
    end)

    it("a value that is no lease, timeout or name raises", function()
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

    it("a lock without conditions is refused with unsupported", function()
        local rw = a:rwlock(path .. "-2")
        for _, each in ipairs{ rw:read(), a:semaphore(path .. "-3", 2),
                               a:mutex(path .. "-4", { order = "none" }), a:multi{ lock } } do
            rig.check_refused("unsupported", 'only a mutex with order = "fifo" or a write lock',
                           each:condition("c"))
        end
    end)

    it("a lease of a closed session is refused with released", function()
        a:close()
        check_all_refused("released", lease)
    end)
end)
