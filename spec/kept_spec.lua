--- [lua luajit asan tsan memory worlds] A kept lock's node stays after the last release, and the
-- session's next acquire costs no request. Any other contender gets the lock at once.

local rig = require "spec.rig"
local zklock = require "zklock"

local LONG = 60

local server, path, a, b
local hold, release, settle, wait_for = rig.hold, rig.release, rig.settle, rig.wait_for

local REQUESTS = { "creates", "sets", "deletes", "lists", "gets", "exists" }


local function lock_with_keep(session, seconds, options)
    options = options or {}
    options.keep = seconds or LONG
    return session:mutex(path, options)
end

local function wait_for_nodes(count) server:wait_for_nodes(path, count) end

local function count_requests(session)
    local stats, sum = session:stats(), 0
    for _, name in ipairs(REQUESTS) do sum = sum + stats[name] end
    return sum - stats.syncs
end

-- Acquires and releases a lock with `keep`, so that its node is kept. Returns the lock and the last
-- token.
local function leave_kept(session, options, seconds)
    local lock = lock_with_keep(session or a, seconds, options)
    local lease = hold(lock)
    assert(lease:release())
    settle(lock.session)
    wait_for_nodes(1)
    return lock, lease.token
end

-- Acquires and releases the lock. Returns its token, which is larger than the last.
local function take_next(lock, last)
    local lease = hold(lock)
    assert.is_true(lease.token > last)
    assert(lease:release())
    return lease.token
end

-- Checks that a release removes the node, because another session wanted the lock, too.
local function check_not_kept(lock)
    release(hold(lock))
    wait_for_nodes(0)
end


before_each(function()
    server, path = rig.shared(), rig.path()
    a, b = rig.session(server.hosts, { timeout = LONG }), rig.session(server.hosts)
end)

after_each(rig.close_sessions)


describe("a kept lock #a_lock_that_is_kept", function()
    it("a kept lock's acquires cost no request, and their tokens grow", function()
        local lock, last = leave_kept()
        local before = count_requests(a)
        for i = 1, 200 do
            local lease = hold(lock, i % 2 == 0 and 0 or 5)
            assert.equal(last + 1, lease.token)
            last = lease.token
            for _ = 1, 2 do
                local entry = lock:queue()[1]
                assert.same({ last, true }, { entry.token, entry.held })
            end
            before = before + 4
            assert(lease:release())
        end
        assert.equal(before, count_requests(a))
        wait_for_nodes(1)
    end)

    it("a kept lock changes its node after 1024 grants, for a few requests", function()
        local lock, first = leave_kept()
        local before = a:stats()
        local last = first
        for _ = 1, 1030 do
            last = take_next(lock, last)
        end
        settle(a)
        local after = a:stats()
        assert.same({ 1, 1, 2 }, { after.creates - before.creates, after.deletes - before.deletes,
                                   after.lists - before.lists })
        assert.equal(7 - 1, last % 1024)
        wait_for_nodes(1)
    end)

    -- Session a is not dispatched here; only b waits.
    it("another session gets a kept lock at once, though the keeper's Lua does not run", function()
        for _, options in ipairs{ { keep = LONG }, { token = "turns" } } do
            path = rig.path()
            local _, token = leave_kept()
            local lease = hold(b:mutex(path, options), 20)
            assert.is_true(lease.token > token)
            wait_for_nodes(1)
            release(lease)
        end
    end)

    it("another client, whatever its language, gets a kept lock at once", function()
        leave_kept()
        local own = server:nodes(path)[1]
        server:foreign("create %s/f47ac10b58cc4372a5670e02b2c3d479__lock__0000000007 x", path)
        wait_for("the end of the kept node", function()
            return not table.concat(server:nodes(path), " "):find(own, 1, true)
        end)
    end)

    it("a waiter that arrives during a hold gets the lock when that hold ends", function()
        local lock = leave_kept()
        local lease, events = hold(lock), a:stats().events
        local order = rig.line_up({ b:mutex(path, { token = "turns" }) }, function(order)
            wait_for("the news", function() return a:stats().events > events end)
            assert(lease:release())
            release(hold(lock))
            order[#order + 1] = "again"
        end, function(_, other)
            assert.is_true(other.token > lease.token)
            release(other)
        end)
        assert.same({ 1, "again" }, order)
    end)

    it("a kept lock that was handed over, and is wanted again soon, is not kept for a while",
       function()
        local lock = leave_kept()
        release(hold(lock_with_keep(b)))
        check_not_kept(lock)
    end)

    it("the kept node goes when the time to keep it ends", function()
        local lock = lock_with_keep(a, 0.2)
        hold(lock):release()
        wait_for_nodes(0)
        local before = a:stats().creates
        leave_kept()
        assert.equal(before + 1, a:stats().creates)
    end)

    it("the kept node goes when its session is closed", function()
        leave_kept()
        a:close()
        wait_for_nodes(0)
    end)

    it("release_all leaves a kept lock alone; its former lease stays released", function()
        local lock = lock_with_keep(a)
        local lease = hold(lock, { owner = "x" })
        assert(lease:release())
        settle(a)
        assert.equal(0, a:release_all("x"))
        wait_for_nodes(1)
        local again = hold(lock, { owner = "x" })
        assert.equal("released", lease:state())
        assert.equal(1, a:release_all("x"))
        assert.equal("released", again:state())
        wait_for_nodes(1)
    end)

    it("the kept node goes when somebody asks its holder to give way #slow", function()
        leave_kept(rig.session(server.hosts))
        assert.equal(1, (b:mutex(path):revoke(20)))
        wait_for_nodes(0)
    end)

    it("an owner enters a kept lock again, and its last release keeps the node", function()
        local lock = leave_kept()
        local before = count_requests(a)
        local first = hold(lock, { owner = "x" })
        local second = hold(lock, { owner = "x" })
        assert.equal(first.token, second.token)
        assert(first:release())
        assert.equal("held", second:state())
        assert(second:release())
        release(hold(lock, { owner = "y" }))
        assert.equal(before, count_requests(a))
    end)

    it("the queue shows a kept lock as kept, not as held", function()
        local lock, token = leave_kept()
        local entry = lock:queue()[1]
        assert.same({ false, true, true, token },
                    { entry.held, entry.kept, entry.mine, entry.token })
    end)

    it("a kept lock has conditions, as any mutex in order of arrival", function()
        local lock = leave_kept()
        local condition, woken = assert(lock:condition("c")), nil
        zklock.run(function()
            local lease = hold(lock, { owner = "waiter", timeout = 20 })
            woken = condition:wait(lease, 20)
            release(lease)
        end, function()
            wait_for("the waiter", function() return a:stats().claims >= 2 end)
            local lease = hold(lock, { owner = "signaller", timeout = 20 })
            assert.equal(1, condition:signal(lease))
            release(lease)
        end)
        assert.is_true(woken)
    end)

    it("a multi-lock first removes the kept node of its part, and keeps none itself", function()
        local lock = leave_kept()
        local both = a:multi{ lock, a:mutex(path .. "-2", { keep = LONG }) }
        release(hold(both, 0))
        wait_for_nodes(0)
    end)

    it("another lock of the session on that path removes the kept node", function()
        for _, options in ipairs{ {}, { order = "turns" } } do
            path = rig.path()
            leave_kept()
            release(hold(a:mutex(path, options), 0))
            wait_for_nodes(0)
        end
    end)

    it("a kept lock in turns stays kept when nobody waits, and serves later waiters",
       function()
        local lock, token = leave_kept(a, { order = "turns" })
        local before, tokens = count_requests(a), {}
        rig.run(5, function(n)
            local lease = hold(lock, { timeout = 20, owner = n })
            tokens[#tokens + 1] = lease.token
            assert(lease:release())
        end)
        assert.same({ token + 1, token + 2, token + 3, token + 4, token + 5 }, tokens)
        assert.equal(before, count_requests(a))
        release(hold(b:mutex(path, { order = "turns" })))
    end)

    it("a node made without keep is not kept by a lock with it, so a try gets the lock", function()
        local first = hold(a:mutex(path, { order = "turns" }))
        local next = lock_with_keep(a, LONG, { order = "turns" })
        release(rig.wait_while(next, { timeout = 20 }, function() assert(first:release()) end))
        release(hold(b:mutex(path, { order = "turns" }), 0))
    end)

    it("the longest idle kept node goes first when another node needs its room #slow", function()
        -- Paths of 255 bytes, of which 1 500 fill half a megabyte.
        local long = path .. "/" .. ("x"):rep(200)
        local count, first = 0, nil
        repeat
            count = count + 1
            local lock = a:mutex(("%s-%04d"):format(long, count), { keep = LONG })
            first = first or lock
            local lease, message = lock:acquire(20)
            assert(lease, message)
            assert(lease:release())
        until count == 2500
        settle(a)
        local before = a:stats().creates
        release(hold(first))
        assert.is_true(a:stats().creates > before)
    end)

    it("keep is refused where it means nothing", function()
        rig.blames('keep belongs to order = "fifo" or "turns"',
                   function() a:mutex(path, { order = "none", keep = 1 }) end)
        rig.blames("keep belongs to a mutex, not to a read-write lock",
                   function() a:rwlock(path, { keep = 1 }) end)
        rig.blames("keep belongs to a mutex, not to a semaphore",
                   function() a:semaphore(path, 3, { keep = 1 }) end)
        for _, seconds in ipairs{ 0, -1, math.huge, 0 / 0 } do
            rig.blames("keep must be seconds, more than 0",
                       function() a:mutex(path, { keep = seconds }) end)
        end
        rig.blames("keep must be a number", function() a:mutex(path, { keep = "5" }) end)
    end)
end)


describe("the time to keep a lock #a_lock_that_is_kept", function()
    it("the time may be very short", function()
        local last = 0
        for _, keep in ipairs{ 1e-300, 1e-9, 1e-6, 0.001 } do
            local lock = lock_with_keep(a, keep)
            for _ = 1, 5 do
                last = take_next(lock, last)
            end
            wait_for_nodes(0)
        end
    end)

    it("the time may be very long", function()
        for _, keep in ipairs{ 1e9, 1e18, 1.7e308 } do
            path = rig.path()
            local lock, token = leave_kept(a, {}, keep)
            assert.equal(token + 1, hold(lock, 0).token)
        end
    end)

    it("the time is that of the lock object with the last grant", function()
        local _, token = leave_kept()
        local short = hold(lock_with_keep(a, 0.1))
        assert.equal(token + 1, short.token)
        assert(short:release())
        wait_for_nodes(0)

        local lease
        repeat
            path = rig.path()
            _, token = leave_kept(a, {}, 0.5)
            lease = hold(lock_with_keep(a))
        until lease.token == token + 1
        assert(lease:release())
        zklock.sleep(0.6)
        wait_for_nodes(1)

        assert(hold(a:mutex(path, { token = "turns" })):release())
        wait_for_nodes(0)
    end)

    it("the time begins anew with each release", function()
        local lock, token = leave_kept(a, {}, 0.5)
        for i = 1, 6 do
            zklock.sleep(0.1)
            local lease = hold(lock)
            if lease.token ~= token + i then
                assert.is_true(lease.token > token) -- on a machine that stood still for so long
                break
            end
            assert(lease:release())
        end
        wait_for_nodes(0)
    end)
end)


describe("a try of another session #a_lock_that_is_kept", function()
    it("a try gets a lock that is only kept, also while the keeper's Lua does not run", function()
        local _, token = leave_kept()
        local lease = hold(b:mutex(path, { token = "turns" }), 0)
        assert.is_true(lease.token > token)
    end)

    it("a try of a multi-lock or of a side of a read-write lock finds a kept lock taken", function()
        leave_kept()
        local function try_in_new_session(make)
            local session = rig.session(server.hosts)
            assert.equal("busy", (rig.code_of(make(session), 0)))
            wait_for_nodes(1)
        end
        try_in_new_session(function(session)
            local function part(name) return session:mutex(path .. name, { token = "turns" }) end
            return session:multi{ part "", part "-2" }
        end)
        try_in_new_session(function(session) return session:rwlock(path):read() end)
        try_in_new_session(function(session) return session:rwlock(path):write() end)
    end)

    it("a try of a held lock fails with busy, and leaves nothing", function()
        for _, was_kept in ipairs{ false, true } do
            path = rig.path()
            if was_kept then leave_kept() end
            local lease = hold(lock_with_keep(a, LONG, { data = "shop" }))
            settle(a)
            local code, message = rig.code_of(b:mutex(path, { token = "turns" }), 0)
            assert.equal("busy", code, message)
            wait_for_nodes(1)
            local entry = b:mutex(path):queue()[1]
            assert.same({ true, "shop" }, { entry.held, entry.data })
            release(lease)
            wait_for_nodes(0) -- a node that told a try that it is held is not kept
        end
    end)

    it("a try fails with busy after zklock or Curator asked the holder to give way #slow",
       function()
        local holder = rig.session(server.hosts)
        local lock, look = lock_with_keep(holder, LONG, { data = "shop" }), b:mutex(path)
        hold(lock)
        settle(holder)
        assert.equal("busy", (rig.code_of(b:mutex(path, { token = "turns" }), 0)))
        wait_for_nodes(1)
        local node = server:nodes(path)[1]
        local function check_node_says(text)
            wait_for(text, function() return b:get(node) == text end)
            local entry = look:queue()[1]
            assert.same({ true, true }, { entry.held, entry.revoked })
        end
        assert.equal(1, look:revoke(20))
        check_node_says "__REVOKE__\31held"
        server:foreign("set %s __REVOKE__", node)
        check_node_says "__REVOKE__\31held"
        local patient = rig.session(server.hosts, { connect_timeout = LONG })
        assert.equal("busy", (rig.code_of(patient:mutex(path, { token = "turns" }), 0)))
        wait_for_nodes(1)
    end)

    it("a try whose holder does not answer fails after the time to connect", function()
        local link = rig.fragile(server, { timeout = 20 })
        hold(lock_with_keep(link.session))
        settle(link.session)
        link.cut()
        local hasty = rig.session(server.hosts, { connect_timeout = 0.5 })
        local try = hasty:mutex(path, { token = "turns" })
        assert.equal("timeout", (rig.takes(0, 10, rig.code_of, try, 0)))
        wait_for_nodes(1)
        link.heal()
    end)

    it("another session's queue says of a kept lock that its holder is unknown", function()
        leave_kept(a, { data = "shop" })
        local entry = b:mutex(path):queue()[1]
        assert.same({ "unknown", "shop" }, { entry.held, entry.data })
        assert.is_nil(entry.kept)
        assert.is_false(a:mutex(path):queue()[1].held)
    end)

    it("a try of a kept lock with a holder and a waiter fails with busy", function()
        leave_kept()
        local lease = hold(lock_with_keep(a))
        release(rig.wait_while(a:mutex(path, { token = "turns" }), { timeout = 20 }, function()
            wait_for_nodes(2)
            assert.equal("busy", (rig.code_of(b:mutex(path), 0)))
            release(lease)
        end))
    end)
end)


describe("a kept lock whose session is cut off #a_lock_that_is_kept", function()
    local link, lock, token

    before_each(function()
        link = rig.fragile(server, { timeout = 6 })
        lock, token = leave_kept(link.session)
        link.cut()
        wait_for("the cut", function() return link.session:state() ~= "connected" end)
    end)

    it("the session gets the kept lock again once it knows that nobody waits #slow", function()
        link.heal()
        local lease = hold(lock, 30)
        assert.equal(token + 1, lease.token)
        release(lease)
    end)

    it("a contender that came meanwhile gets the lock #slow", function()
        local other = b:mutex(path, { token = "turns" })
        release(rig.wait_while(other, { timeout = LONG }, function() link.heal() end))
    end)
end)
