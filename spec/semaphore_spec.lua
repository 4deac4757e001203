--- [lua luajit asan tsan memory worlds] The semaphore with its permits, its order of arrival, the
-- cost of its requests, and lost requests.

local fault = require "spec.fault.fault"
local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: globals unpack

local server, path, a, b

local keep, hold, code_of, release = rig.keep, rig.hold, rig.code_of, rig.release

local function wait_for_nodes(count) server:wait_for_nodes(path, count) end

before_each(function() server, path, a, b = rig.begin(2) end)
after_each(rig.close_sessions)


describe("a semaphore #session:semaphore", function()
    local one, other
    before_each(function() one, other = a:semaphore(path, 3), b:semaphore(path, 3) end)

    it("all processes share the permits", function()
        local leases = { hold(one), hold(other), hold(other, { owner = "x" }) }
        for _, lease in ipairs(leases) do assert.is_true(lease:held()) end
        for _, gate in ipairs{ one, other } do
            assert.equal("busy", code_of(gate, { timeout = 0, owner = "y" }))
            assert.equal("timeout", code_of(gate, { timeout = 0.1, owner = "y" }))
        end
        release(leases[2])
        assert.equal("held", hold(one, { timeout = 0, owner = "y" }):state())
        assert.equal("busy", code_of(other, { timeout = 0, owner = "z" }))
    end)

    it("an acquire gets all its permits or none, and leaves the rest to other sessions", function()
        local two = hold(one, { permits = 2, timeout = 5 })
        assert.equal("busy", code_of(other, { permits = 2, timeout = 0 }))
        assert.equal("timeout", code_of(other, { permits = 2, timeout = 0.1 }))
        wait_for_nodes(1)
        local third = hold(other, 0)
        release(two)
        assert.equal("held", hold(one, { permits = 2, timeout = 0 }):state())
        assert.equal("held", third:state())
    end)

    it("a small request behind a big one waits, though it would fit", function()
        local first = hold(one)
        local order = rig.line_up({ { other, permits = 3 }, one, other }, function(order)
            assert.equal("busy", code_of(one, { timeout = 0, owner = "try" }))
            assert.same({}, order)
            first:release()
            rig.wait_for("the grant of all permits", function() return #order == 1 end)
        end, true)
        assert.equal(1, order[1])
        table.sort(order)
        assert.same({ 1, 2, 3 }, order)
    end)

    it("a release lets in every waiter that fits", function()
        local all = hold(one, { permits = 3, timeout = 5 })
        local order = rig.line_up({ other, one, other, one, other }, function(order)
            all:release()
            rig.wait_for("three grants", function() return #order == 3 end)
            zklock.sleep(0.2)
            table.sort(order)
            assert.same({ 1, 2, 3 }, order)
        end, true)
        assert.equal(5, #order)
        wait_for_nodes(0)
    end)

    it("waiters go on behind a big waiter that gives up, or is interrupted #slow", function()
        for code, timeout in pairs{ timeout = 4, interrupted = 30 } do
            local first = hold(one)
            local acquires = { { other, permits = 3, timeout = timeout }, one }
            local order = rig.line_up(acquires, function()
                if code == "interrupted" then assert.equal(1, b:interrupt(1)) end
            end)
            local ended = {}
            for _, each in ipairs(order) do ended[each] = true end
            assert.same({ [code] = true, [2] = true }, ended)
            release(first)
        end
        wait_for_nodes(0)
    end)

    it("two clients that each want all permits do not deadlock", function()
        rig.never_two({ { one, permits = 3 }, { other, permits = 3 } }, 40)
        wait_for_nodes(0)
    end)

    it("with() runs a function with its permits, and returns its results", function()
        local function work(lease, x, y)
            assert.equal(2, one:queue()[1].permits)
            assert.equal("held", lease:state())
            return x + y, "done"
        end
        assert.same({ true, 3, "done" }, { other:with({ permits = 2, timeout = 5 }, work, 1, 2) })
        wait_for_nodes(0)
    end)

    it("the queue shows holders and waiters with their permits", function()
        local gate = a:semaphore(path, 3, { data = "export" })
        local lease = hold(gate, { permits = 2, timeout = 5 })
        rig.wait_while(other, { permits = 2, timeout = 30 }, function()
            assert.equal("timeout", code_of(one, { timeout = 0.05, owner = "x" }))
            local first, second = unpack(one:queue())
            local function seen(entry)
                return { entry.position, entry.kind, entry.permits, entry.limit, entry.held,
                         entry.mine, entry.data }
            end
            assert.same({ 1, "permit", 2, 3, true, true, "export" }, seen(first))
            assert.same({ 2, "permit", 2, 3, false, false }, seen(second))
            assert.is_truthy(first.name:find("^_c_%x+%-.*%-permit%-2%-of%-3%-%d+$"))
            lease:release()
        end)
    end)

    it("tostring shows the path and the limit", function()
        assert.equal(("zklock.semaphore (%s, 3)"):format(path), tostring(one))
    end)

    it("waiters at the end of the counter are in order, by czxid (Q-02) #server", function()
        local own, granted = rig.server_for_test("/gate", 2147483645), 0
        local gate = rig.session(own.hosts):semaphore("/gate", 2)
        local all, acquires = hold(gate, { permits = 2, timeout = 5 }), {}
        for n = 1, 6 do acquires[n] = { gate, permits = n % 3 == 0 and 2 or 1 } end
        local order = rig.line_up(acquires, function() all:release() end, function(n)
            granted = granted + 1
            if n % 3 == 0 then return end
            rig.wait_for("the other grants", function() return granted >= (n < 3 and 2 or 5) end)
        end)
        assert.same({ 3, 6 }, { order[3], order[6] })
        assert.equal(6, #order)
    end)
end)


describe("an owner of permits #session:semaphore", function()
    local gate
    before_each(function() gate = a:semaphore(path, 3) end)

    it("a second acquire gets another lease, with a token of its own", function()
        local first, second = hold(gate), hold(gate, { permits = 2, timeout = 5 })
        assert.is_true(second.token > first.token)
        wait_for_nodes(2)
        release(first)
        assert.equal("held", second:state())
        assert.equal("busy", code_of(gate, { permits = 2, timeout = 0, owner = "x" }))
        assert.equal("held", hold(gate, 0):state())
    end)

    it("an acquire that its owner's permits block gets would_deadlock", function()
        local first = hold(gate, { permits = 2, timeout = 5 })
        for _, timeout in ipairs{ 0, 60 } do
            local options = { permits = 2, timeout = timeout }
            assert.equal("would_deadlock", (rig.takes(0, 30, code_of, gate, options)))
        end
        wait_for_nodes(1)
        assert.equal("held", hold(gate):state())
        assert.equal("would_deadlock", code_of(gate, 5))
        release(first)
        assert.equal("held", hold(gate, { permits = 2, timeout = 5 }):state())
    end)

    it("release_all gives up all permits", function()
        hold(gate)
        hold(gate, { permits = 2, timeout = 5 })
        assert.equal(2, a:release_all())
        wait_for_nodes(0)
    end)
end)


describe("a semaphore's path in use as another lock #session:semaphore", function()
    local function check_conflict(gate, text)
        for _, timeout in ipairs{ 0, 5 } do
            rig.check_refused("conflict", text, gate:acquire(timeout))
        end
    end

    it("another limit, a mutex or a read-write lock is a conflict, and no node is left", function()
        for used, lock in pairs{ ["a semaphore of 10 permits"] = a:semaphore(path, 10),
                                 ["a mutex"] = a:mutex(path),
                                 ["a read-write lock"] = a:rwlock(path):read() } do
            local lease = hold(lock)
            check_conflict(b:semaphore(path, 5), "it is used as " .. used)
            check_conflict(a:semaphore(path, 5), "this session uses it as " .. used)
            wait_for_nodes(1)
            release(lease)
        end
        assert.equal("held", hold(b:semaphore(path, 5), 0):state())
    end)

    it("permits keep mutexes and read-write locks of other sessions out", function()
        local lease = hold(a:semaphore(path, 3))
        for _, lock in ipairs{ b:mutex(path), b:rwlock(path):read(), b:rwlock(path):write() } do
            assert.equal("busy", code_of(lock, 0))
            release(rig.wait_while(lock, { timeout = 30 }, function() lease:release() end))
            wait_for_nodes(0)
            lease = hold(a:semaphore(path, 3))
        end
        check_conflict(a:mutex(path), "this session uses it as a semaphore of 3 permits")
    end)
end)


describe("a semaphore's wrong arguments #session:semaphore", function()
    local blames = rig.blames

    for _, limit in ipairs{ 0, -1, 1.5, 2147483648, math.huge, 0 / 0 } do
        it("a limit of " .. tostring(limit) .. " raises", function()
            blames("the limit of a semaphore must be a whole number, 1 to 2147483647",
                 function() a:semaphore(path, limit) end)
        end)
    end

    it("a limit that is missing, or no number, raises", function()
        for _, limit in ipairs{ "3", false } do
            blames("the limit of a semaphore must be a number",
                 function() a:semaphore(path, limit or nil) end)
        end
    end)

    it("the option reentrant raises, because each acquire is a grant of its own", function()
        blames('unknown option "reentrant" in the options of semaphore; known: data',
             function() a:semaphore(path, 3, { reentrant = false }) end)
    end)

    for _, permits in ipairs{ 0, -1, 4, 1.5, math.huge } do
        it("a request for " .. tostring(permits) .. " of 3 permits raises", function()
            local gate = a:semaphore(path, 3)
            for _, method in ipairs{ "acquire", "with" } do
                blames("permits must be a whole number, 1 to 3",
                     function() gate[method](gate, { permits = permits }, print) end)
            end
        end)
    end

    it("a request that is no number, or for permits of a mutex, raises", function()
        local gate, mutex = a:semaphore(path, 3), a:mutex(path)
        blames("permits must be a number", function() gate:acquire{ permits = "2" } end)
        blames("seconds", function() gate:acquire("2") end)
        blames('unknown option "permits"', function() mutex:acquire{ permits = 1 } end)
    end)

    it("the largest limit and request are accepted", function()
        local most = a:semaphore(path, 2147483647)
        local lease = hold(most, { permits = 2147483647, timeout = 5 })
        assert.equal("busy", code_of(most, { timeout = 0, owner = "x" }))
        release(lease)
    end)
end)


describe("the requests of a semaphore #server #session:semaphore", function()
    local proxy, session, gate, holder

    -- Replies are slow, so that all requests meanwhile are one flight. The session's first
    -- heartbeat is far away, and the path was used before.
    before_each(function()
        session, proxy = rig.behind_proxy(server.hosts, { timeout = 60 })
        holder = rig.session(server.hosts, { timeout = 60 }):semaphore(path, 3)
        gate = session:semaphore(path, 3)
        rig.use(gate)
        proxy:command("delay 60")
        proxy:reset()
    end)

    -- Checks the counts, again after a while, because more requests may be on their way.
    local function assert_counts(expected)
        rig.eventually(function()
            for name, count in pairs(expected) do
                if proxy:counts()[name] ~= count then return false end
            end
            return true
        end)
        zklock.sleep(0.3)
        local seen = proxy:seen()
        if not expected.flights then seen.flights = nil end
        assert.same(expected, seen)
    end

    it("free permits cost a create and a list, and their release a delete", function()
        hold(holder)
        local lease = hold(gate, { permits = 2, timeout = 5 })
        assert_counts{ create2 = 1, getChildren = 1, flights = 1 }
        proxy:reset()
        lease:release()
        assert_counts{ delete = 1, flights = 1 }
    end)

    it("a failed try costs a list, and no write", function()
        hold(holder, { permits = 2, timeout = 5 })
        assert.equal("busy", code_of(gate, { permits = 2, timeout = 0 }))
        assert_counts{ getChildren = 1, flights = 1 }
    end)

    it("would_deadlock costs no request", function()
        local lease = hold(gate, { permits = 2, timeout = 5 })
        proxy:reset()
        assert.equal("would_deadlock", code_of(gate, { permits = 2, timeout = 5 }))
        assert_counts{}
        release(lease)
    end)

    it("the first waiter watches each holder, and its grant costs no watch", function()
        local leases = { hold(holder), hold(holder, { owner = "x" }) }
        rig.wait_while(gate, { permits = 2, timeout = 15 }, function()
            rig.settle(session)
            assert_counts{ create2 = 1, getChildren = 1, getData = 3, flights = 2 }
            proxy:reset()
            leases[1]:release()
        end)
        -- The mark, for which nobody waits, and the watch of the own node after it.
        assert_counts{ events = 2, setData = 1, getData = 1 }
    end)

    it("a waiter behind another waiter watches only that waiter", function()
        local leases = { hold(holder), hold(holder, { owner = "x" }) }
        rig.line_up({ { holder, permits = 3 }, gate }, function()
            rig.settle(session)
            assert_counts{ create2 = 1, getChildren = 1, getData = 2, flights = 2 }
            for _, lease in ipairs(leases) do lease:release() end
        end)
    end)

    it("a release reaches the first of 40 waiters, and the next behind it #slow", function()
        local all, gates = {}, {}
        local sessions = rig.sessions(40, proxy.hosts, { timeout = 60 })
        for n = 1, 3 do all[n] = hold(holder, { owner = n }) end
        for n = 1, 40 do gates[n] = sessions[n]:semaphore(path, 3) end
        local order = rig.line_up(gates, function(order)
            rig.settle(unpack(sessions))
            proxy:reset()
            all[1]:release()
            rig.wait_for("one grant", function() return #order == 1 end)
            -- The first waiter hears of the release, marks its node, and watches it again. The mark
            -- tells the next waiter, which lists, and watches the three holders. The other 38 hear
            -- of nothing.
            assert_counts{ events = 3, setData = 1, getChildren = 1, getData = 4 }
            assert.equal(1, #order)
            for n = 2, 3 do all[n]:release() end
        end, true)
        assert.equal(40, #order)
        wait_for_nodes(0)
    end)
end)


describe("permits when something fails #server #session:semaphore", function()
    local proxy, session, gate, holder

    before_each(function()
        session, proxy = rig.behind_proxy(server.hosts, { timeout = 6 })
        holder = rig.session(server.hosts):semaphore(path, 3)
        gate = session:semaphore(path, 3)
        rig.use(gate)
        proxy:reset()
    end)

    for _, loss in ipairs{ "drop-reply getData 1", "drop-reply getData 2", "drop-reply getData 3",
                           "drop-request getData 2" } do
        it("the first waiter is granted in spite of a lost watch: " .. loss, function()
            local leases = { hold(holder), hold(holder, { owner = "x" }) }
            proxy:command(loss)
            release(rig.wait_while(gate, { permits = 2, timeout = 30 }, function()
                fault.wait_for_reconnects(session, 1)
                leases[2]:release()
            end))
            release(leases[1])
            wait_for_nodes(0)
        end)
    end

    -- A release grants a waiter with another waiter behind it, and its mark gets lost.
    for _, loss in ipairs{ "drop-request", "drop-reply", "cut-after" } do
        it("the next waiter is granted in spite of a lost mark: " .. loss, function()
            local all, first = hold(holder, { permits = 3, timeout = 5 }), nil
            zklock.run(function() first = keep(gate:acquire{ timeout = 30 }) end, function()
                wait_for_nodes(2)
                local lease = assert(holder:acquire{ timeout = 30, owner = "second" })
                rig.wait_for("the first waiter's grant", function() return first end)
                assert.is_false(first:state() == "lost")
                lease:release()
            end, function()
                wait_for_nodes(3)
                proxy:command("%s setData 1", loss)
                all:release()
            end)
            rig.wait_for("the fault", function() return session:stats().reconnects >= 1 end)
            assert.is_true(first:check(20))
            release(first)
            wait_for_nodes(0)
        end)
    end

    it("a mark keeps the node's data", function()
        local all = hold(holder, { permits = 3, timeout = 5 })
        local exports = session:semaphore(path, 3, { data = "export" })
        rig.wait_while(exports, { timeout = 30 }, function()
            rig.settle(session)
            all:release()
        end)
        rig.wait_for("the mark", function() return session:stats().sets == 1 end)
        rig.settle(session)
        local entry = exports:queue()[1]
        assert.equal("export", entry.data)
        assert.is_truthy(entry.identity:find(":", 1, true))
    end)

    it("the next waiter is granted if the mark before it is older than its watch", function()
        local all, granted = hold(holder, { permits = 3, timeout = 5 }), 0
        local late, watcher = rig.behind_proxy(server.hosts)
        -- The gets stay on the way until the waiter before has marked its node.
        watcher:command("hold getData 1")
        rig.line_up({ gate, late:semaphore(path, 3) }, function()
            wait_for_nodes(3)
            all:release()
            rig.wait_for("the mark", function() return session:stats().sets == 1 end)
            rig.settle(session)
            watcher:command("flow")
        end, function()
            granted = granted + 1
            rig.wait_for("both grants", function() return granted == 2 end)
        end)
    end)

    it("waiters go on when a holder or a waiter is killed #slow", function()
        local child = program.start(server.hosts, ([[
            local session = assert(zklock.connect(HOSTS, { timeout = 3 }))
            local gate = session:semaphore(%q, 3)
            local lease = assert(gate:acquire(20))
            say("holds")
            gate:acquire{ permits = 3, owner = "waits" }
        ]]):format(path))
        child:says("holds")
        wait_for_nodes(2)
        release(rig.wait_while(holder, { permits = 3, timeout = 30 }, function()
            child:signal("KILL")
        end))
        child:ends(128 + 9)
        wait_for_nodes(0)
    end)

    it("a waiter whose node is deleted queues again, and is granted", function()
        local all = hold(holder, { permits = 3, timeout = 5 })
        local lease = rig.wait_while(gate, { permits = 2, timeout = 30 }, function()
            for _, node in ipairs(server:nodes(path)) do
                if node:find("permit-2", 1, true) then server:foreign("delete %s", node) end
            end
            wait_for_nodes(2)
            assert.equal("held", all:state())
            release(all)
        end)
        assert.equal(1, #server:nodes(path))
        release(lease)
        wait_for_nodes(0)
    end)
end)
