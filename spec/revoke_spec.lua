--- [lua luajit asan tsan memory worlds] Revocation asks the holder to give way, and the holder
-- hears it. Curator's Revoker and makeRevocable use the same word.

local rig = require "spec.rig"
local zklock = require "zklock"

local server, path, one, two, lock, other

local hold = rig.hold

local function listen(lease)
    local heard = { count = 0 }
    lease:on_revoke(function(of)
        assert(of == lease)
        heard.count = heard.count + 1
    end)
    return heard
end

local function wait_until_heard(heard)
    rig.wait_for("the request", function() return heard.count > 0 end)
end

before_each(function()
    server, path, one, two = rig.begin(2)
    lock, other = one:mutex(path), two:mutex(path)
end)
after_each(rig.close_sessions)


describe("lock:revoke #lock:revoke #lease:on_revoke", function()
    it("the holder hears a revocation, and may give way", function()
        zklock.run(function()
            local lease = hold(lock)
            lease:on_revoke(function(of) of:release() end)
            rig.becomes(lease, "released")
        end, function()
            server:wait_for_nodes(path, 1)
            assert.equal(1, other:revoke(5))
            hold(other)
        end)
    end)

    it("the holder may keep the lock", function()
        local lease = hold(lock)
        local heard = listen(lease)
        assert.equal(1, other:revoke())
        wait_until_heard(heard)
        assert.equal("held", lease:state())
        assert.is_true(lease:check(20))
        local entry = other:queue()[1]
        assert.same({ true, true }, { entry.revoked, entry.held })
    end)

    it("every hold of the owner hears a revocation once", function()
        local first, second = hold(lock), hold(lock)
        local heard = { listen(first), listen(second), listen(second) }
        assert.equal(1, other:revoke())
        assert.equal(1, other:revoke())
        for _, each in ipairs(heard) do wait_until_heard(each) end
        assert.is_true(first:check(20))
        one:dispatch()
        for _, each in ipairs(heard) do assert.equal(1, each.count) end
    end)

    it("a later callback hears the revocation, and a released lease does not", function()
        local first, second = hold(lock), hold(lock)
        local heard = listen(first)
        other:revoke()
        wait_until_heard(heard)
        assert.equal(1, listen(second).count)
        first:release()
        assert.equal(0, listen(first).count)
        local third = hold(lock)
        assert.equal(1, listen(third).count)
    end)

    it("a revocation from before the holder's watch is heard", function()
        local lease = hold(lock)
        assert.equal(1, other:revoke())
        wait_until_heard(listen(lease))
    end)

    it("a waiter's revocation is heard when it holds", function()
        local first = hold(lock)
        local lease = rig.wait_while(other, { timeout = 10 }, function()
            local nodes = server:nodes(path)
            table.sort(nodes, function(a, b) return a:sub(-10) < b:sub(-10) end)
            server:foreign("set %s __REVOKE__", nodes[2])
            first:release()
        end)
        wait_until_heard(listen(lease))
    end)

    it("a lock that was taken anew has no revocation", function()
        local lease = hold(lock)
        other:revoke()
        wait_until_heard(listen(lease))
        rig.release(lease)
        assert.equal(0, listen(hold(lock)).count)
    end)

    it("a wait in a condition does not delay the next revocation", function()
        local lease, folder = hold(lock), path .. "-condition-c"
        local heard, gets = listen(lease), one:stats().gets
        zklock.run(function() assert(lock:condition("c"):wait(lease, 30)) end, function()
            server:wait_for_nodes(folder, 1)
            server:foreign("set %s signal", server:nodes(folder)[1])
        end)
        assert.equal(2, one:stats().gets - gets) -- of the waiter's node, and of the new lock node
        assert.equal(1, other:revoke())
        wait_until_heard(heard)
    end)

    it("all readers that hold hear a revocation, and no waiter behind them", function()
        local rw, theirs = one:rwlock(path), two:rwlock(path)
        local leases = { hold(rw:read(), { owner = 1 }), hold(theirs:read()) }
        local heard = { listen(leases[1]), listen(leases[2]) }
        local writer = rig.wait_while(theirs:write(), { timeout = 10 }, function()
            assert.equal(2, theirs:write():revoke(5))
            for n = 1, 2 do
                wait_until_heard(heard[n])
                leases[n]:release()
            end
        end)
        assert.equal(0, listen(writer).count)
    end)

    it("a revocation of a free lock returns 0", function()
        assert.equal(0, lock:revoke())
        rig.use(lock)
        assert.equal(0, lock:revoke())
    end)

    it("only the data __REVOKE__, of any client, is a revocation", function()
        local lease = hold(lock)
        local heard = listen(lease)
        local node = server:nodes(path)[1]
        server:foreign("set %s __REVOKE_", node)
        for _, word in ipairs{ "__REVOKE__x", "__revoke__" } do
            local gets = one:stats().gets
            server:foreign("set %s %s", node, word)
            rig.wait_for("a look at the node", function() return one:stats().gets > gets end)
            assert.is_true(lease:check(20))
            one:dispatch()
            assert.equal(0, heard.count)
        end
        server:foreign("set %s __REVOKE__", node)
        wait_until_heard(heard)
    end)

    it("a revocation is repeated after a lost request or answer #server", function()
        local asks, proxy = rig.behind_proxy(server.hosts)
        local heard = listen(hold(lock))
        for _, fault in ipairs{ "drop-request", "drop-reply" } do
            proxy:command("%s setData 1", fault)
            assert.equal(1, asks:mutex(path):revoke(20))
        end
        wait_until_heard(heard)
        assert.equal(2, asks:stats().reconnects)
    end)

    it("a revocation that the server refuses returns auth, and ends in time #server #clock",
       function()
        local owner = rig.session(server.hosts, { auth = "digest:one:pw", acl = "read" })
        hold(owner:mutex(path))
        rig.check_refused("auth", nil, other:revoke(5))
        local _, _, ends = rig.takes(0, 5, other.revoke, other, 0)
        assert(ends == "timeout" or ends == "auth", ends)
    end)

    it("a revocation during a downgrade is heard, because only a node with known data is " ..
    "replaced #server", function()
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
