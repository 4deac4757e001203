--- [lua asan tsan] session:join() and session:members() when requests, replies and events are lost.
-- The node exists once, or not at all, and the last list is told. See also watch_spec.lua.
-- (spec/losses_spec.lua loses each packet.)
local fault = require "spec.fault.fault"
local rig = require "spec.rig"

local catch_up, hears = rig.catch_up, rig.hears

local server, proxy, folder, session, witness
local told

before_each(function()
    server, folder, witness = rig.begin(1)
    session, proxy = rig.behind_proxy(server.hosts, { timeout = 6 })
    told = rig.follow(witness, folder)
    hears(told, "")
end)
after_each(rig.close_sessions)

local function change(commands)
    server:foreign((commands:gsub("%%s", folder)))
end

local function join(data)
    return rig.join(session, folder, "a", data)
end

-- A member of the witness, so that the folder exists.
local function mark()
    rig.join(witness, folder, "mark")
    hears(told, "mark=")
end

local function fails_to_join(seconds)
    fault.fails("timeout", session:join(folder, { name = "a", timeout = seconds }))
end


describe("a join #session:join", function()
    for loss, during in pairs{
        ["drop-reply create2 1"] = "join", ["drop-request createContainer 1"] = "join",
        ["cut-after getData 1"] = "join", ["drop-reply setData 1"] = "set",
        ["drop-request getData 1"] = "set",
    } do
        it(("a member has one node with the newest data in spite of %s in %s"):format(loss, during),
           function()
            if during == "join" then proxy:command(loss) end
            local member = join("1")
            hears(told, "a=1")
            if during == "set" then proxy:command(loss) end
            assert.is_true(member:set("2", 30))
            assert.is_true(member:set("3", 30))
            hears(told, "a=3")
            fault.wait_for_reconnects(session, 1)
            catch_up(session)
            assert.equal("joined", (member:state()))
            for i = 2, #told do assert.not_equal("", told[i]) end
            member:leave()
            hears(told, "")
        end)
    end

    it("a member that left may join again with other data while the removal is lost", function()
        local first = join("1")
        hears(told, "a=1")
        proxy:command "drop-request delete 1"
        first:leave()
        local second = join("2")
        hears(told, "a=2")
        catch_up(session)
        rig.becomes(second, "joined")
        assert.equal("a=2", told[#told])
        second:leave()
        hears(told, "")
    end)

    it("a join that is given up twice leaves nothing", function()
        mark()
        proxy:command("drop-reply getData 1")
        proxy:command("refuse")
        fails_to_join(0.3)
        hears(told, "a= mark=")
        fails_to_join(0.1)
        proxy:command("accept")
        hears(told, "mark=")
        rig.wait_for_stats(session, { watches = 0 })
    end)

    it("a failed join looks for a late create after a session timeout #slow", function()
        session = rig.session(proxy.hosts, { timeout = 2 })
        mark()
        local gets = session:stats().gets
        proxy:command("drop-request create2 1")
        proxy:command("refuse")
        fails_to_join(0.2)
        proxy:command("accept")
        rig.wait_for_stats(session, { watches = 0 })
        assert.equal(gets + 3, session:stats().gets) -- with the create, after it, and late
        assert.equal("mark=", told[#told])
    end)

    it("a member makes its node again when it was removed during an outage", function()
        local member = join("x")
        hears(told, "a=x")
        fault.suspend(proxy, session)
        change("delete %s/a")
        hears(told, "")
        assert.equal("joined", member:state())
        proxy:command("accept")
        hears(told, "a=x")
    end)
end)


describe("members #session:members", function()
    for _, loss in ipairs{ "drop-request getChildren 1", "drop-reply exists 1",
                           "drop-reply getData 2", "cut-after getChildren 2" } do
        it("members goes on in spite of " .. loss, function()
            proxy:command(loss)
            local own = rig.follow(session, folder)
            hears(own, "")
            for i = 1, 2 do
                change("create %s '' create %s/a 1 create %s/b " .. i)
                hears(own, "a=1 b=" .. i)
                change("set %s/a 2")
                hears(own, "a=2 b=" .. i)
                change("delete %s/a delete %s/b delete %s")
                hears(own, "")
            end
            fault.wait_for_reconnects(session, 1)
            catch_up(session)
            for i = 2, #own do assert.not_equal(own[i], own[i - 1]) end
            assert.equal(2, session:stats().watches)
        end)
    end

    for what, after in pairs{
        ["a member that comes"] = { "create %s/c 1", "a=1 b=1 c=1" },
        ["a member that goes"] = { "delete %s/a", "b=1" },
        ["other data"] = { "set %s/b 2", "a=1 b=2" },
    } do
        it("members hears of " .. what .. " during a round", function()
            change("create %s '' create %s/a 1 create %s/b 1")
            proxy:command("hold getData 2")
            local own = rig.follow(session, folder)
            rig.wait_for("the list answered", function()
                return session:stats().in_flight > 0 and session:stats().lists == 1
            end)
            change(after[1])
            proxy:command("flow")
            hears(own, after[2])
            catch_up(session)
            assert.equal(after[2], own[#own])
        end)
    end
end)


describe("a server that loses its data #session:members", function()
    it("a member joins again after the server's loss of data, and members() tells it #slow",
    function()
        server = rig.server_for_test()
        session = rig.session(server.hosts, { timeout = 1 })
        local member = join("x")
        local own = rig.follow(session, folder)
        hears(own, "a=x")
        fault.wipe(server)
        rig.wait_for("the next session", function()
            return session:stats().expiries >= 1 and member:state() == "joined"
        end, 60)
        hears(own, "a=x")
        member:leave()
        hears(own, "")
    end)
end)
