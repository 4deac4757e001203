--- [lua asan tsan] Servers that do not know an operation, and close the connection at it, as
-- ClickHouse Keeper does. A proxy cuts instead of forwarding (rig/proxy.c).

local fault = require "spec.fault.fault"
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()

describe("a server that lacks operations #failures", function()
    local session, proxy, events

    before_each(function()
        events = {}
        session, proxy = rig.behind_proxy(server.hosts, {
            timeout = 4,
            on_event = function(event) events[#events + 1] = event.event end,
        })
    end)
    after_each(rig.close_sessions)

    it("a server without containers gets persistent parents, and stats() and on_event tell that",
       function()
        assert.is_true(session:stats().containers)
        proxy:command("lack createContainer")
        assert(session:mutex(rig.path() .. "/lock"):acquire(20)):release{ wait = 20 }
        assert.is_false(session:stats().containers)
        assert.matches("no_containers", table.concat(events, " "))
        assert.equal(0, proxy:counts().createContainer)
    end)

    it("a server without containers is asked for them again by the next session", function()
        proxy:command("lack createContainer")
        assert(session:mutex(rig.path() .. "/lock"):acquire(20))
        local other, link = rig.behind_proxy(server.hosts)
        assert(other:mutex(rig.path() .. "/lock"):acquire(20))
        assert.is_true(link:counts().createContainer > 0)
    end)

    it("a server without create2 makes acquire return unsupported, with the name, before the " ..
       "deadline", function()
        proxy:command("lack create2")
        local seconds, lease, message, code = rig.timed(function()
            return session:mutex(rig.path()):acquire(60)
        end)
        fault.fails("unsupported", lease, message, code)
        assert.matches("create2", message)
        assert.is_true(seconds < 30, seconds)
    end)

    it("a server without multi keeps a writer's lease when it refuses downgrade and guard",
       function()
        local path, other = rig.path(), rig.path()
        local writes = session:rwlock(path):write()
        local lease = assert(writes:acquire(20))
        proxy:command("lack multi")
        local ok, message, code = lease:downgrade(20)
        fault.fails("unsupported", ok, message, code)
        assert.equal("write", writes:queue()[1].kind)
        rig.check_refused("not_owner", nil, writes:condition("c"):signal(lease, 20))
        ok, message, code = lease:guard{ { "set", other, "x" } }
        fault.fails("unsupported", ok, message, code)
        assert.equal("held", lease:state())
        assert.is_true(lease:release{ wait = 20 })
        assert.same({}, session:rwlock(path):write():queue())
    end)

    it("a server without removeWatches gets no more removals, each of which would cut the " ..
       "connection", function()
        local path = rig.path()
        assert(rig.session(server.hosts):mutex(path):acquire(20))
        proxy:command("lack removeWatches")
        local function watch_a_moment() assert(session:watch(path, function() end))() end
        rig.wait_for("a removal that the server is spared", function()
            local reconnects = session:stats().reconnects
            watch_a_moment()
            zklock.sleep(0.5)
            return session:stats().reconnects == reconnects and session:state() == "connected"
        end, 60)
        assert.equal("connected", session:state())
    end)

    it("a server that renews a cut session ends its leases at once, and its lack is remembered",
       function()
        -- https://github.com/ClickHouse/ClickHouse/issues/116690
        proxy:command("renew")
        proxy:command("lack createContainer")
        local lock = session:mutex(rig.path() .. "/lock")
        rig.wait_for("a grant", function()
            local lease, _, code = lock:acquire(20)
            assert(lease or code == "expired", code)
            return lease
        end)
        assert.is_false(session:stats().containers)
        local expiries, lease = session:stats().expiries, rig.hold(lock)
        proxy:command("cut")
        local function is_lost() return lease:state() == "lost" end
        local seconds = rig.timed(rig.wait_for, "lost", is_lost)
        assert.is_true(seconds < session:timeout() / 2, seconds)
        assert.equal(expiries + 1, session:stats().expiries)
    end)

    it("an operation at which two connections ended is not believed missing", function()
        for n = 1, 2 do proxy:command("drop-request create2 %d", n) end
        assert(session:mutex(rig.path()):acquire(20))
    end)

    it("an operation that the server once answered is waited for", function()
        local lock = session:mutex(rig.path())
        assert(lock:acquire(20)):release{ wait = 20 }
        proxy:command("lack create2")
        local lease, message, code = lock:acquire(3)
        fault.fails("timeout", lease, message, code)
    end)
end)
