-- What a session watches: it is limited, a holder's own node always has room, and a watch that
-- no claim needs any more is taken back.

local rig = require "spec.rig"
local zklock = require "zklock"

local LONG = 60 -- seconds; a session whose first heartbeat is 10 s away
local FILL = ("x"):rep(2000)
local LONGER = FILL:rep(3) -- does not fit into what is left when another wait does not
local LIMIT = 256 * 1024 -- of the watched nodes of others

local server

-- Leases of `session` on `count` long paths, which it keeps; the paths.
local function take(session, count, fill)
    local folder, paths = rig.path(), {}
    for i = 1, count do
        paths[i] = ("%s/%s%d"):format(folder, fill, i)
        rig.hold(session:mutex(paths[i]))
    end
    return paths
end

-- Of the server's watches only those of before are left, and what the holders have on their own
-- nodes since their first heartbeats.
local function watches_nothing(session, before, ...)
    local holders = { ... }
    rig.wait_for("no watch of the session", function() return session:stats().watches == 0 end)
    rig.wait_for("none at the server", function()
        local others = before
        for _, holder in ipairs(holders) do others = others + holder:stats().watches end
        return server:watches() <= others
    end)
end

-- Waits until the session has so many watches, and nothing is asked.
local function wait_for_watches(session, count)
    rig.wait_for(count .. " watches", function()
        local stats = session:stats()
        return stats.watches == count and stats.in_flight == 0
    end)
end

-- That many owners wait for the lock, until the session has so many watches; then they give up.
local function give_up(session, lock, owners, watches)
    rig.run(owners, function(owner)
        assert.equal("interrupted", rig.code_of(lock, { timeout = 30, owner = owner }))
    end, function()
        wait_for_watches(session, watches)
        for owner = 1, owners do assert.equal(1, session:interrupt(owner)) end
    end)
end

setup(function() server = rig.shared() end)


describe("a holder, when the session may watch nothing more of others,", function()
    local session, other

    before_each(function()
        session, other = rig.session(server.hosts), rig.session(server.hosts)
    end)
    after_each(rig.close_sessions)

    -- Calls fn() while so many waits are in line that another one is refused.
    local function when_full(fn)
        local ends, paths = {}, take(other, 200, FILL)
        local function wait_in_vain(path)
            local code = rig.code_of(session:mutex(path))
            ends[code] = (ends[code] or 0) + 1
        end
        zklock.run(function()
            local begun = 0
            while not ends.too_many do
                begun = begun + 1
                coroutine.wrap(wait_in_vain)(assert(paths[begun], "no limit was met"))
                -- One that was refused had a place, too: it counts as a wait, not as a claim.
                rig.wait_for("the place in line, or none", function()
                    local stats = session:stats()
                    return stats.in_flight == 0 and (stats.claims == begun or ends.too_many)
                end)
            end
            fn()
            session:close()
        end)
        assert.equal(1, ends.too_many)
    end

    it("hears that it is to give way #slow", function()
        when_full(function()
            local path, heard = rig.path() .. LONGER, 0
            local lease = rig.hold(session:mutex(path))
            lease:on_revoke(function() heard = heard + 1 end)
            assert.equal(1, other:mutex(path):revoke(5))
            rig.wait_for("the wish", function() return heard == 1 end)
            assert.equal("held", lease:state())
        end)
    end)

    it("hears that its node was deleted #slow", function()
        when_full(function()
            local paths, leases = { rig.path() .. LONGER, rig.path() .. LONGER }, {}
            for i, path in ipairs(paths) do leases[i] = rig.hold(session:mutex(path)) end
            for _, path in ipairs(paths) do
                server:foreign("delete %s", server:nodes(path)[1])
            end
            for _, lease in ipairs(leases) do
                rig.wait_for("the loss", function() return lease:state() == "lost" end)
            end
        end)
    end)

    it("is told how much it is, and how much it may be #slow", function()
        when_full(function()
            local stats = session:stats()
            assert.equal(LIMIT, stats.watch_bytes_limit)
            assert.is_true(stats.watch_bytes <= LIMIT, stats.watch_bytes)
            assert.is_true(stats.watch_bytes > LIMIT - #FILL - 100, stats.watch_bytes)
        end)
        assert.equal(0, session:stats().watch_bytes)
    end)
end)


describe("claims of a session behind one another", function()
    local COUNT = 90 -- of each session; two thirds of their predecessors are what it may watch

    after_each(rig.close_sessions)

    -- They come one after the other, of both sessions in turn; each is behind one of the other.
    it("are served in order, though not all may watch their predecessors #slow", function()
        local both = { rig.session(server.hosts), rig.session(server.hosts) }
        local path = rig.path() .. "/" .. FILL:rep(2)
        local holder = rig.hold(rig.session(server.hosts):mutex(path))
        local queued, served = 0, {}
        rig.run(2 * COUNT, function(i)
            rig.wait_for("a turn to queue", function() return queued == i - 1 end, 120)
            local lease = assert(both[i % 2 + 1]:mutex(path):acquire{
                timeout = 300, on_queued = function() queued = i end })
            served[#served + 1] = i
            rig.released(lease)
        end, function()
            rig.wait_for("all in line", function() return queued == 2 * COUNT end, 120)
            for _, session in ipairs(both) do
                rig.wait_for("rest", function() return session:stats().in_flight == 0 end)
                local stats = session:stats()
                assert.equal(COUNT, stats.claims)
                assert.is_true(stats.watch_bytes <= LIMIT, stats.watch_bytes)
                assert.is_true(stats.watches < 2 * COUNT, stats.watches)
            end
            rig.released(holder)
        end)
        for i = 1, 2 * COUNT do assert.equal(i, served[i]) end
    end)
end)


describe("a watch that no claim needs any more #server", function()
    local session, proxy, holder, path, before

    before_each(function()
        before = server:watches()
        proxy = rig.proxy_for_test(server.hosts)
        holder = rig.session(server.hosts, { timeout = LONG })
        session = rig.session(proxy.hosts, { timeout = LONG })
        path = rig.path()
    end)
    after_each(rig.close_sessions)

    local function removals()
        return proxy:counts().removeWatches
    end

    it("does not count: after 600 waits in vain on long paths the next one waits #slow", function()
        local second = rig.session(server.hosts, { timeout = LONG })
        for _, other in ipairs{ holder, second } do
            local paths = take(other, 300, FILL:sub(1, 900))
            for first = 0, 250, 50 do
                rig.run(50, function(n)
                    assert.equal("timeout", rig.code_of(session:mutex(paths[first + n]), 0.3))
                end)
            end
        end
        rig.hold(holder:mutex(path))
        assert.equal("timeout", rig.code_of(session:mutex(path), 0.3))
        rig.at_rest(session)
        watches_nothing(session, before, holder, second)
        assert.equal(0, session:stats().watch_bytes)
    end)

    it("is taken back with one request, and not set again at a reconnect", function()
        local lease = rig.hold(holder:mutex(path))
        give_up(session, session:mutex(path), 1, 2)
        rig.at_rest(session)
        assert.equal(1, removals()) -- at once, and not by a heartbeat
        watches_nothing(session, before, holder)
        proxy:command("cut")
        rig.wait_for("a reconnect", function() return session:stats().reconnects == 1 end)
        assert.equal("held", lease:state())
        watches_nothing(session, before, holder)
        assert.equal(0, proxy:counts().setWatches)
    end)

    it("stays while another claim of the session waits for the same node", function()
        local writer, granted = rig.hold(holder:rwlock(path):write()), nil
        local reader = session:rwlock(path):read()
        zklock.run(function()
            granted = reader:acquire(30)
        end, function()
            give_up(session, reader, 2, 4) -- the writer's, and their own
            rig.wait_for("one that waits", function()
                local stats = session:stats()
                return stats.claims == 1 and stats.in_flight == 0
            end)
            assert.equal(2, session:stats().watches)
            writer:release()
        end)
        assert.equal("held", assert(granted):state())
        assert.equal(0, removals())
    end)

    it("passes to the claim behind it in the session without a removal", function()
        local lease, granted = rig.hold(holder:mutex(path)), nil
        local lock = session:mutex(path)
        zklock.run(function()
            assert.equal("interrupted", rig.code_of(lock, { timeout = 30, owner = "first" }))
        end, function()
            wait_for_watches(session, 2)
            granted = assert(lock:acquire{ timeout = 30, owner = "second" })
        end, function()
            wait_for_watches(session, 3)
            assert.equal(1, session:interrupt("first"))
            wait_for_watches(session, 2)
            lease:release()
        end)
        assert.equal("held", granted:state())
        assert.equal(0, removals())
    end)

    it("goes with the last of those that waited for the same node", function()
        rig.hold(holder:rwlock(path):write())
        give_up(session, session:rwlock(path):read(), 3, 4)
        watches_nothing(session, before, holder)
        rig.at_rest(session)
        assert.equal(1, removals())
    end)

    it("is not missed by the claim that begins to wait for the node meanwhile #slow", function()
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
            rig.released(assert(granted))
        end
        assert.is_true(removals() > 0)
        watches_nothing(session, before, holder)
    end)

    for _, fault in ipairs{ "drop-reply", "drop-request" } do
        it("goes when the connection is lost with its removal: " .. fault, function()
            rig.hold(holder:mutex(path))
            proxy:command("%s removeWatches 1", fault)
            give_up(session, session:mutex(path), 1, 2)
            rig.wait_for("a reconnect", function() return session:stats().reconnects == 1 end)
            watches_nothing(session, before, holder)
        end)
    end

    it("goes when the claim ends without a connection #slow", function()
        rig.hold(holder:mutex(path))
        zklock.run(function()
            local lock = session:mutex(path)
            assert.equal("interrupted", rig.code_of(lock, { timeout = 30, owner = "one" }))
        end, function()
            rig.wait_for("two watches", function() return session:stats().watches == 2 end)
            proxy:break_off(session)
            assert.equal(1, session:interrupt("one"))
        end)
        proxy:command("accept")
        watches_nothing(session, before, holder)
    end)

    for _, reopen in ipairs{ true, false } do
        it("goes with its session, reopened: " .. tostring(reopen) .. " #slow", function()
            local short, code = rig.session(proxy.hosts, { timeout = 3, reopen = reopen }), nil
            rig.hold(holder:mutex(path))
            zklock.run(function()
                code = rig.code_of(short:mutex(path), 20)
            end, function()
                rig.wait_for("two watches", function() return short:stats().watches == 2 end)
                proxy:command("blackhole")
                rig.wait_for("its node gone", function() return #server:nodes(path) == 1 end)
                proxy:command("flow")
            end)
            assert.equal("expired", code)
            local state = reopen and "connected" or "expired"
            rig.wait_for(state, function() return short:state() == state end)
            assert.equal(0, short:stats().watches)
            assert.equal(0, short:stats().watch_removals)
        end)
    end

    it("goes when it was for a lock without an order", function()
        rig.hold(holder:mutex(path, { order = "none" }))
        give_up(session, session:mutex(path, { order = "none" }), 1, 1)
        watches_nothing(session, before, holder)
    end)

    it("goes when it was for a part of several locks", function()
        local paths, locks = { rig.path(), rig.path(), rig.path() }, {}
        for i = 1, 2 do rig.hold(holder:mutex(paths[i])) end
        for i = 1, 3 do locks[i] = session:mutex(paths[i]) end
        give_up(session, session:multi(locks), 1, 5) -- two of others
        watches_nothing(session, before, holder)
    end)

    it("costs no request when what it waits for comes", function()
        local lease, granted = rig.hold(holder:mutex(path)), nil
        zklock.run(function()
            granted = assert(session:mutex(path):acquire(20))
        end, function()
            rig.wait_for("two watches", function() return session:stats().watches == 2 end)
            assert.is_true(session:stats().watch_bytes > 0)
            lease:release()
        end)
        assert.equal(1, session:stats().watches) -- its own
        assert.equal(0, session:stats().watch_bytes)
        rig.released(granted)
        watches_nothing(session, before, holder)
        assert.equal(0, removals())
    end)

    it("goes at a heartbeat, of permits that were granted behind other holders #slow", function()
        local quick, leases, granted = rig.session(proxy.hosts, { timeout = 6 }), {}, nil
        for i = 1, 3 do
            leases[i] = rig.hold(holder:semaphore(path, 3), { timeout = 5, owner = i })
        end
        zklock.run(function()
            granted = assert(quick:semaphore(path, 3):acquire(20))
        end, function()
            rig.wait_for("four watches", function() return quick:stats().watches == 4 end)
            leases[2]:release()
        end)
        rig.wait_for("its own", function() return quick:stats().watches == 1 end)
        rig.wait_for("both removals", function() return removals() == 2 end)
        rig.released(granted)
        watches_nothing(quick, before, holder)
        assert.equal(2, removals())
    end)
end)
