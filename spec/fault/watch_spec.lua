--- [lua asan tsan] session:watch() when connections, replies, sessions and servers are lost. The
-- last change is told once, and no unchanged state is told again. See also members_spec.lua.
local fault = require "spec.fault.fault"
local rig = require "spec.rig"
local zklock = require "zklock"

local hears, watch = rig.hears, rig.watch
local unpack = table.unpack or unpack -- luacheck: globals unpack

local server, path, session, proxy

before_each(function()
    server, path = rig.begin(0)
    session, proxy = rig.behind_proxy(server.hosts, { timeout = 6 })
end)
after_each(rig.close_sessions)

local function change(commands)
    server:foreign((commands:gsub("%%s", path)))
end

local function check_told(calls, ...)
    local expected = { ... }
    hears(calls, expected[#expected], #expected)
    rig.catch_up(session)
    assert.same(expected, calls)
end


describe("a watch #session:watch", function()
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
        -- The function is not called for these.
        ["was made and deleted again"] = { "create %s x", "delete %s" },
        ["was left as it was"] = { before = "create %s old" },
    }

    for name, outage in pairs(outages) do
        for what, each in pairs(changes) do
            local count = each.told and "once that" or "nothing when"
            it(("a watch tells %s the node %s during an outage by %s " ..
                "#slow"):format(count, what, name),
               function()
                if each.before then change(each.before) end
                local news = { each.before and "old" or "none" }
                local calls = watch(session, path)
                check_told(calls, unpack(news))
                for _, command in ipairs(outage) do proxy:command(command) end
                for _, command in ipairs(each) do change(command) end
                if not each.told then
                    rig.eventually(function() return session:state() ~= "connected" end, 1)
                end
                fault.heal(proxy)
                news[2] = each.told
                check_told(calls, unpack(news))
                change(news[#news] == "none" and "create %s end" or "set %s end")
                news[#news + 1] = "end"
                check_told(calls, unpack(news))
            end)
        end
    end

    it("a watch begun without a connection tells after the reconnect, and may stop during an " ..
       "outage", function()
        change("create %s here")
        local before = server:watches()
        fault.suspend(proxy, session)
        local calls, stop = watch(session, path)
        assert.equal(1, session:stats().watches, "there will be room for it")
        zklock.sleep(0.1)
        assert.same({}, calls)
        proxy:command("accept")
        check_told(calls, "here")
        fault.suspend(proxy, session)
        stop()
        proxy:command("accept")
        fault.wait_for_reconnects(session, 2)
        rig.wait_for_stats(session, { watches = 0 })
        server:wait_for_watches(before)
    end)

    -- The first look, and the look after a change.
    for _, loss in ipairs{ "drop-request exists 1", "drop-reply getData 1", "cut-after exists 2",
                           "drop-reply exists 2", "drop-request getData 2" } do
        it("a watch goes on when a look is lost: " .. loss, function()
            change("create %s old")
            proxy:command(loss)
            local calls = watch(session, path)
            hears(calls, "old")
            change("set %s new")
            hears(calls, "new", 2)
            fault.wait_for_reconnects(session, 1)
            check_told(calls, "old", "new")
            change("delete %s")
            check_told(calls, "old", "new", "none")
            assert.equal(1, session:stats().watches)
        end)
    end

    for what, each in pairs{
        ["a change"] = { "set %s between", told = "between", after = "set %s after" },
        ["a deletion"] = { "delete %s", told = "none", after = "create %s after" },
    } do
        it(("a watch hears of %s between the two requests of a look"):format(what), function()
            change("create %s old")
            proxy:command("hold getData 1")
            local calls = watch(session, path)
            rig.wait_for_stats(session, { in_flight = 1 })
            change(each[1])
            proxy:command("flow")
            check_told(calls, each.told)
            change(each.after)
            check_told(calls, each.told, "after")
        end)
    end
end)


for what, each in pairs{
    ["a watch"] = { look = rig.watch, operation = "exists", first = "0", last = "end" },
    ["a list of members"] = { look = rig.follow, operation = "getChildren", first = "a=0",
                              last = "a=end" },
} do
    describe(what, function()
        before_each(function() change("create %s 0 create %s/a 0") end)

        it("the last of many changes is told while the connection is cut again and again",
           function()
            local calls = each.look(session, path)
            hears(calls, each.first)
            for n = 1, 15 do
                change(("set %%s %da set %%s/a %d create %%s/b x delete %%s/b set %%s %db"):format(
                    n, n, n))
                if n % 3 == 0 then proxy:command("cut") end
                zklock.sleep(0)
            end
            change("set %s end set %s/a end")
            hears(calls, each.last)
            for i = 2, #calls do assert.is_true(calls[i] ~= calls[i - 1], "told twice") end
        end)

        for _, operation in ipairs{ each.operation, "getData" } do
            it("a stop leaves no watch, and tells nothing, during its " .. operation, function()
                local before = server:watches()
                proxy:command("hold %s 1", operation)
                local calls, stop = each.look(session, path)
                rig.wait_for("a request", function() return session:stats().in_flight > 0 end)
                stop()
                proxy:command("flow")
                rig.wait_for_stats(session, { watches = 0 })
                server:wait_for_watches(before)
                change("set %s new set %s/a new")
                rig.catch_up(session)
                assert.same({}, calls)
            end)
        end
    end)
end


describe("a watch of a session that expires #session:watch", function()
    before_each(function() session = rig.session(proxy.hosts, { timeout = 3 }) end)

    it("a watch tells in the next session only changes, and goes on #slow", function()
        change("create %s old create %s-same x")
        local calls, stop = watch(session, path)
        local same, absent = watch(session, path .. "-same"), watch(session, path .. "-none")
        check_told(calls, "old")
        hears(same, "x")
        local bytes = session:stats().watch_bytes
        fault.expire(proxy, session, function() change("set %s new") end)
        assert.equal(bytes, session:stats().watch_bytes)
        check_told(calls, "old", "new")
        change("delete %s")
        check_told(calls, "old", "new", "none")
        assert.same({ "x" }, same)
        assert.same({ "none" }, absent)
        assert.equal(3, session:stats().watches)
        assert.equal(bytes, session:stats().watch_bytes)
        local before = server:watches()
        stop()
        server:wait_for_watches(before - 1)
    end)

    it("a watch tells the end of a session without reopen, which refuses another watch #slow",
       function()
        session = rig.session(proxy.hosts, { timeout = 3, reopen = false })
        local calls, stop = watch(session, path)
        check_told(calls, "none")
        rig.hold(session:mutex(path .. "-lock"))
        rig.wait_for_stats(session, { watches = 2 }) -- one is the lock node's
        fault.expire(proxy, session, function() change("create %s new") end)
        fault.fails("expired", session:watch(path, print))
        hears(calls, "expired", 2)
        stop()
        assert.equal(0, session:stats().watches)
    end)
end)


describe("a watch of a server that stops #session:watch", function()
    it("a watch tells the state after the server's loss of data, also with the same zxid #slow",
       function()
        server, path = rig.server_for_test(), "/config"
        -- The node is always the first node of the first session.
        local function begin(data)
            fault.wipe(server)
            change("create %s " .. data)
        end
        begin("old")
        session = rig.session(server.hosts, { timeout = 1 })
        local calls = watch(session, path)
        hears(calls, "old")
        begin("new")
        hears(calls, "new", 2)
        change("set %s after")
        hears(calls, "after", 3)
        assert.same({ "old", "new", "after" }, { calls[1], calls[#calls - 1], calls[#calls] })
    end)
end)
