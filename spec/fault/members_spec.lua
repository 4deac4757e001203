-- session:join() and session:members() when requests, replies and events are lost: the node is
-- there once, or not at all, and the last list is told. (spec/losses_spec.lua loses each packet.)
local fault = require "spec.fault.fault"
local rig = require "spec.rig"
local zklock = require "zklock"

local server, proxy, folder, session, witness

setup(function()
    server = rig.shared()
end)
before_each(function()
    folder = rig.path()
    proxy = rig.proxy_for_test(server.hosts)
    session = rig.session(proxy.hosts, { timeout = 6 })
    witness = rig.session(server.hosts)
end)
after_each(rig.close_sessions)

-- Follows the folder; what was told, as a list of "name=data ..." or codes, and stop().
local function followed(by)
    local told = {}
    return told, assert(by:members(folder, function(list, _, code)
        local words = {}
        for i, each in ipairs(list or {}) do words[i] = each.name .. "=" .. each.data end
        told[#told + 1] = code or table.concat(words, " ")
    end))
end

local function has(told, list)
    rig.wait_for(list, function() return told[#told] == list end, 30)
end

-- Everything that is under way has come.
local function settled()
    rig.wait_for("an answer", function() return session:get("/", 5) end, 30)
    rig.wait_for("no request", function() return session:stats().in_flight == 0 end)
    session:dispatch()
end


describe("a join", function()
    for _, loss in ipairs{ "drop-reply create2 1", "drop-request createContainer 1",
                           "cut-after getData 1" } do
        it("makes one node in spite of " .. loss, function()
            local told = followed(witness)
            has(told, "")
            proxy:command(loss)
            local member = assert(session:join(folder, { name = "a", data = "x" }))
            fault.reconnected(session, 1)
            settled()
            assert.equal("joined", member:state())
            has(told, "a=x")
            assert.same({ "", "a=x" }, told)
            member:leave()
            has(told, "")
        end)
    end

    it("leaves nothing when the reply to its removal is lost", function()
        local told = followed(witness)
        local member = assert(session:join(folder, { name = "a" }))
        has(told, "a=")
        proxy:command "drop-reply delete 1"
        member:leave()
        has(told, "")
        fault.reconnected(session, 1)
        settled()
        rig.wait_for("no watch", function() return session:stats().watches == 0 end)
        assert.equal("", told[#told])
    end)

    it("that left may join again while its removal is lost, with other data", function()
        local told = followed(witness)
        local first = assert(session:join(folder, { name = "a", data = "1" }))
        has(told, "a=1")
        proxy:command "drop-request delete 1"
        first:leave()
        local second = assert(session:join(folder, { name = "a", data = "2" }))
        has(told, "a=2")
        settled()
        rig.wait_for("joined", function() return second:state() == "joined" end)
        assert.equal("a=2", told[#told])
        second:leave()
        has(told, "")
    end)

    for _, loss in ipairs{ "drop-reply setData 1", "drop-request getData 1" } do
        it("has the data of the last set in spite of " .. loss, function()
            local told = followed(witness)
            local member = assert(session:join(folder, { name = "a", data = "1" }))
            has(told, "a=1")
            proxy:command(loss)
            assert.is_true(member:set("2", 30))
            assert.is_true(member:set("3", 30))
            has(told, "a=3")
            fault.reconnected(session, 1)
            settled()
            assert.equal("joined", (member:state()))
            for i, list in ipairs(told) do assert.is_true(i == 1 or list ~= "") end
            member:leave()
            has(told, "")
        end)
    end

    it("that times out while its create is under way leaves nothing", function()
        local told = followed(witness)
        assert(witness:join(folder, { name = "mark" })) -- the folder is there
        has(told, "mark=")
        proxy:command("hold create2 1")
        fault.fails("timeout", session:join(folder, { name = "a", timeout = 0.2 }))
        proxy:command("flow")
        settled()
        rig.wait_for("no watch", function() return session:stats().watches == 0 end)
        assert.equal(1, session:stats().deletes)
        rig.wait_for("told of none", function() return told[#told] == "mark=" end)
    end)

    it("that is given up, and begun and given up again, leaves nothing", function()
        local told = followed(witness)
        assert(witness:join(folder, { name = "mark" }))
        has(told, "mark=")
        proxy:command("drop-reply getData 1") -- the create's reply is had
        proxy:command("refuse")
        fault.fails("timeout", session:join(folder, { name = "a", timeout = 0.3 }))
        has(told, "a= mark=")
        fault.fails("timeout", session:join(folder, { name = "a", timeout = 0.1 }))
        proxy:command("accept")
        has(told, "mark=")
        rig.wait_for("no watch", function() return session:stats().watches == 0 end)
    end)

    it("looks for a create that may come late, a session timeout after it left #slow", function()
        session = rig.session(proxy.hosts, { timeout = 2 })
        local told = followed(witness)
        assert(witness:join(folder, { name = "mark" }))
        has(told, "mark=")
        local gets = session:stats().gets
        proxy:command("drop-request create2 1")
        proxy:command("refuse")
        fault.fails("timeout", session:join(folder, { name = "a", timeout = 0.2 }))
        proxy:command("accept")
        rig.wait_for("no watch", function() return session:stats().watches == 0 end, 30)
        assert.equal(gets + 3, session:stats().gets) -- with the create, after it, and late
        assert.equal("mark=", told[#told])
    end)

    it("hears at once that its node was removed while it had no connection", function()
        local told = followed(witness)
        local member = assert(session:join(folder, { name = "a", data = "x" }))
        has(told, "a=x")
        fault.suspend(proxy, session)
        server:foreign("delete %s/a", folder)
        has(told, "")
        assert.equal("joined", member:state())
        proxy:command("accept")
        has(told, "a=x")
    end)
end)


describe("members", function()
    for _, loss in ipairs{ "drop-request getChildren 1", "drop-reply exists 1",
                           "drop-reply getData 2", "cut-after getChildren 2" } do
        it("goes on in spite of " .. loss, function()
            proxy:command(loss)
            local told = followed(session)
            has(told, "")
            for i = 1, 2 do
                server:foreign("create %s '' create %s/a 1 create %s/b %d", folder, folder,
                               folder, i)
                has(told, "a=1 b=" .. i)
                server:foreign("set %s/a 2", folder)
                has(told, "a=2 b=" .. i)
                server:foreign("delete %s/a delete %s/b delete %s", folder, folder, folder)
                has(told, "")
            end
            fault.reconnected(session, 1)
            settled()
            for i = 2, #told do assert.not_equal(told[i], told[i - 1]) end
            assert.equal(2, session:stats().watches)
        end)
    end

    for what, after in pairs{
        ["a member that comes"] = { "create %s/c 1", "a=1 b=1 c=1" },
        ["a member that goes"] = { "delete %s/a", "b=1" },
        ["other data"] = { "set %s/b 2", "a=1 b=2" },
    } do
        it("hears of what happens during a round: " .. what, function()
            server:foreign("create %s '' create %s/a 1 create %s/b 1", folder, folder, folder)
            proxy:command("hold getData 2")
            local told = followed(session)
            rig.wait_for("the list answered", function()
                return session:stats().in_flight > 0 and session:stats().lists == 1
            end)
            server:foreign(after[1], folder)
            proxy:command("flow")
            has(told, after[2])
            settled()
            assert.equal(after[2], told[#told])
        end)
    end

    it("tells the last of many changes while the connection is cut again and again", function()
        server:foreign("create %s '' create %s/a 0", folder, folder)
        local told = followed(session)
        has(told, "a=0")
        for n = 1, 15 do
            server:foreign("set %s/a %d create %s/b %d delete %s/b", folder, n, folder, n, folder)
            if n % 3 == 0 then proxy:command("cut") end
            zklock.sleep(0)
        end
        server:foreign("create %s/c end", folder)
        has(told, "a=15 c=end")
        for i = 2, #told do assert.not_equal(told[i], told[i - 1]) end
    end)

    it("that is stopped during a round tells nothing, and leaves no watch", function()
        server:foreign("create %s '' create %s/a 1", folder, folder)
        local before = server:watches()
        for _, operation in ipairs{ "getChildren", "getData" } do
            proxy:command("hold %s 1", operation)
            local told, stop = followed(session)
            rig.wait_for("a request", function() return session:stats().in_flight > 0 end)
            stop()
            proxy:command("flow")
            rig.wait_for("no watch", function()
                return session:stats().watches == 0 and server:watches() <= before
            end)
            server:foreign("set %s/a new", folder)
            settled()
            assert.same({}, told)
        end
    end)
end)


describe("a server that loses its data", function()
    local own
    setup(function() own = rig.server() end)
    teardown(function() own:stop() end)

    it("has the members again when it is back, and tells of them #slow", function()
        local mine = rig.session(own.hosts, { timeout = 1 })
        local member = assert(mine:join(folder, { name = "a", data = "x" }))
        local told = followed(mine)
        has(told, "a=x")
        fault.wipe(own)
        rig.wait_for("given up", function()
            return mine:stats().expiries >= 1 and member:state() == "joined"
        end, 60)
        has(told, "a=x")
        member:leave()
        has(told, "")
    end)
end)
