--- [lua tsan] An ensemble that loses its leader, or a server that is cut off from its ensemble
-- while clients still reach it. Two parts of an ensemble may then believe different things.

local core = require "zklock.core"
local fault = require "spec.fault.fault"
local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"

local fails, release = fault.fails, rig.release

local ensemble

local function leader()
    return rig.wait_for("a leader", function() return ensemble:leader() end, 30)
end

local function follower()
    return leader() % 3 + 1
end

local function all_but(n)
    local hosts = {}
    for other = 1, 3 do
        if other ~= n then hosts[#hosts + 1] = ensemble:host(other) end
    end
    return table.concat(hosts, ",")
end

-- A follower may still show deleted nodes for a moment.
local function wait_for_line(lock, count)
    rig.wait_for(count .. " in line", function()
        local queue = lock:queue(20)
        return queue and #queue == count
    end, 30)
end

local function rejoin_all()
    for n = 1, 3 do ensemble:rejoin(n) end
    for n = 1, 3 do
        rig.wait_for("server " .. n .. " to serve", function()
            return ensemble:ask("srvr", n):find("Mode: [lf]")
        end, 30)
    end
end

setup(function() ensemble = rig.server{ n = 3, links = true } end)
teardown(function() ensemble:stop() end)
after_each(function()
    rig.close_sessions()
    rejoin_all()
end)


-- Promise 2: a holder knows that it may have lost the lock before another contender is granted. It
-- may learn of the final loss later, because the server is not asked.
describe("a holder that is cut off with its server #lease:held", function()
    -- Waits for the lock, and prints the time of its grant; the clock is the same in every process.
    local NEXT = [[
        local core = require "zklock.core"
        local session = assert(zklock.connect(HOSTS, { timeout = 40 }))
        local lock, token = session:mutex(PATH), nil
        local lease = assert(lock:acquire{ timeout = 60, on_queued = function() say("queued") end })
        say(("%.6f"):format(core.now()))
        say(lease:token_string(), lease:state())
        io.read()
        session:close()
    ]]

    -- Strikes while the lease is held. Returns the time of the strike, the time just before the
    -- lease last said that it was held, and the time of its loss.
    local function watch(session, lease, strike)
        local held
        rig.wait_for("held", function()
            held = core.now()
            return lease:held()
        end)
        strike()
        local struck = core.now()
        repeat
            local now = core.now()
            local state = lease:state()
            if state == "held" then held = now end
            session:dispatch()
        until state == "lost" or now > struck + 30
        return struck, held, core.now()
    end

    local function check_suspect_before_next_grant(n, how, timeout)
        local path, old_leader = rig.path(), leader()
        local session = rig.session(ensemble:host(n), { timeout = timeout })
        local lease = rig.hold(session:mutex(path))
        local told = rig.note_losses(lease)
        local child = program.start(all_but(n), ("local PATH = %q\n"):format(path) .. NEXT,
                                    { input = true, seconds = 120 })
        finally(function() child:tell(nil) end)
        child:says("queued")
        rig.wait_for("heartbeats", function() return session:stats().syncs >= 3 end)
        local struck, held, lost = watch(session, lease, function() ensemble:isolate(n, how) end)
        local granted = tonumber((assert(child:line(), "the next in line got no lock")))
        assert.equal("lost", lease:state())
        assert.is_true(held < granted, ("held %.3f s after the next grant"):format(held - granted))
        -- A follower that is cut off answers no sync. A leader answers syncs until it steps down,
        -- after syncLimit, which is 2.2 s here, and a tick or two.
        local answering = n == old_leader and 2.8 or 0
        local busy = 5
        assert.is_true(lost - struck < answering + timeout + busy,
                       ("lost after %.2f s"):format(lost - struck))
        assert.same({ "suspect", "lost" }, { told[#told - 1], told[#told] })
        local token, state = assert(child:line()):match("(%d+)\t(%a+)")
        assert.equal("held", state)
        assert.is_true(tonumber(token) > lease.token)
        ensemble:rejoin(n)
        rig.wait_for("a session again", function()
            return session:mutex(path .. "/other"):queue(1) ~= nil
        end, 30)
        assert.equal("lost", lease:state())
        fails("lost", lease:check(20))
        child:tell("close")
        assert.is_true(rig.hold(session:mutex(path)).token > tonumber(token))
        child:ends()
    end

    for _, how in ipairs{ "reset", "silence" } do
        for _, timeout in ipairs{ 2, 4 } do
            it(("a holder is suspect before the next grant #slow, at a follower, %s, %.1f " ..
                "s"):format(how, timeout), function()
                check_suspect_before_next_grant(follower(), how, timeout)
            end)
        end
        it(("a holder is suspect before the next grant #slow, at the leader, %s"):format(how),
           function()
            check_suspect_before_next_grant(leader(), how, 2.5)
        end)
    end
end)


describe("a holder that may change its server #lease:held", function()
    -- Returns the set of states of a lease while fn() runs, and until it is held for certain again.
    local function states_during(session, lease, fn)
        local seen = {}
        local function look() seen[lease:state()] = true end
        fn(look)
        rig.wait_for("held for certain", function()
            look()
            return session:state() == "connected" and lease:check(1)
        end, 30)
        look()
        return seen
    end

    local function check_kept(strike, first)
        local session = rig.session(first .. "," .. ensemble.hosts, { timeout = 40 })
        local lock = session:mutex(rig.path())
        local lease = rig.hold(lock)
        local id, token, told = session:id(), lease:token_string(), rig.note_losses(lease)
        local seen = states_during(session, lease, strike)
        assert.is_nil(seen.lost)
        assert.equal("held", lease:state())
        assert.equal(id, session:id())
        assert.equal(token, lease:token_string())
        local queue = assert(lock:queue(10))
        assert.equal(1, #queue)
        assert.equal(lease.token, queue[1].token)
        for _, state in ipairs(told) do assert.equal("suspect", state) end
    end

    for how, fate in pairs{ reset = "is cut off", silence = "falls silent" } do
        it("a holder keeps the lease when its follower " .. fate .. " #slow", function()
            local n = follower()
            check_kept(function() ensemble:isolate(n, how) end, ensemble:host(n))
        end)
    end

    it("a holder keeps the lease when the leader is cut off and another is elected", function()
        local old = leader()
        check_kept(function(look)
            ensemble:isolate(old)
            rig.wait_for("another leader", function()
                look()
                local new = ensemble:leader()
                return new and new ~= old
            end, 30)
        end, ensemble:host(old))
    end)

    it("a holder keeps the lease through the deaths of two leaders #slow", function()
        check_kept(function(look)
            for _ = 1, 2 do
                local dead = leader()
                ensemble:kill(dead)
                rig.wait_for("another leader", function() look() return ensemble:leader() end, 30)
                ensemble:restart(dead)
                look()
            end
        end, ensemble:host(leader()))
    end)
end)


describe("a line of waiters #lock:acquire", function()
    -- Five sessions, each with all servers, queue one after the other behind a holder. Then
    -- strike(lease, order) releases the holder's lease.
    local function check_order(strike)
        local path, acquires = rig.path(), {}
        for n, session in ipairs(rig.sessions(6, ensemble.hosts, { timeout = 40 })) do
            acquires[n] = session:mutex(path)
        end
        local leases = { rig.hold(table.remove(acquires)) }
        local function hold(_, lease)
            for _, other in ipairs(leases) do assert.is_false(other:held()) end
            leases[#leases + 1] = lease
            zklock.sleep(0.05)
        end
        assert.same({ 1, 2, 3, 4, 5 }, rig.line_up(acquires, function(order)
            strike(leases[1], order)
        end, hold))
        wait_for_line(acquires[1], 0)
    end

    it("waiters are granted in order of arrival when the leader dies while they wait #slow",
       function()
        check_order(function(lease, order)
            local token, dead = lease:token_string(), leader()
            ensemble:kill(dead)
            leader()
            rig.becomes(lease, "held")
            assert.equal(token, lease:token_string())
            assert.same({}, order)
            ensemble:restart(dead)
            assert.is_true(lease:check(20))
            lease:release()
        end)
    end)

    it("waiters are granted in order of arrival when the leader dies with the release #slow",
       function()
        local dead = leader()
        check_order(function(lease)
            lease:release()
            ensemble:kill(dead)
        end)
        ensemble:restart(dead)
    end)
end)


describe("a waiter whose server is cut off #lock:acquire", function()
    local waiter, third, lease, n

    -- Only the waiter's session is connected to the follower n.
    local function begin(timeout)
        n = follower()
        lease = rig.hold(rig.session(all_but(n), { timeout = 40 }):mutex(rig.path()))
        waiter = rig.session(ensemble:host(n), { timeout = timeout }):mutex(lease.path)
        third = rig.session(all_but(n), { timeout = 40 }):mutex(lease.path)
    end

    it("a wait ends at its deadline, also when it hears nothing #clock", function()
        begin(20)
        fails("timeout", rig.takes(1.5, 8, rig.wait_while, waiter, { timeout = 1.5 }, function()
            ensemble:isolate(n, "silence")
        end))
        -- The waiter's node is still there, and cannot be deleted from here.
        wait_for_line(third, 2)
        release(lease)
        ensemble:rejoin(n)
        rig.hold(third)
        wait_for_line(third, 1)
    end)

    it("a waiter keeps its place when its server comes back in time", function()
        begin(20)
        local leases = { lease }
        assert.same({ 1, 2 }, rig.line_up({ waiter, third }, function(order)
            ensemble:isolate(n, "silence")
            release(lease)
            zklock.sleep(0.5)
            assert.same({}, order)
            ensemble:rejoin(n)
        end, function(_, mine)
            assert.is_false(leases[#leases]:held())
            assert.is_true(mine.token > leases[#leases].token)
            leases[#leases + 1] = mine
        end))
    end)

    it("a waiter returns expired, and the waiter behind it is granted, when its server stays " ..
       "away #slow", function()
        begin(3)
        local theirs
        assert.same({ 2, "expired" }, rig.line_up({ waiter, third }, function(order)
            ensemble:isolate(n)
            release(lease)
            rig.wait_for("the third's grant", function() return theirs end)
            assert.same({ 2 }, order)
            ensemble:rejoin(n)
            rig.wait_for("the waiter's end", function() return order[2] end)
            assert.is_true(theirs:check(20))
            fails("busy", waiter:acquire(0))
            wait_for_line(third, 1)
            theirs:release()
        end, function(_, mine)
            theirs = mine
            rig.becomes(mine, "released", 120)
        end))
    end)
end)
