--- [lua luajit asan tsan worlds] session:join() keeps a node as long as its user wants it;
-- session:members() tells the list of a folder. Lost requests and replies are in
-- spec/fault/members_spec.lua.
local rig = require "spec.rig"
local zklock = require "zklock"

local catch_up, follow, hears = rig.catch_up, rig.follow, rig.hears

local server, session, other, folder
local before

before_each(function()
    server, folder, session, other = rig.begin(2)
    before = session:stats()
end)
after_each(rig.close_sessions)

local function change(commands)
    server:foreign((commands:gsub("%%s", folder)))
end

-- Follows the folder, and waits for this list.
local function follow_until(follower, list)
    local told, stop, newest = follow(follower, folder)
    hears(told, list)
    return told, stop, newest
end

local function add_member(joiner, name, data)
    return rig.join(joiner, folder, name, data)
end

-- Returns the counts of requests since the last spent_requests(), without zeros.
local function spent_requests()
    local stats, counts = session:stats(), {}
    for _, kind in ipairs{ "creates", "sets", "deletes", "lists", "gets", "exists" } do
        local count = stats[kind] - before[kind]
        if count > 0 then counts[kind] = count end
    end
    before = stats
    return counts
end

local function follow_states(member)
    local states = {}
    return states, member:on_change(function(state) states[#states + 1] = state end)
end

-- Cuts the session off until the list `without` tells its expiry, calls meanwhile(), and heals the
-- cut.
local function expire(fragile, told, without, meanwhile)
    fragile.cut()
    hears(told, without)
    if meanwhile then meanwhile() end
    fragile.heal()
end


describe("join #session:join", function()
    local told

    before_each(function() told = follow_until(other, "") end)

    it("join makes the folder and a node with the data, and leave() removes the node", function()
        local text = ("\1\127\128\255\10%s"):rep(3)
        local member = add_member(session, "b", text)
        assert.equal("joined", member:state())
        assert.is_truthy(tostring(member):find(folder .. "/b, joined", 1, true))
        hears(told, "b=" .. text)
        assert.is_true(member:leave())
        assert.equal("left", (member:state()))
        hears(told, "")
        assert.is_true(member:leave())
    end)

    it("join costs a create and a get, set() a set and a get, leave() a delete", function()
        add_member(other, "a")
        local member = add_member(session, "b")
        assert.same({ creates = 1, gets = 1 }, spent_requests())
        assert.is_true(member:set("2"))
        catch_up(session)
        assert.same({ sets = 1, gets = 1 + 1 }, spent_requests()) -- one get is catch_up()'s
        member:leave()
        catch_up(session)
        assert.same({ deletes = 1, gets = 1 }, spent_requests())
        local stats = session:stats()
        assert.equal(0, stats.watches)
        assert.equal(0, stats.watch_removals)
    end)

    it('join of a name that is taken gives "conflict", and leaves that node alone', function()
        add_member(other, "a", "theirs")
        change("create %s/b lasting")
        for _, name in ipairs{ "a", "b" } do
            rig.check_refused("conflict", "that name is taken",
                session:join(folder, { name = name }))
        end
        catch_up(session)
        assert.equal(0, session:stats().deletes)
        follow_until(session, "a=theirs b=lasting")
    end)

    it('a second join of the session gives "conflict" at once before leave()', function()
        local first = add_member(session, "a", "1")
        rig.check_refused("conflict", "an earlier join of this session",
                          session:join(folder, { name = "a", data = "2" }))
        assert.equal("joined", first:state())
        first:leave()
        local second = add_member(session, "a", "2")
        hears(told, "a=2")
        catch_up(session, other)
        assert.equal("joined", second:state())
        assert.equal("a=2", told[#told])
    end)

    it('join without a connection gives "timeout", and no node comes later', function()
        local fragile = rig.fragile(server)
        fragile.cut()
        rig.check_refused("timeout", folder,
                       fragile.session:join(folder, { name = "a", timeout = 0.3 }))
        fragile.heal()
        catch_up(fragile.session, other)
        assert.same({ "" }, told)
        assert.equal(0, fragile.session:stats().watches)
    end)

    it("close interrupts a join, and no node comes later #slow", function()
        local fragile, code = rig.fragile(server), nil
        fragile.cut()
        zklock.run(function()
            code = select(3, fragile.session:join(folder, { name = "a", timeout = 60 }))
        end, function()
            zklock.sleep(0.1)
            fragile.session:close()
        end)
        assert.equal("closed", code)
        fragile.heal()
        catch_up(other)
        assert.same({ "" }, told)
    end)

    it("leave without a connection removes the own nodes after the reconnect, and no other " ..
       "#member:leave", function()
        local own, proxy = rig.behind_proxy(server.hosts)
        local members = { add_member(own, "a", "mine"), add_member(own, "b", "mine") }
        hears(told, "a=mine b=mine")
        proxy:break_off(own)
        change("delete %s/a create %s/a theirs")
        for _, member in ipairs(members) do member:leave() end
        proxy:command("accept")
        catch_up(own, other)
        hears(told, "a=theirs")
        local stats = own:stats()
        assert.equal(1, stats.deletes)
        assert.equal(0, stats.watches)
    end)

    it("leave spares a node of the session's lock #member:leave", function()
        local lease = rig.hold(session:mutex(folder, { order = "none" }))
        rig.check_refused("conflict", folder, session:join(folder, { name = "lock" }))
        catch_up(session)
        assert.is_true(lease:check())
    end)

    it('join is below the chroot, where "/" is a folder, too', function()
        add_member(session, "a", "1")
        local below = rig.session(server.hosts .. folder)
        local parent, name = folder:match "^(.*)(/.*)$"
        local first = follow(below, "/")
        local second = follow(rig.session(server.hosts .. parent), name)
        local member = rig.join(below, "/", "b")
        assert.equal("/b", member.path)
        hears(first, "a=1 b=")
        hears(second, "a=1 b=")
        member:leave()
        hears(first, "a=1")
    end)

    it('a member lasts when nothing refers to it, and ends with its session: "closed"', function()
        add_member(session, "a")
        local member = add_member(session, "b")
        hears(told, "a= b=")
        for _ = 1, 3 do collectgarbage() end
        catch_up(session, other)
        assert.equal("a= b=", told[#told])
        session:close()
        hears(told, "")
        assert.equal("closed", (member:state()))
        assert.is_true(member:leave())
        rig.check_refused("closed", folder, session:join(folder, { name = "a" }))
    end)

    it('join without room for its watch gives "too_many", until a member leaves', function()
        folder = rig.path()
        local members, long = {}, ("x"):rep(4000)
        local function join()
            return session:join(folder, { name = long .. #members, timeout = 20 })
        end
        repeat
            local member = join()
            members[#members + 1] = member
        until not member or #members == 140
        rig.check_refused("too_many", "256 KB", join())
        assert.is_true(#members > 50)
        members[1]:leave()
        catch_up(session)
        add_member(session, long .. "a")
    end)

    it("bad arguments blame the user with the allowed ones", function()
        rig.blames("the folder", function() session:join("/a/", { name = "a" }) end)
        rig.blames("must not end with /", function() session:join("/a/", { name = "a" }) end)
        rig.blames("join needs { name = ... }", function() session:join(folder) end)
        for text, options in pairs{
            ['name "" must not be empty'] = { name = "" },
            ["must not contain /"] = { name = "a/b" },
            ["must not contain the segment . or .."] = { name = ".." },
            ["data must be a string"] = { name = "a", data = 3 },
            ["known: data, name, timeout"] = { name = "a", ttl = 3 },
        } do
            rig.blames(text, function() session:join(folder, options) end)
        end
        rig.blames("on_change's argument must be a function", function()
            add_member(session, "a"):on_change()
        end)
    end)
end)


describe("on_change #member:on_change", function()
    it("on_change tells that a node went and came back before a dispatch", function()
        local member = add_member(session, "a")
        local states, creates = follow_states(member), session:stats().creates
        change("delete %s/a")
        rig.wait_apart("the node again", function()
            local stats = session:stats()
            return stats.creates > creates and stats.in_flight == 0 and member:state() == "joined"
        end)
        assert.same({}, states)
        for _ = 1, 2 do
            session:dispatch()
            assert.same({ "joined" }, states)
        end
        assert.same({}, (follow_states(member)))
    end)
end)


describe("member:set() #member:set", function()
    local told, member

    before_each(function()
        told = follow_until(session, "")
        member = add_member(session, "a", "1")
        hears(told, "a=1")
    end)

    local function check_each_list()
        for i = 2, #told do assert.not_equal("", told[i]) end
    end

    local function code_of_set(given_member, meanwhile)
        local code
        zklock.run(function() code = select(3, given_member:set("2", 60)) end, function()
            zklock.sleep(0.1)
            meanwhile()
        end)
        return code
    end

    it("set replaces the node's data, and no list lacks the member", function()
        for i = 2, 20 do
            assert.is_true(member:set("weight=" .. i))
            assert.equal("weight=" .. i, (assert(session:get(folder .. "/a"))))
        end
        hears(told, "a=weight=20")
        check_each_list()
        assert.equal("joined", (member:state()))
    end)

    it("data that are no text, or too large, blame the user", function()
        rig.blames("data must be at most 4096 bytes long, not 4097", function()
            member:set(("x"):rep(4097))
        end)
        rig.blames("data must not contain NUL", function() member:set("a\0b") end)
        rig.blames("data must be a string", function() member:set() end)
        rig.blames("timeout must be seconds", function() member:set("x", "soon") end)
        assert.is_true(member:set(("x"):rep(4096), { timeout = 20 }))
    end)

    it('set gives "closed" after or during leave(), and after its session', function()
        local fragile = rig.fragile(server)
        local second = add_member(fragile.session, "b", "1")
        fragile.cut()
        assert.equal("closed", code_of_set(second, function() second:leave() end))
        rig.check_refused("closed", "the member has left", second:set("2"))
        fragile.heal()
        hears(told, "a=1")
        session:close()
        rig.check_refused("closed", folder, member:set("2"))
    end)

    it("set waits for a connection, and data whose time ran out are set after the reconnect",
       function()
        local fragile = rig.fragile(server)
        local second = add_member(fragile.session, "b", "1")
        hears(told, "a=1 b=1")
        fragile.cut()
        rig.check_refused("timeout", folder, second:set("3", 0.1))
        assert.is_nil(code_of_set(second, fragile.heal))
        hears(told, "a=1 b=2")
        fragile.cut()
        rig.check_refused("timeout", folder, second:set("4", 0.1))
        fragile.heal()
        hears(told, "a=1 b=4")
    end)

    it("set writes to no node of another program", function()
        local own, proxy = rig.behind_proxy(server.hosts)
        local second = add_member(own, "b", "1")
        hears(told, "a=1 b=1")
        proxy:break_off(own)
        change("delete %s/b create %s/b theirs")
        assert.equal("conflict", code_of_set(second, function() proxy:command("accept") end))
        assert.equal("conflict", (second:state()))
        rig.check_refused("conflict", "that name is taken", second:set("3"))
        catch_up(session, own)
        hears(told, "a=1 b=theirs")
    end)

    it("set from several coroutines answers each, and the last data stay", function()
        local answers, last = 0, nil
        rig.run(3, function(i)
            for n = 1, 5 do
                last = i .. "." .. n
                assert.is_true(member:set(last))
                answers = answers + 1
            end
        end)
        assert.equal(15, answers)
        hears(told, "a=" .. last)
        check_each_list()
    end)

    it("another client's data stay until the next set, and a node made again has the own data",
       function()
        for _, own in ipairs{ "1", "2" } do
            assert.is_true(own == "1" or member:set(own))
            change("set %s/a theirs")
            hears(told, "a=theirs")
            change("delete %s/a")
            hears(told, "a=" .. own)
            rig.becomes(member, "joined")
        end
        change("set %s/a theirs")
        hears(told, "a=theirs")
        assert.is_true(member:set("3"))
        hears(told, "a=3")
    end)
end)


describe("a member whose session expires #member:state", function()
    local fragile, told

    before_each(function()
        fragile = rig.fragile(server, { timeout = 3 })
        told = follow_until(session, "")
    end)

    it("the member's node is made again with the newest data, and on_change tells the states in " ..
       "order #slow", function()
        local member = add_member(fragile.session, "a", "1")
        local id, states = fragile.session:id(), follow_states(member)
        hears(told, "a=1")
        assert.is_true(member:set("2"))
        hears(told, "a=2")
        expire(fragile, told, "", function()
            rig.check_refused("timeout", folder, member:set("3", 0.1))
        end)
        hears(told, "a=3")
        rig.becomes(member, "joined")
        fragile.session:dispatch()
        if states[2] then assert.equal("joining", states[1]) end
        assert.equal("joined", states[#states])
        assert.not_equal(id, fragile.session:id())
        assert.is_true(member:set("4"))
        hears(told, "a=4")
        member:leave()
        hears(told, "")
        assert.same({ "", "a=1", "a=2", "", "a=3", "a=4", "" }, told)
    end)

    it('the member is in "conflict" if another node has its name, and on_change tells that ' ..
       "#slow", function()
        local member, last, problem = add_member(fragile.session, "a", "x"), nil, nil
        member:on_change(function(...) last, problem = ... end)
        local states, stop = follow_states(member)
        stop()
        hears(told, "a=x")
        expire(fragile, told, "", function() add_member(session, "a", "theirs") end)
        rig.becomes(member, "conflict")
        assert.same({ "conflict" }, (follow_states(member)))
        rig.wait_for("the callback", function() return last == "conflict" end)
        assert.is_truthy(problem:find("that name is taken", 1, true))
        assert.equal(problem, select(2, member:state()))
        member:leave()
        assert.same({}, (follow_states(member)))
        assert.same({}, states)
        catch_up(session, fragile.session)
        hears(told, "a=theirs")
        assert.equal(0, fragile.session:stats().deletes)
        assert.equal(0, fragile.session:stats().watches)
    end)

    it("a member that leaves before it hears of the expiry does not come back #slow", function()
        local member = add_member(fragile.session, "a", "x")
        hears(told, "a=x")
        expire(fragile, told, "", function() member:leave() end)
        rig.wait_for_stats(fragile.session, { expiries = 1 })
        catch_up(session, fragile.session)
        assert.same({ "", "a=x", "" }, told)
        assert.equal(0, fragile.session:stats().watches)
    end)

    it("the member ends with a session without reopen #slow", function()
        local final = rig.fragile(server, { timeout = 3, reopen = false })
        local member = add_member(final.session, "a")
        local states = follow_states(member)
        hears(told, "a=")
        expire(final, told, "")
        rig.becomes(member, "expired")
        hears(states, "expired")
        assert.same({ "expired" }, states)
        rig.check_refused("expired", folder, final.session:join(folder, { name = "a" }))
    end)

    it("a join during the expiry goes on #slow", function()
        local mark = add_member(fragile.session, "mark")
        hears(told, "mark=")
        fragile.cut()
        local member
        zklock.run(function()
            member = assert(fragile.session:join(folder, { name = "a", data = "x", timeout = 60 }))
        end, function()
            hears(told, "")
            fragile.heal()
        end)
        assert.equal("joined", member:state())
        rig.becomes(mark, "joined")
        hears(told, "a=x mark=")
    end)
end)


describe("members #session:members", function()
    it("members tells the list by name, soon and once, then each change", function()
        add_member(other, "b", "1")
        add_member(session, "a", "2")
        local told = follow(session, folder)
        assert.same({}, told)
        hears(told, "a=2 b=1")
        local c = add_member(other, "c")
        hears(told, "a=2 b=1 c=")
        change("set %s/b 3")
        hears(told, "a=2 b=3 c=")
        c:leave()
        hears(told, "a=2 b=3")
        catch_up(session)
        assert.equal(4, #told)
    end)

    it("a list has name, data, session and since of each member; a persistent node has no session",
       function()
        add_member(session, "a", "x")
        change("create %s/b y")
        local _, _, newest = follow_until(session, "a=x b=y")
        local a, b = newest()[1], newest()[2]
        assert.is_true(a.since > 1e9 and b.since >= a.since)
        a.since, b.since = nil, nil
        assert.same({ name = "a", data = "x", session = session:id() }, a)
        assert.same({ name = "b", data = "y" }, b)
    end)

    it("the first list costs a list and a get of each; a change costs a get of each new or " ..
       "changed member", function()
        change("create %s '' create %s/a 1 create %s/b 1")
        local told = follow_until(session, "a=1 b=1")
        assert.same({ lists = 1, gets = 2 }, spent_requests())
        change("create %s/c 1")
        hears(told, "a=1 b=1 c=1")
        assert.same({ lists = 1, gets = 1 }, spent_requests())
        change("set %s/b 2")
        hears(told, "a=1 b=2 c=1")
        assert.same({ gets = 1 }, spent_requests())
        change("delete %s/a")
        hears(told, "b=2 c=1")
        assert.same({ lists = 1 }, spent_requests())
        local lease = rig.hold(other:mutex(rig.path()))
        assert(lease:guard{ { "delete", folder .. "/b" }, { "create", folder .. "/b", "2" } })
        hears(told, "b=2 c=1", 5)
        catch_up(session)
        assert.same({ lists = 1, gets = 1 + 1 }, spent_requests()) -- one get is catch_up()'s
        assert.same({ "a=1 b=1", "a=1 b=1 c=1", "a=1 b=2 c=1", "b=2 c=1", "b=2 c=1" }, told)
    end)

    it("members tells many changes at once by one list", function()
        change("create %s ''")
        local told = follow_until(session, "")
        local creates, deletes, words = {}, {}, {}
        for i = 10, 59 do
            creates[#creates + 1] = ("create %%s/%d x"):format(i)
            deletes[#deletes + 1] = ("delete %%s/%d"):format(i)
            words[#words + 1] = i .. "=x"
        end
        spent_requests()
        change(table.concat(creates, " "))
        hears(told, table.concat(words, " "))
        change(table.concat(deletes, " "))
        hears(told, "")
        catch_up(session)
        if rig.in_memory then -- one transaction in memory
            assert.equal(3, #told)
            assert.same({ lists = 2, gets = 50 + 1 }, spent_requests())
        end
    end)

    it("members does not repeat a list while a call of the function waits #slow", function()
        add_member(other, "a")
        local short, calls = rig.session(server.hosts, { timeout = 2 }), 0
        assert(short:members(folder, function()
            calls = calls + 1
            if calls < 4 then zklock.sleep(2.5 * short:timeout()) end
        end))
        rig.wait_for("a call", function() return calls > 0 end, 60)
        assert.equal(1, calls)
    end)

    it("members waits for a missing or removed folder", function()
        local told = follow_until(session, "")
        assert.same({ lists = 1, exists = 1 }, spent_requests())
        for _ = 1, 2 do
            change("create %s '' create %s/a x")
            hears(told, "a=x")
            change("delete %s/a delete %s")
            hears(told, "")
        end
        catch_up(session)
        change("create %s ''")
        catch_up(session)
        change("create %s/a x")
        hears(told, "a=x")
        assert.equal(2, session:stats().watches - 1) -- because one is the folder's
    end)

    it("a folder may be followed twice, beside watches of the nodes", function()
        local first, stop = follow_until(session, "")
        local second = follow_until(session, "")
        local data = rig.watch(session, folder .. "/a")
        assert(session:watch(folder, function() end))
        change("create %s '' create %s/a 1")
        hears(first, "a=1")
        hears(second, "a=1")
        stop()
        catch_up(session)
        change("set %s/a 2")
        hears(second, "a=2")
        change("delete %s/a create %s/a 3")
        hears(second, "a=3")
        catch_up(session)
        hears(data, "3")
        assert.equal("a=1", first[#first])
    end)

    it('members tells "too_many" while watches have no room, and the list after that #slow',
       function()
        session = rig.session(server.hosts, { timeout = 2 })
        local told = follow_until(session, "")
        local long, stops = ("x"):rep(4000), {}
        repeat
            local stop = session:watch(("%s/%s%d"):format(folder, long, #stops), function() end)
            stops[#stops + 1] = stop
        until not stop
        local first, second = add_member(other, long:sub(1, 3900)), add_member(other, long)
        hears(told, "too_many")
        for _, stop in ipairs(stops) do stop() end
        hears(told, long:sub(1, 3900) .. "= " .. long .. "=")
        first:leave()
        second:leave()
        hears(told, "")
        assert.equal(2, session:stats().watches)
    end)

    it('members without room for the folder gives "too_many" at once', function()
        local stop
        repeat stop = session:watch(rig.path() .. ("x"):rep(4000), function() end) until not stop
        folder = folder .. ("x"):rep(4000)
        rig.check_refused("too_many", "256 KB", session:members(folder, print))
    end)
end)


describe("members when connections and sessions are lost #session:members", function()
    it("members tells changes of an outage once, and nothing if there was none", function()
        local fragile = rig.fragile(server)
        add_member(session, "a", "1")
        local told = follow_until(fragile.session, "a=1")
        fragile.cut()
        add_member(session, "b", "2")
        change("set %s/a 3")
        fragile.heal()
        hears(told, "a=3 b=2")
        fragile.cut()
        fragile.heal()
        catch_up(session)
        change("set %s/a 4")
        hears(told, "a=4 b=2")
    end)

    it("members tells changes of an expiry in the next session, and goes on #slow", function()
        local fragile = rig.fragile(server, { timeout = 3 })
        add_member(session, "b", "1")
        local mark, own = follow_until(session, "b=1"), follow_until(fragile.session, "b=1")
        add_member(fragile.session, "mark")
        hears(own, "b=1 mark=")
        hears(mark, "b=1 mark=")
        local bytes = fragile.session:stats().watch_bytes
        expire(fragile, mark, "b=1", function() change("set %s/b 2") end)
        hears(own, "b=2 mark=")
        assert.equal(bytes, fragile.session:stats().watch_bytes)
        change("set %s/b 3")
        hears(own, "b=3 mark=")
    end)
end)


describe("members of a folder or node that may not be read #session:members", function()
    before_each(function() session = rig.session(server.hosts, { timeout = 1 }) end)

    it('members tells "auth", or a name without data, until the read is allowed ' ..
       "#server #slow", function()
        change("create %s '' create %s/a x create %s/b y hide %s/b hide %s")
        local told = follow_until(session, "auth")
        change("show %s")
        hears(told, "a=x b=nil")
        change("show %s/b")
        hears(told, "a=x b=y")
        change("hide %s")
        hears(told, "auth")
        catch_up(session)
        assert.equal(4, #told)
    end)

    it("a member that left is watched until its node may be removed #server #slow", function()
        local told = follow(other, folder)
        local member = add_member(session, "a")
        hears(told, "a=")
        change("hide %s")
        member:leave()
        catch_up(session)
        assert.equal(1, session:stats().watches)
        change("show %s")
        hears(told, "")
        rig.wait_for_stats(session, { watches = 0 })
    end)

    it('join gives "auth" #server', function()
        change("create %s '' hide %s")
        rig.check_refused("auth", folder, session:join(folder, { name = "a" }))
        assert.equal(0, session:stats().watches)
    end)
end)
