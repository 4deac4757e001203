--- [lua luajit asan tsan memory worlds] The multi-lock: several locks as one, all or none, with one
-- lease. Squirrel's and Redisson's MultiLock of the seed article (S4), with ALG-06 and ALG-07.

local rig = require "spec.rig"
local zklock = require "zklock"

local server, path, one, two

local hold, code_of, release = rig.hold, rig.code_of, rig.release

local function mutexes(session, names)
    local locks = {}
    for name in names:gmatch(".") do locks[#locks + 1] = session:mutex(path .. "/" .. name) end
    return locks
end

local function multi(session, names) return session:multi(mutexes(session, names)) end

local function count_nodes() return #server:nodes(path) end

local function wait_for_nodes(count) server:wait_for_nodes(path, count) end

before_each(function() server, path, one, two = rig.begin(2) end)
after_each(rig.close_sessions)


describe("a multi-lock #session:multi", function()
    it("a multi-lock holds all its parts by one lease with one token", function()
        local lease = hold(multi(one, "abc"))
        assert.equal(3, count_nodes())
        assert.is_true(lease:check(20))
        for name in ("abc"):gmatch(".") do
            local queue = assert(two:mutex(path .. "/" .. name):queue())
            assert.equal(lease.token, queue[1].token)
            assert.equal("busy", code_of(two:mutex(path .. "/" .. name), 0))
        end
        release(lease)
        assert.equal(0, count_nodes())
    end)

    it("a multi-lock takes a single part, and sides of read-write locks", function()
        rig.use(multi(one, "a"))
        local rw, other = one:rwlock(path .. "/r"), two:rwlock(path .. "/r")
        local lease = hold(one:multi{ rw:read(), one:rwlock(path .. "/w"):write() })
        hold(other:read()):release()
        assert.equal("busy", code_of(other:write(), 0))
        assert.equal("busy", code_of(two:rwlock(path .. "/w"):read(), 0))
        rig.check_refused("unsupported", nil, lease:downgrade())
        release(lease)
    end)

    it("a multi-lock waits for its last part, and is held only with all", function()
        local held = rig.hold_elsewhere(server, path .. "/b")
        assert.same({ 1 }, rig.line_up({ multi(one, "abc") }, function(order)
            wait_for_nodes(4)
            assert.equal("busy", code_of(two:mutex(path .. "/a"), 0))
            assert.same({}, order)
            held:release()
        end))
    end)

    it("a multi-lock is in every part's line before later contenders", function()
        local held = rig.hold_elsewhere(server, path .. "/b")
        local locks = { multi(one, "ab"), two:mutex(path .. "/a"), multi(two, "ba"),
                        one:mutex(path .. "/b") }
        assert.same({ 1, 2, 3, 4 }, rig.line_up(locks, function()
            wait_for_nodes(7)
            held:release()
        end))
    end)

    it("multi-locks in opposite orders do not deadlock", function()
        rig.never_two({ multi(two, "abc"), multi(one, "cba"), multi(two, "bca"),
                        multi(one, "cab") }, 10)
        wait_for_nodes(0)
    end)

    it("multi-locks exclude each other only by a common part", function()
        hold(multi(one, "ab"))
        hold(multi(two, "cd"))
        assert.equal("timeout", code_of(multi(two, "ce"), { timeout = 0.1, owner = "x" }))
        assert.equal("timeout", code_of(multi(two, "ea"), 0.1))
    end)

    it("a multi-lock that times out leaves nothing", function()
        hold(two:mutex(path .. "/b"))
        assert.equal("timeout", (rig.takes(0.2, 10, code_of, multi(one, "abc"), 0.2)))
        wait_for_nodes(1)
    end)

    it("a try of a multi-lock writes nothing when a part is taken", function()
        hold(two:mutex(path .. "/b"))
        local before = one:stats().creates
        assert.equal("busy", code_of(multi(one, "abc"), 0))
        assert.equal(before, one:stats().creates)
        hold(multi(one, "ac"), 0)
    end)

    it("a multi-lock whose owner holds a part gets would_deadlock", function()
        local held = hold(one:mutex(path .. "/b"))
        assert.equal("would_deadlock", code_of(multi(one, "ab"), 5))
        assert.equal(1, count_nodes())
        held:release()
        local lease = hold(multi(one, "ab"))
        assert.equal("would_deadlock", code_of(multi(one, "bc"), 5))
        local again = hold(one:mutex(path .. "/a"))
        assert.equal(lease.token, again.token)
        lease:release()
        wait_for_nodes(1)
        assert.is_true(again:check(20))
        again:release()
        wait_for_nodes(0)
    end)

    for names, what in pairs{ w = "one write lock", aw = "a mutex and a write lock" } do
        it("a read re-entry outlives a multi-lock of " .. what .. ", and lets readers in",
           function()
            local rw, locks = one:rwlock(path .. "/w"), mutexes(one, names)
            locks[#locks] = rw:write()
            local lease = hold(one:multi(locks))
            local reads = hold(rw:read(), 0)
            assert.is_true(lease:release())
            rig.release(hold(two:rwlock(path .. "/w"):read()))
            assert.is_true(reads:check(20))
            release(reads)
            wait_for_nodes(0)
        end)
    end

    it("a part of a multi-lock cannot wait in a condition, also when entered again", function()
        local mutex = one:mutex(path .. "/a")
        local lease = hold(multi(one, "ab"))
        local again = hold(mutex)
        rig.check_refused("unsupported", "in a multi-lock", mutex:condition("c"):wait(again, 1))
        assert.equal("held", lease:state())
        release(lease)
        assert.equal("unsupported", (select(3, mutex:condition("c"):wait(again, 1))))
        assert.is_true(again:check(5))
    end)

    it("a guard writes under all parts together", function()
        local lease = hold(multi(one, "ab"))
        local store = "/stock" .. path:match("[^/]*$")
        assert.same({ true, { 0 } }, { lease:guard{ { "create", store, "1" } } })
        rig.check_refused("conflict", "write 2, check",
                       lease:guard{ { "set", store, "2" }, { "check", store, 9 } })
        server:foreign("delete %s", server:nodes(path)[2])
        assert.equal("lost", (select(3, lease:guard{ { "set", store, "2" } })))
        assert.equal("1", (one:get(store)))
    end)

    it("a multi-lock's holder hears of a revocation of any part", function()
        local lease, heard = hold(multi(one, "ab")), 0
        lease:on_revoke(function() heard = heard + 1 end)
        assert.equal(1, two:mutex(path .. "/b"):revoke())
        rig.wait_for("the request", function() return heard == 1 end)
        assert.equal(2, multi(two, "ab"):revoke())
    end)

    it("a multi-lock that waits for another part counts as a holder, and hears of a revocation " ..
       "when it holds", function()
        local first, heard = two:mutex(path .. "/a"), 0
        local held = rig.hold_elsewhere(server, path .. "/b")
        local lease = rig.wait_while(multi(one, "ab"), { timeout = 30 }, function()
            wait_for_nodes(3)
            assert.is_true(first:queue()[1].held)
            assert.equal(1, first:revoke())
            held:release()
        end)
        lease:on_revoke(function() heard = heard + 1 end)
        rig.wait_for("the revocation", function() return heard == 1 end)
        release(lease)
    end)

    it("a multi-lock's queue shows the line of each part", function()
        hold(multi(one, "ab"))
        hold(two:mutex(path .. "/c"))
        local queues = assert(multi(two, "abc"):queue())
        assert.same({ 1, 1, 1 }, { #queues[1], #queues[2], #queues[3] })
        assert.same({ false, true }, { queues[1][1].mine, queues[3][1].mine })
        assert.truthy(tostring(multi(one, "ab")):find(path .. "/a + " .. path .. "/b", 1, true))
    end)

    it("queue and revoke ask for all parts under one deadline", function()
        local memory = zklock.memory("multi")
        local session = rig.session("memory:multi")
        local all = session:multi{ session:mutex("/a"), session:mutex("/b"), session:mutex("/c") }
        memory:delay(0.4)
        for _, method in ipairs{ "queue", "revoke" } do
            assert.equal("timeout", select(3, all[method](all, 1)))
        end
        memory:reset()
    end)
end)


describe("a multi-lock that loses a part #session:multi", function()
    it("a multi-lock that loses a part is lost, and gives up the other parts", function()
        local lease = hold(multi(one, "abc"))
        local told = rig.note_losses(lease)
        server:foreign("delete %s", server:nodes(path)[2])
        assert.equal("lost", (select(3, lease:check(20))))
        assert.equal("lost", lease:state())
        one:dispatch()
        assert.same({ "lost" }, told)
        wait_for_nodes(0)
        assert.equal("lost", (select(3, lease:release())))
        hold(multi(two, "abc"))
    end)

    it("a waiting multi-lock that loses a part's node contends anew for all", function()
        local held, queued = hold(two:mutex(path .. "/b")), 0
        zklock.run(function()
            local options = { timeout = 20, on_queued = function() queued = queued + 1 end }
            assert.is_true(hold(multi(one, "abc"), options):check(20))
        end, function()
            for n, victim in ipairs{ "a", "b", "c" } do
                rig.wait_for("the place in line", function() return queued == n end)
                wait_for_nodes(4)
                for _, node in ipairs(server:nodes(path .. "/" .. victim)) do
                    local id = node:match("_c_(%x+%-%x+%-%x+)"):gsub("-", ""):gsub("^0+", "")
                    if id == one:id() then server:foreign("delete %s", node) end
                end
            end
            rig.wait_for("the last place in line", function() return queued == 4 end)
            held:release()
        end)
        wait_for_nodes(3)
    end)
end)


describe("a multi-lock in trouble #server #session:multi", function()
    local proxy, session

    before_each(function()
        session, proxy = rig.behind_proxy(server.hosts)
    end)

    for _, fault in ipairs{ "drop-reply multi 1", "drop-request multi 1", "cut-after multi 1",
                            "drop-reply getChildren 2", "drop-reply getData 2" } do
        it("a multi-lock is granted once in spite of " .. fault, function()
            proxy:command(fault)
            local lease = hold(multi(session, "abc"), 20)
            assert.is_true(session:stats().reconnects > 0)
            wait_for_nodes(3)
            assert.is_true(lease:check(20))
            release(lease)
            wait_for_nodes(0)
        end)
    end

    it("a multi-lock given up before the answer leaves nothing", function()
        proxy:command("hold multi 1")
        assert.equal("timeout", code_of(multi(session, "abc"), 0.1))
        proxy:command("flow")
        rig.come_to_rest(session)
        assert.equal(0, count_nodes())
    end)

    it("an acquire takes two flights, one transaction and then a list and a get of each part",
       function()
        rig.use(multi(session, "abc"))
        proxy:command("delay 100")
        proxy:reset()
        hold(multi(session, "abc"))
        local counts = proxy:counts()
        assert.same({ 1, 3, 3, 2 },
                    { counts.multi, counts.getChildren, counts.getData, counts.flights })
        assert.same({ 0, 0 }, { counts.create2, counts.sync })
    end)
end)


describe("the parts of a multi-lock #session:multi", function()
    local function raises(text, locks)
        rig.blames(text, function() one:multi(locks) end)
    end

    it("multi takes a list of different locks of one session", function()
        local lock = one:mutex(path)
        raises("a list of one lock or more", nil)
        raises("a list of one lock or more", {})
        raises("a list of one lock or more", lock)
        raises("unknown option", { lock, timeout = 1 })
        raises("lock 2 of multi must be a mutex with", { lock, 5 })
        raises("lock 1 of multi must be a mutex", { one:rwlock(path) })
        raises("lock 1 of multi must be a mutex", { one:mutex(path, { order = "none" }) })
        raises("lock 1 of multi must be a mutex", { one:multi{ lock } })
        raises("lock 2 of multi, " .. path .. ", is of another session", { lock, two:mutex(path) })
        raises("lock 2 of multi: " .. path .. " is in it already", { lock, one:mutex(path) })
    end)

    it("a path in use as another kind of lock is a conflict", function()
        hold(one:mutex(path .. "/a"), { owner = "x" })
        local rw = one:rwlock(path .. "/a")
        assert.equal("conflict", code_of(one:multi{ one:mutex(path .. "/b"), rw:read() }, 5))
        assert.equal(1, count_nodes())
    end)

    it("a path in use in another order is a conflict whose message names the part, and is free " ..
       "in a second session", function()
        local function numbered(session, name)
            return session:mutex(path .. "/" .. name, { token = "turns" })
        end
        local lease = hold(one:mutex(path .. "/b", { order = "turns" }), { owner = "x" })
        local both = one:multi{ numbered(one, "a"), numbered(one, "b") }
        rig.check_refused("conflict", ('this session uses %s/b as a mutex with order = "turns": '
            .. 'take this lock in a second session, each of the two with token = "turns"')
            :format(path), both:acquire(5))
        release(lease)
        hold(two:multi{ numbered(two, "a"), numbered(two, "b") })
    end)

    it("a multi-lock's token grows in each part's line", function()
        local last, three = { a = 0, b = 0 }, rig.session(server.hosts)
        local function grant(lock, names)
            assert(lock:with(20, function(lease)
                for name in names:gmatch "." do
                    assert.is_true(lease.token > last[name])
                    last[name] = lease.token
                end
            end))
        end
        local function mutex(session, name, order)
            return session:mutex(path .. "/" .. name, { order = order, token = "turns" })
        end
        local both = two:multi{ mutex(two, "a"), mutex(two, "b") }
        local turned = two:multi{ mutex(two, "b"), mutex(two, "a") }
        rig.run(24, function(n)
            local kind = n % 6
            if kind < 2 then grant(mutex(one, "a", "turns"), "a")
            elseif kind < 4 then grant(mutex(three, "b", "fifo"), "b")
            else grant(kind == 4 and both or turned, "ab") end
        end)
    end)

    it("a multi-lock whose paths exceed the session's limit gets too_many", function()
        local locks = {}
        for n = 1, 20 do
            locks[n] = one:mutex(("%s/%s%d"):format(path, ("x"):rep(30000), n))
        end
        assert.equal("too_many", code_of(one:multi(locks), 5))
        assert.equal(0, count_nodes())
    end)

    it("a multi-lock with a part that the server refuses gets auth, and leaves nothing #server",
       function()
        rig.use(one:mutex(path .. "/a"))
        server:foreign("create %s/p x protect %s/p", path, path)
        for _, refuses in ipairs{ "/p/below", "/p" } do
            local parts = { one:mutex(path .. "/a"), one:mutex(path .. refuses) }
            assert.equal("auth", code_of(one:multi(parts), 5))
            assert.equal(0, count_nodes())
        end
    end)
end)
