--- [lua asan tsan] A server that comes back without its data, or another server in its place, hangs
-- up on the old session for ever, and never says that it expired. Other outages look alike, and
-- must not end the session.

local fault = require "spec.fault.fault"
local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"

local fails = fault.fails


local function count_sessions(server, n)
    return tonumber(server:ask("dump", n):match("Session Sets %(%d+%)/%((%d+)%)"))
end

local function count_threads()
    return tonumber(rig.shell("ls /proc/%d/task | wc -l", rig.pid))
end

local function wait_for_sessions(server, count)
    rig.wait_for(count .. " sessions", function() return count_sessions(server) == count end)
end

local function wait_for_expiry(session)
    rig.wait_for("an expiry", function()
        session:dispatch()
        return session:stats().expiries >= 1
    end)
end


describe("a server that comes back without its data #session:state", function()
    local server

    setup(function() server = rig.server() end)
    teardown(function() server:stop() end)
    after_each(rig.close_sessions)

    -- Makes transactions, more than the wiped server will make.
    local function use(session)
        local lock = session:mutex("/used-" .. session:id() .. "/lock")
        for _ = 1, 5 do
            local lease = rig.wait_for("the lock", function() return lock:acquire(20) end)
            rig.release(lease)
        end
    end

    local function wipe() fault.wipe(server) end

    local function open(options)
        options.timeout = options.timeout or 1
        local session = rig.session(server.hosts, options)
        use(session)
        return session
    end

    it("the session loses its leases, ends its waits with expired, and goes on #slow", function()
        local states = {}
        local session = open{
            timeout = 3, on_state = function(state) states[#states + 1] = state end,
        }
        local waiter, lock = open{ timeout = 3 }, session:mutex(rig.path())
        local lease = rig.hold(lock)
        local lost = rig.note_losses(lease)
        fails("expired", rig.wait_while(waiter:mutex(lock.path), { timeout = 60 }, function()
            wipe()
            wait_for_expiry(session)
            wait_for_expiry(waiter)
        end))
        assert.equal("lost", lease:state())
        rig.becomes(session, "connected")
        rig.becomes(waiter, "connected")
        session:dispatch()
        assert.equal("lost", lost[#lost])
        -- A busy machine may have been late before, and suspended the session for a moment.
        assert.matches("^connected .*suspended expired connecting connected",
            table.concat(states, " "))
        local again = rig.hold(lock)
        fails("busy", waiter:mutex(lock.path):acquire(0))
        rig.release(again)
        assert.equal(2, count_sessions(server), "nothing else is left")
    end)

    it("the session ends for good with reopen = false #slow", function()
        local session = open{ reopen = false }
        wipe()
        rig.becomes(session, "expired")
        fails("expired", session:mutex(rig.path()):acquire(20))
        wait_for_sessions(server, 0)
    end)

    it("a second loss of data during the probe ends the session #slow", function()
        local session = open{ timeout = 4 }
        wipe()
        wait_for_sessions(server, 1)
        assert.equal(0, session:stats().expiries)
        wipe()
        wait_for_expiry(session)
        rig.becomes(session, "connected")
        rig.use(session:mutex("/again/lock"))
        wait_for_sessions(server, 1)
    end)

    it("the next session gets the credentials #slow", function()
        local session = open{ auth = "digest:ann:a", acl = "creator" }
        local path = "/ann-" .. session:id() .. "/lock"
        wipe()
        wait_for_expiry(session)
        rig.use(session:mutex(path))
        local bob = rig.session(server.hosts, { auth = "digest:bob:b" })
        fails("auth", bob:mutex(path):acquire(20))
    end)

    -- Wipes the server, and waits until it has the probe's session. The given session, suspended
    -- then, ends a session timeout later.
    local function wipe_until_probed(session)
        wipe()
        wait_for_sessions(server, 1)
        assert.equal("suspended", session:state())
    end

    local function check_nothing_left(before)
        wait_for_sessions(server, 0)
        rig.wait_for("all threads end", function() return count_threads() <= before end)
    end

    local function check_close(least, most, prepare)
        local before, session = count_threads(), open{ timeout = 6 }
        if prepare then prepare(session) end
        wipe_until_probed(session)
        rig.takes(least, most, session.close, session)
        check_nothing_left(before)
    end

    it("close during the probe is not delayed, and leaves nothing #slow", function()
        check_close(0, 4)
    end)

    -- close() spends half of its time on a connection, to delete the nodes.
    it("close waits for a session with nodes, within its bound #slow", function()
        check_close(2, 12, function(session) rig.hold(session:mutex("/held/lock")) end)
    end)

    it("a session collected during the probe leaves nothing #slow", function()
        local before = count_threads()
        local session = assert(zklock.connect(server.hosts, { timeout = 6 }))
        use(session)
        wipe_until_probed(session)
        session = nil -- luacheck: ignore 311
        collectgarbage()
        collectgarbage()
        check_nothing_left(before)
    end)

    it("the probe does not leak into programs that are started #slow", function()
        server:ask("ruok")
        local before = fault.count_inherited()
        local session = open{ timeout = 6 }
        wipe_until_probed(session)
        rig.wait_for("no descriptor inherited", function()
            return fault.count_inherited() <= before
        end)
        assert.equal("suspended", session:state()) -- so the probe is still open
    end)

    local ENDS = {
        ["a fork's end"] = [[
            local pid = system.fork(10)
            if pid == 0 then
                local ok, problem = pcall(session.state, session)
                system.exit(not ok and tostring(problem):find("forked") and 0 or 1)
            end
            say(system.wait(pid))
            while session:state() ~= "connected" do zklock.sleep(0.01) end
            say(session:stats().expiries)]],
        ["os.exit()"] = "say(0) say(1) os.exit(0)",
        ["the end of the state"] = "say(0) say(1) os.exit(0, true)",
    }

    for name, ending in pairs(ENDS) do
        it("a probe ends in order in spite of " .. name .. " #slow", function()
            local child = program.start(server.hosts, [[
                local system = require "spec.fault.program".system()
                local session = assert(zklock.connect(HOSTS, { timeout = 6 }))
                local lock = session:mutex("/forking")
                for _ = 1, 5 do assert(lock:acquire(20)):release{ wait = 20 } end
                say("ready")
                io.read()
                say(session:state())
            ]] .. ending, { input = true })
            child:says("ready")
            wipe()
            wait_for_sessions(server, 1)
            child:tell("go")
            child:says("suspended", "0", "1")
            child:tell(nil)
            child:ends()
            wait_for_sessions(server, 0)
        end)
    end
end)


-- A server that is back gives each session its timeout anew, for the client to come.
describe("an outage of several session timeouts #lock:acquire", function()
    after_each(rig.close_sessions)

    local function check_waited_through(server, timeout, outage)
        local holder = rig.session(server.hosts, { timeout = 40 })
        local session = rig.session(server.hosts, { timeout = timeout })
        local lock, id = session:mutex(rig.path()), session:id()
        local lease = rig.hold(holder:mutex(lock.path))
        assert(rig.wait_while(lock, { timeout = 120 }, function()
            outage()
            rig.becomes(session, "connected")
            assert.equal(id, session:id())
            rig.becomes(holder, "connected")
            lease:release()
        end))
        assert.equal(0, session:stats().expiries)
    end

    it("a single server's outage ends no waiter, and leaves no probe #slow", function()
        local server = rig.server()
        finally(function() server:stop() end)
        check_waited_through(server, 8, function()
            server:kill()
            zklock.sleep(18)
            server:restart()
        end)
        wait_for_sessions(server, 2)
    end)

    it("an ensemble's loss of its quorum ends no waiter, and leaves no probe #slow", function()
        local ensemble = rig.server{ n = 3 }
        finally(function() ensemble:stop() end)
        check_waited_through(ensemble, 8, function()
            for n = 1, 2 do ensemble:kill(n) end
            zklock.sleep(18)
            for n = 1, 2 do ensemble:restart(n) end
        end)
        rig.wait_for("two sessions", function()
            local leader = ensemble:leader()
            return leader and count_sessions(ensemble, leader) == 2
        end)
    end)
end)
