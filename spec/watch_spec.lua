--- [lua luajit asan tsan memory worlds tls] session:watch() tells a function the state of a node,
-- first and after each change, and never misses the last change. Faults are in
-- spec/fault/watch_spec.lua.
local rig = require "spec.rig"
local zklock = require "zklock"

local catch_up, hears, watch = rig.catch_up, rig.hears, rig.watch

local server, session, path

before_each(function() server, path, session = rig.begin(1) end)
after_each(rig.close_sessions)

local function change(commands)
    server:foreign((commands:gsub("%%s", path)))
end

-- Makes a node with the data, if given, and watches it until that is told. Returns as
-- rig.watch().
local function watch_until_told(data)
    if data then change("create %s " .. data) end
    local calls, stop, versions = watch(session, path)
    hears(calls, data or "none")
    return calls, stop, versions
end

local function change_and_hear(calls, commands, data)
    local count = #calls + 1
    change(commands)
    hears(calls, data, count)
end

local function settle_apart()
    rig.wait_apart("the look", function() return session:stats().in_flight == 0 end)
end

local function change_apart(commands)
    local events = session:stats().events
    change(commands)
    rig.wait_apart("the look", function()
        local stats = session:stats()
        return stats.events == events + 1 and stats.in_flight == 0
    end)
end


describe("watch #session:watch", function()
    it("a watch tells the first state soon and once, then each change but those of children",
       function()
        change("create %s one")
        local calls, _, versions = watch(session, path)
        assert.same({}, calls)
        hears(calls, "one")
        catch_up(session)
        assert.same({ "one" }, calls)
        change_and_hear(calls, "set %s two", "two")
        change("create %s/child ''")
        change_and_hear(calls, "set %s three delete %s/child", "three")
        change_and_hear(calls, "delete %s", "none")
        change_and_hear(calls, "create %s four", "four")
        catch_up(session)
        assert.same({ "one", "two", "three", "none", "four" }, calls)
        assert.same({ 0, 1, 2, nil, 0 }, versions)
        if math.type then assert.equal("integer", math.type(versions[3])) end
    end)

    it("a watch finds a node that is made together with its parent", function()
        local calls = watch(session, path .. "/deep")
        hears(calls, "none")
        change_and_hear(calls, "create %s '' create %s/deep here", "here")
    end)

    it("a watch tells that a node was made again with the same data and version", function()
        local calls, _, versions = watch_until_told("same")
        local lease = rig.hold_elsewhere(server, rig.path())
        assert(lease:guard{ { "delete", path }, { "create", path, "same" } })
        hears(calls, "same", 2)
        catch_up(session)
        assert.same({ "same", "same" }, calls)
        assert.same({ 0, 0 }, versions)
    end)

    for name, data in pairs{
        empty = "", ["of NUL"] = "\0", ["of every byte"] = ("\0\1\127\128\255\10%s"):rep(3),
        ["of 500 000 bytes"] = ("0123456789"):rep(50000),
    } do
        it("a watch gives the bytes as they are, with data " .. name, function()
            local lease = rig.hold_elsewhere(server, rig.path())
            local calls, _, versions = watch_until_told(nil)
            assert(lease:guard{ { "create", path, data } })
            hears(calls, data, 2)
            assert(lease:guard{ { "set", path, "x" .. data } })
            hears(calls, "x" .. data, 3)
            assert.equal(1, versions[3])
        end)
    end

    it("a watch ends with the last of 1 000 quick changes", function()
        change("create %s 0")
        local calls, _, versions = watch(session, path)
        local commands = {}
        for n = 1, 1000 do commands[n] = "set %s " .. n end
        change(table.concat(commands, " "))
        hears(calls, "1000")
        catch_up(session)
        assert.equal(1000, versions[#calls])
        for i = 2, #calls do
            assert.is_true(versions[i] > versions[i - 1], "told twice, or in another order")
        end
    end)

    it("a watch tells only the last change since the last dispatch, and nothing if it was undone",
       function()
        local calls, _, versions = watch_until_told(nil)
        change_apart("create %s 1")
        change_apart("delete %s")
        catch_up(session)
        assert.same({ "none" }, calls)
        change_apart("create %s 1")
        for n = 2, 5 do change_apart("set %s " .. n) end
        hears(calls, "5", 2)
        catch_up(session)
        assert.same({ "none", "5" }, calls)
        assert.equal(4, versions[2])
    end)

    it("a watch's path is below the chroot", function()
        change("create %s '' create %s/app root")
        local calls = watch(rig.session(server.hosts .. path), "/app")
        hears(calls, "root")
        hears(watch(rig.session(server.hosts .. path), "/"), "")
        change_and_hear(calls, "set %s/app other", "other")
    end)

    it("a watch costs one watch of the path's size, and none after stop() #server", function()
        local before = server:watches()
        local calls, stop = watch_until_told(nil)
        local stats = session:stats()
        assert.equal(1, stats.watches)
        assert.equal(#path + 4, stats.watch_bytes)
        assert.equal(before + 1, server:watches())
        stop()
        server:wait_for_watches(before)
        change("create %s one")
        catch_up(session)
        assert.same({ "none" }, calls)
        stop()
        assert.equal(1, session:stats().watch_removals)
    end)

    it("a change costs an exists and a get", function()
        change_and_hear(watch_until_told(nil), "create %s one", "one")
        local stats = session:stats()
        assert.equal(2, stats.exists)
        assert.equal(2, stats.gets - 1) -- without the get of the chroot by connect()
    end)

    it("a watch may begin and stop in other callbacks", function()
        local inner, stop_inner = nil, nil
        local outer = 0
        assert(session:watch(path, function(data)
            outer = outer + 1
            if data then return stop_inner() end
            inner, stop_inner = watch(session, path)
        end))
        rig.wait_for("the call of the inner watch", function() return inner and #inner == 1 end)
        change("create %s one")
        rig.wait_for("the change", function() return outer == 2 end)
        change("set %s two")
        rig.wait_for("the next change", function() return outer == 3 end)
        assert.is_true(#inner <= 2)
        assert.equal(1, session:stats().watches)
    end)

    it("a watch never calls its function inside that function, but after it", function()
        local told, depth, deepest = {}, 0, 0
        assert(session:watch(path, function(data)
            depth = depth + 1
            deepest = math.max(deepest, depth)
            told[#told + 1] = data or "none"
            if #told == 1 then
                change("create %s one")
                rig.wait_for("an event", function() return session:stats().events > 0 end)
                change("set %s two")
                catch_up(session)
            end
            depth = depth - 1
        end))
        hears(told, "two")
        assert.equal(1, deepest)
        assert.equal(0, session:stats().callback_errors)
    end)

    it("a watch is called in any wait, as dispatch(), sleep, tasks, or another session's acquire",
       function()
        local calls, _, versions = watch(session, path)
        rig.wait_apart("the first", function()
            session:dispatch()
            return #calls == 1
        end)
        change_and_hear(calls, "create %s one", "one")
        local other, lock = rig.session(server.hosts), rig.path()
        rig.hold(session:mutex(lock))
        change("set %s two")
        rig.wait_for("a call in a wait of another session", function()
            assert.equal("timeout", rig.code_of(other:mutex(lock), 0.2))
            return #calls == 3
        end)
        zklock.run(function()
            change_and_hear(calls, "set %s three", "three")
        end, function() zklock.sleep(0.1) end)
        assert.equal(2, versions[4])
    end)

    it("a watch ends when its session is collected #server", function()
        local before, calls = server:watches(), 0
        do
            local forgotten = assert(zklock.connect(server.hosts))
            assert(forgotten:watch(path, function() calls = calls + 1 end))
            rig.wait_for("a call", function() return calls == 1 end)
        end
        rig.wait_for("no watch", function()
            collectgarbage()
            return server:watches() == before
        end)
        change("create %s one")
        catch_up(session)
        assert.equal(1, calls)
    end)
end)


for verb, argument in pairs{ watch = "the path", members = "the folder" } do
    describe("a function that " .. verb .. " calls", function()
        local calls

        local function begin(fn)
            calls = 0
            return assert(session[verb](session, path, function()
                calls = calls + 1
                if fn then fn() end
            end))
        end

        local function wait_for_calls(count)
            rig.wait_for(count .. " calls", function() return calls == count end)
        end

        local function make_nodes() change("create %s one create %s/a ''") end

        it("the function may stop its watch", function()
            local stop
            stop = begin(function() stop() end)
            wait_for_calls(1)
            make_nodes()
            catch_up(session)
            assert.equal(1, calls)
            local stats = session:stats()
            assert.equal(0, stats.watches)
            assert.equal(1, stats.watch_removals)
        end)

        it("an error of the function is counted, and the calls go on", function()
            begin(function() error("problem " .. calls, 0) end)
            wait_for_calls(1)
            assert.equal("problem 1", session:stats().callback_error)
            make_nodes()
            wait_for_calls(2)
            catch_up(session)
            assert.equal(2, calls)
            assert.equal(2, session:stats().callback_errors)
        end)

        it("the function is told later if an error left dispatch() first", function()
            begin()
            settle_apart()
            session.protect = function() error("an interrupt", 0) end
            assert.is_false(pcall(session.dispatch, session))
            session.protect = nil
            for _ = 1, 2 do
                session:dispatch()
                assert.equal(1, calls)
            end
        end)

        it("the calls go on when nothing refers to stop()", function()
            begin()
            wait_for_calls(1)
            for _ = 1, 3 do collectgarbage() end
            make_nodes()
            wait_for_calls(2)
        end)

        it("the function is not called after stop() or the session's end, also if there was news",
           function()
            make_nodes()
            local stop = begin()
            settle_apart()
            for _ = 1, 2 do assert.equal(0, select("#", stop())) end
            catch_up(session)
            assert.equal(0, calls)
            local stats = session:stats()
            assert.equal(0, stats.watches)
            assert.equal(0, stats.watch_bytes)
            begin()
            settle_apart()
            session:close()
            session:dispatch()
            assert.equal(0, calls)
            rig.check_refused("closed", path, session[verb](session, path, print))
        end)

        it("the function is told last that a session without reopen expired", function()
            local memory = rig.memory "last"
            local final, told = rig.session(memory.hosts, { reopen = false }), {}
            local stop = assert(final[verb](final, path, function(_, message, code)
                told[#told + 1] = { message, code }
            end))
            rig.wait_for("the first call", function() return told[1] end)
            memory.memory:expire(final)
            rig.wait_for("the last call", function() return told[2] end)
            rig.check_refused("expired", path, nil, told[2][1], told[2][2])
            assert.equal(0, final:stats().watches)
            stop()
            final:dispatch()
            assert.equal(2, #told)
        end)

        it("a value that is no function, or an invalid path, blames the user", function()
            for _, bad in ipairs{ "relative", "/a/", "/a//b", "/a/../b", "/\0",
                                  ("/x"):rep(200000) } do
                rig.blames(argument, function() session[verb](session, bad, print) end)
            end
            rig.blames(("fn of %s must be a function"):format(verb), function()
                session[verb](session, path)
            end)
            assert.equal(0, session:stats().watches)
        end)
    end)
end


describe("two watches of one path #session:watch", function()
    it("both functions are told by one watch of the server, until the last is stopped #server",
       function()
        local before = server:watches()
        local first, stop_first = watch_until_told(nil)
        local second, stop_second = watch_until_told(nil)
        assert.equal(1, session:stats().watches)
        stop_first()
        catch_up(session)
        assert.equal(before + 1, server:watches())
        assert.equal(0, session:stats().watch_removals)
        change_and_hear(second, "create %s one", "one")
        assert.same({ "none" }, first)
        stop_second()
        server:wait_for_watches(before)
        assert.equal(1, session:stats().watch_removals)
    end)

    it("a second watch is told the state when it begins, and both are told each change once",
       function()
        local first = watch_until_told("one")
        local second = watch(session, path)
        hears(second, "one")
        change_and_hear(first, "set %s two", "two")
        hears(second, "two")
        catch_up(session)
        assert.equal(2, #first)
        assert.equal(2, #second)
    end)

    it("a watch may stop and begin again at once", function()
        change("create %s one")
        local calls, stop = watch(session, path)
        for _ = 2, 20 do
            local stop_former = stop
            calls, stop = watch(session, path)
            stop_former()
        end
        hears(calls, "one")
        change_and_hear(calls, "set %s two", "two")
        assert.equal(2, #calls)
        assert.equal(1, session:stats().watches)
    end)
end)


describe("a watch of a lock's node #session:watch", function()
    local other, lease, calls, stop

    before_each(function()
        other = rig.session(server.hosts)
        lease = rig.hold(other:mutex(path))
        calls, stop = watch(session, server:nodes(path)[1])
        rig.wait_for("a call", function() return #calls == 1 end)
    end)

    it("the watch goes on when a claim behind the node gives up, and both hear of the node's end",
       function()
        local lock = session:mutex(path)
        assert.equal("timeout", rig.code_of(lock, 0.3))
        rig.come_to_rest(session)
        assert.equal(0, session:stats().watch_removals)
        server:foreign("set %s changed", server:nodes(path)[1])
        hears(calls, "changed", 2)
        rig.release((rig.wait_while(lock, { timeout = 20 }, function() lease:release() end)))
        hears(calls, "none", 3)
        assert.equal(3, #calls)
    end)

    it("the watch may stop without harm to the claim behind the node", function()
        rig.release((rig.wait_while(session:mutex(path), { timeout = 20 }, function()
            rig.settle(session)
            stop()
            catch_up(session)
            assert.equal(0, session:stats().watch_removals)
            lease:release()
        end)))
    end)

    it("the watch and the node's own session both hear of a revocation and of the end", function()
        local quick = rig.session(server.hosts, { timeout = 3 })
        local lock = quick:mutex(rig.path())
        local own = rig.hold(lock)
        calls = watch(quick, server:nodes(lock.path)[1])
        rig.wait_for("a call", function() return #calls == 1 end)
        local revoked = 0
        own:on_revoke(function() revoked = revoked + 1 end)
        assert.equal(1, other:mutex(lock.path):revoke(5))
        rig.wait_for("the request", function() return revoked == 1 and #calls == 2 end)
        rig.release(own)
        hears(calls, "none", 3)
        assert.equal(3, #calls)
    end)
end)


describe("the limit of watches #session:watch", function()
    local function watch_long(suffix)
        return session:watch(path .. ("x"):rep(2000) .. suffix, function() end)
    end

    it("a watch above the limit is refused; a stop makes room, and a second watch of a path " ..
    "needs none", function()
        local stops = {}
        repeat
            local stop = watch_long(#stops + 1)
            stops[#stops + 1] = stop
        until not stop or #stops == 140
        assert.is_true(#stops > 100 and #stops < 140, #stops)
        rig.check_refused("too_many", "256 KB", watch_long(#stops + 1))
        local stats = session:stats()
        assert.is_true(stats.watch_bytes <= stats.watch_bytes_limit)
        assert(watch_long(1))
        catch_up(session)
        stops[2]()
        assert(watch_long("a"))
        assert.is_nil((watch_long("bcd")))
        for _, stop in ipairs(stops) do stop() end
    end)
end)


-- The server sends no events of such a node, nor of its ACL.
describe("a node that may not be read #session:watch", function()
    before_each(function() session = rig.session(server.hosts, { timeout = 1 }) end)

    it("a watch tells auth once, and later that the node may be read, or its end #server #slow",
       function()
        change("create %s secret hide %s")
        local calls, _, messages = watch(session, path)
        hears(calls, "auth")
        assert.is_truthy(messages[1]:find(path, 1, true), messages[1])
        local gets = session:stats().gets
        rig.wait_for("two looks", function() return session:stats().gets >= gets + 2 end)
        catch_up(session)
        assert.equal(1, #calls)
        change_and_hear(calls, "show %s", "secret")
        change_and_hear(calls, "hide %s set %s other", "auth")
        change_and_hear(calls, "set %s another show %s", "another")
        change_and_hear(calls, "hide %s", "auth")
        change_and_hear(calls, "delete %s", "none")
        change_and_hear(calls, "create %s new", "new")
        assert.equal(7, #calls)
    end)

    it("a watch tells auth of a node that is made unreadable, and its later states #server #slow",
       function()
        local calls = watch_until_told(nil)
        local owner = rig.session(server.hosts, { auth = "digest:ann:a", acl = "creator" })
        local lease = rig.hold(owner:mutex(rig.path()))
        assert(lease:guard{ { "create", path, "secret" } })
        hears(calls, "auth", 2)
        assert(lease:guard{ { "delete", path } })
        hears(calls, "none", 3)
        change_and_hear(calls, "create %s new", "new")
        assert.equal(4, #calls)
    end)
end)


describe("the check once a session timeout #session:watch", function()
    it("the check is one request, and reads nothing that did not change #server #slow", function()
        session = rig.session(server.hosts, { timeout = 3 })
        local calls = watch_until_told("one")
        for _ = 1, 2 do
            local before = session:stats()
            rig.wait_for("two checks", function()
                return session:stats().exists >= before.exists + 2
            end)
            assert.equal(before.gets, session:stats().gets)
            change("show %s")
            rig.wait_for("a look", function() return session:stats().gets > before.gets end)
        end
        catch_up(session)
        assert.same({ "one" }, calls)
    end)
end)
