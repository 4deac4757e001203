-- Revocation: whoever wants the lock asks the holder to give way, and the holder hears it.
-- Curator's Revoker and makeRevocable do the same, with the same word.

local rig = require "spec.rig"
local zklock = require "zklock"

local server, path, one, two

local hold = rig.hold

-- Counts the calls.
local function listen(lease)
    local heard = { count = 0 }
    lease:on_revoke(function(of)
        assert(of == lease)
        heard.count = heard.count + 1
    end)
    return heard
end

local function hears(heard)
    rig.wait_for("the wish", function() return heard.count > 0 end)
end

before_each(function()
    server, path = rig.shared(), rig.path()
    one, two = rig.session(server.hosts), rig.session(server.hosts)
end)

after_each(rig.close_sessions)


describe("lock:revoke", function()
    it("is heard by the holder, which may give way", function()
        local lock = two:mutex(path)
        zklock.run(function()
            local lease = hold(one:mutex(path))
            lease:on_revoke(function(of) of:release() end)
            rig.wait_for("the wish", function() return lease:state() == "released" end)
        end, function()
            rig.wait_for("the holder", function() return #server:nodes(path) == 1 end)
            assert.equal(1, lock:revoke(5))
            hold(lock)
        end)
    end)

    it("leaves it to the holder", function()
        local lease = hold(one:mutex(path))
        local heard = listen(lease)
        assert.equal(1, two:mutex(path):revoke())
        hears(heard)
        assert.equal("held", lease:state())
        assert.is_true(lease:check(20))
        local entry = two:mutex(path):queue()[1]
        assert.is_true(entry.revoked)
        assert.is_true(entry.held)
    end)

    it("is heard once, by every hold of the owner", function()
        local lock = one:mutex(path)
        local first, second = hold(lock), hold(lock)
        local heard = { listen(first), listen(second), listen(second) }
        assert.equal(1, two:mutex(path):revoke())
        assert.equal(1, two:mutex(path):revoke())
        for _, each in ipairs(heard) do hears(each) end
        assert.is_true(first:check(20)) -- the second wish has come, too
        one:dispatch()
        for _, each in ipairs(heard) do assert.equal(1, each.count) end
    end)

    it("is heard by who asks later, and not by a released lease", function()
        local lock = one:mutex(path)
        local first, second = hold(lock), hold(lock)
        local heard = listen(first)
        two:mutex(path):revoke()
        hears(heard)
        assert.equal(1, listen(second).count)
        first:release()
        assert.equal(0, listen(first).count)
        local third = hold(lock)
        assert.equal(1, listen(third).count)
    end)

    it("before the holder watches its node is seen when it does", function()
        local lease = hold(one:mutex(path)) -- granted at once: it watches from its first beat
        assert.equal(1, two:mutex(path):revoke())
        hears(listen(lease))
    end)

    it("of a waiter is seen when it holds", function()
        local first = hold(one:mutex(path))
        local lease = rig.wait_while(two:mutex(path), { timeout = 10 }, function()
            local nodes = server:nodes(path)
            table.sort(nodes, function(a, b) return a:sub(-10) < b:sub(-10) end)
            server:foreign("set %s __REVOKE__", nodes[2])
            first:release()
        end)
        hears(listen(lease))
    end)

    it("of a lock that was taken anew is not heard again", function()
        local lock = one:mutex(path)
        local lease = hold(lock)
        two:mutex(path):revoke()
        hears(listen(lease))
        assert.is_true(lease:release{ wait = 20 })
        local heard = listen(hold(lock))
        assert.equal(0, heard.count)
    end)

    it("asks all readers, and not who waits behind them", function()
        local rw, other = one:rwlock(path), two:rwlock(path)
        local heard = { listen(hold(rw:read(), { owner = 1 })), listen(hold(other:read())) }
        local writer = rig.wait_while(other:write(), { timeout = 10 }, function()
            assert.equal(2, other:write():revoke(5))
            hears(heard[1])
            hears(heard[2])
            rig.kept[1]:release()
            rig.kept[2]:release()
        end)
        assert.equal(0, listen(writer).count)
    end)

    it("finds nobody, and says how many", function()
        assert.equal(0, one:mutex(path):revoke())
        hold(one:mutex(path)):release{ wait = 20 }
        assert.equal(0, one:mutex(path):revoke())
    end)

    it("by other clients' means is heard, other words are not", function()
        local lease = hold(one:mutex(path))
        local heard = listen(lease)
        local node = server:nodes(path)[1]
        server:foreign("set %s __REVOKE_", node)
        for _, word in ipairs{ "__REVOKE__x", "__revoke__" } do
            local gets = one:stats().gets
            server:foreign("set %s %s", node, word)
            rig.wait_for("a look at it", function() return one:stats().gets > gets end)
            assert.is_true(lease:check(20)) -- the answer is there, too
            one:dispatch()
            assert.equal(0, heard.count)
        end
        server:foreign("set %s __REVOKE__", node)
        hears(heard)
    end)

    it("outlives an answer that is lost #server", function()
        local proxy = rig.proxy_for_test(server.hosts)
        local heard = listen(hold(one:mutex(path)))
        local asks = rig.session(proxy.hosts)
        for _, fault in ipairs{ "drop-request", "drop-reply" } do
            proxy:command("%s setData 1", fault)
            assert.equal(1, asks:mutex(path):revoke(20))
        end
        hears(heard)
        assert.equal(2, asks:stats().reconnects)
    end)

    it("says when the server refuses, and ends in time #server #clock", function()
        local owner = rig.session(server.hosts, { auth = "digest:one:pw", acl = "read" })
        hold(owner:mutex(path))
        rig.is_refused("auth", nil, two:mutex(path):revoke(5))
        local seconds, _, _, ends = rig.timed(function() return two:mutex(path):revoke(0) end)
        assert(ends == "timeout" or ends == "auth", ends) -- whichever is sooner
        assert.is_true(seconds < 5)
    end)
end)


describe("a writer that is revoked while it becomes a reader", function()
    it("hears it: its node is replaced only as it knows it #server", function()
        local session, proxy = rig.behind_proxy(server.hosts)
        local writer = hold(session:rwlock(path):write())
        local heard = listen(writer)
        proxy:command("hold multi 1")
        zklock.run(function()
            assert.is_true(writer:downgrade(10))
        end, function()
            rig.wait_for("the request", function() return session:stats().in_flight > 0 end)
            assert.equal(1, two:rwlock(path):write():revoke(5))
            proxy:command("flow")
        end)
        assert.equal(1, heard.count)
        local entry = two:rwlock(path):read():queue()[1]
        assert.same({ "read", true }, { entry.kind, entry.held })
        assert.is_true(writer:check(20))
    end)
end)
