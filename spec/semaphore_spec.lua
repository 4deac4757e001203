-- The semaphore: how many hold together, all or none, in order of arrival, who is told.
-- What its requests cost, and what happens when they get lost.

local rig = require "spec.rig"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: globals unpack

local server, path, a, b

local keep, hold, refused, released = rig.keep, rig.hold, rig.code_of, rig.released

local function no_node() server:wait_for_nodes(path, 0) end

local function nodes_are(count) server:wait_for_nodes(path, count) end

-- One for each permit that some lease keeps.
local function held(leases)
    local count = 0
    for _, lease in pairs(leases) do count = count + (lease:held() and 1 or 0) end
    return count
end

-- Tasks that come behind the holder, one after the other, wait, note when they are granted, and
-- keep it until `leave` has ended. arrivals: { {gate, permits, name}, ... }
local function come(arrivals, order, leave)
    local done
    rig.run(#arrivals, function(n)
        local gate, permits, name = unpack(arrivals[n])
        nodes_are(n)
        local lease = assert(gate:acquire{ permits = permits, owner = name, timeout = 30 })
        order[#order + 1] = name
        rig.wait_for("leave", function() return done end)
        lease:release()
    end, function()
        leave()
        done = true
    end)
end


before_each(function()
    server, path = rig.shared(), rig.path()
    a, b = rig.session(server.hosts), rig.session(server.hosts)
end)

after_each(rig.close_sessions)


describe("a semaphore", function()
    local one, other
    before_each(function() one, other = a:semaphore(path, 3), b:semaphore(path, 3) end)

    it("shares its permits over all processes, and no more than there are", function()
        local leases = { hold(one), hold(other), hold(other, { owner = "x" }) }
        assert.equal(3, held(leases))
        for _, gate in ipairs{ one, other } do
            assert.equal("busy", refused(gate, { timeout = 0, owner = "y" }))
            assert.equal("timeout", refused(gate, { timeout = 0.1, owner = "y" }))
        end
        released(leases[2])
        assert.equal("held", hold(one, { timeout = 0, owner = "y" }):state())
        assert.equal("busy", refused(other, { timeout = 0, owner = "z" }))
    end)

    it("gives all that is asked for or none, and what is refused is left to others", function()
        local two = hold(one, { permits = 2, timeout = 5 })
        assert.equal("busy", refused(other, { permits = 2, timeout = 0 }))
        assert.equal("timeout", refused(other, { permits = 2, timeout = 0.1 }))
        nodes_are(1)
        local third = hold(other, 0)
        released(two)
        assert.equal("held", hold(one, { permits = 2, timeout = 0 }):state())
        assert.equal("held", third:state())
    end)

    it("with one permit is a lock", function()
        local gate, alone = a:semaphore(path .. "/one", 1), rig.alone()
        rig.run(8, function(n)
            assert(gate:with({ owner = n, timeout = 30 }, function() alone(0.005) end))
        end)
    end)

    it("is fair: a small request behind a big one waits, though it would fit", function()
        local first, order = hold(one), {}
        come({ { other, 3, "all" }, { one, 1, "small" }, { other, 1, "late" } }, order, function()
            nodes_are(4)
            assert.equal("busy", refused(one, { timeout = 0, owner = "try" }))
            assert.same({}, order)
            first:release()
            rig.wait_for("all", function() return #order == 1 end)
        end)
        assert.equal("all", order[1])
        table.sort(order)
        assert.same({ "all", "late", "small" }, order)
    end)

    it("lets in at once whom one release makes room for, one tells the next", function()
        local all, order, arrivals = hold(one, { permits = 3, timeout = 5 }), {}, {}
        for n = 1, 5 do arrivals[n] = { n % 2 == 0 and one or other, 1, n } end
        come(arrivals, order, function()
            nodes_are(6)
            all:release()
            rig.wait_for("three", function() return #order == 3 end)
            zklock.sleep(0.2)
            table.sort(order)
            assert.same({ 1, 2, 3 }, order)
        end)
        assert.equal(5, #order)
        no_node()
    end)

    it("goes on behind a big waiter that gives up, or that is interrupted #slow", function()
        for _, how in ipairs{ "deadline", "interrupt" } do
            local first, order = hold(one), {}
            zklock.run(function()
                local code = refused(other, { permits = 3, owner = "big",
                                              timeout = how == "deadline" and 4 or 30 })
                order[#order + 1] = code
            end, function()
                nodes_are(2)
                local lease = assert(one:acquire{ owner = "small", timeout = 30 })
                order[#order + 1] = "small"
                lease:release()
            end, function()
                if how == "deadline" then return end
                nodes_are(3)
                assert.equal(1, b:interrupt("big"))
            end)
            table.sort(order)
            assert.same(how == "deadline" and { "small", "timeout" } or { "interrupted", "small" },
                        order)
            released(first)
        end
        no_node()
    end)

    it("does not deadlock two clients that each want all, again and again", function()
        local gates, alone = { one, other }, rig.alone()
        rig.run(2, function(n)
            for _ = 1, 40 do
                assert(gates[n]:with({ permits = 3, timeout = 30, owner = n }, function()
                    alone(0)
                end))
            end
        end)
        no_node()
    end)

    it("runs a function with so many permits, and gives its results", function()
        local function work(lease, x, y)
            assert.equal(2, one:queue()[1].permits)
            assert.equal("held", lease:state())
            return x + y, "done"
        end
        assert.same({ true, 3, "done" }, { other:with({ permits = 2, timeout = 5 }, work, 1, 2) })
        no_node()
        assert.is_true(one:with(function(lease) assert.is_true(lease:held()) end))
        assert.is_true(one:with(5, function(lease) assert.is_true(lease:held()) end))
        assert.has_error(function() one:with({ permits = 3 }, function() error("mine", 0) end) end,
                         "mine")
        no_node()
    end)

    it("shows who has how many, who waits, and what for", function()
        local gate = a:semaphore(path, 3, { data = "export" })
        hold(gate, { permits = 2, timeout = 5 })
        zklock.run(function() assert(other:acquire{ permits = 2, timeout = 30 }):release() end,
            function()
                nodes_are(2)
                assert.equal("timeout", refused(one, { timeout = 0.05, owner = "x" }))
                local first, second = unpack(one:queue())
                local function seen(entry)
                    return { entry.position, entry.kind, entry.permits, entry.limit, entry.held,
                             entry.mine, entry.data }
                end
                assert.same({ 1, "permit", 2, 3, true, true, "export" }, seen(first))
                assert.same({ 2, "permit", 2, 3, false, false }, seen(second))
                assert.is_truthy(first.name:find("^_c_%x+%-.*%-permit%-2%-of%-3%-%d+$"))
                rig.kept[1]:release()
            end)
    end)

    it("has a name of its own", function()
        assert.equal(("zklock.semaphore (%s, 3)"):format(path), tostring(one))
    end)
end)


describe("an owner of permits", function()
    local gate
    before_each(function() gate = a:semaphore(path, 3) end)

    it("that takes more has another lease, with a token of its own", function()
        local first, second = hold(gate), hold(gate, { permits = 2, timeout = 5 })
        assert.is_true(second.token > first.token)
        nodes_are(2)
        released(first)
        assert.equal("held", second:state())
        assert.equal("busy", refused(gate, { permits = 2, timeout = 0, owner = "x" }))
        assert.equal("held", hold(gate, 0):state())
    end)

    it("gets would_deadlock for what can never be, as long as it holds", function()
        local first = hold(gate, { permits = 2, timeout = 5 })
        for _, timeout in ipairs{ 0, 60 } do
            local seconds, code = rig.timed(refused, gate, { permits = 2, timeout = timeout })
            assert.equal("would_deadlock", code)
            assert.is_true(seconds < 30)
        end
        nodes_are(1)
        assert.equal("held", hold(gate):state())
        assert.equal("would_deadlock", refused(gate, 5))
        released(first)
        assert.equal("held", hold(gate, { permits = 2, timeout = 5 }):state())
    end)

    it("gives them all up with release_all, and with the session", function()
        hold(gate)
        hold(gate, { permits = 2, timeout = 5 })
        assert.equal(2, a:release_all())
        no_node()
        hold(gate, { permits = 3, timeout = 5 })
        a:close()
        no_node()
    end)

    it("has leases with all that leases have, but no downgrade", function()
        local lease = hold(gate, { permits = 2, timeout = 5 })
        assert.is_true(lease:check(20))
        assert.is_true(lease:remaining() > 0)
        assert.equal(tostring(lease.token):match("^%d+"), lease:token_string())
        rig.is_refused("unsupported", nil, lease:downgrade(5))
        assert.equal("held", lease:state())
        released(lease)
        assert.equal("released", lease:state())
        assert.equal("released", (select(3, lease:release())))
    end)
end)


describe("permits that somebody else takes for something else", function()
    local function conflict(gate, text)
        for _, timeout in ipairs{ 0, 5 } do
            rig.is_refused("conflict", text, gate:acquire(timeout))
        end
    end

    it("are a conflict with a semaphore of another limit, which leaves no node", function()
        hold(a:semaphore(path, 10))
        conflict(b:semaphore(path, 5), "it is used as a semaphore of 10 permits")
        conflict(a:semaphore(path, 5), "this session uses it as a semaphore of 10 permits")
        nodes_are(1)
        assert.equal("held", hold(b:semaphore(path, 10)):state())
    end)

    it("are a conflict with a mutex, or with a read-write lock", function()
        local mutex = hold(a:mutex(path))
        conflict(b:semaphore(path, 5), "it is used as a mutex")
        conflict(a:semaphore(path, 5), "this session uses it as a mutex")
        released(mutex)
        local reader = hold(a:rwlock(path):read())
        conflict(b:semaphore(path, 5), "it is used as a read-write lock")
        conflict(a:semaphore(path, 5), "this session uses it as a read-write lock")
        nodes_are(1)
        released(reader)
        assert.equal("held", hold(b:semaphore(path, 5), 0):state())
    end)

    it("keep a mutex and a read-write lock of other sessions out until they are back", function()
        local lease = hold(a:semaphore(path, 3))
        for _, lock in ipairs{ b:mutex(path), b:rwlock(path):read(), b:rwlock(path):write() } do
            assert.equal("busy", refused(lock, 0))
            zklock.run(function() assert(lock:acquire(30)):release() end, function()
                nodes_are(2)
                lease:release()
            end)
            no_node()
            lease = hold(a:semaphore(path, 3))
        end
        conflict(a:mutex(path), "this session uses it as a semaphore of 3 permits")
    end)
end)


describe("bad input to a semaphore", function()
    local says = rig.blames

    for _, limit in ipairs{ 0, -1, 1.5, 2147483648, math.huge, 0 / 0 } do
        it("is a limit of " .. tostring(limit), function()
            says("the limit of a semaphore must be a whole number, 1 to 2147483647",
                 function() a:semaphore(path, limit) end)
        end)
    end

    it("is a limit that is no number, or none", function()
        for _, limit in ipairs{ "3", false } do
            says("the limit of a semaphore must be a number",
                 function() a:semaphore(path, limit or nil) end)
        end
    end)

    it("is reentrant: each acquire is a grant of its own", function()
        says('unknown option "reentrant" in the options of semaphore; known: data',
             function() a:semaphore(path, 3, { reentrant = false }) end)
    end)

    for _, permits in ipairs{ 0, -1, 4, 1.5, math.huge } do
        it("is a wish for " .. tostring(permits) .. " of 3", function()
            local gate = a:semaphore(path, 3)
            for _, method in ipairs{ "acquire", "with" } do
                says("permits must be a whole number, 1 to 3",
                     function() gate[method](gate, { permits = permits }, print) end)
            end
        end)
    end

    it("is a wish that is no number; and for permits of a lock that has none", function()
        local gate, mutex = a:semaphore(path, 3), a:mutex(path)
        says("permits must be a number", function() gate:acquire{ permits = "2" } end)
        says("seconds", function() gate:acquire("2") end)
        says('unknown option "permits"', function() mutex:acquire{ permits = 1 } end)
    end)

    it("is none at the bounds", function()
        local most = a:semaphore(path, 2147483647)
        local lease = hold(most, { permits = 2147483647, timeout = 5 })
        assert.equal("busy", refused(most, { timeout = 0, owner = "x" }))
        released(lease)
    end)
end)


describe("the requests of a semaphore #server", function()
    local proxy, session, gate, holder

    -- Replies take a while: what a client sends meanwhile is one flight. A session whose first
    -- heartbeat is far away, and a path that was used before.
    before_each(function()
        proxy = rig.proxy_for_test(server.hosts)
        session = rig.session(proxy.hosts, { timeout = 60 })
        holder = rig.session(server.hosts, { timeout = 60 }):semaphore(path, 3)
        gate = session:semaphore(path, 3)
        rig.used(gate)
        proxy:command("delay 60")
        proxy:reset()
    end)

    -- As expected, and still so after a while: more may be on their way.
    local function assert_counts(expected)
        rig.eventually(function()
            for name, count in pairs(expected) do
                if proxy:counts()[name] ~= count then return false end
            end
            return true
        end)
        zklock.sleep(0.3)
        local counts = proxy:seen()
        if not expected.flights then counts.flights = nil end -- how they join is a matter of chance
        assert.same(expected, counts)
    end

    it("are one create and one list for free permits, and one delete for their end", function()
        hold(holder)
        local lease = hold(gate, { permits = 2, timeout = 5 })
        assert_counts{ create2 = 1, getChildren = 1, flights = 1 }
        proxy:reset()
        lease:release()
        assert_counts{ delete = 1, flights = 1 }
    end)

    it("are one list, and no write, for a try that fails", function()
        hold(holder, { permits = 2, timeout = 5 })
        assert.equal("busy", refused(gate, { permits = 2, timeout = 0 }))
        assert_counts{ getChildren = 1, flights = 1 }
    end)

    it("are none for who is told that it would deadlock", function()
        local lease = hold(gate, { permits = 2, timeout = 5 })
        proxy:reset()
        assert.equal("would_deadlock", refused(gate, { permits = 2, timeout = 5 }))
        assert_counts{}
        released(lease)
    end)

    it("are a watch on each holder for the first that does not fit, and none when it is granted",
        function()
            local leases = { hold(holder), hold(holder, { owner = "x" }) }
            rig.wait_while(gate, { permits = 2, timeout = 15 }, function()
                rig.wait_for("the watches", function() return session:stats().in_flight == 0 end)
                assert_counts{ create2 = 1, getChildren = 1, getData = 3, flights = 2 }
                proxy:reset()
                leases[1]:release()
            end)
            -- The mark, which nobody awaits; and its own node is watched again after it.
            assert_counts{ events = 2, setData = 1, getData = 1 }
        end)

    it("are a watch on one for who is behind that one, whoever holds", function()
        local leases = { hold(holder), hold(holder, { owner = "x" }) }
        zklock.run(function()
            assert(holder:acquire{ permits = 3, timeout = 30, owner = "big" }):release()
        end, function()
            nodes_are(3)
            assert(gate:acquire{ timeout = 30 }):release()
        end, function()
            nodes_are(4)
            rig.wait_for("the watches", function() return session:stats().in_flight == 0 end)
            assert_counts{ create2 = 1, getChildren = 1, getData = 2, flights = 2 }
            for _, lease in ipairs(leases) do lease:release() end
        end)
    end)

    it("are for one of 40 waiters, and the next behind it, when one is released #slow", function()
        local all, queued, granted, go, sessions = {}, 0, 0, false, {}
        for n = 1, 3 do all[n] = hold(holder, { owner = n }) end
        for n = 1, 40 do sessions[n] = rig.session(proxy.hosts, { timeout = 60 }) end
        rig.run(40, function(n)
            rig.wait_for("turn", function() return queued == n - 1 end, 60)
            local lease = assert(sessions[n]:semaphore(path, 3):acquire{
                timeout = 60, on_queued = function() queued = queued + 1 end })
            granted = granted + 1
            rig.wait_for("go", function() return go end, 60)
            lease:release()
        end, function()
            rig.wait_for("all in line", function() return queued == 40 end, 60)
            rig.wait_for("the watches", function()
                for _, each in ipairs(sessions) do
                    if each:stats().in_flight > 0 then return false end
                end
                return true
            end)
            proxy:reset()
            all[1]:release()
            rig.wait_for("one", function() return granted == 1 end)
            -- It is told, marks, and watches its own node again. The next is told by the mark,
            -- lists, and watches the three who hold now. The other 38 hear of nothing.
            assert_counts{ events = 3, setData = 1, getChildren = 1, getData = 4 }
            assert.equal(1, granted)
            go = true
            for n = 2, 3 do all[n]:release() end
        end)
        assert.equal(40, granted)
        no_node()
    end)
end)


describe("permits, when something fails, #server", function()
    local proxy, session, gate, holder

    before_each(function()
        proxy = rig.proxy_for_test(server.hosts)
        session = rig.session(proxy.hosts, { timeout = 6 })
        holder = rig.session(server.hosts):semaphore(path, 3)
        gate = session:semaphore(path, 3)
        rig.used(gate)
        proxy:reset()
    end)

    for _, fault in ipairs{ "drop-reply create2 1", "drop-request create2 1",
                            "drop-reply getChildren 1", "drop-request getChildren 1" } do
        it("are had all the same, with one node: " .. fault, function()
            hold(holder)
            proxy:command(fault)
            local lease = hold(gate, { permits = 2, timeout = 20 })
            assert.is_true(session:stats().reconnects >= 1, "the fault did not happen")
            nodes_are(2)
            assert.is_true(lease:check(20))
            assert.equal("busy", refused(holder, { timeout = 0, owner = "x" }))
            released(lease)
            nodes_are(1)
        end)
    end

    for _, fault in ipairs{ "drop-reply getData 1", "drop-reply getData 2", "drop-reply getData 3",
                            "drop-request getData 2" } do
        it("are had by who heads, after a lost watch: " .. fault, function()
            local leases = { hold(holder), hold(holder, { owner = "x" }) }
            proxy:command(fault)
            zklock.run(function() released(assert(gate:acquire{ permits = 2, timeout = 30 })) end,
                function()
                    nodes_are(3)
                    rig.wait_for("the fault", function()
                        return session:stats().reconnects >= 1 and session:state() == "connected"
                    end)
                    leases[2]:release()
                end)
            released(leases[1])
            no_node()
        end)
    end

    -- One behind another: the first of them is granted by a release, and its mark gets lost.
    for _, fault in ipairs{ "drop-request", "drop-reply", "cut-after" } do
        it("are told of to the next, though the mark is lost: " .. fault, function()
            local all, first = hold(holder, { permits = 3, timeout = 5 }), nil
            zklock.run(function() first = keep(gate:acquire{ timeout = 30 }) end, function()
                nodes_are(2)
                local lease = assert(holder:acquire{ timeout = 30, owner = "second" })
                rig.wait_for("the first", function() return first end)
                assert.is_false(first:state() == "lost")
                lease:release()
            end, function()
                nodes_are(3)
                proxy:command("%s setData 1", fault)
                all:release()
            end)
            rig.wait_for("the fault", function() return session:stats().reconnects >= 1 end)
            assert.is_true(first:check(20))
            released(first)
            no_node()
        end)
    end

    it("keep their node's data when they mark it", function()
        local all = hold(holder, { permits = 3, timeout = 5 })
        local exports = session:semaphore(path, 3, { data = "export" })
        rig.wait_while(exports, { timeout = 30 }, function()
            rig.wait_for("the watches", function() return session:stats().in_flight == 0 end)
            all:release()
        end)
        rig.wait_for("the mark", function()
            local stats = session:stats()
            return stats.sets == 1 and stats.in_flight == 0
        end)
        local entry = exports:queue()[1]
        assert.equal("export", entry.data)
        assert.is_truthy(entry.identity:find(":", 1, true))
    end)

    it("are told of to the next when the mark is late, and came before its watch", function()
        local all, watcher = hold(holder, { permits = 3, timeout = 5 }), rig.proxy(server.hosts)
        local late = rig.session(watcher.hosts, { timeout = 20 }):semaphore(path, 3)
        zklock.run(function() keep(gate:acquire{ timeout = 30 }) end, function()
            nodes_are(2)
            -- Its gets stay on the way until the one before has marked.
            watcher:command("hold getData 1")
            local lease = assert(late:acquire{ timeout = 30 })
            lease:release()
        end, function()
            nodes_are(3)
            all:release()
            rig.wait_for("the mark", function() return session:stats().sets == 1 end)
            rig.wait_for("its answer", function() return session:stats().in_flight == 0 end)
            watcher:command("flow")
        end)
        watcher:stop()
    end)

    it("come back when their holder's session expires #slow", function()
        local owner, lost = rig.session(proxy.hosts, { timeout = 3 }), nil
        local lease = hold(owner:semaphore(path, 3), { permits = 3, timeout = 5 })
        lease:on_lost(function(_, state) lost = state end)
        proxy:command("blackhole")
        assert.equal("held", hold(holder, 20):state())
        rig.wait_for("the loss", function() return lost == "lost" end)
        assert.equal("lost", lease:state())
    end)

    it("come back, and those behind go on, when a holder or a waiter is killed #slow", function()
        local child = rig.child(server.hosts, ([[
            local session = assert(zklock.connect(HOSTS, { timeout = 3 }))
            local gate = session:semaphore(%q, 3)
            local lease = assert(gate:acquire(20))
            say("holds")
            gate:acquire{ permits = 3, owner = "waits" }
        ]]):format(path))
        assert.equal("holds", child:line())
        nodes_are(2)
        zklock.run(function() released(assert(holder:acquire{ permits = 3, timeout = 30 })) end,
            function()
                nodes_are(3)
                child:signal("KILL")
            end)
        child:finish()
        no_node()
    end)

    it("are those of the first in line when somebody deletes a waiter's node", function()
        local all = hold(holder, { permits = 3, timeout = 5 })
        zklock.run(function()
            local lease = assert(gate:acquire{ permits = 2, timeout = 30 })
            assert.equal(1, #server:nodes(path))
            released(lease)
        end, function()
            nodes_are(2)
            for _, node in ipairs(server:nodes(path)) do
                if node:find("permit-2", 1, true) then
                    server:foreign("delete %s", node)
                end
            end
            nodes_are(2) -- it queues again
            assert.equal("held", all:state())
            released(all)
        end)
        no_node()
    end)
end)


describe("at the end of the counter (Q-02), permits", function()
    it("are given in order, by czxid #server", function()
        local own = rig.server_at("/gate", 2147483645)
        local gate = rig.session(own.hosts, { timeout = 20 }):semaphore("/gate", 2)
        local all, order = hold(gate, { permits = 2, timeout = 5 }), {}
        rig.run(6, function(n)
            rig.wait_for("turn", function() return #own:nodes("/gate") == n end)
            local permits = n % 3 == 0 and 2 or 1
            local lease = assert(gate:acquire{ permits = permits, timeout = 30, owner = n })
            order[#order + 1] = n
            if permits == 1 then
                rig.wait_for("its companion", function() return #order >= (n < 3 and 2 or 5) end)
            end
            lease:release()
        end, function()
            rig.wait_for("all", function() return #own:nodes("/gate") == 7 end)
            all:release()
        end)
        assert.same({ 3, 6 }, { order[3], order[6] })
        assert.equal(6, #order)
        rig.close_sessions()
        own:stop()
    end)
end)
