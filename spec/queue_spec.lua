--- lock:queue(): who is in line; and who counts: other clients' nodes, by name.
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()


--- Another client's commands; see spec/foreign.pl. Gives the last node it made.
local function foreign(command, ...)
    return select(2, server:foreign(command, ...))
end


local hold = rig.hold

after_each(rig.close_sessions)


describe("queue()", function()
    local session, path, lock
    before_each(function()
        session = rig.session(server.hosts, { identity = "shop 1" })
        path = rig.path()
        lock = session:mutex(path, { data = "order-service" })
    end)

    it("is empty for a path that nobody used, or uses now", function()
        assert.same({}, lock:queue())
        rig.used(lock)
        assert.same({}, lock:queue())
    end)

    it("shows the holder with all that is known", function()
        local lease = hold(lock, 5)
        local queue = lock:queue()
        assert.equal(1, #queue)
        assert.same({ "/spec", path }, { path:match("^/spec"), lease.path })
        assert.same({ path .. "/" .. queue[1].name }, server:nodes(path))
        assert.same({
            position = 1, name = queue[1].name, kind = "mutex", held = true, mine = true,
            token = lease.token, identity = "shop 1", data = "order-service",
            session = session:id(), since = queue[1].since,
        }, queue[1])
    end)

    it("has the tokens of turns, whoever asks, and plain ones beside them", function()
        for _, options in ipairs{ { order = "turns" }, { keep = 60 }, { token = "turns" } } do
            local own = rig.path()
            local lease = hold(session:mutex(own, options), 5)
            rig.wait_while(rig.session(server.hosts):mutex(own), { timeout = 60 }, function()
                local queue = rig.session(server.hosts):mutex(own):queue()
                assert.equal(lease.token, queue[1].token)
                assert.is_true(queue[2].token < queue[1].token)
                assert.is_true(lease:release())
            end)
        end
    end)

    it("shows since when a contender is there, by the server's clock #server", function()
        hold(lock, 5)
        local since = lock:queue()[1].since
        local stat = rig.foreign(server:host(), "stat '%s/%s'", path, lock:queue()[1].name)
        assert.equal(tonumber(stat:match("ctime=(%d+)")), math.floor(since * 1000 + 0.5))
    end)

    it("shows since when a contender is there, in memory, too #real", function()
        hold(lock, 5)
        local made = os.time()
        local since = lock:queue()[1].since
        assert.is_true(math.abs(since - made) < 60, tostring(since))
        zklock.sleep(0.1)
        assert.is_true(math.abs(since - lock:queue()[1].since) < 0.05, tostring(since))
    end)

    it("shows everybody in order of arrival, and who holds", function()
        local sessions, queue = {}, nil
        rig.run(4, function(n)
            sessions[n] = rig.session(server.hosts, { identity = "s" .. n })
            server:wait_for_nodes(path, n - 1)
            local lease = hold(sessions[n]:mutex(path))
            if n == 1 then
                server:wait_for_nodes(path, 4)
                queue = sessions[2]:mutex(path):queue()
            end
            lease:release()
        end)
        assert.equal(4, #queue)
        for n, entry in ipairs(queue) do
            assert.equal(n, entry.position)
            assert.equal("s" .. n, entry.identity)
            assert.is_nil(entry.data)
            assert.equal(n == 1, entry.held)
            assert.equal(n == 2, entry.mine)
            assert.equal(sessions[n]:id(), entry.session)
            if n > 1 then assert.is_true(entry.token > queue[n - 1].token) end
        end
    end)

    it("gives host:pid for an identity that was not given, data as it was given #real", function()
        local data = "a\nb\n\nc\t\1\255 100%"
        local plain = rig.session(server.hosts):mutex(path, { data = data })
        hold(plain, 5)
        local entry = lock:queue()[1]
        assert.equal(data, entry.data)
        assert.equal(rig.pid, tonumber(entry.identity:match("^.+:(%d+)$")))
        assert.is_false(entry.mine)
    end)

    it("keeps empty identity, and shows empty data as none", function()
        local quiet = rig.session(server.hosts, { identity = "" }):mutex(path, { data = "" })
        hold(quiet, 5)
        assert.equal("", lock:queue()[1].identity)
        assert.is_nil(lock:queue()[1].data)
    end)

    it("leaves out who went between the list and the look #server", function()
        local proxy = rig.proxy_for_test(server.hosts)
        local far = rig.session(proxy.hosts, { timeout = 10 }):mutex(path)
        local lease = assert(lock:acquire(20))
        local gets, queue = far.session:stats().gets, nil
        proxy:command("hold getData 1")
        zklock.run(function() queue = assert(far:queue(20)) end, function()
            rig.wait_for("the look", function() return far.session:stats().gets > gets end)
            assert.is_true(lease:release{ wait = 20 })
            proxy:command("flow")
        end)
        assert.same({}, queue)
    end)

    it("ends at its deadline when the server is silent #server #clock", function()
        local proxy = rig.proxy_for_test(server.hosts)
        local far = rig.session(proxy.hosts, { timeout = 10 }):mutex(path)
        proxy:command("blackhole")
        for _, seconds in ipairs{ 0, 0.2 } do
            local took, _, _, code = rig.timed(far.queue, far, seconds)
            assert.equal("timeout", code)
            assert.is_true(took < seconds + 5, took)
        end
    end)

    it("is answered for a long line, too", function()
        local waiting, owners = rig.session(server.hosts, { timeout = 20 }), 200
        hold(lock, 5)
        rig.run(owners, function(n)
            assert.equal("closed", rig.code_of(waiting:mutex(path), { owner = n }))
        end, function()
            rig.wait_for("all", function() return waiting:stats().waits == owners end)
            local queue = lock:queue(10)
            waiting:close()
            assert.equal(owners + 1, #queue)
            for n, entry in ipairs(queue) do assert.equal(n, entry.position) end
        end)
    end)
end)


describe("another client's node", function()
    local path, lock
    before_each(function()
        path = rig.path() .. "-foreign"
        lock = rig.session(server.hosts):mutex(path)
        rig.used(lock)
    end)

    for name, kind in pairs{
        ["lock-0000000000"] = "mutex", -- Curator, go-zookeeper, zookeeper-client
        ["_c_6b7a1a1e-0d5f-4c3c-9c1e-0123456789ab-lock-0000000000"] = "mutex",
        ["0123456789abcdef0123456789abcdef__lock__0000000000"] = "mutex", -- kazoo
        ["0123456789abcdef0123456789abcdef__rlock__0000000000"] = "read",
        ["_c_6b7a1a1e-0d5f-4c3c-9c1e-0123456789ab-__READ__0000000000"] = "read", -- Curator
        ["_c_6b7a1a1e-0d5f-4c3c-9c1e-0123456789ab-__WRIT__0000000000"] = "write",
        ["lock--000000001"] = "mutex", -- the counter of a server before 3.6, past 2^31
        ["lock--2147483648"] = "mutex",
    } do
        it("counts as a contender:  #server" .. name, function()
            foreign("create %s/%s 'who\nwhat'", path, name)
            local queue = lock:queue()
            assert.equal(1, #queue)
            local entry = queue[1]
            assert.same({ 1, name, kind, true, false, "who", "what", "0" },
                        { entry.position, entry.name, entry.kind, entry.held, entry.mine,
                          entry.identity, entry.data, entry.session })
            assert.equal("busy", rig.code_of(lock, 0))
            local grants = lock.session:stats().grants
            local got = assert(rig.wait_while(lock, { timeout = 20 }, function()
                assert.equal(2, #lock:queue())
                zklock.sleep(0.02)
                assert.equal(grants, lock.session:stats().grants)
                foreign("delete %s/%s", path, name)
            end))
            rig.released(got)
        end)
    end

    it("does not count with any other name (CURATOR-43) #server", function()
        local names = { "lock", "lock-", "lock-1", "lock-000000001", "lock-00000000001", "x",
                        "lock-000000000x", "lock_0000000001", "LOCK-0000000001", "0000000001",
                        "xlock-0000000001x", "lock-+000000001", "lock-00000001", "lock--00000001",
                        "_c_6b7a1a1e-0d5f-4c3c-9c1e-0123456789ab-lease-0000000001",
                        "latch-0000000001", "n_0000000001", "lock 0000000001" }
        local command = {}
        for i, name in ipairs(names) do command[i] = ("create '%s/%s' ''"):format(path, name) end
        foreign("%s", table.concat(command, " "))
        assert.same({}, lock:queue())
        local lease = hold(lock, 0)
        assert.equal("held", lease:state())
        assert.equal(1, #lock:queue())
    end)

    it("that is changed goes on to block, and wakes nobody (PIT-05)", function()
        foreign("create %s/lock-0000000000 ''", path)
        local got
        zklock.run(
            function() got = lock:acquire(20) end,
            function()
                rig.wait_for("we wait", function() return lock.session:stats().watches == 2 end)
                for round = 1, 2 do
                    local before = lock.session:stats().gets
                    foreign("set %s/lock-0000000000 new", path)
                    rig.wait_for("watched again", function()
                        local stats = lock.session:stats()
                        return stats.gets > before and stats.in_flight == 0
                    end)
                    assert(not got, round)
                end
                foreign("delete %s/lock-0000000000", path)
            end)
        assert.is_truthy(got)
    end)

    it("goes with its session when that client crashes (REQ-08) #server #slow", function()
        local name = foreign("sequential %s/lock- x vanish", path)
        assert.is_truthy(lock:acquire(60))
        assert.is_truthy(name:find("^lock%-%d+$"))
    end)

    it("in the middle that goes lets nobody overtake (BUG-12)", function()
        local lease, got = hold(lock, 5), nil
        local name = "lock-0000000005" -- behind the holder, before who comes next
        foreign(("create %s/x '' delete %s/x "):rep(5):gsub("%%s", path) ..
                "create %s/%s ''", path, name)
        local other = rig.session(server.hosts):mutex(path)
        zklock.run(
            function() got = other:acquire(20) end,
            function()
                rig.wait_for("three", function() return #lock:queue() == 3 end)
                assert.equal(name, lock:queue()[2].name)
                rig.wait_for("watched", function() return other.session:stats().watches == 3 end)
                foreign("delete %s/%s", path, name)
                rig.wait_for("it heard", function()
                    local stats = other.session:stats()
                    return stats.events >= 1 and stats.in_flight == 0
                end)
                assert(not got, "two hold")
                lease:release()
            end)
        assert.equal("held", got:state())
    end)

    it("is not needed to lose a place: a waiter whose node was deleted queues again (Menagerie)",
       function()
        local lease, got = hold(lock, 5), nil
        local other = rig.session(server.hosts):mutex(path)
        zklock.run(
            function() got = other:acquire(20) end,
            function()
                rig.wait_for("two", function() return #lock:queue() == 2 end)
                rig.wait_for("watched", function() return other.session:stats().watches == 2 end)
                local name = lock:queue()[2].name
                foreign("delete %s/%s", path, name)
                rig.wait_for("again two", function()
                    local queue = lock:queue()
                    return #queue == 2 and queue[2].name ~= name
                end)
                assert(not got, "granted without a node")
                lease:release()
            end)
        assert.equal("held", got:state())
        assert.is_true(got:check(20))
    end)
end)
