-- session:watch() when connections, replies, sessions and servers are lost: the last change is
-- told, once, and what did not change is not told again.
local fault = require "spec.fault.fault"
local rig = require "spec.rig"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: globals unpack

local server, proxy, path

-- The data and codes it was called with, "none" for nil.
local function watched(session)
    local calls = {}
    local stop = assert(session:watch(path, function(data, _, code)
        calls[#calls + 1] = data or code or "none"
    end))
    return calls, stop
end

local function has(calls, count, data)
    rig.wait_for(("call %d, %s"):format(count, data), function()
        return #calls >= count and calls[#calls] == data
    end, 30)
end

-- Everything that is under way has come, and these were all calls.
local function told(session, calls, ...)
    local expected = { ... }
    has(calls, #expected, expected[#expected])
    rig.wait_for("an answer", function() return session:get("/", 5) end, 30)
    rig.wait_for("no request", function() return session:stats().in_flight == 0 end)
    session:dispatch()
    assert.same(expected, calls)
end

setup(function()
    server = rig.shared()
end)
before_each(function()
    path = rig.path()
    proxy = rig.proxy_for_test(server.hosts)
end)
after_each(rig.close_sessions)


describe("a watch", function()
    local session

    before_each(function() session = rig.session(proxy.hosts, { timeout = 6 }) end)

    local outages = {
        cut = { "refuse", "cut" },
        blackhole = { "blackhole" },
        halfopen = { "halfopen" },
        ["halfopen, then cut"] = { "halfopen", "refuse", "cut" },
    }

    local changes = {
        ["was changed"] = { before = "create %s old", "set %s new", told = "new" },
        ["was changed twice"] = { before = "create %s old", "set %s x", "set %s new",
                                  told = "new" },
        ["was deleted"] = { before = "create %s old", "delete %s", told = "none" },
        ["was made again"] = { before = "create %s old", "delete %s", "create %s old",
                               told = "old" },
        ["was made"] = { "create %s new", told = "new" },
        ["was made and changed"] = { "create %s x", "set %s new", told = "new" },
        -- Of these nothing is told.
        ["was made and deleted again"] = { "create %s x", "delete %s" },
        ["was left as it was"] = { before = "create %s old" },
    }

    for name, outage in pairs(outages) do
        for what, change in pairs(changes) do
            local count = change.told and "once that" or "nothing when"
            it(("tells %s the node %s meanwhile: %s #slow"):format(count, what, name), function()
                if change.before then server:foreign(change.before, path) end
                local news = { change.before and "old" or "none" }
                local calls = watched(session)
                told(session, calls, unpack(news))
                for _, command in ipairs(outage) do proxy:command(command) end
                for _, each in ipairs(change) do server:foreign(each, path) end
                if not change.told then
                    rig.eventually(function() return session:state() ~= "connected" end, 1)
                end
                fault.heal(proxy)
                news[2] = change.told
                told(session, calls, unpack(news))
                server:foreign(news[#news] == "none" and "create %s end" or "set %s end", path)
                news[#news + 1] = "end"
                told(session, calls, unpack(news))
            end)
        end
    end

    it("that is begun without a connection tells as soon as there is one, once", function()
        server:foreign("create %s here", path)
        fault.suspend(proxy, session)
        local calls = watched(session)
        assert.equal(1, session:stats().watches, "there will be room for it")
        zklock.sleep(0.1)
        assert.same({}, calls)
        proxy:command("accept")
        told(session, calls, "here")
    end)

    -- Each of the two requests of a look: the first one, and the one after a change.
    for _, kind in ipairs{ "drop-request", "drop-reply", "cut-after" } do
        for _, operation in ipairs{ "exists", "getData" } do
            for n = 1, 2 do
                it(("goes on when a look is lost: %s %s %d"):format(kind, operation, n), function()
                    server:foreign("create %s old", path)
                    local lost = session:stats().reconnects
                    proxy:command("%s %s %d", kind, operation, n)
                    local calls = watched(session)
                    has(calls, 1, "old")
                    server:foreign("set %s new", path)
                    has(calls, 2, "new")
                    fault.reconnected(session, lost + 1)
                    told(session, calls, "old", "new")
                    server:foreign("delete %s", path)
                    told(session, calls, "old", "new", "none")
                    assert.equal(1, session:stats().watches)
                end)
            end
        end
    end

    for what, change in pairs{
        ["a change"] = { "set %s between", told = "between", after = "set %s after" },
        ["a deletion"] = { "delete %s", told = "none", after = "create %s after" },
    } do
        it(("hears of %s between the two requests of a look"):format(what), function()
            server:foreign("create %s old", path)
            proxy:command("hold getData 1")
            local calls = watched(session)
            rig.wait_for("the exists answered", function()
                return session:stats().in_flight == 1
            end)
            server:foreign(change[1], path)
            proxy:command("flow")
            told(session, calls, change.told)
            server:foreign(change.after, path)
            told(session, calls, change.told, "after")
        end)
    end

    for _, operation in ipairs{ "exists", "getData" } do
        it("that is stopped while a look is under way tells nothing, and leaves no watch: " ..
           operation, function()
            local before = server:watches()
            server:foreign("create %s old", path)
            proxy:command("hold %s 1", operation)
            local calls, stop = watched(session)
            rig.wait_for("a request", function() return session:stats().in_flight > 0 end)
            stop()
            proxy:command("flow")
            rig.wait_for("no watch", function()
                return session:stats().watches == 0 and server:watches() <= before
            end)
            server:foreign("set %s new", path)
            assert(session:get("/", 5))
            assert.same({}, calls)
        end)
    end

    it("that is stopped without a connection leaves no watch", function()
        local before = server:watches()
        local calls, stop = watched(session)
        told(session, calls, "none")
        fault.suspend(proxy, session)
        stop()
        proxy:command("accept")
        fault.reconnected(session, 1)
        rig.wait_for("no watch", function()
            return session:stats().watches == 0 and server:watches() <= before
        end)
    end)

    it("tells the last of many changes while the connection is cut again and again", function()
        server:foreign("create %s 0", path)
        local calls = watched(session)
        has(calls, 1, "0")
        for n = 1, 15 do
            server:foreign("set %s %da set %s %db", path, n, path, n)
            if n % 3 == 0 then proxy:command("cut") end
            zklock.sleep(0)
        end
        server:foreign("set %s end", path)
        has(calls, 2, "end")
        for i = 2, #calls do assert.is_true(calls[i] ~= calls[i - 1], "told twice") end
    end)
end)


describe("a watch of a session that expires", function()
    it("tells in the next session what changed, and goes on; the watch counts meanwhile #slow",
       function()
        local session = rig.session(proxy.hosts, { timeout = 3 })
        server:foreign("create %s old", path)
        local calls = watched(session)
        told(session, calls, "old")
        local bytes = session:stats().watch_bytes
        fault.expire(proxy, session, function() server:foreign("set %s new", path) end)
        assert.equal(bytes, session:stats().watch_bytes)
        told(session, calls, "old", "new")
        server:foreign("delete %s", path)
        told(session, calls, "old", "new", "none")
        assert.equal(1, session:stats().watches)
        assert.equal(bytes, session:stats().watch_bytes)
    end)

    it("does not tell again what did not change #slow", function()
        local session = rig.session(proxy.hosts, { timeout = 3 })
        server:foreign("create %s old", path)
        local calls, stop = watched(session)
        local absent = {}
        assert(session:watch(path .. "-none", function(data)
            absent[#absent + 1] = data or "none"
        end))
        told(session, calls, "old")
        fault.expire(proxy, session)
        told(session, calls, "old")
        assert.same({ "none" }, absent)
        server:foreign("set %s new", path)
        told(session, calls, "old", "new")
        local before = server:watches()
        stop()
        rig.wait_for("one watch less", function() return server:watches() <= before - 1 end)
    end)

    it("ends with a session that is not opened anew; another is refused #slow", function()
        local session = rig.session(proxy.hosts, { timeout = 3, reopen = false })
        local calls, stop = watched(session)
        told(session, calls, "none")
        fault.expire(proxy, session, function() server:foreign("create %s new", path) end)
        fault.fails("expired", session:watch(path, print))
        stop()
        assert.same({ "none" }, calls)
        assert.equal(0, session:stats().watches)
    end)
end)


describe("a watch of a server that stops", function()
    local own
    setup(function() own = rig.server() end)
    teardown(function() own:stop() end)
    before_each(function() path = "/config" end)

    it("goes on when it is back", function()
        own:foreign("create %s old", path)
        local session = rig.session(own.hosts, { timeout = 30 })
        local calls = watched(session)
        told(session, calls, "old")
        own:kill()
        own:restart()
        own:foreign("set %s new", path)
        told(session, calls, "old", "new")
        own:foreign("delete %s", path)
        told(session, calls, "old", "new", "none")
    end)

    it("tells what is there when it is back without its data, also by the same zxid #slow",
       function()
        -- Each time the node is the first thing that is made, in a session that is the first.
        local function begin(data)
            fault.wipe(own)
            own:foreign("create %s %s", path, data)
        end
        begin("old")
        local session = rig.session(own.hosts, { timeout = 1 })
        local calls = watched(session)
        has(calls, 1, "old")
        begin("new")
        has(calls, 2, "new")
        own:foreign("set %s after", path)
        has(calls, 3, "after")
        assert.same({ "old", "new", "after" }, { calls[1], calls[#calls - 1], calls[#calls] })
    end)
end)
