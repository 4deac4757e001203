--- [lua luajit asan tsan worlds tls] An expiry ends leases, waits and the session.
local rig = require "spec.rig"

local server = rig.shared()


describe("an expired session (PIT-02, BUG-13) #lease:state", function()
    local another, reopened, final, first_id
    local base, holders, lost, codes, told, states = rig.path(), {}, {}, {}, {}, {}

    local function path_of(kind, n, folder)
        return ("%s/%s/%d/%s"):format(base, folder or "own", n, kind)
    end

    -- Lets the session hold a lock of that kind, and adds waiters for a lock of another session.
    local function contend(session, kind, n, waiters)
        lost[n][kind], codes[n][kind] = rig.hold(rig.kinds[kind](session, path_of(kind, n))), {}
        told[n][kind] = rig.note_losses(lost[n][kind])
        local theirs, mine = rig.excluding(kind, another, session, path_of(kind, n, "busy"))
        holders[#holders + 1] = rig.hold(theirs)
        for i, timeout in ipairs{ math.huge, 60 } do
            waiters[#waiters + 1] = function()
                codes[n][kind][i] = rig.code_of(mine, { timeout = timeout, owner = i })
            end
        end
    end

    -- All tests look at one expiry of two sessions, each with a lock of each kind, and waits.
    setup(function()
        another = rig.session(server.hosts)
        local fragile, waiters = {}, {}
        for n = 1, 2 do
            states[n], lost[n], codes[n], told[n] = {}, {}, {}, {}
            fragile[n] = rig.fragile(server, { timeout = 5, reopen = n == 1,
                on_state = function(state) table.insert(states[n], state) end })
            for kind in pairs(rig.kinds) do contend(fragile[n].session, kind, n, waiters) end
        end
        reopened, final = fragile[1].session, fragile[2].session
        first_id = reopened:id()
        rig.run(#waiters, function(i) waiters[i]() end, function()
            for n = 1, 2 do
                local waits = #waiters / 2 + 2 -- a multi-lock has two
                rig.wait_for_waits(fragile[n].session, waits)
                fragile[n].cut()
            end
            server:wait_for_nodes(base .. "/own", 0)
            for n = 1, 2 do fragile[n].heal() end
        end)
        rig.wait_for("connected anew", function() return states[1][#states[1]] == "connected" end)
    end)
    teardown(function()
        for _, holder in ipairs(holders) do assert.equal("held", holder:state()) end
        rig.close_sessions()
    end)

    it('all waits return "expired"', function()
        for kind in pairs(rig.kinds) do
            for n = 1, 2 do assert.same({ "expired", "expired" }, codes[n][kind], kind) end
        end
    end)

    it("each lease is suspect, then lost, and tells that once", function()
        for kind in pairs(rig.kinds) do
            for n = 1, 2 do
                assert.same({ "suspect", "lost" }, told[n][kind], kind)
                rig.check_over(lost[n][kind], "lost")
            end
        end
    end)

    it("no node of leases and waits is left, and another session gets the locks", function()
        server:wait_for_nodes(base .. "/busy", #holders + 2) -- a multi-lock has two nodes
        for kind, make in pairs(rig.kinds) do
            for n = 1, 2 do
                local lease = rig.hold(make(another, path_of(kind, n)), 0)
                assert.is_true(lease.token > lost[n][kind].token, kind)
                rig.release(lease)
            end
        end
    end)

    it("on_state hears the states in order", function()
        assert.same({ "connected", "suspended", "expired", "connecting", "connected" }, states[1])
        assert.same({ "connected", "suspended", "expired" }, states[2])
    end)

    it("the session opens anew by itself, for later calls", function()
        assert.equal("connected", reopened:state())
        assert.not_equal(first_id, reopened:id())
        assert.equal(1, reopened:stats().expiries)
        for kind, make in pairs(rig.kinds) do
            local lease = assert(make(reopened, path_of(kind, 1)):acquire(20))
            assert.is_true(lease.token > lost[1][kind].token)
            assert.equal("held", lease:state())
            assert.equal("lost", lost[1][kind]:state())
            rig.release(lease)
        end
    end)

    it("a session with reopen = false stays expired, and returns that at once", function()
        local lock = final:mutex(rig.path())
        assert.equal("expired", final:state())
        assert.is_nil(final:id())
        assert.is_truthy(tostring(final):find("expired", 1, true))
        assert.equal("expired", (rig.takes(0, 10, rig.code_of, lock, 0)))
    end)

    it("the release of a lost lease does not harm the new holder (PIT-07, BUG-16, Curator)",
       function()
        for kind, make in pairs(rig.kinds) do
            local again = assert(make(reopened, path_of(kind, 1)):acquire(20))
            assert.equal("lost", select(3, lost[1][kind]:release()))
            assert.equal("released", select(3, lost[1][kind]:release()))
            assert.equal("lost", select(3, lost[2][kind]:release{ wait = 1 }))
            assert.equal("held", again:state())
            assert.is_true(again:check(20))
        end
    end)
end)
