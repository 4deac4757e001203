--- [lua luajit asan tsan worlds] max_waiters refuses to wait behind many; max_hold ends a grant by
-- itself.

local rig = require "spec.rig"
local zklock = require "zklock"

local server, path, a, b
local hold, wait_for = rig.hold, rig.wait_for


local function check_busy(lock, max_waiters)
    local options = { owner = "late", max_waiters = max_waiters }
    return rig.check_refused("busy", nil, lock:acquire(options))
end

before_each(function() server, path, a, b = rig.begin(2) end)
after_each(rig.close_sessions)


describe("max_waiters #session:mutex", function()
    it("an acquire behind max_waiters is busy at once, and leaves no node", function()
        local holder, other = hold(a:mutex(path)), b:mutex(path)
        rig.line_up({ other, other }, function()
            assert.matches("^busy: " .. path:gsub("%p", "%%%0"), check_busy(a:mutex(path), 2))
            server:wait_for_nodes(path, 3)
            assert(holder:release())
        end)
    end)

    it("an acquire waits behind fewer waiters, and the holder does not count", function()
        local holder = hold(a:mutex(path))
        local acquires = { b:mutex(path), { a:mutex(path), max_waiters = 2 } }
        assert.same({ 1, 2 }, rig.line_up(acquires, function() assert(holder:release()) end))
    end)

    it("two of ten acquires at once may wait, if max_waiters is 2", function()
        for _, order in ipairs{ "fifo", "turns", "none" } do
            local lock, granted, refused = a:mutex(path .. order, { order = order }), 0, 0
            rig.run(10, function(n)
                local lease, _, code = lock:acquire{ timeout = 20, owner = n, max_waiters = 2 }
                refused = refused + (code == "busy" and 1 or 0)
                if not lease then return end
                granted = granted + 1
                wait_for("the refused acquires", function() return refused == 7 end)
                assert(lease:release())
            end)
            assert.same({ order, 3 }, { order, granted })
        end
    end)

    it("an acquire with max_waiters gets a free lock, and its owner enters again", function()
        local lock = a:mutex(path)
        local first = assert(lock:acquire{ max_waiters = 1 })
        assert(lock:acquire{ max_waiters = 1 }):release()
        assert(first:release())
    end)

    for order, count in pairs{ fifo = 2, none = 1 } do
        it("an acquire behind max_waiters of its session costs no create: " .. order, function()
            local lock = a:mutex(path, { order = order })
            local holder, acquires = hold(lock), {}
            for n = 1, count do acquires[n] = lock end
            rig.line_up(acquires, function()
                local creates = a:stats().creates
                check_busy(lock, count)
                assert.equal(creates, a:stats().creates)
                assert(holder:release())
            end)
        end)
    end

    it("max_waiters counts own waiters and others' nodes in turns, without a request", function()
        local lock = a:mutex(path, { order = "turns" })
        local holder = hold(lock)
        rig.line_up({ lock, b:mutex(path) }, function()
            local stats = a:stats()
            check_busy(lock, 1)
            assert.equal(stats.creates, a:stats().creates)
            assert.equal(stats.lists, a:stats().lists)
            assert(holder:release())
        end)
    end)

    it("max_waiters counts no holders, neither readers nor permits", function()
        local rw, other = a:rwlock(path), b:rwlock(path)
        local gate = a:semaphore(path .. "-gate", 2)
        local readers = { hold(rw:read()), hold(other:read()) }
        rig.line_up({ { other:write(), max_waiters = 1 } }, function()
            check_busy(rw:write(), 1)
            for _, reader in ipairs(readers) do assert(reader:release()) end
        end)
        local both = hold(gate, { permits = 2 })
        rig.line_up({ { b:semaphore(path .. "-gate", 2), max_waiters = 1 } }, function()
            check_busy(gate, 1)
            assert(both:release())
        end)
    end)

    it("a multi-lock is busy when max_waiters wait for one of its parts", function()
        local holder = hold(a:mutex(path))
        rig.line_up({ a:mutex(path) }, function()
            check_busy(b:multi{ b:mutex(path .. "-free"), b:mutex(path) }, 1)
            server:wait_for_nodes(path, 2)
            assert(holder:release())
        end)
        server:wait_for_nodes(path .. "-free", 0)
    end)
end)


describe("max_hold #session:mutex", function()
    local function wait_until_lost(lease) rig.becomes(lease, "lost") end

    it("max_hold ends the lease, and the next waiter gets the lock", function()
        local lease = hold(a:mutex(path), { max_hold = 0.3 })
        local told = rig.note_losses(lease)
        assert.equal("held", lease:state())
        assert.is_true(lease:remaining() <= 0.3)
        local next_one = hold(b:mutex(path))
        wait_for("the news", function() return told[1] end)
        assert.same({ "lost" }, told)
        assert.equal(0, lease:remaining())
        assert.equal("lost", (select(3, lease:release())))
        assert(next_one:release())
    end)

    it("max_hold ends the lease also while the process is busy", function()
        local lease = assert(a:mutex(path):acquire{ max_hold = 0.2 })
        assert(os.execute("sleep 0.5"))
        server:wait_for_nodes(path, 0)
        assert.equal("lost", lease:state())
    end)

    it("max_hold may be very short", function()
        wait_until_lost(assert(a:mutex(path):acquire{ max_hold = 1e-12 }))
        local lease = hold(a:mutex(path))
        assert.is_true(lease:expire(1e-12))
        wait_until_lost(lease)
    end)

    it("the smallest max_hold counts while its handle is held", function()
        local lock = a:mutex(path)
        local outer = assert(lock:acquire{ max_hold = 60 })
        local inner = assert(lock:acquire{ max_hold = 0.2 })
        assert(inner:release())
        zklock.sleep(0.3)
        assert.equal("held", outer:state())
        local short = assert(lock:acquire{ max_hold = 0.2 })
        wait_until_lost(outer)
        assert.equal("lost", short:state())
    end)

    it("lease:expire moves max_hold, or sets it, for all handles #lease:expire", function()
        local lock = a:mutex(path)
        local lease = assert(lock:acquire{ max_hold = 0.2 })
        local moved = lease:expire(60)
        zklock.sleep(0.3)
        assert.equal(moved and "held" or "lost", lease:state())
        lease:release()
        local outer, inner = assert(lock:acquire(20)), assert(lock:acquire(20))
        assert.is_true(inner:expire(0.2))
        assert.is_true(outer:remaining() <= 0.2)
        wait_until_lost(outer)
        rig.check_refused("lost", nil, outer:expire(60))
        local given_up = assert(lock:acquire(20))
        given_up:release()
        rig.check_refused("released", nil, given_up:expire(60))
        rig.blames("the time must be seconds, more than 0, not 0", function() outer:expire(0) end)
    end)

    it("max_hold ends a turn by deleting its node, so that no late guard passes", function()
        local lock = a:mutex(path, { order = "turns" })
        local late = hold(lock, { max_hold = 0.3, owner = "late" })
        local lease = hold(lock, { timeout = 20, owner = "next" })
        assert.is_true(lease.token > late.token)
        assert.equal("lost", (select(3, late:guard{ { "create", path .. "/late", "" } })))
        assert(lease:release())
        assert.is_true(lease.token % 1024 == 0) -- the first of another node
    end)

    it("max_hold ends a lease of a kept lock, and removes its node", function()
        local lease = assert(a:mutex(path, { keep = 60 }):acquire{ max_hold = 0.2 })
        wait_until_lost(lease)
        server:wait_for_nodes(path, 0)
    end)

    it("max_hold does not count after the release, also if the node is kept", function()
        local lock = a:mutex(path, { keep = 60 })
        assert(lock:acquire{ max_hold = 0.2 }):release()
        local lease = assert(lock:acquire(20))
        zklock.sleep(0.4)
        assert.equal("held", lease:state())
    end)

    for kind, make in pairs(rig.kinds) do
        it("max_hold ends the lease of " .. kind, function()
            local lease = hold(make(a, path), { max_hold = 0.3 })
            if kind == "a write lock" then assert(lease:downgrade(20)) end
            wait_until_lost(lease)
            server:wait_for_nodes(path, 0)
        end)
    end

    for _, part in ipairs{ 1, 2 } do
        local function hold_both(options)
            local parts = { a:mutex(path .. "/1"), a:mutex(path .. "/2") }
            return hold(a:multi(parts), options), parts[part], parts[3 - part]
        end

        it("max_hold of a multi-lock ends re-entries on part " .. part, function()
            local lease, lock = hold_both{ max_hold = 0.3 }
            local again = hold(lock)
            assert.is_true(again:remaining() <= 0.3)
            wait_until_lost(again)
            assert.equal("lost", lease:state())
            for n = 1, 2 do server:wait_for_nodes(("%s/%d"):format(path, n), 0) end
        end)

        it("max_hold and expire of a re-entry on part " .. part .. " end the whole multi-lock",
           function()
            for how, options in pairs{ max_hold = { max_hold = 0.3 }, expire = {} } do
                local lease, lock, other = hold_both()
                local again, beside = hold(lock, options), hold(other)
                if how == "expire" then assert(again:expire(0.3)) end
                assert.is_true(beside:remaining() <= 0.3)
                wait_until_lost(beside)
                assert.same({ how, "lost", "lost" }, { how, again:state(), lease:state() })
            end
        end)

        it("the release of a multi-lock leaves re-entries on part " .. part ..
           " their own limits", function()
            local lease, lock, other = hold_both{ max_hold = 0.3 }
            local again, beside = hold(lock), hold(other, { max_hold = 0.4 })
            assert(lease:release())
            wait_until_lost(beside)
            assert.equal("held", again:state())
            assert.is_true(again:remaining() > 1)
        end)
    end

    it("max_hold counts anew after a wait in a condition #slow", function()
        local lock, other = a:mutex(path), b:mutex(path)
        local lease = hold(lock, { max_hold = 0.5 })
        zklock.run(function() assert(lock:condition("go"):wait(lease, 20)) end, function()
            zklock.sleep(0.6)
            assert(other:with(20, function(theirs)
                assert(other:condition("go"):signal(theirs, 20))
            end))
        end)
        assert.equal("held", lease:state())
        wait_until_lost(lease)
    end)
end)
