--- [lua asan tsan] Conditions with lost requests and replies, expired sessions, and ACLs that
-- refuse. (spec/losses_spec.lua loses each packet.)
local conditions = require "spec.conditions"
local fault = require "spec.fault.fault"
local rig = require "spec.rig"
local zklock = require "zklock"

local fails = fault.fails

local LONG = 30

local server, scene, path, proxy, a, b, c

before_each(function()
    server, path, b, c = rig.begin(2)
    scene = conditions(server, path)
    a, proxy = rig.behind_proxy(server.hosts)
end)

after_each(rig.close_sessions)

local function wait_for_fault()
    rig.wait_for("the fault", function() return a:stats().reconnects > 0 end)
end


describe("a wait in a condition #condition:wait", function()
    after_each(function() scene:come_to_rest(a, b, c) end)
    -- multi 1 fails because there is no folder.
    for _, loss in ipairs{ "drop-request multi 1", "drop-reply multi 2",
                           "cut-after createContainer 1", "drop-reply getData 1" } do
        it("a wait begins once, and hears its signal, in spite of " .. loss, function()
            local lease = scene:hold(a)
            local token = lease.token
            rig.settle(a)
            proxy:command(loss)
            assert.is_true((scene:wait_while(a, function()
                wait_for_fault()
                scene:wait_for_contenders(0)
                rig.settle(a)
                assert.equal(1, scene:wake(b))
            end, lease)))
            assert.is_true(lease.token > token)
            assert.is_true(lease:check(20))
            assert.equal(1, #server:nodes(path))
            scene:wait_for_waiters(0)
            rig.release(lease)
        end)
    end

    it("a wait that reaches its deadline while its answer is lost leaves nothing", function()
        local lease, condition, lock = scene:hold(a)
        rig.settle(a)
        proxy:command("drop-reply multi 2")
        proxy:command("refuse")
        fault.times_out(0.5, condition.wait, condition, lease, 0.5)
        assert.equal("released", lease:state())
        proxy:command("accept")
        scene:come_to_rest(a, b, c)
        rig.use(lock)
    end)

    it("a wait hears a signal from before its watch", function()
        zklock.run(function()
            local lease, condition = scene:hold(a)
            rig.settle(a)
            proxy:command("hold getData 1")
            assert.is_true(condition:wait(lease, LONG))
            rig.release(lease)
        end, function()
            scene:wait_for_waiters(1)
            assert.equal(1, scene:wake(b))
            proxy:command("flow")
        end)
    end)

    it("each handle hears that the lease is suspect before the wait, and again after it", function()
        local lock, condition = scene:lock_and_condition(a)
        local leases = {}
        for n = 1, 2 do leases[n] = rig.hold(lock, { timeout = 5, owner = "me" }) end
        local told = rig.note_losses(leases[2])
        local function make_suspect(count)
            proxy:shut()
            rig.hears(told, "suspect", count)
        end
        make_suspect(1)
        zklock.run(function()
            assert.is_true(condition:wait(leases[1], LONG))
        end, function()
            proxy:command("accept")
            scene:wait_for_waiters(1)
            assert.equal(1, scene:wake(b))
        end)
        a:dispatch()
        assert.equal(1, #told)
        make_suspect(2)
        proxy:command("accept")
        rig.becomes(leases[2], "held")
        for n = 1, 2 do leases[n]:release() end
    end)

    it("a cut connection alone does not wake a waiter", function()
        assert.same({ 1 }, scene:line_up({ a }, function(order)
            for n = 1, 3 do
                rig.settle(a)
                proxy:command("cut")
                fault.wait_for_reconnects(a, n)
            end
            rig.settle(a)
            scene:wait_for_waiters(1)
            assert.equal(0, #server:nodes(path))
            assert.same({}, order)
            assert.equal(1, scene:wake(b))
        end))
    end)
end)


describe("a signal #condition:signal", function()
    after_each(function() scene:come_to_rest(a, b, c) end)

    local function signal_in_spite_of(method, loss, waiters)
        local count
        local order = scene:line_up(waiters, function(order)
            local lease, condition = scene:hold(a)
            rig.settle(a)
            proxy:command(loss)
            count = assert(condition[method](condition, lease, 20))
            wait_for_fault()
            rig.release(lease)
            rig.wait_for("a woken waiter", function() return #order > 0 end)
            if method == "signal" then scene:wake(c, "broadcast") end
        end)
        assert.equal(#waiters, #order)
        scene:come_to_rest(a, b, c)
        return count
    end

    it("a signal that did not arrive is sent again, and wakes one waiter", function()
        assert.equal(1, signal_in_spite_of("signal", "drop-request multi 1", { b, c }))
        assert.equal(1, signal_in_spite_of("signal", "drop-request getChildren 1", { b, c }))
        assert.equal(1, signal_in_spite_of("signal", "drop-reply getChildren 1", { b, c }))
    end)

    it("a signal that may have arrived is sent again, and may wake two waiters", function()
        assert.equal(1, signal_in_spite_of("signal", "drop-reply multi 1", { b, c, b }))
        assert.equal(1, signal_in_spite_of("signal", "cut-after multi 1", { b, c, b }))
    end)

    it("a signal without an answer in time returns unknown, and wakes one waiter", function()
        local told
        local order = scene:line_up({ b }, function()
            local lease, condition = scene:hold(a)
            rig.settle(a)
            proxy:command("hold multi 1")
            told = { condition:signal(lease, 0.5) }
            proxy:command("flow")
            rig.release(lease)
        end)
        assert.equal("unknown", told[3])
        assert.equal(1, #order)
    end)

    for _, loss in ipairs{ "drop-reply multi 1", "drop-reply getData 2" } do
        it("a broadcast wakes each waiter in spite of " .. loss, function()
            assert.is_true(signal_in_spite_of("broadcast", loss, { b, c, b, c }) <= 4)
        end)
    end

    it("a signal has its own deadline, and the lease stays held", function()
        local lease, condition = scene:hold(a)
        fault.suspend(proxy, a)
        for _, method in ipairs{ "signal", "broadcast" } do
            fault.times_out(0.1, condition[method], condition, lease, 0.1)
        end
        proxy:command("accept")
        assert.is_true(lease:check(20))
        assert.equal(0, condition:signal(lease))
        lease:release()
    end)

    -- Without waiters no write asks the server whether the lease lasts.
    it("a signal without waiters returns lost if the holder's node goes meanwhile", function()
        for _, method in ipairs{ "signal", "broadcast" } do
            local lease, condition = scene:hold(a)
            rig.settle(a)
            lease:on_revoke(function() end)
            rig.settle(a)
            proxy:command("hold getChildren 1")
            zklock.run(function()
                fails("lost", condition[method](condition, lease, LONG))
            end, function()
                rig.delete_node(server, path)
                rig.becomes(lease, "lost")
                proxy:command("flow")
            end)
            assert.equal("lost", lease:state())
        end
    end)
end)


describe("a waiter that gives up #condition:wait", function()
    after_each(function() scene:come_to_rest(a, b, c) end)

    -- Lets a, and then b, wait in the condition. Runs fn(), interrupts a, and runs after(order).
    local function interrupt_first(fn, after)
        local order = scene:line_up({ a, b }, function(order)
            rig.settle(a)
            fn()
            assert.equal(1, a:interrupt("owner 1"))
            after(order)
        end)
        if order[1] == 2 then order = { order[2], order[1] } end -- either may hear first
        assert.same({ "interrupted", 2 }, order)
    end

    -- Signals the first waiter, and waits until it is in the lock's line. Returns the lease.
    local function signal_first()
        local lease, condition = scene:hold(c)
        assert.equal(1, condition:signal(lease))
        scene:wait_for_contenders(2)
        rig.settle(a)
        return lease
    end

    -- The waiter's list, its transaction that passes the signal on, and its delete.
    for _, loss in ipairs{ "drop-reply getChildren 1", "drop-reply multi 1",
                           "cut-after delete 1" } do
        it("the waiter passes its signal on once, in spite of " .. loss, function()
            local lease
            interrupt_first(function()
                lease = signal_first()
                proxy:command(loss)
            end, function()
                wait_for_fault()
                scene:wait_for_waiters(1)
                scene:wait_for_contenders(2)
                lease:release()
            end)
        end)
    end

    it("a waiter without a signal wakes nobody, though the reply to its delete is lost", function()
        interrupt_first(function() proxy:command "drop-reply delete 1" end, function(order)
            wait_for_fault()
            scene:wait_for_waiters(1)
            rig.wait_for("the first waiter's end", function() return order[1] == "interrupted" end)
            assert.equal(1, scene:wake(c))
        end)
    end)

    it("the waiter passes on a signal from before its delete", function()
        interrupt_first(function() proxy:command("hold delete 1") end, function()
            assert.equal(1, scene:wake(c))
            scene:wait_for_waiters(2)
            proxy:command("flow")
        end)
    end)

    for when, cut_off in pairs{
        ["of which it was not told"] = function() proxy:command("halfopen") end,
        ["that came while it had no connection"] = function() fault.suspend(proxy, a) end,
    } do
        it("the waiter passes on a signal " .. when, function()
            interrupt_first(function()
                cut_off()
                assert.equal(1, scene:wake(c))
            end, function()
                scene:wait_for_waiters(2)
                fault.heal(proxy)
            end)
        end)
    end
end)


describe("a session that expires #condition:wait", function()
    it("an expired wait returns expired, which is no signal (Menagerie), and wakes nobody #slow",
       function()
        local session = rig.session(proxy.hosts, { timeout = 3 })
        local result, state, second, told
        zklock.run(function()
            local lease, condition = scene:hold(session)
            told = rig.note_losses(lease)
            result = select(3, condition:wait(lease, LONG))
            state = lease:state()
        end, function()
            scene:wait_for_waiters(1)
            second = scene:wait_once(b)
        end, function()
            scene:wait_for_waiters(2)
            fault.expire(proxy, session, function() scene:wait_for_waiters(1) end)
            rig.wait_for("the end of the wait", function() return result end)
            assert.is_nil(second)
            assert.equal(1, scene:wake(c))
        end)
        assert.equal("expired", result)
        assert.equal("released", state)
        assert.same({}, told)
        scene:come_to_rest(session, b, c)
        assert.equal("timeout", (scene:wait_once(session, 0)))
    end)
end)


describe("a condition's folder #lock:condition", function()
    before_each(function() rig.hold(b:mutex(path .. "-x")) end)

    local function check_refused_wait(code, reason)
        local lease, condition = scene:hold(a)
        local token = lease:token_string()
        rig.check_refused(code, reason, condition:wait(lease, LONG))
        assert.equal("held", lease:state())
        assert.equal(token, lease:token_string())
        assert.is_true(lease:check(20))
        assert.equal(1, #server:nodes(path))
        assert.is_true(lease:guard{ { "check", "/" } })
        return lease
    end

    it("a protected folder refuses the wait with auth, and the lease stays held", function()
        server:foreign("create %s x protect %s", scene:folder(), scene:folder())
        local lease = check_refused_wait("auth", "not authenticated")
        fails("timeout", lease.session:mutex(path):condition("other"):wait(lease, 0.1))
        scene:come_to_rest(a, c)
    end)

    it("an ephemeral folder refuses the wait with conflict", function()
        server:foreign("ephemeral %s x vanish", scene:folder())
        rig.release(check_refused_wait("conflict"))
    end)

    it("a refused wait leaves the lease's max_hold in force", function()
        server:foreign("ephemeral %s x vanish", scene:folder())
        local lock, condition = scene:lock_and_condition(a)
        local lease = rig.hold(lock, { max_hold = 1 })
        assert.is_nil((condition:wait(lease, LONG)))
        rig.becomes(lease, "lost")
    end)

    it("a wait on a protected lock path is refused, and the lease stays held", function()
        local lease, condition = scene:hold(a)
        server:foreign("protect %s", path)
        fails("auth", condition:wait(lease, LONG))
        assert.equal("held", lease:state())
        assert.is_true(lease:check(20))
        scene:wait_for_waiters(0)
    end)

    it("a wait whose lock is protected before the signal ends with auth and the reason", function()
        local lock, condition = scene:lock_and_condition(a)
        local lease, ok, message, code = rig.hold(lock)
        zklock.run(function()
            ok, message, code = condition:wait(lease, LONG)
        end, function()
            scene:wait_for_waiters(1)
            local held, same = scene:hold(c)
            server:foreign("protect %s", path)
            assert.equal(1, same:signal(held))
        end)
        rig.check_refused("auth", "not authenticated", ok, message, code)
        assert.equal("released", lease:state())
        scene:wait_for_waiters(0)
    end)

    it("a signal to a waiter with a protected node is refused with auth", function()
        local owner = rig.session(server.hosts, { auth = "digest:one:pw", acl = "creator" })
        server:foreign("create %s x create %s x", path, scene:folder())
        zklock.run(function()
            assert.equal("interrupted", (scene:wait_once(owner, LONG, nil, "me")))
        end, function()
            scene:wait_for_waiters(1)
            local lease, condition = scene:hold(b)
            for _, method in ipairs{ "signal", "broadcast" } do
                fails("auth", condition[method](condition, lease))
            end
            assert.equal("held", lease:state())
            owner:interrupt("me")
        end)
    end)
end)
