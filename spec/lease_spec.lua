--- [lua luajit asan tsan worlds tls] Leases: certainty, news of a loss, and release.
local core = require "zklock.core"
local current = require "zklock.world.current"
local rig = require "spec.rig"
local runtime = require "zklock.waiting.runtime"
local zklock = require "zklock"

local server = rig.shared()


local hold, code_of, note_losses = rig.hold, rig.code_of, rig.note_losses

after_each(rig.close_sessions)


--- Returns a held lease of a new session, a growing list of the states told to on_lost, and the
-- session's proxy if it is `far`.
local function hold_new(options, far)
    local proxy = far and rig.proxy_for_test(server.hosts)
    local lease = hold(rig.session((proxy or server).hosts, options):mutex(rig.path()))
    return lease, note_losses(lease), proxy
end


local function lose(lease)
    rig.delete_node(server, lease.path)
    assert.equal("lost", select(3, lease:check(20)))
    lease.session:dispatch()
end


local function busy_until(condition)
    local deadline = core.now() + 10
    while not condition() and core.now() < deadline do end
end


describe("a token #lease.token #lease:token_string", function()
    local session, lock
    before_each(function() lock, session = rig.mutex() end)

    it("a token grows with every grant, over all sessions and paths (Q-01, Q-03)", function()
        local last, other = 0, rig.session(server.hosts)
        for i = 1, 20 do
            local from = i % 2 == 0 and session or other
            local lease = assert(from:mutex(i % 3 == 0 and rig.path() or lock.path):acquire(20))
            assert.is_true(lease.token > last)
            last = lease.token
            assert.is_true(lease:release())
        end
    end)

    it("a token is an integer, the same in digits, and stays readable after the end", function()
        local lease = hold(lock)
        local token = lease.token
        assert.equal(0, token % 1)
        assert.equal(("%d"):format(token), lease:token_string())
        assert.is_truthy(lease:token_string():find("^%d+$"))
        lease:release()
        session:close()
        assert.equal(token, lease.token)
        assert.equal(("%d"):format(token), lease:token_string())
    end)
end)


describe("a lease #lease:state", function()
    it("a lease's clock is not the wall clock, which jumps (PIT-17) #real", function()
        local YEAR = 365 * 24 * 3600
        assert.is_true(math.abs(os.time() - core.now()) > YEAR, core.now())
    end)

    it("a lease is certain for at most margin times the timeout #lease:held",
       function()
        for _, margin in ipairs{ 0.5, 0.2, 0.01 } do
            local lease = hold_new{ timeout = 30, margin = margin }
            for _ = 1, 3 do
                local remaining = lease:remaining()
                assert.is_true(remaining > 0 and remaining <= margin * 30, remaining)
                assert.is_true(lease:held())
                assert.equal("held", lease:state())
                assert.is_true(lease:check(20))
            end
        end
    end)

    it("a lease's certainty counts down in spite of reads, and a check renews it " ..
       "#lease:remaining #lease:check", function()
        local lease = hold_new{ timeout = 30 }
        local lock, begin = lease.session:mutex(lease.path), runtime.now()
        local before = lease:remaining()
        zklock.sleep(0.05)
        assert.equal(1, #assert(lock:queue(20)))
        assert.equal("busy", code_of(lock, { timeout = 0, owner = "another" }))
        local after = lease:remaining()
        assert.is_true(after > 0 and after <= before - 0.05 + rig.ROUNDED, after)
        assert.is_true(lease:check(20))
        local now = lease:remaining()
        assert.is_true(now > before - (runtime.now() - begin), now)
    end)

    it("a check renews from its request, not from its answer (Q-03) #lease:check", function()
        local DELAY = 0.4
        local lease, _, proxy = hold_new({ timeout = 20, margin = 0.2 }, true)
        proxy:command("delay %d", DELAY * 1000)
        assert.is_true(lease:check(20))
        local remaining = lease:remaining()
        assert.is_true(remaining > 0 and remaining <= 20 * 0.2 - DELAY, remaining)
    end)

    it("a lease is renewed while the script is busy, without dispatch (REQ-16) #real #slow",
       function()
        local lease = hold_new{ timeout = 6 }
        local renewals, before = 0, lease:remaining()
        busy_until(function()
            local now = lease:remaining()
            if now > before then renewals = renewals + 1 end
            before = now
            return renewals == 2
        end)
        assert.equal(2, renewals)
        assert.is_true(lease:check(20))
    end)

    -- Repeated, because it may be suspect on a machine that stands still for a second.
    it("a lease is not suspect between two heartbeats #slow #the_session_timeout", function()
        rig.wait_for("a lease that is held all the time", function()
            local lease, told = hold_new{ timeout = 3 }
            rig.wait_for("three heartbeats", function() return lease.session:stats().syncs >= 3 end)
            return #told == 0
        end)
    end)

    it("a lease is suspect without a connection, and held again after (PIT-09)", function()
        local lease, told, proxy = hold_new({ timeout = 20 }, true)
        proxy:break_off(lease.session)
        assert.equal("suspect", lease:state())
        assert.is_false(lease:held())
        assert.equal(0, lease:remaining())
        rig.wait_for("told", function() return told[1] end)
        assert.same({ "suspect" }, note_losses(lease))
        rig.takes(0, 10, function() rig.check_refused("timeout", nil, lease:check(0.1)) end)
        proxy:command("accept")
        rig.becomes(lease, "held")
        assert.is_true(lease:check(20))
        rig.release(lease)
        lease.session:dispatch()
        assert.same({ "suspect" }, told)
    end)

    it("on_lost is called although another session gets news all the time while it waits #real",
       function()
        local lease, told = hold_new{ timeout = 20 }
        local busy = rig.session(lease.session.hosts)
        local taken, leases = busy:mutex(rig.path()), {}
        rig.hold(lease.session:mutex(taken.path)) -- so that only an interrupt ends the wait
        for n = 1, 200 do leases[n] = rig.hold(busy:mutex(rig.path())) end
        local function go_on(n)
            if told[1] or not leases[n] then return busy:interrupt("waiter") end
            leases[n]:on_lost(function(_, state) if state == "lost" then go_on(n + 1) end end)
            leases[n]:expire(0.02)
        end
        lease:expire(0.1)
        go_on(1)
        taken:acquire{ owner = "waiter" }
        assert.same({ "lost" }, told)
    end)

    it("on_lost tells suspect again when the lease is suspect again", function()
        local lease, told, proxy = hold_new({ timeout = 20 }, true)
        for _ = 1, 10 do -- a state between two dispatches is not told
            proxy:break_off(lease.session)
            rig.wait_for("told", function() return told[1] end)
            proxy:command("accept")
            rig.becomes(lease, "held")
            if told[2] then break end
        end
        assert.same({ "suspect", "suspect" }, told)
        assert.is_true(lease:release())
    end)

    it("a lease that the clock ended stays lost, though the session lives, and its node goes " ..
       "(C recipe) #server #slow", function()
        local lease, told, proxy = hold_new({ timeout = 3 }, true)
        proxy:command("halfopen") -- the server hears the session, not vice versa
        rig.wait_for("lost", function() return told[#told] == "lost" end)
        assert.same({ "suspect", "lost" }, told)
        rig.check_over(lease, "lost")
        proxy:command("flow")
        rig.becomes(lease.session, "connected")
        local next_lease = rig.hold_elsewhere(server, lease.path)
        assert.is_true(next_lease.token > lease.token)
        for _ = 1, 5 do
            rig.check_over(lease, "lost")
            zklock.sleep(0.02)
        end
        assert.equal("lost", select(3, lease:release()))
        assert.equal("released", select(3, lease:release()))
        assert.equal("released", select(3, lease:release{ wait = 20 }))
        assert.equal(2, #told)
        assert.is_true(next_lease:check(20))
    end)

    it("on_lost hears lost while its function still handles suspect #server #real #slow", function()
        local session, proxy = rig.behind_proxy(server.hosts, { timeout = 3 })
        local lease, told = hold(session:mutex(rig.path())), {}
        lease:on_lost(function(_, state)
            told[#told + 1] = state
            if state == "suspect" then rig.wait_for("lost", function() return told[2] end) end
            told[#told + 1] = "end of " .. state
        end)
        proxy:command("halfopen")
        rig.wait_for("the end of both", function() return told[4] end)
        assert.same({ "suspect", "lost", "end of lost", "end of suspect" }, told)
        proxy:command("flow")
    end)

    it("a check after the deletion of its node returns lost at once (PIT-07)", function()
        local lease, told = hold_new{ timeout = 30 }
        rig.delete_node(server, lease.path)
        rig.check_refused("lost", lease.path, lease:check(20))
        lease.session:dispatch()
        assert.same({ "lost" }, told)
        assert.same({ "lost" }, note_losses(lease))
        assert.equal("lost", lease:state())
        assert.equal("lost", select(3, lease:release{ wait = 20 }))
        hold(lease.session:mutex(lease.path))
    end)

    it("a lost lease stays lost after release(), the session's close, and with()", function()
        local session = rig.session(server.hosts)
        local lock, leases = session:mutex(rig.path()), {}
        leases[1], leases[2] = hold(lock), hold(lock)
        lose(leases[1])
        assert.equal("lost", select(3, leases[1]:release()))
        assert.equal("lost", select(3, leases[2]:release{ wait = 20 }))
        assert.equal("lost", select(3, lock:with(5, function(lease)
            leases[3] = lease
            lose(lease)
        end)))
        leases[4] = hold(lock)
        lose(leases[4])
        leases[5] = hold(lock)
        rig.release(leases[5])
        local function judge()
            for i = 1, 4 do
                rig.check_over(leases[i], "lost")
                assert.equal("lost", select(3, leases[i]:guard{ { "check", "/" } }))
                assert.equal("lost", select(3, leases[i]:downgrade(5)))
            end
            rig.check_over(leases[5], "released")
        end
        judge()
        assert.same({ "lost" }, note_losses(leases[1]))
        assert.same({}, note_losses(leases[5]))
        session:close()
        judge()
        assert.equal("lost", select(3, leases[4]:release()))
        for i = 1, 5 do assert.equal("released", select(3, leases[i]:release())) end
        judge()
    end)

    it("a holder is told of the deletion of its node by its own watch", function()
        local lease, told = hold_new{ timeout = 3 }
        rig.delete_node(server, lease.path)
        rig.wait_for("told", function() return told[1] == "lost" or told[2] end)
        assert.equal("lost", told[#told])
        assert.equal("lost", lease:state())
        assert.equal(1, lease.session:stats().losses)
    end)
end)


describe("on_lost #lease:on_lost", function()
    local session, lock
    before_each(function() lock, session = rig.mutex{ timeout = 30 } end)

    it("on_lost never tells of a release, by whichever way", function()
        local told, kept = {}, {}
        for owner = 1, 4 do
            kept[owner] = hold(session:mutex(rig.path()), { owner = owner })
            note_losses(kept[owner], told)
        end
        assert.is_true(kept[1]:release())
        assert.is_true(kept[2]:release{ wait = 20 })
        assert.equal(1, session:release_all(3))
        note_losses(kept[1], told)
        session:close()
        session:dispatch()
        note_losses(kept[4], told)
        assert.same({}, told)
    end)

    it("on_lost never tells of a release of a lease that was just suspect", function()
        local lease, told, proxy = hold_new({ timeout = 20 }, true)
        lease.session:dispatch()
        proxy:break_off(lease.session)
        rig.wait_apart("suspect", function() return lease:state() == "suspect" end)
        assert.is_true(lease:release())
        lease.session:dispatch()
        proxy:command("accept")
        assert.same({}, told)
    end)

    it("on_lost of a released handle does not tell of another handle's loss", function()
        local outer, inner = hold(lock), hold(lock)
        local told, never = note_losses(outer), note_losses(inner)
        assert.is_true(inner:release())
        lose(outer)
        assert.same({ "lost" }, told)
        assert.same({}, never)
        assert.equal("released", inner:state())
    end)

    it("on_lost calls every callback of every handle, in spite of errors, and counts those",
       function()
        local outer, inner, trouble = hold(lock), hold(lock), {}
        local function fail() error(trouble) end
        outer:on_lost(fail)
        local told = { note_losses(outer), note_losses(outer), note_losses(inner) }
        lose(inner)
        assert.same({ { "lost" }, { "lost" }, { "lost" } }, told)
        assert.equal(1, session:stats().callback_errors)
        assert.equal(trouble, session:stats().callback_error)
        inner:on_lost(fail)
        assert.equal(2, session:stats().callback_errors)
    end)

    it("on_lost's function may release, and acquire again", function()
        local lease, code, again = hold(lock), nil, nil
        lease:on_lost(function(which)
            code = select(3, which:release())
            again = lock:acquire{ timeout = 5, owner = "again" }
        end)
        lose(lease)
        if current.world() then
            rig.wait_for("acquired again", function() return again end)
        end
        assert.equal("lost", code)
        assert.equal("held", again:state())
    end)

    it("on_lost leaves out suspect if the lease is lost by then #slow", function()
        local own, proxy = rig.behind_proxy(server.hosts, { timeout = 3 })
        local lease = hold(own:mutex(lock.path))
        lease:on_lost(function(_, state)
            if state == "suspect" then
                rig.wait_apart("lost", function() return lease:state() == "lost" end)
                lease.session:dispatch()
            end
        end)
        local told = note_losses(lease)
        proxy:break_off(lease.session)
        rig.wait_for("lost", function() return told[1] end)
        assert.same({ "lost" }, told)
    end)
end)


-- Functions that cause each callback's event once.
local causes = {
    on_lost = lose,
    on_revoke = function(lease)
        local session = lease.session
        lease:on_revoke(function() lease.heard = true end)
        assert.equal(1, session:mutex(lease.path):revoke(20))
        rig.wait_for("the request", function() return lease.heard end)
    end,
}

for name, cause in pairs(causes) do
    describe(name, function()
        local lease, told
        before_each(function()
            lease, told = hold(rig.session(server.hosts, { timeout = 30 }):mutex(rig.path())), {}
        end)

        local function teller(text)
            return function() told[#told + 1] = text end
        end

        local function register(fn)
            return lease[name](lease, fn)
        end

        it("callbacks run in the order of registration, and twice if registered twice", function()
            local a, b = teller("a"), teller("b")
            local expected = {}
            for i, fn in ipairs{ b, a, teller("c"), a, teller("d"), b } do
                register(fn)
                expected[i] = ("bacadb"):sub(i, i)
            end
            cause(lease)
            assert.same(expected, told)
            register(a)
            assert.equal("a", told[7]) -- at once, and only this function
            assert.equal(7, #told)
        end)

        it("stop ends one registration, and no other", function()
            local a = teller("a")
            local stops = { register(a), register(teller("b")), register(a), register(a) }
            stops[1]()
            stops[3]()
            stops[1]()
            cause(lease)
            assert.same({ "b", "a" }, told)
            for _, stop in ipairs(stops) do stop() end
        end)

        it("a callback may stop itself, and callbacks after it", function()
            local stops = {}
            stops[1] = register(function()
                teller("first")()
                for i = 1, 3 do stops[i]() end
            end)
            stops[2] = register(teller("second"))
            stops[3] = register(teller("third"))
            register(teller("last"))
            cause(lease)
            assert.same({ "first", "last" }, told)
        end)

        it("a callback that a callback registers is called, and each callback once", function()
            register(function() register(teller("within")) end)
            register(teller("after"))
            cause(lease)
            assert.same({ "after", "within" }, told)
        end)
    end)
end


describe("release #lease:release", function()
    it("release does not wait for the server, unless asked", function()
        local session, proxy = rig.behind_proxy(server.hosts, { timeout = 20 })
        local lock = session:mutex(rig.path())
        proxy:command("delay 200")
        rig.wait_for("a release that did not wait", function()
            local lease = hold(lock)
            local seconds, ok = rig.timed(lease.release, lease)
            assert.is_true(ok)
            return seconds < 0.15
        end)
        local lease = hold(lock)
        assert.is_true(rig.takes(0.2, 20, lease.release, lease, { wait = 20 }))
        assert.same({}, server:nodes(lock.path))
    end)

    it('a release whose wait is too short returns "timeout", and goes on by itself', function()
        local lease, _, proxy = hold_new({ timeout = 20 }, true)
        proxy:break_off(lease.session)
        assert.equal("timeout", select(3, rig.takes(0.1, 10, lease.release, lease, { wait = 0.1 })))
        assert.equal("released", lease:state())
        assert.equal("released", select(3, lease:release{ wait = 0.1 }))
        proxy:command("accept")
        server:wait_for_nodes(lease.path, 0)
    end)
end)
