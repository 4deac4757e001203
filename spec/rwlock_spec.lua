--- [lua luajit asan tsan memory worlds older] Exclusion, order, re-entry and downgrade of the
-- read-write lock. The seed article's S1, ALG-07, DEMO-08, REQ-04, Q-02.

local rig = require "spec.rig"
local zklock = require "zklock"

local server, path, a, b, one, other


local function foreign(command, ...)
    return select(2, server:foreign(command, ...))
end

local function beside_node(name, fn)
    foreign("create %s/%s x", path, name)
    fn()
    foreign("delete %s/%s", path, name)
end

local keep, hold, code_of, release = rig.keep, rig.hold, rig.code_of, rig.release

local function wait_for_nodes(count) server:wait_for_nodes(path, count) end

local function node_endings()
    local list = {}
    for n, node in ipairs(server:nodes(path)) do list[n] = node:match("__(%u+__%d+)$") end
    table.sort(list)
    return list
end


local function wait_for_reader()
    rig.wait_for("a reader", function() return (node_endings()[1] or ""):find("READ") end)
end
before_each(function()
    server, path, a, b = rig.begin(2)
    one, other = a:rwlock(path), b:rwlock(path)
end)

after_each(rig.close_sessions)


describe("a read-write lock #session:rwlock #rwlock:read #rwlock:write", function()
    it("readers of every process hold together", function()
        for _, lease in ipairs{ hold(one:read()), hold(other:read()),
                                hold(other:read(), { owner = "x" }) } do
            assert.equal("held", lease:state())
            assert.is_true(lease:check(20))
        end
        local queue = one:read():queue()
        assert.equal(3, #queue)
        for _, entry in ipairs(queue) do
            assert.same({ "read", true }, { entry.kind, entry.held })
        end
    end)

    it("a contender behind a waiting writer waits, also a reader", function()
        local reader = hold(one:read())
        local acquires = { other:write(), one:read(), other:write() }
        assert.same({ 1, 2, 3 }, rig.line_up(acquires, function(order)
            assert.equal("busy", code_of(one:read(), { timeout = 0, owner = "try" }))
            assert.same({}, order)
            reader:release()
        end))
    end)

    it("tokens grow over writers and readers", function()
        local last = 0
        for _ = 1, 3 do
            for _, lock in ipairs{ one:write(), one:read(), other:write() } do
                local lease = hold(lock)
                assert.is_true(lease.token > last)
                last = lease.token
                release(lease)
            end
        end
    end)

    it("writers are alone among many readers and writers", function()
        local readers, writers, most, wrong, counter = 0, 0, 0, 0, 0
        rig.run(24, function(n)
            local rw = n % 2 == 0 and one or other
            for round = 1, 6 do
                local writes = (n + round) % 3 == 0
                local lease = assert((writes and rw:write() or rw:read()):acquire(30))
                if writes then writers = writers + 1 else readers = readers + 1 end
                if writers > 1 or writers == 1 and readers > 0 then wrong = wrong + 1 end
                most = math.max(most, readers)
                local seen = counter
                zklock.sleep(0.001)
                if writes then counter = seen + 1 else wrong = wrong + (counter - seen) end
                if writes then writers = writers - 1 else readers = readers - 1 end
                lease:release()
            end
        end)
        assert.equal(0, wrong)
        assert.equal(48, counter)
        assert.is_true(most > 1, "no two readers were together")
        wait_for_nodes(0)
    end)

    it("each waiter is woken once, because readers wait for the nearest writer", function()
        local sessions, first = rig.sessions(4, server.hosts, { timeout = 60 }), hold(one:write())
        rig.run(50, function(n)
            local rw = sessions[n % 4 + 1]:rwlock(path)
            rig.wait_for("turn", function() return #server:nodes(path) >= math.min(n, 11) end)
            local side = n <= 10 and rw:write() or rw:read()
            assert(side:acquire{ timeout = 60, owner = n }):release()
        end, function()
            wait_for_nodes(51)
            first:release()
        end)
        local lists, gets = 0, 0
        for _, session in ipairs(sessions) do
            local stats = session:stats()
            lists, gets = lists + stats.lists, gets + stats.gets
        end
        assert.is_true(lists <= 100, lists .. " lists: one to enter, one to be granted")
        assert.is_true(gets <= 110, gets .. " gets: the own node, and one ahead")
        wait_for_nodes(0)
    end)

    it("a writer enters again to read, without a request", function()
        local first = hold(one:write())
        local creates = a:stats().creates
        local second = hold(one:read(), 0)
        assert.equal(first.token, second.token)
        assert.equal(creates, a:stats().creates)
        assert.equal(1, #server:nodes(path))
        release(second)
        assert.equal("held", first:state())
        release(first)
        wait_for_nodes(0)
    end)

    it("a reader that wants to write gets would_deadlock at once, and blocks nobody", function()
        local reader = hold(one:read())
        assert.equal("would_deadlock", code_of(one:write(), nil))
        assert.equal("would_deadlock", code_of(one:write(), 0))
        assert.equal(1, #server:nodes(path))
        assert.equal("held", reader:state())
        assert.equal("held", hold(other:read(), 0):state())
    end)

    it("a writer of a lock that is not reentrant cannot read", function()
        local rw = a:rwlock(path, { reentrant = false })
        hold(rw:write())
        assert.equal("would_deadlock", code_of(rw:read(), 1))
    end)

    it("a mutex on the path is a conflict in one session, and excludes other sessions", function()
        local mutex, lease = a:mutex(path), hold(one:read())
        assert.equal("conflict", code_of(mutex, 0))
        assert.equal("conflict", code_of(mutex, 1))
        assert.equal("busy", code_of(b:mutex(path), 0))
        release(lease)
        lease = hold(mutex)
        assert.equal("conflict", code_of(one:read(), 0))
        assert.equal("busy", code_of(other:read(), 0))
        assert.equal("timeout", code_of(other:write(), 0.1))
        release(lease)
        assert.equal("held", hold(other:read(), 0):state())
    end)

    it("with() runs under either side, and tostring names the side", function()
        assert.same({ true, "held", "write" }, { one:write():with(5, function(lease)
            return lease:state(), one:write():queue()[1].kind
        end) })
        assert.equal(("zklock.rwlock (%s)"):format(path), tostring(one))
        assert.equal(("zklock.read (%s)"):format(path), tostring(one:read()))
        assert.equal(("zklock.write (%s)"):format(path), tostring(one:write()))
        assert.has_error(function() a:rwlock(path, { reentrant = 1 }) end)
    end)

    it("readers hold with other clients' readers, and wait for their writers", function()
        release(hold(one:read()))
        for _, name in ipairs{ "0a1b__rlock__0000000000", "_c_x-__READ__0000000000" } do
            beside_node(name, function()
                release(hold(one:read(), 0))
                assert.equal("busy", code_of(one:write(), 0))
            end)
        end
        for _, name in ipairs{ "0a1b__lock__0000000000", "_c_x-__WRIT__0000000000",
                               "_c_x-lock-0000000000" } do
            beside_node(name, function()
                assert.equal("busy", code_of(one:read(), 0))
                assert.equal("timeout", code_of(one:write(), 0.1))
            end)
        end
    end)

    it("a writer of Curator's that becomes a reader lets waiting readers in, and no writer #server",
       function()
        release(hold(one:read()))
        foreign("create %s/_c_x-__WRIT__0000000000 x", path)
        local reads, writes
        zklock.run(function()
            reads = keep(one:read():acquire{ timeout = 20, owner = "r" })
            assert.is_nil(writes)
        end, function()
            wait_for_nodes(1)
            writes = keep(other:write():acquire{ timeout = 20, owner = "w" })
        end, function()
            wait_for_nodes(2)
            foreign("create %s/_c_x-__READ__0000000000 x delete %s/_c_x-__WRIT__0000000000",
                    path, path)
            rig.wait_for("the reader", function() return reads end)
            release(reads)
            assert.is_nil(writes)
            foreign("delete %s/_c_x-__READ__0000000000", path)
        end)
        assert.equal("held", writes:state())
    end)
end)


describe("a downgrade #lease:downgrade", function()
    local function far_writer(timeout)
        local session, proxy = rig.behind_proxy(server.hosts, { timeout = timeout })
        return hold(session:rwlock(path):write()), proxy, session
    end

    it("a downgrade lets readers in and keeps writers out, with the same place and token",
       function()
        local lease = hold(one:write())
        local token, number = lease.token, node_endings()[1]:match("%d+")
        assert.is_true(lease:downgrade())
        assert.same({ "READ__" .. number }, node_endings())
        assert.equal(token, lease.token)
        assert.equal("held", lease:state())
        assert.is_true(lease:check(20))
        assert.equal("timeout", code_of(other:write(), 0.1))
        local reader = hold(other:read(), 0)
        release(lease)
        assert.equal("busy", code_of(other:write(), { timeout = 0, owner = "x" }))
        release(reader)
        assert.equal("held", hold(other:write(), 0):state())
    end)

    it("a downgrade lets in the waiting readers up to the next writer", function()
        local lease = hold(one:write())
        local acquires = { other:read(), one:read(), other:write(), one:read() }
        assert.same({ 1, 2, 3, 4 }, rig.line_up(acquires, function(order)
            assert.is_true(lease:downgrade())
            rig.wait_for("two readers", function() return #order == 2 end)
            table.sort(order)
            assert.same({ 1, 2 }, order)
            release(lease)
        end, true))
    end)

    it("a downgrade happens by itself when the owner has only read leases left", function()
        local writes = hold(one:write())
        local reads = hold(one:read(), 0)
        assert.is_true(writes:release())
        wait_for_reader()
        assert.equal("held", reads:state())
        assert.equal("released", writes:state())
        assert.equal("held", hold(other:read()):state())
        assert.equal("would_deadlock", code_of(one:write(), 1))
    end)

    it("a downgrade waits until the owner's last write lease is given up", function()
        local outer, inner, third = hold(one:write()), hold(one:write()), hold(one:write())
        assert.is_true(third:release())
        assert.is_true(outer:check(20))
        assert.equal("busy", code_of(other:read(), 0))
        assert.is_true(inner:downgrade())
        assert.equal("busy", code_of(other:read(), 0))
        assert.is_true(outer:downgrade())
        assert.equal("held", hold(other:read(), 0):state())
        release(outer)
        assert.equal("held", inner:state())
    end)

    it("only a write lease can be downgraded", function()
        for kind, make in pairs(rig.kinds) do
            local lease = hold(make(a, rig.path()))
            assert.equal(kind == "a write lock", lease:downgrade(5) or false)
            rig.check_refused("unsupported", nil, lease:downgrade(5))
            assert.equal("held", lease:state())
            release(lease)
            assert.equal("released", (select(3, lease:downgrade())))
        end
    end)

    it("a downgrade of a lost lease returns lost, and makes no node", function()
        local lease = hold(one:write())
        rig.delete_node(server, path)
        rig.check_refused("lost", nil, lease:downgrade(5))
        assert.equal("lost", lease:state())
        wait_for_nodes(0)
    end)

    for _, fault in ipairs{ "drop-reply", "drop-request", "cut-after" } do
        it(("a downgrade whose request or reply is lost happens once (%s) #server"):format(fault),
           function()
            local lease, proxy, session = far_writer(6)
            local token = lease.token
            proxy:command("%s multi 1", fault)
            assert.is_true(lease:downgrade(10))
            assert.equal(1, session:stats().reconnects)
            assert.equal(1, #node_endings())
            assert.truthy(node_endings()[1]:find("READ"))
            assert.is_true(lease:check(20))
            assert.equal(token, lease.token)
            release(lease)
            wait_for_nodes(0)
        end)
    end

    it("a downgrade without an answer returns timeout, and is done later #server #clock", function()
        local lease, proxy = far_writer(20)
        proxy:command("blackhole")
        rig.check_refused("timeout", nil, rig.takes(0.2, 8, lease.downgrade, lease, 0.2))
        proxy:command("flow")
        wait_for_reader()
        rig.becomes(lease, "held")
        release(lease)
        wait_for_nodes(0)
    end)

    it("a release during a downgrade leaves nothing #server", function()
        local session, proxy = rig.behind_proxy(server.hosts, { timeout = 6 })
        for _, fault in ipairs{ "hold multi 1", "drop-reply multi 1", "drop-request multi 1" } do
            local lease = hold(session:rwlock(path):write())
            proxy:reset()
            proxy:command(fault)
            zklock.run(function()
                local ok, _, code = lease:downgrade(5)
                assert.is_true(ok == true or code == "released", code)
            end, function()
                rig.wait_for("the request", function() return proxy:counts().multi > 0 or
                    session:stats().reconnects > 0 or session:stats().in_flight > 0 end)
                assert.is_true(lease:release())
                proxy:command("flow")
            end)
            wait_for_nodes(0)
            rig.come_to_rest(session)
        end
    end)

    it("a downgrade whose session ends returns lost #server #slow", function()
        local lease, proxy = far_writer(3)
        proxy:command("blackhole")
        rig.check_refused("lost", nil, lease:downgrade(60))
        wait_for_nodes(0)
    end)
end)


-- Q-02: numbers from 2147483647 on tell no order.
describe("a read-write lock whose numbers are exhausted #session:rwlock", function()
    local function begin_at(number)
        return rig.session(rig.server_for_test("/rw", number).hosts):rwlock("/rw")
    end

    it("readers stay together and writers alone, in order #server #slow", function()
        local rw, order = begin_at(2147483645), {}
        local kinds, sides = { "read", "read", "write", "read", "read", "write" }, {}
        for n, kind in ipairs(kinds) do sides[n] = rw[kind](rw) end
        local first = hold(rw:write(), { owner = "first" })
        rig.line_up(sides, function() first:release() end, function(n)
            order[#order + 1] = kinds[n]
            if kinds[n] == "write" then return end
            rig.wait_for("the other readers", function() return #order >= (n < 3 and 2 or 5) end)
        end)
        assert.same(kinds, order)
    end)

    it("a writer with an exhausted number, or one near the end, cannot be downgraded #server #slow",
       function()
        for _, number in ipairs{ 2147483645, 2130706431 } do
            local rw = begin_at(number)
            local writes = hold(rw:write())
            local reads = hold(rw:read(), 0)
            rig.check_refused("unsupported", "a number below 2130706431", writes:downgrade())
            assert.equal("held", writes:state())
            release(writes)
            -- It stays a writer until its last lease is released.
            assert.equal("timeout", code_of(rw:read(), { timeout = 0.2, owner = "x" }))
            release(reads)
        end
        assert.is_true(hold(begin_at(2130706430):write()):downgrade())
    end)
end)
