--- Owners: re-entry, interrupts, release_all. An owner is a coroutine or any value.
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()
local hold, code_of = rig.hold, rig.code_of
local session

before_each(function() session = rig.session(server.hosts) end)
after_each(rig.close_sessions)


describe("an owner", function()
    local lock, other_lock
    before_each(function()
        lock = session:mutex(rig.path())
        other_lock = session:mutex(lock.path) -- another object, the same lock
    end)

    it("that holds enters again: a new handle, the same token (REQ-04, Netflix-75)", function()
        local first = hold(lock)
        local grants = session:stats().grants
        local second = assert(lock:acquire(0))
        local third = assert(other_lock:acquire())
        assert.not_equal(first, second)
        assert.equal(first.token, second.token)
        assert.equal(first:token_string(), third:token_string())
        assert.equal(1, #lock:queue())
        assert.equal(grants, session:stats().grants)
    end)

    it("gives up each handle once; the node goes with the last", function()
        local handles = {}
        for i = 1, 3 do handles[i] = assert(lock:acquire(20)) end
        for i = 1, 3 do
            assert.equal("held", handles[i]:state())
            assert.is_true(handles[i]:release{ wait = 20 })
            assert.equal("released", handles[i]:state())
            assert.is_false(handles[i]:held())
            assert.equal(0, handles[i]:remaining())
            rig.is_refused("released", lock.path, handles[i]:release())
            assert.equal("released", select(3, handles[i]:check(20)))
            assert.equal(i < 3 and 1 or 0, #lock:queue())
        end
    end)

    it("does not wait for the server to enter again #server", function()
        local proxy = rig.proxy_for_test(server.hosts)
        local far = rig.session(proxy.hosts, { timeout = 30 }):mutex(rig.path())
        local first = assert(far:acquire(20))
        proxy:reset()
        local second = assert(far:acquire(20))
        assert.is_true(second:release())
        assert.equal(0, proxy:counts().flights)
        assert.equal("held", first:state())
    end)

    it("with reentrant = false would wait for itself, and is told at once", function()
        local strict = session:mutex(lock.path, { reentrant = false })
        local lease = assert(strict:acquire(20))
        for _, timeout in ipairs{ 0, 60 } do
            local seconds, code, message = rig.timed(code_of, strict, timeout)
            assert.equal("would_deadlock", code)
            assert.is_truthy(message:find(lock.path, 1, true))
            assert.is_true(seconds < 30, seconds)
        end
        assert.equal("busy", code_of(strict, { timeout = 0, owner = "other" }))
        assert.is_truthy(lock:acquire(0)) -- the reentrant object of the same lock
        assert.is_true(lease:release())
    end)

    local function acquires_as(owner)
        return hold(lock, { timeout = 5, owner = owner })
    end

    it("may be any value; equal values are one owner, others are not", function()
        local key, thread = {}, coroutine.create(print)
        local owners = { "a", "", "a\0b", "a\0c", "1", "true", "nil", "main", "object 1", 1, 0, -1,
                         1.5, 2 ^ 60, 1 / 0, true, false, key, {}, print, thread, io.stdout }
        for i, owner in ipairs(owners) do
            local lease = acquires_as(owner)
            for k, rival in ipairs(owners) do
                local again, _, code = other_lock:acquire{ timeout = 0, owner = rival }
                local what = ("%s, then %s"):format(tostring(owner), tostring(rival))
                if i == k then
                    assert.is_truthy(again, what)
                    assert(again:release())
                else
                    assert.is_nil(again, what)
                    assert.equal("busy", code, what)
                end
            end
            assert.is_true(lease:release{ wait = 20 })
        end
    end)

    it("is the same when it is the same number, however it is written", function()
        for one, other in pairs{ [1] = "1.0", [2 ^ 53] = "9007199254740992", [0] = "-0.0" } do
            local number = tonumber(other)
            local lease = acquires_as(one)
            local again = lock:acquire{ timeout = 0, owner = number }
            assert.is_truthy(again, other)
            again:release()
            rig.released(lease)
        end
    end)

    it("is the coroutine that runs, where none is given (REQ-01) #real", function()
        local mine = hold(lock)
        local code, inner
        local thread = coroutine.create(function()
            code = select(3, lock:acquire(0))
            inner = assert(session:mutex(lock.path .. "/2"):acquire(20))
            assert(session:mutex(lock.path .. "/2"):acquire(0)):release()
        end)
        assert(coroutine.resume(thread))
        assert.equal("busy", code)
        assert.equal("busy", select(3, session:mutex(lock.path .. "/2"):acquire(0)))
        assert.is_truthy(session:mutex(lock.path .. "/2"):acquire{ timeout = 0, owner = thread })
        assert.equal("held", mine:state())
        assert.equal("held", inner:state())
    end)

    it("given by value is one owner in every coroutine #real", function()
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

    it("in another session is another owner", function()
        acquires_as("me")
        local far = rig.session(server.hosts):mutex(lock.path)
        assert.equal("busy", code_of(far, { timeout = 0, owner = "me" }))
    end)

    it("does not matter for release: a lease is a capability (CURATOR-347)", function()
        local lease = acquires_as("a")
        coroutine.wrap(function() assert(lease:release{ wait = 20 }) end)()
        assert.equal("released", lease:state())
        assert.same({}, lock:queue())
    end)
end)


-- A lock of each kind, as two locks that exclude one another, for the holder and for its coroutine.
local function pairs_of_locks()
    local function twice(lock) return { lock, lock } end
    local rw, other = session:rwlock(rig.path()), session:mutex(rig.path())
    local part = session:mutex(rig.path())
    return {
        fifo = twice(session:mutex(rig.path())),
        strict = twice(session:mutex(rig.path(), { reentrant = false })),
        turns = twice(session:mutex(rig.path(), { order = "turns" })),
        none = twice(session:mutex(rig.path(), { order = "none" })),
        kept = twice(session:mutex(rig.path(), { keep = 5 })),
        ["read, write"] = { rw:read(), rw:write() },
        ["write, read"] = { rw:write(), rw:read() },
        permits = twice(session:semaphore(rig.path(), 1)),
        ["a part, several"] = { part, session:multi{ other, part } },
        ["several, a part"] = { session:multi{ other, part }, part },
    }
end


local function nothing() end


-- Calls fn in a coroutine inside a coroutine, and gives its results.
local function deep_inside(fn)
    return coroutine.wrap(function() return coroutine.wrap(fn)() end)()
end


describe("an owner that waits for a coroutine which it resumed #real", function()
    it("blocks that coroutine: its acquire gets would_deadlock at once, of each kind of lock",
       function()
        for kind, locks in pairs(pairs_of_locks()) do
            local lease = hold(locks[1])
            local seconds, code = rig.timed(deep_inside, function()
                return code_of(locks[2], 60)
            end)
            assert.equal("would_deadlock", code, kind)
            assert.is_true(seconds < 30, kind)
            rig.released(lease)
            assert.is_true(deep_inside(function() return locks[2]:with(5, nothing) end), kind)
        end
    end)

    it("blocks it by the permits of all such owners together", function()
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

    it("blocks it also where it gives an owner, and where it combines", function()
        local lock = session:mutex(rig.path())
        local submit = lock:combine(function(_, items) return items end)
        local lease = hold(lock)
        deep_inside(function()
            assert.equal("would_deadlock", code_of(lock, { timeout = 60, owner = "me" }))
            assert.equal("would_deadlock", select(3, submit(1, 60)))
        end)
        rig.released(lease)
        assert.equal(1, deep_inside(function() return submit(1, 60) end))
    end)

    it("leaves a try busy, and readers beside each other", function()
        local lock, rw = session:mutex(rig.path()), session:rwlock(rig.path())
        hold(lock)
        hold(rw:read())
        deep_inside(function()
            assert.equal("busy", code_of(lock, 0))
            assert.is_true(rw:read():with(5, nothing))
        end)
    end)

    it("does not block it where max_hold ends the hold in time", function()
        local lock = session:mutex(rig.path())
        local lease = hold(lock, { timeout = 5, max_hold = 0.2 })
        assert.is_true(deep_inside(function() return lock:with(60, nothing) end))
        assert.equal("lost", lease:state())
        hold(lock, { timeout = 5, max_hold = 60 })
        assert.equal("would_deadlock", deep_inside(function() return code_of(lock, 30) end))
    end)

    it("does not block it in a condition, which gives the lock up", function()
        local lock = session:mutex(rig.path())
        local lease = hold(lock)
        assert.equal("timeout", deep_inside(function()
            return select(3, lock:condition "news":wait(lease, 0.1))
        end))
    end)

    it("does not block a coroutine of zklock.run, where another coroutine releases the lock",
       function()
        local lock = session:mutex(rig.path())
        local lease, got = hold(lock), nil
        zklock.run(function() got = lock:acquire(60) end, function()
            rig.wait_for("waits", function() return session:stats().waits == 1 end)
            rig.released(lease)
        end)
        assert.equal("held", got:state())
    end)

    it("is resumed when that coroutine waits in zklock.run, and may release the lock", function()
        local lock, got = session:mutex(rig.path()), nil
        zklock.run(function()
            local lease = hold(lock)
            coroutine.wrap(function() got = lock:acquire(60) end)()
            rig.released(lease)
        end, function() rig.wait_for("the lock", function() return got end) end)
        assert.equal("held", got:state())
    end)

    it("is not a holder that is suspended, and the acquire waits", function()
        local lock = session:mutex(rig.path())
        local holder = coroutine.wrap(function()
            coroutine.yield()
            local lease = hold(lock)
            coroutine.yield()
            rig.released(lease)
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


describe("interrupt", function()
    local path, lease
    before_each(function()
        path = rig.path()
        lease = hold(rig.session(server.hosts):mutex(path))
    end)

    local function queued(count)
        return function() return session:stats().waits == count end
    end

    it("ends every wait of that owner, of no other, and leaves nothing", function()
        local codes, got, busy = {}, nil, rig.path()
        local second = hold(rig.session(server.hosts):mutex(busy))
        local locks = { session:mutex(path), session:mutex(busy) }
        rig.run(2, function(n)
            codes[n] = code_of(locks[n], { timeout = 20, owner = "a" })
        end, function()
            got = hold(locks[1], { timeout = 20, owner = "b" })
        end, function()
            rig.wait_for("all wait", queued(3))
            assert.equal(2, session:interrupt("a"))
            rig.wait_for("ended", function() return codes[1] and codes[2] end)
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

    it("finds a coroutine by itself", function()
        local thread, code, message
        zklock.run(
            function()
                thread = coroutine.running()
                message, code = select(2, session:mutex(path):acquire())
            end,
            function()
                rig.wait_for("waits", queued(1))
                assert(session:interrupt(thread) == 1)
            end)
        assert.equal("interrupted", code)
        assert.is_truthy(message:find(path, 1, true))
    end)

    it("takes nothing from an owner that holds", function()
        assert.equal(0, lease.session:interrupt())
        assert.equal("held", lease:state())
    end)

    it("ends a wait that is no acquire, too #server", function()
        local far, proxy = rig.behind_proxy(server.hosts, { timeout = 10 })
        local thread, code
        proxy:command("blackhole")
        zklock.run(
            function()
                thread = coroutine.running()
                code = select(3, far:mutex(path):queue(60))
            end,
            function()
                rig.wait_for("waits", function() return thread end)
                far:interrupt(thread)
                zklock.sleep(0.1)
                proxy:command("flow")
            end)
        assert.equal("interrupted", code)
    end)
end)


describe("release_all", function()
    it("gives up every lease of that owner, whatever handles there are, and no other", function()
        local paths, mine = { rig.path(), rig.path() }, {}
        for i, path in ipairs(paths) do
            mine[i] = assert(session:mutex(path):acquire{ timeout = 5, owner = "a" })
            mine[i + 2] = assert(session:mutex(path):acquire{ timeout = 5, owner = "a" })
        end
        local other = assert(session:mutex(rig.path()):acquire{ timeout = 5, owner = "b" })
        assert.equal(2, session:release_all("a"))
        for i = 1, 4 do
            assert.equal("released", mine[i]:state())
            assert.equal("released", select(3, mine[i]:release()))
        end
        assert.equal("held", other:state())
        assert.equal(0, session:release_all("a"))
        for _, path in ipairs(paths) do
            assert.is_truthy(session:mutex(path):acquire{ timeout = 5, owner = "c" })
        end
    end)

    it("leaves who waits, also who is handed what is given up", function()
        local path, got = rig.path(), {}
        local lock = session:mutex(path, { order = "turns" })
        local far = assert(rig.session(server.hosts):mutex(path):acquire(5))
        local function come()
            local lease = assert(lock:acquire{ timeout = 60, owner = "a" })
            got[#got + 1] = lease
        end
        zklock.run(come, come, function()
            rig.wait_for("both wait", function() return session:stats().waits == 2 end)
            assert(far:release())
            rig.wait_for("one has it", function() return got[1] end)
            assert.equal(1, session:release_all("a"))
        end)
        assert.equal("released", got[1]:state())
        assert.equal("held", got[2]:state())
        assert.is_true(got[2]:check(5))
        assert.is_true(got[2]:release{ wait = 5 })
    end)

    it("means the running coroutine where none is given #real", function()
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
