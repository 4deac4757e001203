--- [lua luajit asan tsan worlds] The watches of a session are limited, a holder's own node always
-- has room, and a watch without a claim is removed.

local rig = require "spec.rig"
local zklock = require "zklock"

local LONG = 60
local FILL = ("x"):rep(2000)
local LONGER = FILL:rep(3) -- does not fit into the room that is left after a refused wait
local LIMIT = 256 * 1024 -- for watched nodes of other sessions

local unpack = table.unpack or unpack -- luacheck: globals unpack

local server

setup(function() server = rig.shared() end)
after_each(rig.close_sessions)

local function hold_many(session, count, fill)
    local folder, paths = rig.path(), {}
    for i = 1, count do
        paths[i] = ("%s/%s%d"):format(folder, fill, i)
        rig.hold(session:mutex(paths[i]))
    end
    return paths
end


describe("a holder whose session may watch no more nodes of others #a_lock_that_is_kept", function()
    local session, other

    before_each(function() session, other = unpack(rig.sessions(2, server.hosts)) end)

    local function run_when_full(fn)
        local ends, paths = {}, hold_many(other, 200, FILL)
        local function wait_in_vain(path)
            local code = rig.code_of(session:mutex(path))
            ends[code] = (ends[code] or 0) + 1
        end
        zklock.run(function()
            local begun = 0
            while not ends.too_many do
                begun = begun + 1
                coroutine.wrap(wait_in_vain)(assert(paths[begun], "no limit was met"))
                -- A refused wait was in line, too; it counts as a wait, and not as a claim.
                rig.wait_for("the place in line, or none", function()
                    local stats = session:stats()
                    return stats.in_flight == 0 and (stats.claims == begun or ends.too_many)
                end)
            end
            fn()
            session:close()
        end)
        assert.equal(1, ends.too_many)
        assert.equal(0, session:stats().watch_bytes)
    end

    it("the holder hears of a revocation, and of the deletion of its node #slow", function()
        run_when_full(function()
            local stats = session:stats()
            assert.equal(LIMIT, stats.watch_bytes_limit)
            assert.is_true(stats.watch_bytes <= LIMIT, stats.watch_bytes)
            assert.is_true(stats.watch_bytes > LIMIT - #FILL - 100, stats.watch_bytes)
            local paths, leases, heard = { rig.path() .. LONGER, rig.path() .. LONGER }, {}, 0
            for i, path in ipairs(paths) do leases[i] = rig.hold(session:mutex(path)) end
            leases[1]:on_revoke(function() heard = heard + 1 end)
            assert.equal(1, other:mutex(paths[1]):revoke(5))
            rig.wait_for("the request", function() return heard == 1 end)
            assert.equal("held", leases[1]:state())
            for _, path in ipairs(paths) do rig.delete_node(server, path) end
            for _, lease in ipairs(leases) do rig.becomes(lease, "lost") end
        end)
    end)
end)


describe("claims of a session behind one another #lock:acquire", function()
    local COUNT = 90 -- of each session; two thirds of their predecessors fill the limit

    it("many claims are served in order, though not all may watch their predecessors #slow",
       function()
        local both = rig.sessions(2, server.hosts)
        local path, acquires, numbers = rig.path() .. "/" .. FILL:rep(2), {}, {}
        local holder = rig.hold_elsewhere(server, path)
        for i = 1, 2 * COUNT do
            acquires[i], numbers[i] = { both[i % 2 + 1]:mutex(path), timeout = 300 }, i
        end
        assert.same(numbers, rig.line_up(acquires, function()
            for _, session in ipairs(both) do
                rig.wait_for_stats(session, { in_flight = 0, claims = COUNT })
                local stats = session:stats()
                assert.is_true(stats.watch_bytes <= LIMIT, stats.watch_bytes)
                assert.is_true(stats.watches < 2 * COUNT, stats.watches)
            end
            rig.release(holder)
        end, function(_, lease) rig.release(lease) end))
    end)
end)


describe("a watch without a claim #server #lock:acquire", function()
    local session, proxy, holder, path, before

    before_each(function()
        before = server:watches()
        holder = rig.session(server.hosts, { timeout = LONG })
        session, proxy = rig.behind_proxy(server.hosts, { timeout = LONG })
        path = rig.path()
    end)

    local function removals()
        return proxy:counts().removeWatches
    end

    -- Lets this number of owners wait for the lock until the session has `watches` watches, and
    -- interrupts them.
    local function wait_and_give_up(lock, owners, watches)
        rig.run(owners, function(owner)
            assert.equal("interrupted", rig.code_of(lock, { timeout = 30, owner = owner }))
        end, function()
            rig.wait_for_stats(session, { watches = watches, in_flight = 0 })
            for owner = 1, owners do assert.equal(1, session:interrupt(owner)) end
        end)
    end

    -- Waits until the server has only the watches from before, and the holders' watches on their
    -- own nodes.
    local function wait_for_no_watches(given_session, ...)
        local holders = { holder, ... }
        rig.wait_for_stats(given_session, { watches = 0 })
        rig.wait_for("the server to have no more watches", function()
            local others = before
            for _, each in ipairs(holders) do others = others + each:stats().watches end
            return server:watches() <= others
        end)
    end

    it("600 waits in vain on long paths leave room for the next wait #slow", function()
        local second = rig.session(server.hosts, { timeout = LONG })
        for _, other in ipairs{ holder, second } do
            local paths = hold_many(other, 300, FILL:sub(1, 900))
            for first = 0, 250, 50 do
                rig.run(50, function(n)
                    assert.equal("timeout", rig.code_of(session:mutex(paths[first + n]), 0.3))
                end)
            end
        end
        rig.hold(holder:mutex(path))
        assert.equal("timeout", rig.code_of(session:mutex(path), 0.3))
        rig.come_to_rest(session)
        wait_for_no_watches(session, second)
        assert.equal(0, session:stats().watch_bytes)
    end)

    it("a watch is removed by one request, and not set again at a reconnect", function()
        local lease = rig.hold(holder:mutex(path))
        wait_and_give_up(session:mutex(path), 1, 2)
        rig.come_to_rest(session)
        assert.equal(1, removals())
        wait_for_no_watches(session)
        proxy:command("cut")
        rig.wait_for_stats(session, { reconnects = 1 })
        assert.equal("held", lease:state())
        wait_for_no_watches(session)
        assert.equal(0, proxy:counts().setWatches)
    end)

    it("a watch stays while another claim of the session waits for the same node", function()
        local writer, reader = rig.hold(holder:rwlock(path):write()), session:rwlock(path):read()
        local granted = rig.wait_while(reader, { timeout = 30 }, function()
            wait_and_give_up(reader, 2, 4)
            rig.wait_for_stats(session, { claims = 1, in_flight = 0 })
            assert.equal(2, session:stats().watches)
            writer:release()
        end)
        assert.equal("held", assert(granted):state())
        assert.equal(0, removals())
    end)

    it("a watch passes to the claim behind it in the session without a removal", function()
        local lease, granted = rig.hold(holder:mutex(path)), nil
        local lock = session:mutex(path)
        zklock.run(function()
            assert.equal("interrupted", rig.code_of(lock, { timeout = 30, owner = "first" }))
        end, function()
            rig.wait_for_stats(session, { watches = 2, in_flight = 0 })
            granted = assert(lock:acquire{ timeout = 30, owner = "second" })
        end, function()
            rig.wait_for_stats(session, { watches = 3, in_flight = 0 })
            assert.equal(1, session:interrupt("first"))
            rig.wait_for_stats(session, { watches = 2, in_flight = 0 })
            lease:release()
        end)
        assert.equal("held", granted:state())
        assert.equal(0, removals())
    end)

    it("a watch goes with the last claim that waited for its node", function()
        rig.hold(holder:rwlock(path):write())
        wait_and_give_up(session:rwlock(path):read(), 3, 4)
        wait_for_no_watches(session)
        rig.come_to_rest(session)
        assert.equal(1, removals())
    end)

    it("a claim that begins to wait for the node during the removal is granted #slow", function()
        local lock = session:mutex(path)
        proxy:command("delay 20")
        for _ = 1, 5 do
            local lease, granted = assert(holder:mutex(path):acquire(20)), nil
            for i = 1, 15 do assert.equal("timeout", rig.code_of(lock, 0.02 * i)) end
            zklock.run(function()
                granted = lock:acquire(20)
            end, function()
                server:wait_for_nodes(path, 2)
                lease:release()
            end)
            rig.release(assert(granted))
        end
        assert.is_true(removals() > 0)
        wait_for_no_watches(session)
    end)

    for _, fault in ipairs{ "drop-reply", "drop-request" } do
        it("a watch goes when the connection is lost with its removal: " .. fault, function()
            rig.hold(holder:mutex(path))
            proxy:command("%s removeWatches 1", fault)
            wait_and_give_up(session:mutex(path), 1, 2)
            rig.wait_for_stats(session, { reconnects = 1 })
            wait_for_no_watches(session)
        end)
    end

    it("a watch goes when the claim ends without a connection #slow", function()
        rig.hold(holder:mutex(path))
        local wish = { timeout = 30, owner = "one" }
        local _, _, code = rig.wait_while(session:mutex(path), wish, function()
            rig.wait_for_stats(session, { watches = 2 })
            proxy:break_off(session)
            assert.equal(1, session:interrupt("one"))
        end)
        assert.equal("interrupted", code)
        proxy:command("accept")
        wait_for_no_watches(session)
    end)

    for _, reopen in ipairs{ true, false } do
        it("a watch goes with its session, reopen = " .. tostring(reopen) .. " #slow", function()
            local short = rig.session(proxy.hosts, { timeout = 3, reopen = reopen })
            rig.hold(holder:mutex(path))
            local _, _, code = rig.wait_while(short:mutex(path), { timeout = 20 }, function()
                rig.wait_for_stats(short, { watches = 2 })
                proxy:command("blackhole")
                server:wait_for_nodes(path, 1)
                proxy:command("flow")
            end)
            assert.equal("expired", code)
            rig.becomes(short, reopen and "connected" or "expired")
            assert.equal(0, short:stats().watches)
            assert.equal(0, short:stats().watch_removals)
        end)
    end

    it("a watch of a lock without an order goes with its claim", function()
        rig.hold(holder:mutex(path, { order = "none" }))
        wait_and_give_up(session:mutex(path, { order = "none" }), 1, 1)
        wait_for_no_watches(session)
    end)

    it("a watch of a multi-lock's part goes with its claim", function()
        local paths, locks = { rig.path(), rig.path(), rig.path() }, {}
        for i = 1, 2 do rig.hold(holder:mutex(paths[i])) end
        for i = 1, 3 do locks[i] = session:mutex(paths[i]) end
        wait_and_give_up(session:multi(locks), 1, 5)
        wait_for_no_watches(session)
    end)

    it("a watch that fired costs no removal", function()
        local lease = rig.hold(holder:mutex(path))
        local granted = rig.wait_while(session:mutex(path), { timeout = 20 }, function()
            rig.wait_for_stats(session, { watches = 2 })
            assert.is_true(session:stats().watch_bytes > 0)
            lease:release()
        end)
        assert.equal(1, session:stats().watches)
        assert.equal(0, session:stats().watch_bytes)
        rig.release(granted)
        wait_for_no_watches(session)
        assert.equal(0, removals())
    end)

    it("watches of permits granted behind other holders go at a heartbeat #slow", function()
        local quick, leases = rig.session(proxy.hosts, { timeout = 6 }), {}
        for i = 1, 3 do
            leases[i] = rig.hold(holder:semaphore(path, 3), { timeout = 5, owner = i })
        end
        local granted = rig.wait_while(quick:semaphore(path, 3), { timeout = 20 }, function()
            rig.wait_for_stats(quick, { watches = 4 })
            leases[2]:release()
        end)
        rig.wait_for_stats(quick, { watches = 1 })
        rig.wait_for("both removals", function() return removals() == 2 end)
        rig.release(granted)
        wait_for_no_watches(quick)
        assert.equal(2, removals())
    end)
end)
