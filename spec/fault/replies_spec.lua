--- [lua asan tsan] Lost requests and replies, stopped servers and stopped holders, as a user
-- sees them. (spec/losses_spec.lua loses each packet of each operation, in worlds.)
-- The seed article's DEMO-17, PIT-02, PIT-03, PIT-08, PIT-09, Q-01, Q-03, Q-05, BUG-03, BUG-13.

local fault = require "spec.fault.fault"
local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"

local come_to_rest, release = rig.come_to_rest, rig.release
local fails, foreign, times_out = fault.fails, fault.foreign, fault.times_out

local server, proxy = rig.shared(), nil

before_each(function() proxy = rig.proxy_for_test(server.hosts) end)
after_each(rig.close_sessions)


describe("a lost reply #lock:acquire", function()
    local session, lock

    before_each(function()
        session = rig.session(proxy.hosts, { timeout = 20 })
        lock = rig.use(session:mutex(rig.path()))
        proxy:reset()
    end)

    for _, case in ipairs{
        { "a create without a reply makes one node, which is found behind a sync and held " ..
          "(CURATOR-264, zk-ruby-51)", "drop-reply create2 1", creates = 1, syncs = 1 },
        { "a create that never arrived is sent again", "drop-request create2 1",
          creates = 2 },
        { "a list without a reply is repeated, and the node is held", "drop-reply getChildren 1",
          creates = 1 },
    } do
        it(case[1], function()
            local id, creates = session:id(), session:stats().creates
            proxy:command(case[2])
            local lease = rig.hold(lock)
            assert.equal(1, session:stats().reconnects, "the fault did not happen")
            assert.equal(id, session:id())
            assert.equal("held", lease:state())
            -- Before the first heartbeat, which is seconds away.
            if case.syncs then assert.equal(case.syncs, proxy:counts().sync) end
            assert.equal(case.creates, session:stats().creates - creates)
            local nodes = server:nodes(lock.path)
            assert.equal(1, #nodes)
            assert.equal(fault.czxid(server, nodes[1]), lease:token_string())
            assert.is_true(lease:check(20))
            assert.is_true(lease:release{ wait = 20 })
            server:wait_for_nodes(lock.path, 0)
            come_to_rest(session)
        end)
    end

    it("a delete without a reply has removed the node (go-zk)", function()
        local lease = rig.hold(lock)
        proxy:command "drop-reply delete 1"
        release(lease)
        assert.equal(1, session:stats().reconnects)
        server:wait_for_nodes(lock.path, 0)
        come_to_rest(session)
        rig.use(lock)
    end)

    -- The reply to the create is lost, and then the server. wait() ends all the same, and the node
    -- goes after the reconnect.
    local function check_nothing_left(wait, after)
        proxy:command("drop-reply create2 1")
        proxy:command("refuse")
        wait()
        assert.equal(1, #server:nodes(lock.path))
        proxy:command("accept")
        if after then after() end
        server:wait_for_nodes(lock.path, 0)
        come_to_rest(session)
        assert.equal("connected", session:state())
    end

    it("a wait ends at its deadline without a reply to its create, and the node is removed " ..
    "later (BUG-03, samuel-229)", function()
        check_nothing_left(function() times_out(0.5, lock.acquire, lock, 0.5) end, function()
            local lease = assert(lock:acquire(20))
            server:wait_for_nodes(lock.path, 1)
            assert.is_true(lease:check(20))
            lease:release()
        end)
    end)

    it("a wait ends with an interrupt without a reply to its create, and the node is removed " ..
    "later (CURATOR-79)", function()
        check_nothing_left(function()
            zklock.run(function()
                fails("interrupted",
                      rig.takes(0, 30, lock.acquire, lock, { timeout = 60, owner = "me" }))
            end, function()
                rig.becomes(session, "suspended")
                assert.equal(1, session:interrupt("me"))
            end)
        end)
    end)

    it("a try ends with timeout at once without a reply to its create, and the node is " ..
    "removed later", function()
        check_nothing_left(function() times_out(0, lock.acquire, lock, 0) end)
    end)

    it("a heartbeat without a reply makes the lease suspect, then held again with the same " ..
       "token #slow", function()
        local beating = rig.session(proxy.hosts, { timeout = 6 })
        local lease = rig.hold(beating:mutex(lock.path))
        local token, told = lease.token, rig.note_losses(lease)
        proxy:command("drop-reply sync 1")
        proxy:command("refuse")
        rig.wait_for("suspect", function() beating:dispatch() return #told > 0 end)
        proxy:command("accept")
        rig.becomes(lease, "held")
        for _, state in ipairs(told) do assert.equal("suspect", state) end
        assert.equal(token, lease.token)
        assert.is_true(lease:check(20))
        assert.equal(1, #server:nodes(lock.path))
    end)

    for what, loss in pairs{
        ["a waiter keeps its place without a create's reply (PIT-08)"] = "drop-reply create2 1",
        ["a waiter keeps its place without a watch's reply (Q-05)"] = "drop-reply getData 1",
    } do
        it(what, function()
            local lease = rig.hold_elsewhere(server, lock.path)
            local last = rig.session(server.hosts):mutex(lock.path)
            proxy:command(loss)
            assert.same({ 1, 2 }, rig.line_up({ lock, last }, function(order)
                fault.wait_for_reconnects(session, 1)
                rig.settle(session)
                assert.equal(3, #server:nodes(lock.path))
                assert.same({}, order)
                lease:release()
            end))
            assert.equal(1, session:stats().reconnects)
            server:wait_for_nodes(lock.path, 0)
            come_to_rest(session)
        end)
    end

    it("a waiter hears of a release during an outage (PIT-08, Q-05, kazoo-170)", function()
        local lease = rig.hold_elsewhere(server, lock.path)
        release(rig.wait_while(lock, { timeout = 8 }, function()
            fault.suspend(proxy, session)
            release(lease)
            proxy:command("accept")
        end))
        server:wait_for_nodes(lock.path, 0)
    end)

    -- A stranger makes a node in the lock's line, with the name of that session's node.
    local function plant(id)
        id = ("0"):rep(16 - #id) .. id
        return (server:foreign("numbered %s/_c_%s-%s-%s-0000-0000deadbeef-lock- ''", lock.path,
                               id:sub(1, 8), id:sub(9, 12), id:sub(13, 16)))
    end

    it("an unknown node of this session is removed as an orphan", function()
        local node = plant(session:id())
        local lease = assert(lock:acquire(20))
        assert.equal(1, session:stats().orphans)
        rig.wait_for("the orphan removed", function()
            return foreign(server, "stat %s", node):match("^error %-101")
        end)
        lease:release()
    end)

    -- Nobody uses the path any more, so no other list shows late nodes.
    it("a create without a reply is looked for once more, a session timeout later #slow",
       function()
        local brief = rig.session(proxy.hosts, { timeout = 4 })
        proxy:command("drop-reply create2 1")
        rig.use(brief:mutex(lock.path))
        come_to_rest(brief)
        plant(brief:id())
        rig.wait_for("the late look", function() return brief:stats().orphans == 1 end)
        rig.wait_for("the late node removed", function() return #assert(lock:queue(20)) == 0 end)
    end)

    it("an unknown node of another session is left alone, and waited for", function()
        plant("7")
        fails("timeout", lock:acquire(0.3))
        assert.equal(0, session:stats().orphans)
    end)
end)


describe("a storm of faults #lock:acquire", function()
    local FAULTS = { "drop-reply", "drop-request", "cut-after" }
    local WHAT = { "create2", "getChildren", "getData", "delete", "sync", "connect" }

    -- Slows down, by a twentieth with each fault, so that slow clients get their locks too.
    local function storm(log)
        local state, pause = log.seed, 0.01
        local function random(n)
            state = (state * 16807) % 2147483647
            return state % n + 1
        end
        while log.goes_on do
            proxy:command("%s %s %d", FAULTS[random(#FAULTS)], WHAT[random(#WHAT)], random(4))
            if random(8) == 1 then proxy:command("cut") end
            zklock.sleep(pause * random(6))
            pause = pause * 1.05
        end
    end

    local function contend(lock, log)
        while log.goes_on do
            local lease, _, code = lock:acquire(1)
            if lease then
                for other in pairs(log.held) do assert(not other:held(), "two hold the lock") end
                assert(lease.token > log.token, "the token did not grow")
                log.token, log.grants, log.held[lease] = lease.token, log.grants + 1, true
                zklock.sleep(0.002)
                log.held[lease] = nil
                lease:release()
            else
                assert(code == "timeout" or code == "expired", code)
            end
        end
    end

    it("a storm leaves one holder at a time, growing tokens, and no node #slow", function()
        local path, sessions = rig.path(), rig.sessions(5, proxy.hosts, { timeout = 4 })
        local log = { seed = os.time() % 100000, goes_on = true, held = {}, token = 0, grants = 0 }
        local function reconnects()
            local sum = 0
            for _, session in ipairs(sessions) do sum = sum + session:stats().reconnects end
            return sum
        end
        local ok, problem = pcall(rig.run, 5, function(i)
            contend(sessions[i]:mutex(path), log)
        end, function() storm(log) end, function()
            zklock.sleep(4)
            rig.eventually(function() return log.grants > 20 and reconnects() > 10 end)
            log.goes_on = false
        end)
        assert.is_true(ok, ("seed %d: %s"):format(log.seed, tostring(problem)))
        assert.is_true(log.grants > 20, ("seed %d: only %d grants"):format(log.seed, log.grants))
        -- Clears the faults of the proxy that have not struck yet.
        proxy:command("reset")
        assert.is_true(reconnects() > 10)
        for _, session in ipairs(sessions) do session:close() end
        server:wait_for_nodes(path, 0)
    end)
end)


describe("a server that goes away #lock:acquire", function()
    local own, link

    setup(function() own = rig.server() end)
    before_each(function() link = rig.proxy_for_test(own.hosts) end)
    teardown(function() own:stop() end)
    after_each(function() own:resume() end)

    it("a waiter keeps its place while a server is stopped (PIT-03, Curator, zk-ruby-54) #slow",
       function()
        local session = rig.session(own.hosts, { timeout = 9 })
        local lock, last = session:mutex(rig.path()), rig.session(own.hosts)
        local lease = rig.hold_elsewhere(own, lock.path)
        local function nodes()
            local sorted = own:nodes(lock.path)
            table.sort(sorted)
            return sorted
        end
        assert.same({ 1, 2 }, rig.line_up({ lock, last:mutex(lock.path) }, function(order)
            local before = nodes()
            own:pause()
            rig.becomes(session, "suspended")
            own:resume()
            rig.becomes(session, "connected")
            assert.same(before, nodes())
            assert.same({}, order)
            lease:release()
        end))
    end)

    it("without a server a try fails at once, a wait at its deadline, " ..
       "a check at its own (Curator) #slow", function()
        local session = rig.session(link.hosts, { timeout = 30 })
        local lock, other = session:mutex(rig.path()), session:mutex(rig.path())
        local lease = rig.hold(lock)
        local id, token = session:id(), lease.token
        -- A server that still loads its data may take a connection and forget it, which costs 2/3
        -- of the session timeout. The proxy refuses until the server serves.
        link:command("refuse")
        own:kill()
        rig.becomes(session, "suspended")
        rig.becomes(lease, "suspect")
        assert.equal(0, lease:remaining())
        times_out(0, other.acquire, other, 0)
        times_out(0.3, other.acquire, other, 0.3)
        times_out(0.3, lease.check, lease, 0.3)
        times_out(0.3, lock.queue, lock, 0.3)
        own:restart()
        link:command("accept")
        rig.becomes(lease, "held")
        assert.same({ id, token, 0 }, { session:id(), lease.token, session:stats().expiries })
        assert.is_true(lease:check(20))
        assert.equal(1, #own:nodes(lock.path))
        own:wait_for_nodes(other.path, 0)
    end)
end)


describe("a create that is stuck in one server of an ensemble (CURATOR-264) #lock:acquire",
         function()
    local ensemble

    setup(function() ensemble = rig.server{ n = 3 } end)
    teardown(function() ensemble:stop() end)
    after_each(function() for n = 1, 3 do ensemble:resume(n) end end)

    local function home(session)
        for n = 1, 3 do
            if ensemble:ask("cons", n):find("sid=0x" .. session:id(), 1, true) then return n end
        end
    end

    it("the late create leaves one node once its session has moved on, and none in the end #slow",
       function()
        local session, old_home
        repeat -- because a stopped leader is deposed, which is another test
            -- A shorter session may expire on a busy machine before it has moved on.
            session = rig.session(ensemble.hosts, { timeout = 18 })
            old_home = assert(home(session))
        until old_home ~= ensemble:leader()
        local lock = rig.use(session:mutex(rig.path()))
        local watcher = rig.session(ensemble.hosts, { timeout = 30 }):mutex(lock.path)
        local function wait_for_line(count)
            local queue
            rig.wait_for(count .. " in line", function()
                queue = assert(watcher:queue(20))
                return #queue == count
            end)
            return queue
        end
        ensemble:pause(old_home)
        local lease = rig.hold(lock, 90)
        ensemble:resume(old_home)
        rig.wait_for("the session elsewhere", function()
            local now = home(session)
            return now and now ~= old_home
        end)
        assert.is_true(lease:check(20))
        assert.equal(lease.token, wait_for_line(1)[1].token)
        release(lease)
        wait_for_line(0)
    end)
end)


describe("a session that expires #lease:state", function()
    it("an expired session loses its leases, ends its waits with expired, and goes on #slow " ..
       "(PIT-02, BUG-13, kazoo, C recipe, etcd-19597)", function()
        local session = rig.session(proxy.hosts, { timeout = 3 })
        local held, waited = session:mutex(rig.path()), session:mutex(rig.path())
        local theirs = rig.hold_elsewhere(server, waited.path)
        local id, lease = session:id(), rig.hold(held)
        local told = rig.note_losses(lease)
        rig.run(5, function(i)
            fails("expired", waited:acquire{ timeout = 30, owner = i })
        end, function()
            server:wait_for_nodes(waited.path, 6)
            fault.expire(proxy, session)
        end)
        assert.equal("held", theirs:state())
        session:dispatch()
        assert.equal("lost", lease:state())
        assert.equal("lost", told[#told])
        assert.equal(0, lease:remaining())
        fails("lost", lease:check(1))
        fails("lost", lease:release())
        rig.becomes(session, "connected")
        assert.are_not.equal(id, session:id())
        rig.use(held)
        come_to_rest(session)
        assert.equal(0, #server:nodes(held.path))
    end)

    it("expiries, outages and reconnects leave no node, no waiter and no watch #slow", function()
        local before = server:watches()
        local session = rig.session(proxy.hosts, { timeout = 3 })
        local lock = session:mutex(rig.path())
        for _ = 1, 2 do
            local lease = rig.hold(lock)
            fault.expire(proxy, session)
            assert.equal("lost", lease:state())
            lease = rig.hold(lock)
            proxy:command("cut")
            rig.becomes(lease, "held")
            lease:release()
            proxy:shut()
            assert.is_nil((lock:acquire(0.1)))
            proxy:command("accept")
            rig.use(lock)
        end
        come_to_rest(session)
        server:wait_for_nodes(lock.path, 0)
        server:wait_for_watches(before)
        assert.equal(0, session:stats().watches)
        assert.equal(2, session:stats().expiries)
    end)
end)


describe("a holder that stops #lease:held", function()
    it("a holder stopped for longer than its session knows the loss when it wakes (DEMO-17, " ..
       "PIT-09, Q-01, Q-03) #slow", function()
        local path, woken = rig.path(), os.tmpname()
        os.remove(woken)
        finally(function() os.remove(woken) end)
        local holder = program.start(server.hosts, ([[
            local session = assert(zklock.connect(HOSTS, { timeout = 3 }))
            local lease = assert(session:mutex(%q):acquire(20))
            say(lease:token_string())
            local file
            repeat file = io.open(%q) until file -- made while this program is stopped
            say(lease:state())
            say(lease:remaining() == 0)
            file:close()
            say((select(3, lease:check(20))))
            say((select(3, lease:release())))
            session:close()
        ]]):format(path, woken))
        local token = tonumber((assert(holder:line(), "no holder")))
        local session = rig.session(server.hosts)
        holder:signal("STOP")
        local lease = rig.hold(session:mutex(path), 30)
        assert.is_true(lease.token > token)
        program.write(woken, "")
        holder:signal("CONT")
        holder:says("lost", "true", "lost", "lost")
        holder:ends()
        assert.equal("held", lease:state())
        assert.is_true(lease:check(20))
    end)
end)


describe("a foreign client's change #lease:on_lost", function()
    local session, other, lock, lease

    before_each(function()
        session, other = rig.session(server.hosts), rig.session(server.hosts)
        lock = session:mutex(rig.path())
        lease = rig.hold(lock)
    end)

    local function node_at(position)
        return lock.path .. "/" .. assert(lock:queue(20))[position].name
    end

    for _, when in ipairs{ "at once", "after heartbeats" } do
        it(("a change that deletes the holder's node %s ends its lease as lost #slow"):format(when),
           function()
            local told = rig.note_losses(lease)
            if when ~= "at once" then rig.wait_for_stats(session, { watches = 1 }) end
            rig.delete_node(server, lock.path)
            rig.becomes(lease, "lost")
            session:dispatch()
            assert.same({ "lost" }, told)
            fails("lost", lease:release())
            rig.use(lock)
            come_to_rest(session)
        end)
    end

    it("a change that deletes the holder's node grants the next in line, once #slow", function()
        local mine = rig.wait_while(other:mutex(lock.path), { timeout = 20 }, function()
            foreign(server, "delete %s", node_at(1))
        end)
        assert.is_true(mine.token > lease.token)
        rig.becomes(lease, "lost")
        assert.equal("held", mine:state())
    end)

    it("changes of the holder's node data grant nothing to a waiter (PIT-05)", function()
        assert.same({ 1 }, rig.line_up({ other:mutex(lock.path) }, function(order)
            local node = node_at(1)
            for i = 1, 3 do foreign(server, "set %s changed%d", node, i) end
            assert.same({}, order)
            assert.equal("held", lease:state())
            lease:release()
        end))
    end)

    it("a change that deletes a waiter in the middle grants nothing, and the waiter behind it " ..
       "stays (Menagerie, etcd-11456, BUG-12)", function()
        local third = rig.session(server.hosts)
        local acquires = { other:mutex(lock.path), third:mutex(lock.path) }
        assert.same({ 2, 1 }, rig.line_up(acquires, function(order)
            rig.wait_for_stats(other, { watches = 2 })
            rig.wait_for_stats(third, { watches = 3 })
            local before = node_at(2)
            foreign(server, "delete %s", before)
            rig.wait_for("the middle waiter's new node", function()
                return #server:nodes(lock.path) == 3 and node_at(2) ~= before
            end)
            assert.same({}, order)
            assert.equal("held", lease:state())
            lease:release()
        end))
        server:wait_for_nodes(lock.path, 0)
    end)
end)
