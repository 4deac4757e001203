-- Requests and replies that get lost, servers that stop, holders that do: what a
-- user sees of it, and that nothing is left in ZooKeeper after.
-- Seeds DEMO-15, DEMO-17, PIT-02, PIT-03, PIT-08, PIT-09, Q-01, Q-03, Q-05, BUG-03, BUG-13.

local pause = require "spec.fault.pause"
local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: globals unpack


-- What another program may do to nodes; see raw.pl.
local function foreign(server, command, ...)
    return rig.shell("perl spec/fault/raw.pl %s " .. command, server.hosts:match("^[^,]+"), ...)
end

local function czxid(server, node)
    return foreign(server, "stat %s", node):match("czxid=(%d+)")
end

local function no_node(server, path)
    rig.wait_for("no node under " .. path, function() return #server:nodes(path) == 0 end)
end

local at_rest = rig.at_rest


describe("a lost reply", function()
    local server, proxy, session, lock

    setup(function()
        server = rig.shared()
        proxy = rig.proxy(server.hosts)
    end)

    teardown(function() proxy:stop() end)

    before_each(function()
        session = rig.session(proxy.hosts, { timeout = 20 })
        lock = session:mutex(rig.path())
        assert(assert(lock:acquire(20)):release{ wait = 20 })
        proxy:reset()
    end)

    after_each(function()
        proxy:command("accept")
        proxy:command("flow")
        rig.close_sessions()
    end)

    -- A free lock is had in spite of the fault, with one node, and given back.
    local function holds_in_spite_of(fault)
        local id, creates = session:id(), session:stats().creates
        proxy:command(fault)
        local lease = assert(lock:acquire(20))
        assert.equal(1, session:stats().reconnects, "the fault did not happen")
        assert.equal(id, session:id())
        assert.equal("held", lease:state())
        local nodes = server:nodes(lock.path)
        assert.equal(1, #nodes)
        assert.equal(czxid(server, nodes[1]), lease:token_string())
        assert.is_true(lease:check(20))
        assert.is_true(lease:release{ wait = 20 })
        no_node(server, lock.path)
        at_rest(session)
        return session:stats().creates - creates
    end

    it("to a create that was carried out: that node is held, and no other (zk-ruby-51)", function()
        assert.equal(1, holds_in_spite_of("drop-reply create2 1"))
    end)

    it("to a create that never arrived: another is made", function()
        assert.equal(2, holds_in_spite_of("drop-request create2 1"))
    end)

    it("to a create, in the middle of a flight whose list never arrived", function()
        holds_in_spite_of("cut-after create2 1")
    end)

    it("to a list: the node that was created is held", function()
        assert.equal(1, holds_in_spite_of("drop-reply getChildren 1"))
    end)

    it("to a list that never arrived", function()
        holds_in_spite_of("drop-request getChildren 1")
    end)

    -- The same for each request of a path's first use.
    for _, fault in ipairs{ "drop-reply", "drop-request", "cut-after" } do
        for count = 1, 2 do
            it(("to a create of a parent (%s %d)"):format(fault, count), function()
                local parents = proxy:counts()
                local fresh = session:mutex(rig.path() .. "/a/b")
                proxy:command("%s createContainer %d", fault, count)
                proxy:command("%s create2 3", fault)
                local lease = assert(fresh:acquire(20))
                assert.equal(1, #server:nodes(fresh.path))
                assert.is_true(session:stats().reconnects >= 1, "no fault happened")
                assert.is_true(lease:release{ wait = 20 })
                no_node(server, fresh.path)
                at_rest(session)
                assert.equal(0, parents.multi)
                -- Rules that met nothing must not meet the next test.
                proxy:stop()
                proxy = rig.proxy(server.hosts)
            end)
        end
    end

    for _, fault in ipairs{ "drop-reply", "drop-request", "cut-after" } do
        it(("to a delete: the node is gone all the same (%s, go-zk)"):format(fault), function()
            local lease = assert(lock:acquire(20))
            proxy:command("%s delete 1", fault)
            assert.is_true(lease:release{ wait = 20 })
            assert.equal(1, session:stats().reconnects)
            no_node(server, lock.path)
            at_rest(session)
            assert.is_true(assert(lock:acquire(20)):release{ wait = 20 })
        end)
    end

    it("to a delete does not keep the next in line waiting", function()
        local other = rig.session(server.hosts)
        local lease = assert(lock:acquire(20))
        proxy:command("drop-request delete 1")
        lease:release()
        local next_lease = assert(other:mutex(lock.path):acquire(20))
        assert.is_true(next_lease.token > lease.token)
    end)

    it("does not outlast the deadline, and the janitor removes the node (BUG-03, samuel-229)",
       function()
        proxy:command("drop-reply create2 1")
        proxy:command("refuse")
        local seconds, lease, _, code = rig.timed(lock.acquire, lock, 0.5)
        assert.is_nil(lease)
        assert.equal("timeout", code)
        assert.is_true(seconds >= 0.49 and seconds < 5, ("took %.2f s"):format(seconds))
        assert.equal(1, #server:nodes(lock.path))
        proxy:command("accept")
        no_node(server, lock.path)
        at_rest(session)
        assert.equal("connected", session:state())
    end)

    it("does not outlast an interrupt, and the janitor removes the node (CURATOR-79)", function()
        local seconds, code
        proxy:command("drop-reply create2 1")
        proxy:command("refuse")
        zklock.run(function()
            local _
            seconds, _, _, code = rig.timed(lock.acquire, lock, { timeout = 60, owner = "me" })
        end, function()
            rig.wait_for("the fault", function() return session:state() == "suspended" end)
            assert.equal(1, session:interrupt("me"))
        end)
        assert.equal("interrupted", code)
        assert.is_true(seconds < 30)
        assert.equal(1, #server:nodes(lock.path))
        proxy:command("accept")
        no_node(server, lock.path)
        at_rest(session)
    end)

    it("to a try ends it with timeout at once, and the janitor removes the node", function()
        proxy:command("drop-reply create2 1")
        proxy:command("refuse")
        local seconds, lease, _, code = rig.timed(lock.acquire, lock, 0)
        assert.is_nil(lease)
        assert.equal("timeout", code)
        assert.is_true(seconds < 5, ("took %.2f s"):format(seconds))
        proxy:command("accept")
        no_node(server, lock.path)
        at_rest(session)
    end)

    it("to a heartbeat makes the lease suspect, then held again, with the same token", function()
        local beating = rig.session(proxy.hosts, { timeout = 6 })
        local lease = assert(beating:mutex(lock.path):acquire(20))
        local token, told = lease.token, {}
        lease:on_lost(function(_, state) told[#told + 1] = state end)
        proxy:command("drop-reply sync 1")
        proxy:command("refuse")
        rig.wait_for("suspect", function() beating:dispatch() return #told > 0 end)
        proxy:command("accept")
        rig.wait_for("held again", function() return lease:held() end)
        for _, state in ipairs(told) do assert.equal("suspect", state) end
        assert.equal(token, lease.token)
        assert.is_true(lease:check(20))
        assert.equal(1, #server:nodes(lock.path))
    end)

    it("to a check: it is asked again", function()
        local lease = assert(lock:acquire(20))
        for _, fault in ipairs{ "drop-reply sync 1", "drop-reply getData 1",
                                "drop-request getData 1" } do
            proxy:command(fault)
            assert.is_true(lease:check(20))
        end
        assert.is_true(session:stats().reconnects >= 3)
    end)

    it("to a look at the queue: it is asked again", function()
        local lease = assert(lock:acquire(20))
        for _, fault in ipairs{ "drop-reply getChildren 1", "drop-reply getData 1" } do
            proxy:command(fault)
            local queue = assert(lock:queue(20))
            assert.equal(1, #queue)
            assert.equal(lease.token, queue[1].token)
        end
    end)

    -- A waiter that queues in spite of the fault is granted in its turn.
    local function waits_in_spite_of(fault)
        local holder, last = rig.session(server.hosts), rig.session(server.hosts)
        local lease = assert(holder:mutex(lock.path):acquire(20))
        local order, last_lease = {}, nil
        proxy:command(fault)
        zklock.run(function()
            local mine = assert(lock:acquire(10))
            order[#order + 1] = "waiter"
            assert.equal(1, session:stats().reconnects, "the fault did not happen")
            assert.is_true(mine.token > lease.token)
            mine:release()
        end, function()
            rig.wait_for("the reconnect", function()
                local stats = session:stats()
                return stats.reconnects == 1 and stats.in_flight == 0 and
                       #server:nodes(lock.path) == 2
            end)
            last_lease = assert(last:mutex(lock.path):acquire{ timeout = 10, on_queued = function()
                order[#order + 1] = "release"
                lease:release()
            end })
            order[#order + 1] = "last"
        end)
        assert.same({ "release", "waiter", "last" }, order)
        assert.is_true(last_lease:held())
        assert.equal(1, #server:nodes(lock.path))
        at_rest(session)
    end

    it("to the create of a waiter does not cost its place (PIT-08)", function()
        waits_in_spite_of("drop-reply create2 1")
    end)

    it("to the list of a waiter", function() waits_in_spite_of("drop-reply getChildren 1") end)
    it("to the watch of a waiter (Q-05)", function() waits_in_spite_of("drop-reply getData 1") end)
    it("to the second watch of a waiter", function() waits_in_spite_of("drop-reply getData 2") end)
    it("to the watch that never arrived", function()
        waits_in_spite_of("drop-request getData 1")
    end)

    it("does not lose the release that happened meanwhile (PIT-08, Q-05, kazoo-170)", function()
        local holder = rig.session(server.hosts)
        local lease = assert(holder:mutex(lock.path):acquire(20))
        zklock.run(function()
            assert(lock:acquire(8)):release()
        end, function()
            rig.wait_for("two in line", function() return #server:nodes(lock.path) == 2 end)
            proxy:command("refuse")
            proxy:command("cut")
            rig.wait_for("suspended", function() return session:state() == "suspended" end)
            lease:release{ wait = 20 }
            proxy:command("accept")
        end)
        no_node(server, lock.path)
    end)

    it("to a create that lands after its wait has ended: the node is removed", function()
        proxy:command("hold create2 1")
        local seconds, lease, _, code = rig.timed(lock.acquire, lock, 0.3)
        assert.is_nil(lease)
        assert.equal("timeout", code)
        assert.is_true(seconds < 5)
        assert.equal(0, #server:nodes(lock.path))
        proxy:command("flow")
        rig.wait_for("the late create", function() return proxy:counts().create2 == 1 end)
        at_rest(session)
        no_node(server, lock.path)
        assert.equal(1, proxy:counts().delete)
    end)

    it("to a create that lands after its connection was given up: the node is removed", function()
        local brief = rig.session(proxy.hosts, { timeout = 2 })
        proxy:command("hold create2 1")
        local other = brief:mutex(lock.path)
        assert.is_nil((other:acquire(0.3)))
        rig.wait_for("a new connection", function() return brief:stats().reconnects >= 1 end)
        proxy:command("flow")
        at_rest(brief)
        no_node(server, lock.path)
        assert(other:acquire(20)):release{ wait = 20 }
        no_node(server, lock.path)
    end)

    it("that left a node of this session that nobody knows: it is removed as an orphan", function()
        local id = session:id()
        id = ("0"):rep(16 - #id) .. id
        local answer = foreign(server, "create 2 %s/_c_%s-%s-%s-0000-0000deadbeef-lock-", lock.path,
                               id:sub(1, 8), id:sub(9, 12), id:sub(13, 16))
        local node = assert(answer:match("^ok (%S+)"))
        local lease = assert(lock:acquire(20))
        assert.equal(1, session:stats().orphans)
        rig.wait_for("the orphan removed", function()
            return foreign(server, "stat %s", node):match("^error %-101")
        end)
        lease:release()
    end)

    -- Nobody uses the path any more, so no other list would show what landed meanwhile.
    it("to a create is looked after once more, a session timeout later", function()
        local brief = rig.session(proxy.hosts, { timeout = 4 })
        local mine = brief:mutex(lock.path)
        proxy:command("drop-reply create2 1")
        assert.is_true(assert(mine:acquire(20)):release{ wait = 20 })
        at_rest(brief)
        local id = brief:id()
        id = ("0"):rep(16 - #id) .. id
        assert.matches("^ok", foreign(server,
            "create 2 %s/_c_%s-%s-%s-0000-0000deadbeef-lock-", lock.path, id:sub(1, 8),
            id:sub(9, 12), id:sub(13, 16)))
        rig.wait_for("the late look", function() return brief:stats().orphans == 1 end)
        rig.wait_for("its node removed", function() return #assert(lock:queue(20)) == 0 end)
    end)

    it("that left a node of another session is left alone: it is waited for", function()
        foreign(server, "create 2 %s/_c_00000000-0000-0007-0000-0000deadbeef-lock-", lock.path)
        local lease, _, code = lock:acquire(0.3)
        assert.is_nil(lease)
        assert.equal("timeout", code)
        assert.equal(0, session:stats().orphans)
    end)
end)


describe("a storm of faults", function()
    local FAULTS = { "drop-reply", "drop-request", "cut-after" }
    local WHAT = { "create2", "getChildren", "getData", "delete", "sync", "connect" }

    after_each(rig.close_sessions)

    local function weather(proxy, seed, goes_on)
        local state = seed
        local function random(n) -- the same on every Lua
            state = (state * 16807) % 2147483647
            return state % n + 1
        end
        while goes_on() do
            proxy:command("%s %s %d", FAULTS[random(#FAULTS)], WHAT[random(#WHAT)], random(4))
            if random(8) == 1 then proxy:command("cut") end
            zklock.sleep(0.01 * random(6))
        end
    end

    -- Takes the lock again and again; each grant is compared with all others.
    local function contend(session, path, log, goes_on)
        local lock = session:mutex(path)
        while goes_on() do
            local lease, _, code = lock:acquire(1)
            if lease then
                for other in pairs(log.held) do
                    if other:held() then error("two hold the lock") end
                end
                if lease.token <= log.token then error("the token did not grow") end
                log.token, log.grants = lease.token, log.grants + 1
                log.held[lease] = true
                zklock.sleep(0.002)
                log.held[lease] = nil
                lease:release()
            elseif code ~= "timeout" and code ~= "expired" then
                error("acquire gave " .. tostring(code))
            end
        end
    end

    it("leaves one holder at a time, growing tokens, and nothing behind", function()
        local server, seed = rig.shared(), os.time() % 100000
        local proxy, path = rig.proxy(server.hosts), rig.path()
        local log = { held = {}, token = 0, grants = 0 }
        local running, sessions, tasks = true, {}, {}
        local function goes_on() return running end
        for i = 1, 5 do
            sessions[i] = rig.session(proxy.hosts, { timeout = 4 })
            tasks[i] = function() contend(sessions[i], path, log, goes_on) end
        end
        local function reconnects()
            local sum = 0
            for _, session in ipairs(sessions) do sum = sum + session:stats().reconnects end
            return sum
        end
        tasks[#tasks + 1] = function() weather(proxy, seed, goes_on) end
        tasks[#tasks + 1] = function()
            zklock.sleep(4)
            rig.eventually(function() return log.grants > 20 and reconnects() > 10 end)
            running = false
        end
        local ok, problem = pcall(zklock.run, unpack(tasks))
        assert.is_true(ok, ("seed %d: %s"):format(seed, tostring(problem)))
        assert.is_true(log.grants > 20, ("seed %d: only %d grants"):format(seed, log.grants))
        -- What was not met stays in the proxy: end it, as if the network came back elsewhere.
        proxy:command("reset")
        assert.is_true(reconnects() > 10)
        for _, session in ipairs(sessions) do session:close() end
        rig.wait_for("no node", function() return #server:nodes(path) == 0 end)
        proxy:stop()
    end)
end)


describe("a server that goes away", function()
    local server, proxy

    setup(function()
        server = rig.server()
        proxy = rig.proxy(server.hosts)
    end)
    teardown(function()
        proxy:stop()
        server:stop()
    end)
    after_each(function()
        server:resume()
        rig.close_sessions()
    end)

    -- A server that still loads its data may take a connection and forget it: 2/3 of the
    -- session timeout are lost then. Nobody gets in before it serves.
    local function kill()
        proxy:command("refuse")
        server:kill()
    end

    local function restart()
        server:restart()
        proxy:command("accept")
    end

    it("for a while, stopped: a waiter keeps its place (PIT-03, Curator, zk-ruby-54)", function()
        local holder = rig.session(server.hosts, { timeout = 20 })
        local session, last = rig.session(server.hosts, { timeout = 9 }), nil
        local lock = session:mutex(rig.path())
        local lease = assert(holder:mutex(lock.path):acquire(20))
        local order = {}
        zklock.run(function()
            assert(lock:acquire(20)):release()
            order[#order + 1] = "first"
        end, function()
            rig.wait_for("two in line", function() return #server:nodes(lock.path) == 2 end)
            local before = server:nodes(lock.path)
            pause(server)
            rig.wait_for("suspended", function() return session:state() == "suspended" end)
            server:resume()
            rig.wait_for("connected", function() return session:state() == "connected" end)
            table.sort(before)
            local after = server:nodes(lock.path)
            table.sort(after)
            assert.same(before, after)
            last = rig.session(server.hosts)
            assert(last:mutex(lock.path):acquire{ timeout = 20, on_queued = function()
                lease:release()
            end })
            order[#order + 1] = "second"
        end)
        assert.same({ "first", "second" }, order)
    end)

    it("for a while, stopped, with a create in its socket: one node at most", function()
        local session = rig.session(server.hosts, { timeout = 2 })
        local lock = session:mutex(rig.path())
        assert(lock:acquire(20)):release{ wait = 20 }
        pause(server)
        local seconds, lease, _, code = rig.timed(lock.acquire, lock, 0.3)
        assert.is_nil(lease)
        assert.equal("timeout", code)
        assert.is_true(seconds < 5)
        rig.wait_for("suspended", function() return session:state() == "suspended" end)
        server:resume()
        lease = rig.wait_for("the lock", function() return lock:acquire(10) end)
        rig.wait_for("one node", function() return #server:nodes(lock.path) == 1 end)
        lease:release{ wait = 20 }
        rig.wait_for("no node", function() return #server:nodes(lock.path) == 0 end)
        at_rest(session)
    end)

    it("killed and started again: the session, the lease and the line live on", function()
        local session = rig.session(proxy.hosts, { timeout = 30 })
        local waiter = rig.session(proxy.hosts, { timeout = 30 })
        local lock = session:mutex(rig.path())
        local lease = assert(lock:acquire(20))
        local id, token = session:id(), lease.token
        zklock.run(function()
            assert.is_true(assert(waiter:mutex(lock.path):acquire(20)).token > token)
        end, function()
            rig.wait_for("two in line", function() return #server:nodes(lock.path) == 2 end)
            kill()
            rig.wait_for("suspect", function() return lease:state() == "suspect" end)
            assert.equal(0, lease:remaining())
            assert.equal("suspended", session:state())
            restart()
            rig.wait_for("held again", function() return lease:held() end)
            assert.equal(id, session:id())
            assert.equal(token, lease.token)
            assert.is_true(lease:check(20))
            lease:release()
        end)
        assert.equal(0, session:stats().expiries)
    end)

    it("a try then fails at once, a wait at its deadline, a check at its own (Curator)", function()
        local session = rig.session(proxy.hosts, { timeout = 30 })
        local lock = session:mutex(rig.path())
        local lease = assert(lock:acquire(20))
        local other = session:mutex(rig.path())
        kill()
        rig.wait_for("suspended", function() return session:state() == "suspended" end)
        local seconds, result, _, code = rig.timed(other.acquire, other, 0)
        assert.is_nil(result)
        assert.equal("timeout", code)
        assert.is_true(seconds < 5)
        seconds, result, _, code = rig.timed(other.acquire, other, 0.3)
        assert.is_nil(result)
        assert.equal("timeout", code)
        assert.is_true(seconds >= 0.29 and seconds < 5)
        seconds, result, _, code = rig.timed(lease.check, lease, 0.3)
        assert.is_nil(result)
        assert.equal("timeout", code)
        assert.is_true(seconds >= 0.29 and seconds < 5)
        seconds, result, _, code = rig.timed(lock.queue, lock, 0.3)
        assert.is_nil(result)
        assert.equal("timeout", code)
        assert.is_true(seconds >= 0.29 and seconds < 5)
        restart()
        rig.wait_for("held again", function() return lease:held() end)
        assert.is_true(lease:check(20))
        assert.equal(1, #server:nodes(lock.path))
        rig.wait_for("no node", function() return #server:nodes(other.path) == 0 end)
    end)
end)


describe("a create that is stuck in one server of an ensemble (CURATOR-264)", function()
    local ensemble

    setup(function() ensemble = rig.server{ n = 3 } end)
    teardown(function() ensemble:stop() end)
    after_each(function()
        for n = 1, 3 do ensemble:resume(n) end
        rig.close_sessions()
    end)

    -- The server that a session is connected to.
    local function home(session)
        for n = 1, 3 do
            if ensemble:ask("cons", n):find("sid=0x" .. session:id(), 1, true) then return n end
        end
    end

    local function is_leader(n) return ensemble:ask("srvr", n):find("Mode: leader") ~= nil end

    it("and lands when its session has moved on: one node, and none in the end", function()
        local session, at
        repeat -- a leader that stops would be deposed, which is another story
            session = rig.session(ensemble.hosts, { timeout = 9 })
            at = assert(home(session))
        until not is_leader(at)
        local lock = session:mutex(rig.path())
        assert(lock:acquire(20)):release{ wait = 20 }
        local watcher = rig.session(ensemble.hosts, { timeout = 20 })
        pause(ensemble, at)
        local lease = assert(lock:acquire(20))
        ensemble:resume(at)
        assert.are_not.equal(at, home(session))
        assert.is_true(lease:check(20))
        local queue = assert(watcher:mutex(lock.path):queue(20))
        rig.wait_for("one in line", function()
            queue = assert(watcher:mutex(lock.path):queue(20))
            return #queue == 1
        end)
        assert.equal(lease.token, queue[1].token)
        lease:release{ wait = 20 }
        rig.wait_for("nobody in line", function()
            return #assert(watcher:mutex(lock.path):queue(20)) == 0
        end)
    end)
end)


describe("a session that expires", function()
    local server, proxy

    setup(function()
        server = rig.shared()
        proxy = rig.proxy(server.hosts)
    end)
    teardown(function() proxy:stop() end)
    after_each(function()
        proxy:command("flow")
        rig.close_sessions()
    end)

    -- Cuts off the session until the server has ended it.
    local function expire(session, path)
        proxy:command("blackhole")
        rig.wait_for("its nodes gone", function() return #server:nodes(path) == 0 end)
        local expiries = session:stats().expiries
        proxy:command("flow")
        rig.wait_for("expired", function()
            session:dispatch()
            return session:stats().expiries > expiries
        end)
    end

    it("loses its leases, ends its waits with expired, and lives on " ..
       "(PIT-02, BUG-13, kazoo, C recipe, etcd-19597)", function()
        local states, told, codes = {}, {}, {}
        local session = rig.session(proxy.hosts, { timeout = 3, on_state = function(state)
            states[#states + 1] = state
        end })
        local held, waited = session:mutex(rig.path()), session:mutex(rig.path())
        local holder = rig.session(server.hosts)
        local kept = assert(holder:mutex(waited.path):acquire(20))
        local id, lease = session:id(), assert(held:acquire(20))
        lease:on_lost(function(_, state) told[#told + 1] = state end)
        local tasks = {}
        for i = 1, 5 do
            tasks[i] = function()
                local _, _, code = waited:acquire{ timeout = 30, owner = i }
                codes[i] = code
            end
        end
        tasks[6] = function()
            rig.wait_for("five in line", function() return #server:nodes(waited.path) >= 5 end)
            expire(session, held.path)
        end
        zklock.run(unpack(tasks))
        assert.equal("held", kept:state())
        assert.same({ "expired", "expired", "expired", "expired", "expired" }, codes)
        session:dispatch()
        assert.equal("lost", lease:state())
        assert.equal("lost", told[#told])
        assert.equal(0, lease:remaining())
        local ok, _, code = lease:check(1)
        assert.is_nil(ok)
        assert.equal("lost", code)
        ok, _, code = lease:release()
        assert.is_nil(ok)
        assert.equal("lost", code)
        rig.wait_for("connected", function() return session:state() == "connected" end)
        assert.are_not.equal(id, session:id())
        session:dispatch()
        -- A busy machine may have been late before that, and suspended it for a moment.
        assert.matches("^connected .*suspended expired connecting connected",
            table.concat(states, " "))
        assert.is_true(assert(held:acquire(20)):release{ wait = 20 })
        at_rest(session)
        assert.equal(0, #server:nodes(held.path))
    end)

    it("and an outage and a reconnect leave no node, no waiter and no watch", function()
        local before = server:watches()
        local session = rig.session(proxy.hosts, { timeout = 3 })
        local path = rig.path()
        local lock = session:mutex(path)
        for _ = 1, 2 do
            local lease = assert(lock:acquire(20))
            expire(session, path)
            assert.equal("lost", lease:state())
            lease = assert(lock:acquire(20))
            proxy:command("cut")
            rig.wait_for("held again", function() return lease:held() end)
            lease:release()
            proxy:command("refuse")
            proxy:command("cut")
            assert.is_nil((lock:acquire(0.1)))
            proxy:command("accept")
            assert(lock:acquire(20)):release{ wait = 20 }
        end
        at_rest(session)
        no_node(server, path)
        rig.wait_for("no watch", function() return server:watches() <= before end)
        assert.equal(0, session:stats().watches)
        assert.equal(2, session:stats().expiries)
    end)

    for _, kind in ipairs{ "opened anew", "left alone" } do
        it(("and is %s ends what is asked, and watches nothing"):format(kind), function()
            local reopen = kind == "opened anew"
            local session = rig.session(proxy.hosts, { timeout = 3, reopen = reopen })
            local lock, checked, looked = session:mutex(rig.path()), nil, nil
            local lease = assert(lock:acquire(20))
            rig.wait_for("its own watch", function() return session:stats().watches == 1 end)
            proxy:command("blackhole")
            zklock.run(function() checked = select(3, lease:check(60)) end,
                       function() looked = select(3, lock:queue(60)) end,
                       function() expire(session, lock.path) end)
            assert.equal("lost", checked)
            assert.equal("expired", looked)
            assert.equal(0, session:stats().watches)
        end)
    end

    it("stays expired when it is not to reopen", function()
        local session = rig.session(proxy.hosts, { timeout = 3, reopen = false })
        local lock = session:mutex(rig.path())
        local lease = assert(lock:acquire(20))
        expire(session, lock.path)
        assert.equal("expired", session:state())
        assert.equal("lost", lease:state())
        for _, timeout in ipairs{ 0, 10 } do
            local seconds, result, _, code = rig.timed(lock.acquire, lock, timeout)
            assert.is_nil(result)
            assert.equal("expired", code)
            assert.is_true(seconds < 5)
        end
        local queue, _, code = lock:queue(1)
        assert.is_nil(queue)
        assert.equal("expired", code)
        session:close()
        assert.equal("closed", session:state())
    end)
end)


describe("a holder that stops", function()
    local server

    -- Takes the lock, says its token, then looks for a file that is made while it is stopped.
    local HOLDER = [[
        local session = assert(zklock.connect(HOSTS, { timeout = 3 }))
        local lease = assert(session:mutex(PATH):acquire(20))
        say(lease:token_string())
        local file
        repeat file = io.open(WOKEN) until file
        say(lease:state()) -- at once
        say(lease:remaining())
        file:close()
        say((select(3, lease:check(20))))
        say((select(3, lease:release())))
        session:close()
    ]]

    local woken

    before_each(function()
        server = rig.shared()
        woken = os.tmpname()
        os.remove(woken)
    end)
    after_each(function()
        os.remove(woken)
        rig.close_sessions()
    end)

    local function start(path)
        local names = ("local PATH, WOKEN = %q, %q\n"):format(path, woken)
        local holder = program.start(server.hosts, names .. HOLDER)
        return holder, tonumber((assert(holder:line(), "no holder")))
    end

    it("past its session knows that it lost when it wakes (DEMO-17, PIT-09, Q-01, Q-03)", function()
        local path = rig.path()
        local holder, token = start(path)
        local session = rig.session(server.hosts)
        holder:signal("STOP")
        local lease = assert(session:mutex(path):acquire(30))
        assert.is_true(lease.token > token)
        assert(io.open(woken, "w")):close()
        holder:signal("CONT")
        assert.equal("lost", holder:line())
        assert.equal(0, tonumber((holder:line())))
        assert.equal("lost", holder:line())
        assert.equal("lost", holder:line())
        local _, errors, status = holder:finish()
        assert.equal("", errors)
        assert.equal(0, status)
        assert.equal("held", lease:state())
        assert.is_true(lease:check(20))
    end)

    it("dead, is followed within its session timeout and a tick (DEMO-15, Q-04)", function()
        local path = rig.path()
        local holder, token = start(path)
        local session = rig.session(server.hosts)
        holder:signal("KILL")
        local seconds, lease = rig.timed(function() return session:mutex(path):acquire(30) end)
        assert(lease)
        assert.is_true(lease.token > token)
        assert.is_true(seconds < 3 + 0.2 + 10, ("took %.2f s"):format(seconds)) -- on a busy machine
        assert.equal(128 + 9, (select(3, holder:finish())))
    end)
end)


describe("a foreign hand", function()
    local server, session, other

    before_each(function()
        server = rig.shared()
        session = rig.session(server.hosts)
        other = rig.session(server.hosts)
    end)
    after_each(rig.close_sessions)

    -- The node of the one at this place in line.
    local function node_at(lock, place)
        local queue = assert(lock:queue(20))
        return lock.path .. "/" .. queue[place].name
    end

    for _, when in ipairs{ "at once", "after heartbeats" } do
        it(("that deletes the holder's node %s: the lease is lost"):format(when), function()
            local told = {}
            local lock = session:mutex(rig.path())
            local lease = assert(lock:acquire(20))
            lease:on_lost(function(_, state) told[#told + 1] = state end)
            if when ~= "at once" then
                rig.wait_for("the watch", function() return session:stats().watches == 1 end)
            end
            assert.matches("^ok", foreign(server, "delete %s", node_at(lock, 1)))
            rig.wait_for("lost", function() return lease:state() == "lost" end)
            session:dispatch()
            assert.same({ "lost" }, told)
            local ok, _, code = lease:release()
            assert.is_nil(ok)
            assert.equal("lost", code)
            assert(lock:acquire(20)):release{ wait = 20 }
            at_rest(session)
        end)
    end

    it("that deletes the holder's node: check tells it, in one round trip", function()
        local lock = session:mutex(rig.path())
        local lease = assert(lock:acquire(20))
        foreign(server, "delete %s", node_at(lock, 1))
        local ok, _, code = lease:check(20)
        assert.is_nil(ok)
        assert.equal("lost", code)
        assert.equal("lost", lease:state())
    end)

    it("that deletes the holder's node: the next in line is granted, once", function()
        local lock = session:mutex(rig.path())
        local lease = assert(lock:acquire(20))
        zklock.run(function()
            local mine = assert(other:mutex(lock.path):acquire(20))
            assert.is_true(mine.token > lease.token)
            rig.wait_for("lost", function() return lease:state() == "lost" end)
            assert.equal("held", mine:state())
        end, function()
            rig.wait_for("two in line", function() return #server:nodes(lock.path) == 2 end)
            foreign(server, "delete %s", node_at(lock, 1))
        end)
    end)

    it("that changes the holder's node, again and again, wakes nobody for good (PIT-05)", function()
        local lock = session:mutex(rig.path())
        local lease = assert(lock:acquire(20))
        local granted
        zklock.run(function()
            assert(other:mutex(lock.path):acquire(10))
            granted = true
        end, function()
            rig.wait_for("two in line", function() return #server:nodes(lock.path) == 2 end)
            local node = node_at(lock, 1)
            for i = 1, 3 do foreign(server, "set %s changed%d", node, i) end
            assert.is_nil(granted)
            assert.equal("held", lease:state())
            lease:release()
        end)
        assert.is_true(granted)
    end)

    it("that deletes a waiter's node: never a grant (Menagerie, etcd-11456)", function()
        local lock = session:mutex(rig.path())
        local lease = assert(lock:acquire(20))
        local granted
        zklock.run(function()
            granted = assert(other:mutex(lock.path):acquire(10))
        end, function()
            rig.wait_for("two in line", function() return #server:nodes(lock.path) == 2 end)
            local before = node_at(lock, 2)
            rig.wait_for("watches", function() return other:stats().watches == 2 end)
            foreign(server, "delete %s", before)
            rig.wait_for("two in line again", function()
                return #server:nodes(lock.path) == 2 and node_at(lock, 2) ~= before
            end)
            assert.is_nil(granted)
            assert.equal("held", lease:state())
            lease:release()
        end)
        assert.is_true(granted.token > lease.token)
        assert.equal(1, #server:nodes(lock.path))
    end)

    it("that deletes a waiter in the middle: the one behind it still waits (BUG-12)", function()
        local lock = session:mutex(rig.path())
        local third = rig.session(server.hosts)
        local lease = assert(lock:acquire(20))
        local order = {}
        zklock.run(function()
            local mine = assert(other:mutex(lock.path):acquire(10))
            order[#order + 1] = "middle"
            mine:release()
        end, function()
            rig.wait_for("two in line", function() return #server:nodes(lock.path) == 2 end)
            local mine = assert(third:mutex(lock.path):acquire(10))
            order[#order + 1] = "last"
            zklock.sleep(0.05)
            mine:release()
        end, function()
            rig.wait_for("three in line", function()
                return #server:nodes(lock.path) == 3 and third:stats().watches == 2
            end)
            local before = node_at(lock, 2)
            foreign(server, "delete %s", before)
            rig.wait_for("the middle one behind", function()
                return #server:nodes(lock.path) == 3 and node_at(lock, 2) ~= before
            end)
            assert.same({}, order)
            lease:release()
        end)
        assert.same({ "last", "middle" }, order)
        no_node(server, lock.path)
    end)

    it("that puts other children beside the contenders is ignored", function()
        local lock = session:mutex(rig.path())
        assert(lock:acquire(20)):release{ wait = 20 }
        foreign(server, "create 0 %s/readme create 2 %s/data- create 0 %s/lock-1 create 0 %s/-",
                lock.path, lock.path, lock.path, lock.path)
        local lease = assert(lock:acquire(0))
        assert.equal(1, #assert(lock:queue(20)))
        lease:release()
    end)

    it("that takes a number is waited for, as any contender", function()
        local lock = session:mutex(rig.path())
        assert(lock:acquire(20)):release{ wait = 20 }
        local node = foreign(server, "create 2 %s/lock-", lock.path):match("ok (%S+)")
        zklock.run(function()
            assert(lock:acquire(20))
        end, function()
            rig.wait_for("two in line", function() return #assert(lock:queue(20)) == 2 end)
            foreign(server, "delete %s", node)
        end)
    end)
end)
