--- [lua luajit asan tsan memory worlds] Owners: re-entry, interrupts, release_all. An owner is a
-- coroutine or any value.
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()
local hold, code_of = rig.hold, rig.code_of
local session

before_each(function() session = rig.session(server.hosts) end)
after_each(rig.close_sessions)


local function test_owner_of(make)
    local path, lock
    before_each(function()
        path = rig.path()
        lock = make(session, path)
    end)

    it("an owner that holds enters again with a new handle and the same token (REQ-04, Netflix-75)",
       function()
        local first = hold(lock)
        local before = session:stats()
        local second, third = assert(lock:acquire(0)), assert(make(session, path):acquire())
        assert.not_equal(first, second)
        assert.equal(first.token, second.token)
        assert.equal(first:token_string(), third:token_string())
        assert.equal(1, #lock:queue())
        local after = session:stats()
        assert.same({ before.creates, before.grants }, { after.creates, after.grants })
    end)

    it("an owner releases each handle once, and the node goes with the last", function()
        local handles = {}
        for i = 1, 3 do handles[i] = assert(lock:acquire(20)) end
        for i = 1, 3 do
            assert.equal("held", handles[i]:state())
            rig.release(handles[i])
            rig.check_over(handles[i], "released")
            rig.check_refused("released", path, handles[i]:release())
            server:wait_for_nodes(path, i < 3 and 1 or 0)
        end
    end)

    it("an owner with reentrant = false gets would_deadlock at once", function()
        local strict = make(session, path, false)
        local lease = hold(strict)
        for _, timeout in ipairs{ 0, 60 } do
            local code, message = rig.takes(0, 30, code_of, strict, timeout)
            assert.equal("would_deadlock", code)
            assert.is_truthy(message:find(path, 1, true))
        end
        assert.is_truthy(lock:acquire(0))
        assert.is_true(lease:release())
    end)
end

for kind, make in pairs(rig.kinds) do
    if kind ~= "a semaphore" and not kind:find("multi", 1, true) then
        describe("an owner of " .. kind, function() test_owner_of(make) end)
    end
end


describe("an owner #lock:acquire", function()
    local lock
    before_each(function() lock = session:mutex(rig.path()) end)

    local function acquire_as(owner)
        return hold(lock, { timeout = 5, owner = owner })
    end

    it("an owner may be any value, and equal values are one owner", function()
        local key, thread = {}, coroutine.create(print)
        local owners = { "a", "", "a\0b", "a\0c", "1", "true", "nil", "main", "object 1", 1, 0, -1,
                         1.5, 2 ^ 60, 1 / 0, true, false, key, {}, print, thread, io.stdout }
        for i, owner in ipairs(owners) do
            local lease = acquire_as(owner)
            for k, rival in ipairs(owners) do
                local again, _, code = lock:acquire{ timeout = 0, owner = rival }
                local what = ("%s, then %s"):format(tostring(owner), tostring(rival))
                assert.equal(i ~= k and "busy" or nil, code, what)
                if again then assert(again:release()) end
            end
            rig.release(lease)
        end
    end)

    it("equal numbers are one owner in any form", function()
        for one, other in pairs{ [1] = "1.0", [2 ^ 53] = "9007199254740992", [0] = "-0.0" } do
            local lease = acquire_as(one)
            assert(lock:acquire{ timeout = 0, owner = tonumber(other) }, other):release()
            rig.release(lease)
        end
    end)

    it("the running coroutine is the default owner (REQ-01) #real", function()
        local mine, second = hold(lock), session:mutex(lock.path .. "/2")
        local code, inner
        local thread = coroutine.create(function()
            code = code_of(lock, 0)
            inner = hold(second)
            assert(second:acquire(0)):release()
        end)
        assert(coroutine.resume(thread))
        assert.equal("busy", code)
        assert.equal("busy", (code_of(second, 0)))
        assert.is_truthy(second:acquire{ timeout = 0, owner = thread })
        assert.equal("held", mine:state())
        assert.equal("held", inner:state())
    end)

    it("a value is one owner in every coroutine #real", function()
        local leases = {}
        for i = 1, 100 do
            coroutine.wrap(function()
                local each = session:mutex(("%s/%d"):format(lock.path, i % 10))
                leases[i] = assert(each:acquire{ timeout = 0, owner = "n" .. i % 10 })
            end)()
        end
        for i = 1, 10 do assert.equal(leases[i].token, leases[i + 90].token) end
        assert.equal(10, #server:nodes(lock.path))
    end)

    it("any coroutine may release a lease, which is a capability (CURATOR-347)", function()
        local lease = acquire_as("a")
        coroutine.wrap(rig.release)(lease)
        assert.equal("released", lease:state())
        assert.same({}, lock:queue())
    end)
end)


-- Two locks of each kind that exclude one another, for the holder and for its coroutine.
local function pairs_of_locks()
    local rw, strict = session:rwlock(rig.path()), session:mutex(rig.path(), { reentrant = false })
    local other, part = session:mutex(rig.path()), session:mutex(rig.path())
    local list = {
        strict = { strict, strict },
        ["read, write"] = { rw:read(), rw:write() },
        ["a part, several"] = { part, session:multi{ other, part } },
        ["several, a part"] = { session:multi{ other, part }, part },
    }
    for kind in pairs(rig.kinds) do
        list[kind] = { rig.excluding(kind, session, session, rig.path()) }
    end
    return list
end


local function nothing() end


local function deep_inside(fn)
    return coroutine.wrap(function() return coroutine.wrap(fn)() end)()
end


describe("an owner that waits for its own coroutine #real #lock:acquire", function()
    local lock
    before_each(function() lock = session:mutex(rig.path()) end)
    it("the coroutine's acquire gets would_deadlock at once, for each kind of lock", function()
        for kind, locks in pairs(pairs_of_locks()) do
            local lease = hold(locks[1])
            local code = rig.takes(0, 30, deep_inside, function() return code_of(locks[2], 60) end)
            assert.equal("would_deadlock", code, kind)
            rig.release(lease)
            assert.is_true(deep_inside(function() return locks[2]:with(5, nothing) end), kind)
        end
    end)

    it("the coroutine gets would_deadlock by the permits of all outer owners together", function()
        local gate = session:semaphore(rig.path(), 3)
        hold(gate)
        local code, left = coroutine.wrap(function()
            hold(gate)
            return coroutine.wrap(function()
                return code_of(gate, { permits = 2, timeout = 60 }), gate:acquire(5)
            end)()
        end)()
        assert.equal("would_deadlock", code)
        assert.equal("held", left:state())
    end)

    it("the coroutine gets would_deadlock also as another owner, and in combine", function()
        local submit = lock:combine(function(_, items) return items end)
        local lease = hold(lock)
        deep_inside(function()
            assert.equal("would_deadlock", code_of(lock, { timeout = 60, owner = "me" }))
            assert.equal("would_deadlock", select(3, submit(1, 60)))
        end)
        rig.release(lease)
        assert.equal(1, deep_inside(function() return submit(1, 60) end))
    end)

    it("the coroutine's try is busy, and its read lock is granted beside a reader", function()
        local rw = session:rwlock(rig.path())
        hold(lock)
        hold(rw:read())
        deep_inside(function()
            assert.equal("busy", code_of(lock, 0))
            assert.is_true(rw:read():with(5, nothing))
        end)
    end)

    it("the coroutine waits if max_hold ends the hold in time", function()
        local lease = hold(lock, { timeout = 5, max_hold = 0.2 })
        assert.is_true(deep_inside(function() return lock:with(60, nothing) end))
        assert.equal("lost", lease:state())
        hold(lock, { timeout = 5, max_hold = 60 })
        assert.equal("would_deadlock", deep_inside(function() return code_of(lock, 30) end))
    end)

    it("the coroutine waits for any part of a multi-lock whose max_hold ends in time", function()
        local second = session:mutex(rig.path())
        for _, part in ipairs{ lock, second } do
            hold(session:multi{ lock, second }, { timeout = 5, max_hold = 0.2 })
            assert.is_true(deep_inside(function() return part:with(60, nothing) end))
        end
    end)

    it("the coroutine may wait in a condition, which gives the lock up", function()
        local lease = hold(lock)
        assert.equal("timeout", deep_inside(function()
            return select(3, lock:condition "news":wait(lease, 0.1))
        end))
    end)

    it("a coroutine of zklock.run waits, because another coroutine releases the lock", function()
        local lease = hold(lock)
        local got = rig.wait_while(lock, { timeout = 60 }, function() rig.release(lease) end)
        assert.equal("held", got:state())
    end)

    it("a coroutine that waits in zklock.run resumes its owner, which may release", function()
        local got
        zklock.run(function()
            local lease = hold(lock)
            coroutine.wrap(function() got = lock:acquire(60) end)()
            rig.release(lease)
        end, function() rig.wait_for("the lock", function() return got end) end)
        assert.equal("held", got:state())
    end)

    it("the coroutine waits for a holder that is suspended", function()
        local holder = coroutine.wrap(function()
            coroutine.yield()
            local lease = hold(lock)
            coroutine.yield()
            rig.release(lease)
        end)
        holder()
        deep_inside(function()
            holder()
            assert.equal("timeout", code_of(lock, 0.1))
            holder()
            assert.is_true(lock:with(5, nothing))
        end)
    end)
end)


describe("interrupt #session:interrupt", function()
    local path, lease
    before_each(function()
        path = rig.path()
        lease = rig.hold_elsewhere(server, path)
    end)

    it("interrupt ends every wait of that owner, of no other, and leaves nothing", function()
        local codes, got, busy = {}, nil, rig.path()
        local second = rig.hold_elsewhere(server, busy)
        local locks = { session:mutex(path), session:mutex(busy) }
        rig.run(2, function(n)
            codes[n] = code_of(locks[n], { timeout = 20, owner = "a" })
        end, function()
            got = hold(locks[1], { timeout = 20, owner = "b" })
        end, function()
            rig.wait_for_waits(session, 3)
            assert.equal(2, session:interrupt("a"))
            rig.wait_for("both ends", function() return codes[1] and codes[2] end)
            assert.equal(0, session:interrupt("a"))
            assert.equal(0, session:interrupt("nobody"))
            lease:release()
        end)
        assert.same({ "interrupted", "interrupted" }, codes)
        assert.equal("held", got:state())
        assert.equal(1, #server:nodes(path))
        assert.equal(1, #server:nodes(busy))
        assert.equal("held", second:state())
    end)

    it("interrupt takes a coroutine as owner", function()
        local thread, code, message
        zklock.run(function()
            thread = coroutine.running()
            code, message = code_of(session:mutex(path))
        end, function()
            rig.wait_for_waits(session, 1)
            assert(session:interrupt(thread) == 1)
        end)
        assert.equal("interrupted", code)
        assert.is_truthy(message:find(path, 1, true))
    end)

    it("interrupt takes nothing from an owner that holds", function()
        assert.equal(0, lease.session:interrupt())
        assert.equal("held", lease:state())
    end)

    it("interrupt ends a wait that is no acquire, too #server", function()
        local far, proxy = rig.behind_proxy(server.hosts, { timeout = 10 })
        local thread, code
        proxy:command("blackhole")
        zklock.run(function()
            thread = coroutine.running()
            code = select(3, far:mutex(path):queue(60))
        end, function()
            rig.wait_for("the wait", function() return thread end)
            far:interrupt(thread)
            zklock.sleep(0.1)
            proxy:command("flow")
        end)
        assert.equal("interrupted", code)
    end)
end)


describe("release_all #session:release_all", function()
    it("release_all gives up every lease of that owner, whatever handles there are, and no other",
       function()
        local locks, mine = { session:mutex(rig.path()), session:mutex(rig.path()) }, {}
        for n = 1, 4 do mine[n] = hold(locks[n % 2 + 1], { owner = "a" }) end
        local other = hold(session:mutex(rig.path()), { owner = "b" })
        assert.equal(2, session:release_all("a"))
        for i = 1, 4 do
            assert.equal("released", mine[i]:state())
            assert.equal("released", select(3, mine[i]:release()))
        end
        assert.equal("held", other:state())
        assert.equal(0, session:release_all("a"))
        for _, lock in ipairs(locks) do
            assert.is_truthy(lock:acquire{ timeout = 5, owner = "c" })
        end
    end)

    it("release_all leaves an owner alone whose text begins with that owner's", function()
        local one = assert(session:mutex(rig.path()):acquire{ timeout = 5, owner = 1 })
        local other = assert(session:mutex(rig.path()):acquire{ timeout = 5, owner = 12 })
        assert.equal(1, session:release_all(1))
        assert.equal("released", one:state())
        assert.equal("held", other:state())
    end)

    it("release_all leaves waiters alone, also the heir of the lock", function()
        local path, got = rig.path(), {}
        local lock = session:mutex(path, { order = "turns" })
        local far = rig.hold_elsewhere(server, path)
        local function come()
            local lease = assert(lock:acquire{ timeout = 60, owner = "a" })
            got[#got + 1] = lease
        end
        zklock.run(come, come, function()
            rig.wait_for_waits(session, 2)
            assert(far:release())
            rig.wait_for("the first grant", function() return got[1] end)
            assert.equal(1, session:release_all("a"))
        end)
        assert.equal("released", got[1]:state())
        assert.equal("held", got[2]:state())
        assert.is_true(got[2]:check(5))
        rig.release(got[2])
    end)

    it("release_all without an owner means the running coroutine #real", function()
        local mine = assert(session:mutex(rig.path()):acquire(20))
        coroutine.wrap(function()
            local theirs = assert(session:mutex(rig.path()):acquire(20))
            assert(session:release_all() == 1)
            assert(theirs:state() == "released")
        end)()
        assert.equal("held", mine:state())
        assert.equal(1, session:release_all())
        assert.equal("released", mine:state())
    end)
end)
