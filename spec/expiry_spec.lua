--- What an expiry does: to what was held, to what was waiting, and to the session.
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()


describe("an expired session (PIT-02, BUG-13)", function()
    local holder, reopened, final, first_id
    local lost, waited, told, states = {}, {}, {}, {}

    -- One expiry for all tests: two sessions, each holds one lock and waits for another.
    setup(function()
        local busy = rig.path()
        holder = rig.hold(rig.session(server.hosts):mutex(busy))
        local fragile = {}
        local function open(n, reopen)
            states[n], told[n] = {}, {}
            fragile[n] = rig.fragile(server, { timeout = 5, reopen = reopen,
                on_state = function(state) table.insert(states[n], state) end })
            local session = fragile[n].session
            lost[n] = assert(session:mutex(rig.path()):acquire(20))
            lost[n]:on_lost(function(_, state) table.insert(told[n], state) end)
            return session
        end
        reopened, final = open(1, true), open(2, false)
        first_id = reopened:id()
        zklock.run(
            function() waited[1] = rig.code_of(reopened:mutex(busy)) end,
            function() waited[2] = rig.code_of(final:mutex(busy), 60) end,
            function()
                rig.wait_for("both wait", function() return #server:nodes(busy) == 3 end)
                for n = 1, 2 do fragile[n].cut() end
                rig.wait_for("expired", function() return #server:nodes(busy) == 1 end)
                for n = 1, 2 do fragile[n].heal() end
            end)
        rig.wait_for("connected anew", function() return states[1][#states[1]] == "connected" end)
    end)
    teardown(function()
        assert.equal("held", holder:state())
        rig.close_sessions()
    end)

    it('ends what was waiting with "expired"', function()
        assert.same({ "expired", "expired" }, waited)
    end)

    it("loses what was held, and tells so once: suspect, then lost", function()
        for n = 1, 2 do
            assert.same({ "suspect", "lost" }, told[n])
            assert.equal("lost", lost[n]:state())
            assert.is_false(lost[n]:held())
            assert.equal(0, lost[n]:remaining())
            assert.equal("lost", select(3, lost[n]:check(20)))
            assert.same({}, server:nodes(lost[n].path))
        end
    end)

    it("tells its states in order", function()
        assert.same({ "connected", "suspended", "expired", "connecting", "connected" }, states[1])
        assert.same({ "connected", "suspended", "expired" }, states[2])
    end)

    it("is opened anew by itself, for later calls", function()
        assert.equal("connected", reopened:state())
        assert.not_equal(first_id, reopened:id())
        assert.equal(1, reopened:stats().expiries)
        local lock = reopened:mutex(lost[1].path)
        local lease = assert(lock:acquire(20))
        assert.is_true(lease.token > lost[1].token)
        assert.equal("held", lease:state())
        assert.equal("lost", lost[1]:state())
    end)

    it("with reopen = false stays expired, and every call says so at once", function()
        local lock = final:mutex(rig.path())
        local seconds = rig.timed(function()
            assert.equal("expired", final:state())
            assert.is_nil(final:id())
            assert.is_truthy(tostring(final):find("expired", 1, true))
            for _, arg in ipairs{ 0, 60, { owner = "x" } } do
                assert.equal("expired", select(3, lock:acquire(arg)))
            end
            assert.equal("expired", select(3, lock:queue()))
            assert.equal("expired", select(3, lock:with(error)))
        end)
        assert.is_true(seconds < 10, seconds)
    end)

    it("gives up a lost lease without harm to the new holder (PIT-07, BUG-16, Curator)", function()
        local lock = reopened:mutex(lost[1].path)
        local again = assert(lock:acquire(20))
        assert.equal("lost", select(3, lost[1]:release()))
        assert.equal("released", select(3, lost[1]:release()))
        assert.equal("lost", select(3, lost[2]:release{ wait = 1 }))
        assert.equal("held", again:state())
        assert.is_true(again:check(20))
    end)
end)


describe("a standby", function()
    after_each(rig.close_sessions)

    local function lead(lock)
        while true do
            local lease, message, code = lock:acquire()
            if code ~= "expired" then return lease, message, code end
        end
    end

    it("whose session expires asks again, and has the lock when it is its turn #slow", function()
        local session, proxy = rig.behind_proxy(server.hosts, { timeout = 3 })
        local path = rig.path()
        local held = assert(rig.session(server.hosts):mutex(path):acquire(20))
        local lease
        zklock.run(function()
            lease = assert(lead(session:mutex(path)))
        end, function()
            server:wait_for_nodes(path, 2)
            proxy:break_off(session)
            server:wait_for_nodes(path, 1)
            proxy:command("accept")
            server:wait_for_nodes(path, 2)
            held:release()
        end)
        assert.equal("held", lease:state())
        assert.equal(1, session:stats().expiries)
        assert.is_true(lease:check(10))
    end)
end)
