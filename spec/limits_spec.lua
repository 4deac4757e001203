-- max_waiters: an acquire does not wait behind many. max_hold: a grant ends by itself.

local rig = require "spec.rig"
local zklock = require "zklock"

local server, path, a, b
local hold, wait_for = rig.hold, rig.wait_for


local function waiting(session, count)
    wait_for(count .. " that wait", function()
        session:dispatch()
        return session:stats().waits == count
    end)
end

local function refused(lock, code, options)
    local lease, message, got = lock:acquire(options)
    assert.is_nil(lease)
    assert.equal(code, got)
    return message
end

-- Begins to wait, in a coroutine of the run; gives the lease back as soon as it is had.
local function queue(lock, count, options)
    for _ = 1, count do
        coroutine.wrap(function()
            local lease = assert(lock:acquire(options))
            assert(lease:release())
        end)()
    end
end

before_each(function()
    server, path = rig.shared(), rig.path()
    a, b = rig.session(server.hosts), rig.session(server.hosts)
end)

after_each(rig.close_sessions)


describe("max_waiters", function()
    it("is busy at once when so many wait, and leaves no node", function()
        zklock.run(function()
            local holder = hold(a:mutex(path))
            queue(b:mutex(path), 2)
            server:wait_for_nodes(path, 3)
            local message = refused(a:mutex(path), "busy", { owner = "late", max_waiters = 2 })
            assert.matches("^busy: " .. path:gsub("%p", "%%%0"), message)
            server:wait_for_nodes(path, 3)
            assert(holder:release())
        end)
    end)

    it("waits where fewer wait: the holder is not counted", function()
        zklock.run(function()
            local holder = hold(a:mutex(path))
            queue(b:mutex(path), 1)
            server:wait_for_nodes(path, 2)
            queue(a:mutex(path), 1, { owner = "late", max_waiters = 2 })
            server:wait_for_nodes(path, 3)
            assert(holder:release())
            wait_for("all grants", function() return a:stats().grants + b:stats().grants == 3 end)
        end)
    end)

    it("lets two wait of ten that come at once, also where nobody was before", function()
        for _, order in ipairs{ "fifo", "turns", "none" } do
            local lock, granted, busy = a:mutex(path .. order, { order = order }), 0, 0
            rig.run(10, function(n)
                local lease, _, code = lock:acquire{ timeout = 20, owner = n, max_waiters = 2 }
                busy = busy + (code == "busy" and 1 or 0)
                if not lease then return end
                granted = granted + 1
                wait_for("those that find no room", function() return busy == 7 end)
                assert(lease:release())
            end)
            assert.same({ order, 3 }, { order, granted })
        end
    end)

    it("takes a free lock, and lets its owner enter again", function()
        local lock = a:mutex(path)
        local first = assert(lock:acquire{ max_waiters = 1 })
        assert(lock:acquire{ max_waiters = 1 }):release()
        assert(first:release())
    end)

    it("asks no server where so many of the session wait", function()
        zklock.run(function()
            local lock = a:mutex(path)
            local holder = hold(lock)
            queue(lock, 2)
            waiting(a, 2)
            local creates = a:stats().creates
            refused(lock, "busy", { owner = "late", max_waiters = 2 })
            assert.equal(creates, a:stats().creates)
            assert(holder:release())
        end)
    end)

    it("counts own waiters and others' nodes in turns, without a request", function()
        zklock.run(function()
            local lock, other = a:mutex(path, { order = "turns" }), b:mutex(path)
            local holder = hold(lock)
            queue(lock, 1)
            waiting(a, 1)
            queue(other, 1)
            server:wait_for_nodes(path, 2)
            local stats = a:stats()
            refused(lock, "busy", { owner = "late", max_waiters = 1 })
            assert.equal(stats.creates, a:stats().creates)
            assert.equal(stats.lists, a:stats().lists)
            assert(holder:release())
        end)
    end)

    it("counts in a session what waits without an order", function()
        zklock.run(function()
            local lock = a:mutex(path, { order = "none" })
            local holder = hold(lock)
            queue(lock, 1)
            waiting(a, 1)
            refused(lock, "busy", { owner = "late", max_waiters = 1 })
            assert(holder:release())
        end)
    end)

    it("counts readers that hold as holders, and permits that are held", function()
        zklock.run(function()
            local rw, gate = a:rwlock(path), a:semaphore(path .. "-gate", 2)
            local reader, second = hold(rw:read(), 1, "one"), hold(b:rwlock(path):read())
            queue(b:rwlock(path):write(), 1, { owner = "writer", max_waiters = 1 })
            server:wait_for_nodes(path, 3)
            refused(rw:write(), "busy", { owner = "late", max_waiters = 1 })
            assert(reader:release())
            assert(second:release())
            local both = assert(gate:acquire{ permits = 2 })
            queue(b:semaphore(path .. "-gate", 2), 1, { owner = "next", max_waiters = 1 })
            server:wait_for_nodes(path .. "-gate", 2)
            refused(gate, "busy", { owner = "late", max_waiters = 1 })
            assert(both:release())
        end)
    end)

    it("ends a multi-lock when so many wait for one of its parts", function()
        zklock.run(function()
            local holder = hold(a:mutex(path))
            queue(a:mutex(path), 1, { owner = "first" })
            server:wait_for_nodes(path, 2)
            refused(b:multi{ b:mutex(path .. "-free"), b:mutex(path) }, "busy", { max_waiters = 1 })
            server:wait_for_nodes(path, 2)
            assert(holder:release())
        end)
        server:wait_for_nodes(path .. "-free", 0)
    end)
end)


describe("max_hold", function()
    local function ends(lease)
        wait_for("the end of the hold", function()
            a:dispatch()
            return lease:state() == "lost"
        end)
    end

    it("ends the lease, and the next one has the lock", function()
        zklock.run(function()
            local told
            local lease = assert(a:mutex(path):acquire{ max_hold = 0.3 })
            lease:on_lost(function(_, state) told = state end)
            assert.equal("held", lease:state())
            assert.is_true(lease:remaining() <= 0.3)
            local next_one = assert(b:mutex(path):acquire(20))
            wait_for("the news", function() return told == "lost" end)
            assert.equal(0, lease:remaining())
            assert.equal("lost", (select(3, lease:release())))
            assert(next_one:release())
        end)
    end)

    it("ends it also while the process is busy with something else", function()
        local lease = assert(a:mutex(path):acquire{ max_hold = 0.2 })
        assert(os.execute("sleep 0.5")) -- in C: nothing is dispatched
        server:wait_for_nodes(path, 0)
        assert.equal("lost", lease:state())
    end)

    it("is a limit, however short it is", function()
        ends(assert(a:mutex(path):acquire{ max_hold = 1e-12 }))
        local lease = assert(a:mutex(path):acquire(20))
        assert.is_true(lease:expire(1e-12))
        ends(lease)
    end)

    it("ends for the smallest of several handles, while that is not given up", function()
        local lock = a:mutex(path)
        local outer = assert(lock:acquire{ max_hold = 60 })
        local inner = assert(lock:acquire{ max_hold = 0.2 })
        assert(inner:release())
        zklock.sleep(0.3)
        assert.equal("held", outer:state())
        local short = assert(lock:acquire{ max_hold = 0.2 })
        ends(outer)
        assert.equal("lost", short:state())
    end)

    it("is moved by lease:expire, or set by it, for all handles", function()
        local lock = a:mutex(path)
        local lease = assert(lock:acquire{ max_hold = 0.2 })
        local moved = lease:expire(60) -- unless the machine stood still meanwhile
        zklock.sleep(0.3)
        assert.equal(moved and "held" or "lost", lease:state())
        lease:release()
        local outer, inner = assert(lock:acquire(20)), assert(lock:acquire(20))
        assert.is_true(inner:expire(0.2))
        assert.is_true(outer:remaining() <= 0.2)
        ends(outer)
        rig.is_refused("lost", nil, outer:expire(60))
        local given_up = assert(lock:acquire(20))
        given_up:release()
        rig.is_refused("released", nil, given_up:expire(60))
        rig.blames("the time must be seconds, more than 0, not 0", function() outer:expire(0) end)
    end)

    it("removes the node in a turn, so that no late guard passes", function()
        zklock.run(function()
            local lock = a:mutex(path, { order = "turns" })
            local late = assert(lock:acquire{ max_hold = 0.3, owner = "late" })
            local lease = assert(lock:acquire{ timeout = 20, owner = "next" })
            assert.is_true(lease.token > late.token)
            assert.equal("lost", (select(3, late:guard{ { "create", path .. "/late", "" } })))
            assert(lease:release())
            assert.is_true(lease.token % 1024 == 0) -- the first of another node
        end)
    end)

    it("removes a node that may be kept", function()
        local lease = assert(a:mutex(path, { keep = 60 }):acquire{ max_hold = 0.2 })
        ends(lease)
        server:wait_for_nodes(path, 0)
    end)

    it("does not count what is given up before, also if its node is kept", function()
        local lock = a:mutex(path, { keep = 60 })
        assert(lock:acquire{ max_hold = 0.2 }):release()
        local lease = assert(lock:acquire(20))
        zklock.sleep(0.4)
        assert.equal("held", lease:state())
    end)

    it("ends a multi-lock, a write lock that was downgraded, and permits", function()
        local both = assert(a:multi{ a:mutex(path .. "-1"), a:mutex(path .. "-2") }
            :acquire{ max_hold = 0.3 })
        local writer = assert(a:rwlock(path):write():acquire{ max_hold = 0.3 })
        local permit = assert(a:semaphore(path .. "-gate", 2)
            :acquire{ permits = 2, max_hold = 0.3 })
        assert(writer:downgrade(20))
        ends(both)
        ends(writer)
        ends(permit)
        for _, end_of in ipairs{ "", "-1", "-2", "-gate" } do
            server:wait_for_nodes(path .. end_of, 0)
        end
    end)

    it("is counted anew when the lock is had again after a wait in a condition #slow", function()
        zklock.run(function()
            local lock = a:mutex(path)
            local condition = lock:condition("go")
            local lease = assert(lock:acquire{ max_hold = 0.5 })
            coroutine.wrap(function()
                zklock.sleep(0.6)
                local other = assert(b:mutex(path):acquire(20))
                assert(b:mutex(path):condition("go"):signal(other, 20))
                assert(other:release())
            end)()
            assert(condition:wait(lease, 20))
            assert.equal("held", lease:state())
            ends(lease)
        end)
    end)
end)
