-- session:watch(): a function hears how a node is, first, and after each change; the last one is
-- never missed. Faults are in spec/fault/watch_spec.lua.
local rig = require "spec.rig"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: globals unpack

local server, session, path

setup(function()
    server = rig.shared()
end)
before_each(function()
    session = rig.session(server.hosts)
    path = rig.path()
end)
after_each(rig.close_sessions)

-- Watches the path; the calls, as a list of { data, version, code }, and stop().
local function watched(by, at)
    local calls = {}
    return calls, assert(by:watch(at or path, function(...) calls[#calls + 1] = { ... } end))
end

local function last(calls)
    return calls[#calls] or {}
end

local function wait_for_data(calls, data, count)
    rig.wait_for(tostring(data), function()
        return #calls >= (count or 1) and last(calls)[1] == data
    end)
end

-- Watches a node that is made with the data, or none, until that is told; the calls, and stop().
local function told_of(data)
    if data then server:foreign("create %s %s", path, data) end
    local calls, stop = watched(session)
    wait_for_data(calls, data)
    return calls, stop
end

-- Another client's command for the path, and what is told then.
local function changes(calls, command, data)
    local count = #calls + 1
    server:foreign((command:gsub("%%s", path)))
    wait_for_data(calls, data, count)
end

-- Everything that is under way has come by then.
local function settled(...)
    for _, each in ipairs{ session, ... } do
        assert(each:get("/", 5))
        rig.wait_for("no request", function() return each:stats().in_flight == 0 end)
        each:dispatch()
    end
end

-- The same without a dispatch.
local function settled_apart()
    rig.wait_apart("the look", function() return session:stats().in_flight == 0 end)
end

-- Changes the node, and waits until the session has seen it; nothing is dispatched meanwhile.
local function change_apart(change)
    local events = session:stats().events
    server:foreign(change, path)
    rig.wait_apart("the look", function()
        local stats = session:stats()
        return stats.events == events + 1 and stats.in_flight == 0
    end)
end


describe("watch", function()
    it("tells what is there, soon and once; then each change (data, version)", function()
        server:foreign("create %s one", path)
        local calls = watched(session)
        assert.same({}, calls)
        wait_for_data(calls, "one")
        settled()
        assert.same({ { "one", 0 } }, calls)
        changes(calls, "set %s two", "two")
        changes(calls, "set %s three", "three")
        settled()
        assert.same({ { "one", 0 }, { "two", 1 }, { "three", 2 } }, calls)
        if math.type then assert.equal("integer", math.type(calls[3][2])) end
    end)

    it("tells nil while there is no node, and then that it is made, deleted, and made again",
       function()
        local calls = told_of(nil)
        changes(calls, "create %s one", "one")
        changes(calls, "delete %s", nil)
        changes(calls, "create %s two", "two")
        settled()
        assert.same({ {}, { "one", 0 }, {}, { "two", 0 } }, calls)
    end)

    it("tells of a node below one that is not there either", function()
        local calls = watched(session, path .. "/deep")
        wait_for_data(calls, nil)
        changes(calls, "create %s '' create %s/deep here", "here")
    end)

    it("tells that a node was made again, with the same data and version", function()
        local calls = told_of("same")
        local lease = rig.hold(rig.session(server.hosts):mutex(rig.path()))
        assert(lease:guard{ { "delete", path }, { "create", path, "same" } })
        wait_for_data(calls, "same", 2)
        settled()
        assert.same({ { "same", 0 }, { "same", 0 } }, calls)
    end)

    it("does not tell what is not the node's own: children", function()
        local calls = told_of("one")
        server:foreign("create %s/child ''", path)
        settled()
        assert.equal(1, #calls)
    end)

    for name, data in pairs{
        empty = "", ["of NUL"] = "\0", ["of every byte"] = ("\0\1\127\128\255\10%s"):rep(3),
        ["of 500 000 bytes"] = ("0123456789"):rep(50000),
    } do
        it("gives the bytes as they are: data " .. name, function()
            local lease = rig.hold(rig.session(server.hosts):mutex(rig.path()))
            local calls = told_of(nil)
            assert(lease:guard{ { "create", path, data } })
            wait_for_data(calls, data, 2)
            assert(lease:guard{ { "set", path, "x" .. data } })
            wait_for_data(calls, "x" .. data, 3)
            assert.equal(1, last(calls)[2])
        end)
    end

    it("ends with the last of 1 000 quick changes", function()
        server:foreign("create %s 0", path)
        local calls = watched(session)
        local commands = {}
        for n = 1, 1000 do commands[n] = ("set %s %d"):format(path, n) end
        server:foreign("%s", table.concat(commands, " "))
        wait_for_data(calls, "1000")
        settled()
        assert.same({ "1000", 1000 }, last(calls))
        for i = 2, #calls do
            assert.is_true(calls[i][2] > calls[i - 1][2], "told twice, or in another order")
        end
    end)

    it("tells the last of those that came while nobody listened, and no more", function()
        local calls = told_of(nil)
        change_apart("create %s 1")
        for n = 2, 5 do change_apart("set %s " .. n) end
        wait_for_data(calls, "5", 2)
        settled()
        assert.same({ {}, { "5", 4 } }, calls)
    end)

    it("does not tell what was undone before anybody listened", function()
        local calls = told_of(nil)
        change_apart("create %s 1")
        change_apart("delete %s")
        settled()
        assert.same({ {} }, calls)
    end)

    it("is below the chroot", function()
        server:foreign("create %s '' create %s/app root", path, path)
        local calls = watched(rig.session(server.hosts .. path), "/app")
        wait_for_data(calls, "root")
        local root = watched(rig.session(server.hosts .. path), "/")
        wait_for_data(root, "")
        changes(calls, "set %s/app other", "other")
    end)

    it("costs one watch of the path's size, and none after stop(), which may be repeated #server",
       function()
        local before = server:watches()
        local calls, stop = told_of(nil)
        local stats = session:stats()
        assert.equal(1, stats.watches)
        assert.equal(#path + 4, stats.watch_bytes)
        assert.equal(before + 1, server:watches())
        for _ = 1, 2 do assert.equal(0, select("#", stop())) end
        rig.wait_for("no watch at the server", function() return server:watches() == before end)
        stats = session:stats()
        assert.equal(0, stats.watches)
        assert.equal(0, stats.watch_bytes)
        server:foreign("create %s one", path)
        settled()
        assert.same({ {} }, calls)
        stop()
        assert.equal(1, session:stats().watch_removals)
    end)

    it("costs an exists and a get for each change", function()
        local calls = told_of(nil)
        changes(calls, "create %s one", "one")
        local stats = session:stats()
        assert.equal(2, stats.exists)
        assert.equal(2, stats.gets - 1) -- connect() asked for the chroot
    end)

    it("may be stopped in its own call #server", function()
        local before, count, stop = server:watches(), 0, nil
        server:foreign("create %s one", path)
        stop = session:watch(path, function()
            count = count + 1
            stop()
        end)
        rig.wait_for("a call", function() return count == 1 end)
        server:foreign("set %s two", path)
        settled()
        assert.equal(1, count)
        rig.wait_for("no watch", function() return server:watches() == before end)
    end)

    it("may be begun and stopped in other callbacks", function()
        local inner, stop_inner = nil, nil
        local outer = 0
        assert(session:watch(path, function(data)
            outer = outer + 1
            if data then return stop_inner() end
            inner, stop_inner = watched(session)
        end))
        rig.wait_for("the inner one", function() return inner and #inner == 1 end)
        server:foreign("create %s one", path)
        rig.wait_for("the change", function() return outer == 2 end)
        server:foreign("set %s two", path)
        rig.wait_for("the next", function() return outer == 3 end)
        assert.is_true(#inner <= 2)
        assert.equal(1, session:stats().watches)
    end)

    it("calls no function inside of its own call, but again after it", function()
        local told, depth, deepest = {}, 0, 0
        assert(session:watch(path, function(data)
            depth = depth + 1
            deepest = math.max(deepest, depth)
            told[#told + 1] = data or "none"
            if #told == 1 then
                server:foreign("create %s one", path)
                rig.wait_for("an event", function() return session:stats().events > 0 end)
                server:foreign("set %s two", path)
                settled()
            end
            depth = depth - 1
        end))
        rig.wait_for("the last", function() return told[#told] == "two" end)
        assert.equal(1, deepest)
        assert.equal(0, session:stats().callback_errors)
    end)

    it("tells nothing after stop(), also if there was something to tell", function()
        local calls, stop = watched(session)
        settled_apart()
        stop()
        settled()
        assert.same({}, calls)
    end)

    it("counts an error of the function like one of on_state, and goes on", function()
        local count = 0
        assert(session:watch(path, function()
            count = count + 1
            error("problem " .. count, 0)
        end))
        rig.wait_for("a call", function() return count == 1 end)
        assert.equal("problem 1", session:stats().callback_error)
        server:foreign("create %s one", path)
        rig.wait_for("another", function() return count == 2 end)
        settled()
        assert.equal(2, count)
        assert.equal(2, session:stats().callback_errors)
    end)

    it("is called in any wait: dispatch(), sleep, an acquire, tasks, of other sessions, too",
       function()
        local calls = watched(session)
        rig.wait_apart("the first", function()
            session:dispatch()
            return #calls == 1
        end)
        server:foreign("create %s one", path)
        rig.wait_for("in sleep", function() return #calls == 2 end)
        local other, lock = rig.session(server.hosts), rig.path()
        rig.hold(session:mutex(lock))
        server:foreign("set %s two", path)
        rig.wait_for("in a wait of another session's", function()
            assert.equal("timeout", rig.code_of(other:mutex(lock), 0.2))
            return #calls == 3
        end)
        zklock.run(function()
            server:foreign("set %s three", path)
            rig.wait_for("in a task", function() return #calls == 4 end)
        end, function() zklock.sleep(0.1) end)
        assert.same({ "three", 2 }, last(calls))
    end)

    it("tells, after an error left dispatch(), what that did not tell", function()
        local calls = watched(session)
        settled_apart()
        local protect = session.protect
        session.protect = function() error("an interrupt", 0) end
        assert.is_false(pcall(session.dispatch, session))
        session.protect = nil
        assert.equal(protect, session.protect)
        session:dispatch()
        assert.same({ {} }, calls)
        session:dispatch()
        assert.same({ {} }, calls)
    end)

    it("goes on when nothing refers to stop()", function()
        local calls = told_of(nil)
        for _ = 1, 3 do collectgarbage() end
        changes(calls, "create %s one", "one")
    end)

    it("ends with a session that is collected, or closed #server", function()
        local before = server:watches()
        local calls = {}
        do
            local forgotten = assert(zklock.connect(server.hosts))
            assert(forgotten:watch(path, function() calls[#calls + 1] = true end))
            rig.wait_for("a call", function() return #calls == 1 end)
        end
        rig.wait_for("no watch", function()
            collectgarbage()
            return server:watches() == before
        end)
        local mine = watched(session)
        wait_for_data(mine, nil)
        session:close()
        server:foreign("create %s one", path)
        session:dispatch()
        assert.equal(1, #mine)
        assert.equal(1, #calls)
    end)

    it("tells nothing that was to be told when the session was closed", function()
        local calls = watched(session)
        settled_apart()
        session:close()
        session:dispatch()
        assert.same({}, calls)
    end)

    it('gives "closed" of a closed session', function()
        session:close()
        rig.is_refused("closed", path, session:watch(path, print))
    end)

    it("blames the user for a bad path or function, and says what is allowed", function()
        for _, bad in ipairs{ "relative", "/a/", "/a//b", "/a/../b", "/\0", ("/x"):rep(200000) } do
            rig.blames("the path", function() session:watch(bad, print) end)
        end
        rig.blames("what watch calls must be a function", function() session:watch(path) end)
        assert.equal(0, session:stats().watches)
    end)
end)


describe("watches of one path", function()
    it("are each told, and the server has one watch, until the last is stopped #server", function()
        local before = server:watches()
        local first, stop_first = watched(session)
        local second, stop_second = watched(session)
        wait_for_data(first, nil)
        wait_for_data(second, nil)
        assert.equal(1, session:stats().watches)
        stop_first()
        settled()
        assert.equal(before + 1, server:watches())
        assert.equal(0, session:stats().watch_removals)
        server:foreign("create %s one", path)
        wait_for_data(second, "one", 2)
        assert.same({ {} }, first)
        stop_second()
        rig.wait_for("none", function() return server:watches() == before end)
        assert.equal(1, session:stats().watch_removals)
    end)

    it("are told what is there when the second begins later, and each change once", function()
        server:foreign("create %s one", path)
        local first = watched(session)
        wait_for_data(first, "one")
        local second = watched(session)
        wait_for_data(second, "one")
        server:foreign("set %s two", path)
        wait_for_data(first, "two", 2)
        wait_for_data(second, "two", 2)
        settled()
        assert.equal(2, #first)
        assert.equal(2, #second)
    end)

    it("may be stopped and begun again at once", function()
        local stops = {}
        server:foreign("create %s one", path)
        for i = 1, 20 do
            local calls
            calls, stops[i] = watched(session)
            if i > 1 then stops[i - 1]() end
            if i == 20 then
                wait_for_data(calls, "one")
                changes(calls, "set %s two", "two")
                assert.equal(2, #calls)
            end
        end
        assert.equal(1, session:stats().watches)
    end)
end)


describe("a watch of a lock's node", function()
    local other, lease, node

    before_each(function()
        other = rig.session(server.hosts)
        lease = rig.hold(other:mutex(path))
        node = server:nodes(path)[1]
    end)

    it("hears of its end, as the claim of this session behind it does", function()
        local calls = watched(session, node)
        rig.released((rig.wait_while(session:mutex(path), { timeout = 20 }, function()
            rig.wait_for("a call", function() return #calls == 1 end)
            lease:release()
        end)))
        wait_for_data(calls, nil, 2)
        assert.equal(2, #calls)
    end)

    it("goes on when that claim gives up", function()
        local calls = watched(session, node)
        rig.wait_for("a call", function() return #calls == 1 end)
        assert.equal("timeout", rig.code_of(session:mutex(path), 0.3))
        rig.at_rest(session)
        assert.equal(0, session:stats().watch_removals)
        server:foreign("set %s changed", node)
        wait_for_data(calls, "changed", 2)
        lease:release()
        wait_for_data(calls, nil, 3)
    end)

    it("may be stopped without harm to that claim", function()
        local _, stop = watched(session, node)
        rig.released((rig.wait_while(session:mutex(path), { timeout = 20 }, function()
            rig.wait_for("the watches", function() return session:stats().in_flight == 0 end)
            stop()
            settled()
            assert.equal(0, session:stats().watch_removals)
            lease:release()
        end)))
    end)

    it("may be of the session's own: revocation and end are heard by both", function()
        local quick = rig.session(server.hosts, { timeout = 3 })
        local lock = quick:mutex(rig.path())
        local own = rig.hold(lock)
        local calls = watched(quick, server:nodes(lock.path)[1])
        rig.wait_for("a call", function() return #calls == 1 end)
        local revoked = 0
        own:on_revoke(function() revoked = revoked + 1 end)
        assert.equal(1, other:mutex(lock.path):revoke(5))
        rig.wait_for("the wish", function() return revoked == 1 and #calls == 2 end)
        rig.released(own)
        wait_for_data(calls, nil, 3)
        assert.equal(3, #calls)
    end)
end)


describe("what may be watched", function()
    local FILL = ("x"):rep(2000)

    local function quiet() end

    local function watch_long(i)
        return session:watch(("%s%s%d"):format(path, FILL, i), quiet)
    end

    it("is limited with what claims watch; a stop makes room, a second watch needs none", function()
        local stops = {}
        repeat
            local stop = watch_long(#stops + 1)
            stops[#stops + 1] = stop
        until not stop or #stops == 140
        assert.is_true(#stops > 100 and #stops < 140, #stops)
        rig.is_refused("too_many", "256 KB", watch_long(#stops + 1))
        local stats = session:stats()
        assert.is_true(stats.watch_bytes <= stats.watch_bytes_limit)
        assert(session:watch(path .. FILL .. "1", quiet))
        settled() -- what is asked for counts until it is answered
        stops[2]()
        assert(session:watch(path .. FILL .. "a", quiet))
        assert.is_nil((session:watch(path .. FILL .. "bcd", quiet)))
        for _, stop in ipairs(stops) do stop() end
    end)
end)


-- The server tells of no such node's changes, nor of those of its ACL.
describe("a node that may not be read", function()
    before_each(function() session = rig.session(server.hosts, { timeout = 1 }) end)

    local function is_refused(calls, count)
        rig.wait_for("refused", function()
            return #calls == count and last(calls)[3] == "auth"
        end)
    end

    it("is told with message and code; that it may be read, and that it is gone, too #server #slow",
       function()
        server:foreign("create %s secret hide %s", path, path)
        local calls = watched(session)
        is_refused(calls, 1)
        local data, message = unpack(calls[1], 1, 2)
        assert.is_nil(data)
        assert.is_truthy(message:find(path, 1, true), message)
        changes(calls, "show %s", "secret")
        server:foreign("hide %s set %s other", path, path)
        is_refused(calls, 3)
        changes(calls, "set %s another show %s", "another")
        server:foreign("hide %s", path)
        is_refused(calls, 5)
        changes(calls, "delete %s", nil)
        assert.same({}, last(calls))
        changes(calls, "create %s new", "new")
        assert.equal(7, #calls)
    end)

    it("is found when it was made so, and is heard of after that #server #slow", function()
        local calls = told_of(nil)
        local owner = rig.session(server.hosts, { auth = "digest:ann:a", acl = "creator" })
        local lease = rig.hold(owner:mutex(rig.path()))
        assert(lease:guard{ { "create", path, "secret" } })
        is_refused(calls, 2)
        assert(lease:guard{ { "delete", path } })
        wait_for_data(calls, nil, 3)
        changes(calls, "create %s new", "new")
    end)

    it("is not told again while nothing else is known of it #server #slow", function()
        server:foreign("create %s secret hide %s", path, path)
        local calls = watched(session)
        is_refused(calls, 1)
        local gets = session:stats().gets
        rig.wait_for("two looks", function() return session:stats().gets >= gets + 2 end)
        settled()
        assert.equal(1, #calls)
    end)
end)


describe("the check that comes once a session timeout", function()
    it("is one request, and reads what did not change no more #server #slow", function()
        session = rig.session(server.hosts, { timeout = 3 })
        local calls = told_of("one")
        local before = session:stats()
        rig.wait_for("two checks", function()
            return session:stats().exists >= before.exists + 2
        end)
        assert.equal(before.gets, session:stats().gets)
        server:foreign("show %s", path)
        rig.wait_for("a look", function() return session:stats().gets > before.gets end)
        local exists, gets = session:stats().exists, session:stats().gets
        rig.wait_for("two checks", function() return session:stats().exists >= exists + 2 end)
        assert.equal(gets, session:stats().gets)
        settled()
        assert.same({ { "one", 0 } }, calls)
    end)
end)
