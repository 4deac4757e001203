--- [lua luajit asan tsan memory worlds] lock:queue() lists the contenders in line, those of
-- other clients by the names of their nodes.
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()


--- Runs another client's commands (see spec/foreign.pl). Returns the name of the last new node.
local function foreign(command, ...)
    return select(2, server:foreign(command, ...))
end


local hold = rig.hold

after_each(rig.close_sessions)


describe("queue() #lock:queue", function()
    local session, path, lock
    before_each(function()
        session = rig.session(server.hosts, { identity = "shop 1" })
        path = rig.path()
        lock = session:mutex(path, { data = "order-service" })
    end)

    it("the queue is empty for a path that is unused", function()
        assert.same({}, lock:queue())
        rig.use(lock)
        assert.same({}, lock:queue())
    end)

    it("the queue shows all of the holder's fields", function()
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

    it("the queue shows tokens of turns, too", function()
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

    it("`since` is the creation of an entry's node by the server's clock #server", function()
        hold(lock, 5)
        local since = lock:queue()[1].since
        local stat = rig.foreign(server:host(), "stat '%s/%s'", path, lock:queue()[1].name)
        assert.equal(tonumber(stat:match("ctime=(%d+)")), math.floor(since * 1000 + 0.5))
    end)

    it("an entry's `since` is the time when its node was created, in memory, too #real", function()
        hold(lock, 5)
        local made = os.time()
        local since = lock:queue()[1].since
        assert.is_true(math.abs(since - made) < 60, tostring(since))
        zklock.sleep(0.1)
        assert.is_true(math.abs(since - lock:queue()[1].since) < 0.05, tostring(since))
    end)

    it("the queue shows all contenders in order of arrival, and the holder", function()
        local sessions, locks, queue = {}, {}, nil
        for n = 1, 4 do
            sessions[n] = rig.session(server.hosts, { identity = "s" .. n })
            locks[n] = sessions[n]:mutex(path)
        end
        local lease = hold(table.remove(locks, 1))
        rig.line_up(locks, function()
            queue = locks[1]:queue()
            lease:release()
        end)
        assert.equal(4, #queue)
        for n, entry in ipairs(queue) do
            assert.same({ n, "s" .. n, n == 1, n == 2, sessions[n]:id() },
                        { entry.position, entry.identity, entry.held, entry.mine, entry.session })
            assert.is_nil(entry.data)
            if n > 1 then assert.is_true(entry.token > queue[n - 1].token) end
        end
    end)

    it("the identity is host:pid by default, and data are shown unchanged #real", function()
        local data = "a\nb\n\nc\t\1\255 100%"
        local plain = rig.session(server.hosts):mutex(path, { data = data })
        hold(plain, 5)
        local entry = lock:queue()[1]
        assert.equal(data, entry.data)
        assert.equal(rig.pid, tonumber(entry.identity:match("^.+:(%d+)$")))
        assert.is_false(entry.mine)
    end)

    it("an empty identity is shown, and empty data are nil", function()
        local quiet = rig.session(server.hosts, { identity = "" }):mutex(path, { data = "" })
        hold(quiet, 5)
        assert.equal("", lock:queue()[1].identity)
        assert.is_nil(lock:queue()[1].data)
    end)

    it("a contender that goes between queue()'s list and its get is left out #server", function()
        local other, proxy = rig.behind_proxy(server.hosts, { timeout = 10 })
        local far, lease = other:mutex(path), hold(lock)
        local gets, queue = far.session:stats().gets, nil
        proxy:command("hold getData 1")
        zklock.run(function() queue = assert(far:queue(20)) end, function()
            rig.wait_for("the look", function() return far.session:stats().gets > gets end)
            rig.release(lease)
            proxy:command("flow")
        end)
        assert.same({}, queue)
    end)

    it("queue() ends at its deadline when the server is silent #server #clock", function()
        local other, proxy = rig.behind_proxy(server.hosts, { timeout = 10 })
        local far = other:mutex(path)
        proxy:command("blackhole")
        for _, seconds in ipairs{ 0, 0.2 } do
            local _, _, code = rig.takes(0, seconds + 5, far.queue, far, seconds)
            assert.equal("timeout", code)
        end
    end)

    it("queue() is answered for a long line, too", function()
        local waiting, owners = rig.session(server.hosts, { timeout = 20 }), 200
        hold(lock, 5)
        rig.run(owners, function(n)
            assert.equal("closed", rig.code_of(waiting:mutex(path), { owner = n }))
        end, function()
            rig.wait_for_waits(waiting, owners)
            local queue = lock:queue(10)
            waiting:close()
            assert.equal(owners + 1, #queue)
            for n, entry in ipairs(queue) do assert.equal(n, entry.position) end
        end)
    end)
end)


describe("another client's node #lock:queue", function()
    local path, lock
    before_each(function()
        path = rig.path() .. "-foreign"
        lock = rig.session(server.hosts):mutex(path)
        rig.use(lock)
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
        it("another client's node is a contender #server: " .. name, function()
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
            rig.release(got)
        end)
    end

    it("a node with any other name is no contender (CURATOR-43) #server", function()
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

    it("a changed node still blocks, and wakes nobody (PIT-05)", function()
        local session = lock.session
        foreign("create %s/lock-0000000000 ''", path)
        assert.is_truthy(rig.wait_while(lock, { timeout = 20 }, function()
            rig.wait_for("both watches", function() return session:stats().watches == 2 end)
            local grants = session:stats().grants
            for _ = 1, 2 do
                local before = session:stats().gets
                foreign("set %s/lock-0000000000 new", path)
                rig.wait_for("another look", function() return session:stats().gets > before end)
                rig.settle(session)
                assert.equal(grants, session:stats().grants)
            end
            foreign("delete %s/lock-0000000000", path)
        end))
    end)

    it("the node of a crashed client goes with its session (REQ-08) #server #slow", function()
        local name = foreign("sequential %s/lock- x vanish", path)
        assert.is_truthy(lock:acquire(60))
        assert.is_truthy(name:find("^lock%-%d+$"))
    end)

    it("the end of a node in the middle lets nobody overtake (BUG-12)", function()
        local lease, name, own = hold(lock, 5), "lock-0000000005", rig.session(server.hosts)
        foreign(("create %s/x '' delete %s/x "):rep(5):gsub("%%s", path) ..
                "create %s/%s ''", path, name)
        local got = rig.wait_while(own:mutex(path), { timeout = 20 }, function()
            rig.wait_for_stats(own, { watches = 3 })
            assert.equal(3, #lock:queue())
            assert.equal(name, lock:queue()[2].name)
            foreign("delete %s/%s", path, name)
            rig.wait_for("the event", function() return own:stats().events >= 1 end)
            rig.settle(own)
            assert.equal(0, own:stats().grants)
            lease:release()
        end)
        assert.is_true(got:check(20))
    end)
end)
