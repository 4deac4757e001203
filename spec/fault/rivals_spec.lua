--- [lua] Scenarios that defeat other lock clients, with the report's name where there is one.
-- docs/track-record.md lists all of them, with the test or the mutant of each.

local fault = require "spec.fault.fault"
local rig = require "spec.rig"
local zklock = require "zklock"

local come_to_rest, fails, hold, release = rig.come_to_rest, fault.fails, rig.hold, rig.release

local server, proxy, session, other, lock, rival

local function count_nodes()
    return #server:nodes(lock.path)
end

local function wait_for_line(count)
    server:wait_for_nodes(lock.path, count)
end

local function expire()
    fault.expire(proxy, session)
    rig.becomes(session, "connected")
end

-- Puts `count` waits of the session in line behind another session's lease, resets the proxy's
-- counts, and calls fn(that lease). Checks that all waits are granted in order.
local function line_up_behind_another(count, fn)
    local theirs, acquires = hold(rival), {}
    for n = 1, count do acquires[n] = lock end
    local order = rig.line_up(acquires, function()
        rig.settle(session)
        proxy:reset()
        fn(theirs)
    end)
    wait_for_line(0)
    for n = 1, count do assert.equal(n, order[n]) end
end

-- `session` with `lock` is behind the proxy, `other` with `rival` is not.
before_each(function()
    server = rig.shared()
    session, proxy = rig.behind_proxy(server.hosts) -- the timeout is longer than any outage here
    other = rig.session(server.hosts)
    lock = rig.use(session:mutex(rig.path()))
    rival = other:mutex(lock.path)
end)
after_each(rig.close_sessions)

describe("a lock after the end of its session #lease:state", function()
    before_each(function()
        session = rig.session(proxy.hosts, { timeout = 4 })
        lock = session:mutex(lock.path)
    end)

    local function plant_survivor(name)
        local path = lock.path .. "/" .. name
        server:foreign("create %s ''", path)
        return path, tonumber(fault.czxid(server, path))
    end

    it("a waiter does not adopt its node of the session before (CURATOR-604) #slow", function()
        local theirs, name = hold(rival), nil
        fails("expired", rig.wait_while(lock, { timeout = 30 }, function()
            name = assert(lock:queue(20))[2].name
            expire()
        end))
        local path, token = plant_survivor(name)
        release(theirs)
        fails("busy", lock:acquire(0))
        fails("timeout", lock:acquire(0.2))
        local first = assert(lock:queue(20))[1]
        assert.same({ name, false }, { first.name, first.mine })
        server:foreign("delete %s", path)
        assert.is_true(hold(lock).token > token)
    end)

    it("a holder neither adopts nor deletes a node of its old name (CURATOR-604, zk-ruby-34) #slow",
       function()
        local lease = hold(lock)
        local name = assert(lock:queue(20))[1].name
        expire()
        local path, token = plant_survivor(name)
        fails("lost", lease:release{ wait = 20 })
        fails("timeout", lock:acquire(0.2))
        come_to_rest(session)
        assert.equal(token, tonumber(fault.czxid(server, path)))
        server:foreign("delete %s", path)
        assert.is_true(hold(lock).token > token)
    end)

    it("a lost lease is not held, and its release leaves the next holder alone (CURATOR-206) #slow",
       function()
        local lease = assert(lock:acquire{ timeout = 5, owner = "me" })
        expire()
        local theirs = hold(rival)
        assert.equal("lost", lease:state())
        fails("lost", lease:check(20))
        fails("busy", lock:acquire{ timeout = 0, owner = "me" })
        fails("lost", lease:release{ wait = 20 })
        assert.is_true(theirs:check(20))
        assert.equal(1, count_nodes())
    end)

    it("the lock object can be used again (kazoo-282, go-zookeeper) #slow", function()
        local lease = hold(lock)
        expire()
        for _ = 1, 2 do
            local mine = hold(lock)
            assert.is_true(mine.token > lease.token)
            release(mine)
        end
        assert.equal("lost", lease:state())
    end)

    it("an expired wait does not break the lock object, and leaves no node (Menagerie) #slow",
       function()
        local theirs = hold(rival)
        fails("expired", rig.wait_while(lock, { timeout = 30 }, expire))
        wait_for_line(1)
        local lease = rig.wait_while(lock, { timeout = 20 }, function() theirs:release() end)
        assert.is_true(lease.token > theirs.token)
        release(lease)
        assert.equal(0, count_nodes())
    end)
end)


describe("a lost reply #lock:acquire", function()
    for _, kind in ipairs{ "drop-request", "drop-reply", "cut-after" } do
        it(("a failed wait's node goes in spite of a lost delete (kazoo-732, leak A, %s)"):format(
            kind), function()
            local id, theirs = session:id(), hold(rival)
            proxy:command("%s delete 1", kind)
            fails("timeout", lock:acquire(0.2))
            rig.wait_for("a reconnect", function() return session:stats().reconnects == 1 end)
            wait_for_line(1)
            come_to_rest(session)
            assert.equal(id, session:id())
            release(theirs)
            assert.equal(0, count_nodes())
        end)
    end

    it("the node of a second failed wait goes, too (kazoo, leak B)", function()
        local theirs = hold(rival)
        fails("timeout", lock:acquire(0.1))
        wait_for_line(1)
        proxy:command("drop-reply create2 1")
        proxy:command("refuse")
        fails("timeout", lock:acquire(0.3))
        assert.equal(2, count_nodes())
        proxy:command("accept")
        wait_for_line(1)
        release(theirs)
        release(hold(rival, 0))
    end)
end)


describe("a session without a connection #lease:held", function()
    it("a release returns at once, and removes the node later (CURATOR-678) #clock", function()
        local lease = hold(lock)
        fault.suspend(proxy, session)
        assert.is_true(rig.takes(0, 5, lease.release, lease))
        assert.equal("released", lease:state())
        assert.equal(1, count_nodes())
        proxy:command("accept")
        rig.use(rival)
        rig.use(lock)
        assert.equal(0, count_nodes())
    end)

    it("40 waiters ask for nothing again after a short loss of the connection (Curator)", function()
        line_up_behind_another(40, function(theirs)
            proxy:command("cut")
            fault.wait_for_reconnects(session, 1)
            fails("busy", lock:acquire{ timeout = 0, owner = "another" })
            local counts = proxy:counts()
            assert.equal(1, counts.getChildren)
            assert.equal(0, counts.getData + counts.exists)
            theirs:release()
        end)
    end)
end)


describe("the time of a wait #times", function()
    -- The waiters ahead give up one after the other, from the last to the first, so slowly that a
    -- time counted anew would be far longer.
    it("a wait's time is not counted anew when a predecessor goes (kazoo, Menagerie) #slow",
       function()
        local theirs = hold(rival)
        local COUNT, APART, TIMEOUT, ended = 5, 1.5, 2, nil
        rig.run(COUNT, function(i)
            wait_for_line(i)
            fails("interrupted", rival:acquire{ timeout = 60, owner = i })
        end, function()
            wait_for_line(COUNT + 1)
            fails("timeout", rig.takes(TIMEOUT, COUNT * APART, lock.acquire, lock, TIMEOUT))
            ended = true
        end, function()
            wait_for_line(COUNT + 2)
            for i = COUNT, 1, -1 do
                other:interrupt(i)
                rig.eventually(function() return ended end, APART)
            end
        end)
        assert.is_true(theirs:release())
    end)

    it("an interrupt without a wait does not end the next wait (kazoo-88)", function()
        assert.equal(0, session:interrupt("me"))
        local lease = assert(lock:acquire{ timeout = 5, owner = "me" })
        assert.equal(0, session:interrupt("me"))
        release(lease)
        local theirs = hold(rival)
        fails("timeout", lock:acquire{ timeout = 0.2, owner = "me" })
        assert.is_true(theirs:release())
        assert(lock:acquire{ timeout = 5, owner = "me" }):release()
    end)
end)


describe("foreign children of the folder #lock:acquire", function()
    for name, client in pairs{
        ["0"] = "CURATOR-43",
        ["-foreign"] = "Curator",
        ["hello"] = "go-zookeeper",
        ["ex0000000000"] = "go-zookeeper beside zk-ruby",
        ["_c_"] = "go-zookeeper, too short for it",
        ["nodash"] = "the C recipe",
        ["abc"] = "zk-ruby",
        ["data-0000000000"] = "another's numbers",
        ["lock-1"] = "a number that is too short",
        ["-"] = "nothing but a dash",
    } do
        it(("a child %q neither blocks, nor breaks, nor leaves a node (%s)"):format(name, client),
           function()
            local child = lock.path .. "/" .. name
            rig.use(lock) -- makes the folder, which the server may have removed
            server:foreign("create %s ''", child)
            local mine = hold(lock, 0)
            local theirs = rig.wait_while(rival, { timeout = 20 }, function()
                assert.is_true(mine:release())
            end)
            assert.is_true(theirs.token > mine.token)
            release(theirs)
            assert.equal(0, count_nodes())
            server:foreign("delete %s", child)
        end)
    end

    it("a removed folder is made again (kazoo-563)", function()
        for _, timeout in ipairs{ 0, 5 } do
            server:foreign("delete %s", lock.path)
            local lease = hold(lock, timeout)
            assert.equal(1, count_nodes())
            release(lease)
        end
    end)
end)


describe("two contenders in one process #lock:acquire", function()
    it("two locks of one session on one path are two contenders in line (C recipe)", function()
        local twin = session:mutex(lock.path)
        local first = assert(lock:acquire{ timeout = 5, owner = "a" })
        fails("busy", twin:acquire{ timeout = 0, owner = "b" })
        local second = rig.wait_while(twin, { timeout = 5, owner = "b" }, function()
            wait_for_line(2)
            assert.is_true(first:release())
        end)
        assert.is_true(second.token > first.token)
        fails("released", first:release{ wait = 20 })
        fails("busy", rival:acquire(0))
        assert.is_true(second:check(20))
    end)

    it("a failed try or wait gives up nobody else's hold (Menagerie)", function()
        local lease = assert(lock:acquire{ timeout = 5, owner = "a" })
        for _, timeout in ipairs{ 0, 0.1 } do
            local code = timeout == 0 and "busy" or "timeout"
            fails(code, lock:acquire{ timeout = timeout, owner = "b" })
            assert.is_true(lease:check(20))
            fails("busy", rival:acquire(0))
        end
        wait_for_line(1)
    end)

    it("two clients of one identity are two contenders (Menagerie)", function()
        local twins = {}
        for i = 1, 2 do
            twins[i] = rig.session(server.hosts, { identity = "host:thread-1" }):mutex(lock.path)
        end
        local lease = assert(twins[1]:acquire{ timeout = 5, owner = 1 })
        fails("busy", twins[2]:acquire{ timeout = 0, owner = 1 })
        fails("timeout", twins[2]:acquire{ timeout = 0.1, owner = 1 })
        assert.is_true(lease:check(20))
    end)

    -- Curator lists 12 times for each hand-off with 50 threads, 35 times with 200.
    it("a hand-off wakes one waiter, however many share the lock (CURATOR-716)", function()
        local COUNT = 50
        line_up_behind_another(COUNT, function(theirs)
            theirs:release()
            wait_for_line(0)
            local counts = proxy:counts()
            assert.equal(COUNT + 1, counts.events)
            assert.equal(0, counts.getChildren + counts.getData)
        end)
    end)
end)


describe("a predecessor that goes between the list and the watch #lock:acquire", function()
    it("a waiter keeps its place, and is granted (C recipe, Java WriteLock)", function()
        local theirs, third = hold(rival), rig.session(server.hosts):mutex(lock.path)
        local order, gets, token = {}, session:stats().gets, nil
        proxy:reset()
        proxy:command("hold getData 1")
        zklock.run(function()
            local lease = assert(lock:acquire(10))
            order[#order + 1] = "waiter"
            assert.equal(token, lease.token)
            zklock.sleep(0.1)
            lease:release()
        end, function()
            -- The list is answered, and the watch is on its way.
            rig.wait_for("the watch's get", function() return session:stats().gets > gets end)
            assert.equal(0, proxy:counts().getData)
            token = assert(rival:queue(20))[2].token
            release(theirs)
            proxy:command("flow")
        end, function()
            rig.becomes(theirs, "released")
            assert(third:acquire(10)):release()
            order[#order + 1] = "third"
        end)
        assert.same({ "waiter", "third" }, order)
        wait_for_line(0)
    end)
end)
