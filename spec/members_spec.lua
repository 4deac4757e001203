-- session:join() and session:members(): a node that is there as long as its user wants it, and who
-- is in a folder. Lost requests and replies are in spec/fault/members_spec.lua.
local rig = require "spec.rig"
local zklock = require "zklock"

local server, session, folder

setup(function()
    server = rig.shared()
end)
before_each(function()
    session = rig.session(server.hosts)
    folder = rig.path()
end)
after_each(rig.close_sessions)

-- Follows the folder; what was told, as a list of "name=data ..." or codes, and stop().
local function followed(by)
    local told = {}
    return told, assert(by:members(folder, function(list, _, code)
        local words = {}
        for i, each in ipairs(list or {}) do
            words[i] = each.name .. "=" .. tostring(each.data)
        end
        told[#told + 1] = code or table.concat(words, " ")
    end))
end

local function wait_for_list(told, list)
    rig.wait_for(list, function() return told[#told] == list end, 60)
end

-- Follows it by the session, until that is told.
local function follows(list)
    local told, stop = followed(session)
    wait_for_list(told, list)
    return told, stop
end

-- A session that knows when it is cut off: cut(), heal().
local function breakable()
    local proxy = rig.proxy_for_test(server.hosts)
    local own = rig.session(proxy.hosts, { timeout = 20 })
    return { session = own, cut = function() proxy:break_off(own) end,
             heal = function() proxy:command("accept") end }
end

local function settled(...)
    for _, each in ipairs{ session, ... } do
        assert(each:get("/", 5))
        rig.wait_for("no request", function() return each:stats().in_flight == 0 end)
        each:dispatch()
    end
end

local function joins(by, name, data, timeout)
    return assert(by:join(folder, { name = name, data = data, timeout = timeout or 20 }))
end

local function wait_for_state(member, state)
    rig.wait_for(state, function() return member:state() == state end, 60)
end

-- The requests sent since.
local function spent(before)
    local stats, counts = session:stats(), {}
    for _, kind in ipairs{ "creates", "sets", "deletes", "lists", "gets", "exists" } do
        local count = stats[kind] - before[kind]
        if count > 0 then counts[kind] = count end
    end
    return counts
end


describe("join", function()
    it("makes a node with the data, and the folder; it is gone after leave()", function()
        local told = follows("")
        local other = rig.session(server.hosts)
        local member = joins(other, "b", "weight=3")
        assert.equal("joined", member:state())
        assert.is_truthy(tostring(member):find(folder .. "/b, joined", 1, true))
        wait_for_list(told, "b=weight=3")
        assert.is_true(member:leave())
        assert.equal("left", (member:state()))
        wait_for_list(told, "")
        assert.is_true(member:leave())
    end)

    it("costs a create and a get, leave() a delete", function()
        joins(rig.session(server.hosts), "a")
        local before = session:stats()
        local member = joins(session, "b")
        assert.same({ creates = 1, gets = 1 }, spent(before))
        member:leave()
        settled()
        assert.same({ creates = 1, gets = 1 + 1, deletes = 1 }, spent(before)) -- settled() asks
        local stats = session:stats()
        assert.equal(0, stats.watches)
        assert.equal(0, stats.watch_removals)
    end)

    it("has empty data by default, and takes any that are text", function()
        local text = ("\1\127\128\255\10%s"):rep(3)
        joins(session, "a")
        joins(session, "b", text)
        wait_for_list(followed(session), "a= b=" .. text)
    end)

    it('gives "conflict" for a name that is taken, and leaves that node alone', function()
        local other = rig.session(server.hosts)
        joins(other, "a", "theirs")
        server:foreign("create %s/b lasting", folder)
        for name in pairs{ a = true, b = true } do
            rig.is_refused("conflict", "that name is taken", session:join(folder, { name = name }))
        end
        settled()
        wait_for_list(followed(session), "a=theirs b=lasting")
        assert.equal(0, session:stats().deletes)
    end)

    it('gives "conflict" for a second join of the session, which may join after leave()',
       function()
        local told = follows("")
        local first = joins(session, "a", "1")
        rig.is_refused("conflict", folder, session:join(folder, { name = "a", data = "2" }))
        assert.equal("joined", first:state())
        first:leave()
        local second = joins(session, "a", "2")
        wait_for_list(told, "a=2")
        settled()
        assert.equal("joined", second:state())
        assert.equal("a=2", told[#told])
    end)

    it("makes the node again when somebody removed it, and leaves other data as they are",
       function()
        local told = follows("")
        local member = joins(session, "a", "mine")
        wait_for_list(told, "a=mine")
        server:foreign("set %s/a theirs", folder)
        wait_for_list(told, "a=theirs")
        server:foreign("delete %s/a", folder)
        wait_for_list(told, "a=mine")
        wait_for_state(member, "joined")
    end)

    it('gives "timeout" without a connection, and no node comes later', function()
        local fragile = rig.fragile(server, { timeout = 20 })
        local told = follows("")
        fragile.cut()
        rig.is_refused("timeout", folder,
                       fragile.session:join(folder, { name = "a", timeout = 0.3 }))
        fragile.heal()
        assert(fragile.session:get("/", 30))
        settled(fragile.session)
        assert.same({ "" }, told)
        assert.equal(0, fragile.session:stats().watches)
    end)

    it("is interrupted like any wait, and no node comes later #slow", function()
        local fragile = rig.fragile(server, { timeout = 20 })
        local told = follows("")
        fragile.cut()
        local code
        zklock.run(function()
            code = select(3, fragile.session:join(folder, { name = "a", timeout = 60 }))
        end, function()
            zklock.sleep(0.1)
            fragile.session:close()
        end)
        assert.equal("closed", code)
        fragile.heal()
        settled()
        assert.same({ "" }, told)
    end)

    it("leaves without a connection: the node goes when there is one", function()
        local fragile = rig.fragile(server, { timeout = 20 })
        local told = follows("")
        local member = joins(fragile.session, "a")
        wait_for_list(told, "a=")
        fragile.cut()
        member:leave()
        fragile.heal()
        wait_for_list(told, "")
    end)

    it("removes only its own node after a cut, not another program's of that name", function()
        local fragile = breakable()
        local told = follows("")
        local member = joins(fragile.session, "a", "mine")
        wait_for_list(told, "a=mine")
        fragile.cut()
        server:foreign("delete %s/a create %s/a theirs", folder, folder)
        member:leave()
        fragile.heal()
        assert(fragile.session:get("/", 30))
        settled(fragile.session)
        wait_for_list(told, "a=theirs")
        assert.equal(0, fragile.session:stats().deletes)
        assert.equal(0, fragile.session:stats().watches)
    end)

    it("leaves a node alone that a lock of the session has", function()
        local lease = rig.hold(session:mutex(folder, { order = "none" }))
        rig.is_refused("conflict", folder, session:join(folder, { name = "lock" }))
        settled()
        assert.is_true(lease:check())
    end)

    it('takes "/" for a folder, as that of a chroot', function()
        joins(session, "a", "1")
        local below = rig.session(server.hosts .. folder)
        local told = {}
        assert(below:members("/", function(list)
            local names = {}
            for i, each in ipairs(list) do names[i] = each.name end
            told[#told + 1] = table.concat(names, " ")
        end))
        wait_for_list(told, "a")
        local member = assert(below:join("/", { name = "b" }))
        assert.equal("/b", member.path)
        wait_for_list(told, "a b")
        member:leave()
        wait_for_list(told, "a")
    end)

    it("lasts when nothing refers to the member", function()
        local told = follows("")
        joins(session, "a")
        for _ = 1, 3 do collectgarbage() end
        settled()
        assert.equal("a=", told[#told])
    end)

    it('ends with its session: "closed"', function()
        local told = follows("")
        local other = rig.session(server.hosts)
        local member = joins(other, "a")
        wait_for_list(told, "a=")
        other:close()
        wait_for_list(told, "")
        assert.equal("closed", (member:state()))
        assert.is_true(member:leave())
        rig.is_refused("closed", folder, other:join(folder, { name = "a" }))
    end)

    it('gives "too_many" where another node or watch has no room, until one leaves', function()
        local members, long = {}, ("x"):rep(4000)
        local message, code
        repeat
            local member
            member, message, code = session:join(folder, { name = long .. #members, timeout = 20 })
            members[#members + 1] = member
        until not member or #members == 140
        assert.equal("too_many", code)
        assert.is_truthy(message:find("256 KB", 1, true))
        assert.is_true(#members > 50)
        members[1]:leave()
        settled()
        joins(session, long .. "a")
    end)

    it("blames the user for bad arguments, and says what is allowed", function()
        rig.blames("the folder", function() session:join("/a/", { name = "a" }) end)
        rig.blames("must not end with /", function() session:join("/a/", { name = "a" }) end)
        rig.blames("join needs { name = ... }", function() session:join(folder) end)
        rig.blames('name "" must not be empty', function()
            session:join(folder, { name = "" })
        end)
        rig.blames("must not contain /", function() session:join(folder, { name = "a/b" }) end)
        rig.blames("must not contain the segment . or ..", function()
            session:join(folder, { name = ".." })
        end)
        rig.blames("data must be a string", function()
            session:join(folder, { name = "a", data = 3 })
        end)
        rig.blames("known: data, name, timeout", function()
            session:join(folder, { name = "a", ttl = 3 })
        end)
        rig.blames("on_change's argument must be a function", function()
            joins(session, "a"):on_change()
        end)
    end)
end)


-- The states that on_change() tells.
local function states_of(member)
    local states = {}
    return states, member:on_change(function(state) states[#states + 1] = state end)
end

describe("on_change", function()
    it("tells of a node that was gone, and is there again before anybody looks", function()
        local member = joins(session, "a")
        local states, creates = states_of(member), session:stats().creates
        server:foreign("delete %s/a", folder)
        rig.wait_apart("the node again", function()
            local stats = session:stats()
            return stats.creates > creates and stats.in_flight == 0 and member:state() == "joined"
        end)
        assert.same({}, states)
        session:dispatch()
        assert.same({ "joined" }, states)
        session:dispatch()
        assert.same({ "joined" }, states)
        assert.same({}, (states_of(member)))
    end)
end)


-- A list with the member has been told, so no later list lacks it.
local function lacks_none(told)
    local there = false
    for _, list in ipairs(told) do
        assert.is_true(list ~= "" or not there)
        there = there or list ~= ""
    end
end

describe("member:set()", function()
    local told, member

    before_each(function()
        told = follows("")
        member = joins(session, "a", "1")
        wait_for_list(told, "a=1")
    end)

    it("gives the node other data, and no list lacks the member", function()
        for i = 2, 20 do
            assert.is_true(member:set("weight=" .. i))
            assert.equal("weight=" .. i, (assert(session:get(folder .. "/a"))))
        end
        wait_for_list(told, "a=weight=20")
        lacks_none(told)
        assert.equal("joined", (member:state()))
    end)

    it("costs one request, and a get behind it that is not awaited", function()
        member:leave()
        wait_for_list(told, "")
        local alone = rig.session(server.hosts)
        member = joins(alone, "b")
        local before = alone:stats()
        session = alone
        assert.is_true(member:set("2"))
        settled()
        assert.same({ sets = 1, gets = 1 + 1 }, spent(before)) -- settled() asks
    end)

    it("blames the user for data that are too large, or no text", function()
        rig.blames("data must be at most 4096 bytes long, not 4097", function()
            member:set(("x"):rep(4097))
        end)
        rig.blames("data must not contain NUL", function() member:set("a\0b") end)
        rig.blames("data must be a string", function() member:set() end)
        rig.blames("timeout must be seconds", function() member:set("x", "soon") end)
        assert.is_true(member:set(("x"):rep(4096), { timeout = 20 }))
    end)

    it('gives "closed" after leave(), and after the end of the session', function()
        member:leave()
        rig.is_refused("closed", "the member has left", member:set("2"))
        local other = joins(session, "b")
        session:close()
        rig.is_refused("closed", folder, other:set("2"))
    end)

    it("gets \"closed\" if its member leaves meanwhile", function()
        local fragile = rig.fragile(server, { timeout = 20 })
        local other, code = joins(fragile.session, "b", "1"), nil
        fragile.cut()
        zklock.run(function()
            code = select(3, other:set("2", 60))
        end, function()
            zklock.sleep(0.1)
            other:leave()
        end)
        assert.equal("closed", code)
        fragile.heal()
        wait_for_list(told, "a=1")
    end)

    it("waits for a connection; data that ran out of time are set when there is one", function()
        local fragile = rig.fragile(server, { timeout = 20 })
        local other = joins(fragile.session, "b", "1")
        wait_for_list(told, "a=1 b=1")
        fragile.cut()
        rig.is_refused("timeout", folder, other:set("2", 0.1))
        local done
        zklock.run(function() done = other:set("3", 60) end, function()
            zklock.sleep(0.1)
            fragile.heal()
        end)
        assert.is_true(done)
        wait_for_list(told, "a=1 b=3")
        fragile.cut()
        rig.is_refused("timeout", folder, other:set("4", 0.1))
        fragile.heal()
        wait_for_list(told, "a=1 b=4")
    end)

    it("writes to no node of another program's", function()
        local fragile = breakable()
        local other = joins(fragile.session, "b", "1")
        wait_for_list(told, "a=1 b=1")
        fragile.cut()
        server:foreign("delete %s/b create %s/b theirs", folder, folder)
        local code
        zklock.run(function() code = select(3, other:set("2", 60)) end, function()
            zklock.sleep(0.1)
            fragile.heal()
        end)
        assert.equal("conflict", code)
        assert.equal("conflict", (other:state()))
        rig.is_refused("conflict", "that name is taken", other:set("3"))
        settled(fragile.session)
        wait_for_list(told, "a=1 b=theirs")
    end)

    it("from several coroutines answers each, and the last data stay", function()
        local answers, last = 0, nil
        local function setter(i)
            return function()
                for n = 1, 5 do
                    last = i .. "." .. n
                    assert.is_true(member:set(last))
                    answers = answers + 1
                end
            end
        end
        zklock.run(setter(1), setter(2), setter(3))
        assert.equal(15, answers)
        wait_for_list(told, "a=" .. last)
        lacks_none(told)
    end)

    it("writes over another client's data, which had stayed until then", function()
        server:foreign("set %s/a theirs", folder)
        wait_for_list(told, "a=theirs")
        assert.is_true(member:set("2"))
        wait_for_list(told, "a=2")
    end)

    it("has the node made again with the newest data", function()
        assert.is_true(member:set("2"))
        server:foreign("delete %s/a", folder)
        wait_for_state(member, "joined")
        wait_for_list(told, "a=2")
    end)

    it("has it made again with them after an expiry, too #slow", function()
        local fragile = rig.fragile(server, { timeout = 3 })
        local other = joins(fragile.session, "b", "1")
        assert.is_true(other:set("2"))
        wait_for_list(told, "a=1 b=2")
        fragile.cut()
        rig.is_refused("timeout", folder, other:set("3", 0.1))
        wait_for_list(told, "a=1")
        fragile.heal()
        wait_for_list(told, "a=1 b=3")
        for _, list in ipairs(told) do assert.is_nil(list:find("b=1 ", 1, true)) end
        assert.is_true(other:set("4"))
        wait_for_list(told, "a=1 b=4")
    end)
end)


-- Cuts it off until its session has ended, then meanwhile(), then it hears of that.
local function expire(fragile, told, without, meanwhile)
    fragile.cut()
    wait_for_list(told, without)
    if meanwhile then meanwhile() end
    fragile.heal()
end

describe("a member whose session expires", function()
    local fragile, told

    before_each(function()
        fragile = rig.fragile(server, { timeout = 3 })
        told = follows("")
    end)

    it("has its node made again, with its data; on_change tells it in order #slow", function()
        local member = joins(fragile.session, "a", "x")
        local id, states = fragile.session:id(), states_of(member)
        wait_for_list(told, "a=x")
        expire(fragile, told, "")
        wait_for_list(told, "a=x")
        wait_for_state(member, "joined")
        fragile.session:dispatch()
        if states[2] then assert.equal("joining", states[1]) end -- else it was quick
        assert.equal("joined", states[#states])
        assert.not_equal(id, fragile.session:id())
        member:leave()
        wait_for_list(told, "")
        assert.same({ "", "a=x", "", "a=x", "" }, told)
    end)

    it('is "conflict" if another made a node of its name meanwhile, which stays #slow', function()
        local member, last, problem = joins(fragile.session, "a", "x"), nil, nil
        member:on_change(function(...) last, problem = ... end)
        wait_for_list(told, "a=x")
        expire(fragile, told, "", function() joins(session, "a", "theirs") end)
        wait_for_state(member, "conflict")
        rig.wait_for("the callback", function() return last == "conflict" end)
        assert.is_truthy(problem:find("that name is taken", 1, true))
        assert.equal(problem, select(2, member:state()))
        member:leave()
        settled(fragile.session)
        wait_for_list(told, "a=theirs")
        assert.equal(0, fragile.session:stats().deletes)
        assert.equal(0, fragile.session:stats().watches)
    end)

    it("may leave before it hears of that, and comes back no more #slow", function()
        local member = joins(fragile.session, "a", "x")
        wait_for_list(told, "a=x")
        expire(fragile, told, "", function() member:leave() end)
        rig.wait_for("a new session", function()
            return fragile.session:stats().expiries == 1 and fragile.session:state() == "connected"
        end, 60)
        settled(fragile.session)
        assert.same({ "", "a=x", "" }, told)
        assert.equal(0, fragile.session:stats().watches)
    end)

    it("ends with a session that is not opened anew #slow", function()
        local final = rig.fragile(server, { timeout = 3, reopen = false })
        local member = joins(final.session, "a")
        local states = states_of(member)
        wait_for_list(told, "a=")
        expire(final, told, "")
        wait_for_state(member, "expired")
        rig.wait_for("the callback", function() return #states == 1 end)
        assert.same({ "expired" }, states)
        rig.is_refused("expired", folder, final.session:join(folder, { name = "a" }))
    end)

    it("tells on_change at once what it missed, and nothing after its stop() or leave() #slow",
       function()
        local member = joins(fragile.session, "a")
        local states, stop = states_of(member)
        stop()
        wait_for_list(told, "a=")
        expire(fragile, told, "", function() joins(session, "a") end)
        wait_for_state(member, "conflict")
        assert.same({ "conflict" }, (states_of(member)))
        member:leave()
        assert.same({}, (states_of(member)))
        assert.same({}, states)
    end)

    it("may be joining: it goes on #slow", function()
        local mark = joins(fragile.session, "mark")
        wait_for_list(told, "mark=")
        fragile.cut()
        local member
        zklock.run(function() member = joins(fragile.session, "a", "x", 60) end, function()
            wait_for_list(told, "")
            fragile.heal()
        end)
        assert.equal("joined", member:state())
        wait_for_state(mark, "joined")
        wait_for_list(told, "a=x mark=")
    end)
end)


describe("members", function()
    it("tells who is there, by name, soon and once; then each change", function()
        local other = rig.session(server.hosts)
        joins(other, "b", "1")
        joins(session, "a", "2")
        local told = followed(session)
        assert.same({}, told)
        wait_for_list(told, "a=2 b=1")
        local c = joins(other, "c")
        wait_for_list(told, "a=2 b=1 c=")
        server:foreign("set %s/b 3", folder)
        wait_for_list(told, "a=2 b=3 c=")
        c:leave()
        wait_for_list(told, "a=2 b=3")
        settled()
        assert.equal(4, #told)
    end)

    it("tells name, data, session and since of each; a node of no session has none", function()
        local list
        joins(session, "a", "x")
        server:foreign("create %s/b y", folder)
        assert(session:members(folder, function(told) list = told end))
        rig.wait_for("the list", function() return list end)
        assert.equal(2, #list)
        local a, b = list[1], list[2]
        assert.is_true(a.since > 1e9 and b.since >= a.since)
        a.since, b.since = nil, nil
        assert.same({ name = "a", data = "x", session = session:id() }, a)
        assert.same({ name = "b", data = "y" }, b)
    end)

    it("costs a list and a get of each; then a get of what comes or changes, and no other",
       function()
        server:foreign("create %s '' create %s/a 1 create %s/b 1", folder, folder, folder)
        local before = session:stats()
        local told = follows("a=1 b=1")
        assert.same({ lists = 1, gets = 2 }, spent(before))
        before = session:stats()
        server:foreign("create %s/c 1", folder)
        wait_for_list(told, "a=1 b=1 c=1")
        assert.same({ lists = 1, gets = 1 }, spent(before))
        before = session:stats()
        server:foreign("set %s/b 2", folder)
        wait_for_list(told, "a=1 b=2 c=1")
        assert.same({ gets = 1 }, spent(before))
        before = session:stats()
        server:foreign("delete %s/a", folder)
        wait_for_list(told, "b=2 c=1")
        assert.same({ lists = 1 }, spent(before))
        before = session:stats()
        local lease = rig.hold(rig.session(server.hosts):mutex(rig.path()))
        assert(lease:guard{ { "delete", folder .. "/b" }, { "create", folder .. "/b", "2" } })
        rig.wait_for("b, made again", function() return #told == 5 end)
        settled()
        assert.same({ lists = 1, gets = 1 + 1 }, spent(before)) -- settled() asks
        assert.equal("b=2 c=1", told[#told])
    end)

    it("tells a herd of changes once", function()
        server:foreign("create %s ''", folder)
        local told = follows("")
        local creates, deletes, words = {}, {}, {}
        for i = 10, 59 do
            creates[#creates + 1] = ("create %s/%d x"):format(folder, i)
            deletes[#deletes + 1] = ("delete %s/%d"):format(folder, i)
            words[#words + 1] = i .. "=x"
        end
        local before = session:stats()
        server:foreign("%s", table.concat(creates, " "))
        wait_for_list(told, table.concat(words, " "))
        server:foreign("%s", table.concat(deletes, " "))
        wait_for_list(told, "")
        settled()
        if rig.in_memory then -- there it is one transaction
            assert.equal(3, #told)
            assert.same({ lists = 2, gets = 50 + 1 }, spent(before))
        end
    end)

    it("does not repeat a list while a call of the function waits #slow", function()
        joins(rig.session(server.hosts), "a")
        local short = rig.session(server.hosts, { timeout = 2 })
        local calls = 0
        assert(short:members(folder, function()
            calls = calls + 1
            if calls < 4 then zklock.sleep(2.5 * short:timeout()) end
        end))
        rig.wait_for("a call", function() return calls > 0 end, 60)
        assert.equal(1, calls)
    end)

    it("waits for a folder that is not there, and for one that was removed", function()
        local before = session:stats()
        local told = follows("")
        assert.same({ lists = 1, exists = 1 }, spent(before))
        for _ = 1, 2 do
            server:foreign("create %s '' create %s/a x", folder, folder)
            wait_for_list(told, "a=x")
            server:foreign("delete %s/a delete %s", folder, folder)
            wait_for_list(told, "")
        end
        settled()
        server:foreign("create %s ''", folder)
        settled()
        server:foreign("create %s/a x", folder)
        wait_for_list(told, "a=x")
        assert.equal(2, session:stats().watches - 1) -- one counts for the folder
    end)

    it("tells nothing after stop(), which may be repeated, and costs no watch then", function()
        joins(rig.session(server.hosts), "a")
        local told, stop = follows("a=")
        assert.equal(3, session:stats().watches)
        for _ = 1, 2 do assert.equal(0, select("#", stop())) end
        server:foreign("create %s/b ''", folder)
        settled()
        assert.same({ "a=" }, told)
        assert.equal(0, session:stats().watches)
        assert.equal(0, session:stats().watch_bytes)
    end)

    it("may be followed twice, and beside watches of the nodes", function()
        local first, stop = followed(session)
        local second = followed(session)
        wait_for_list(first, "")
        wait_for_list(second, "")
        local data = {}
        assert(session:watch(folder .. "/a", function(text) data[#data + 1] = text or "none" end))
        assert(session:watch(folder, function() end))
        server:foreign("create %s '' create %s/a 1", folder, folder)
        wait_for_list(first, "a=1")
        wait_for_list(second, "a=1")
        stop()
        settled()
        server:foreign("set %s/a 2", folder)
        wait_for_list(second, "a=2")
        server:foreign("delete %s/a create %s/a 3", folder, folder)
        wait_for_list(second, "a=3")
        settled()
        rig.wait_for("the watch", function() return data[#data] == "3" end)
        assert.equal("a=1", first[#first])
    end)

    it("may be stopped in its own call, and goes on when nothing refers to stop()", function()
        local count, stop = 0, nil
        local told = follows("")
        stop = session:members(folder, function()
            count = count + 1
            stop()
        end)
        rig.wait_for("a call", function() return count == 1 end)
        for _ = 1, 3 do collectgarbage() end
        joins(session, "a")
        wait_for_list(told, "a=")
        assert.equal(1, count)
    end)

    it("counts an error of the function, and goes on", function()
        local count = 0
        assert(session:members(folder, function()
            count = count + 1
            error("problem " .. count, 0)
        end))
        rig.wait_for("a call", function() return count == 1 end)
        assert.equal("problem 1", session:stats().callback_error)
        joins(session, "a")
        rig.wait_for("another", function() return count == 2 end)
    end)

    it("tells, after an error left dispatch(), what that did not tell", function()
        local told = followed(session)
        rig.wait_apart("the round", function() return session:stats().in_flight == 0 end)
        session.protect = function() error("an interrupt", 0) end
        assert.is_false(pcall(session.dispatch, session))
        session.protect = nil
        session:dispatch()
        assert.same({ "" }, told)
        session:dispatch()
        assert.same({ "" }, told)
    end)

    it("is below the chroot", function()
        joins(session, "a", "x")
        local below = rig.session(server.hosts .. folder:match "^(.*)/")
        local list
        assert(below:members("/" .. folder:match "[^/]*$", function(told) list = told end))
        rig.wait_for("the list", function() return list end)
        assert.equal("a", list[1].name)
    end)

    it('tells "too_many" when there is no room to watch them, and the list when there is #slow',
       function()
        session = rig.session(server.hosts, { timeout = 2 })
        local told = follows("")
        local long, stops = ("x"):rep(4000), {}
        repeat
            local stop = session:watch(("%s/%s%d"):format(folder, long, #stops), function() end)
            stops[#stops + 1] = stop
        until not stop
        local other = rig.session(server.hosts)
        local first, second = joins(other, long:sub(1, 3900)), joins(other, long)
        wait_for_list(told, "too_many")
        for _, stop in ipairs(stops) do stop() end
        wait_for_list(told, long:sub(1, 3900) .. "= " .. long .. "=")
        first:leave()
        second:leave()
        wait_for_list(told, "")
        assert.equal(2, session:stats().watches)
    end)

    it('gives "too_many" at once without room for the folder, "closed" of a closed session',
       function()
        local stop
        repeat stop = session:watch(rig.path() .. ("x"):rep(4000), function() end) until not stop
        folder = folder .. ("x"):rep(4000)
        rig.is_refused("too_many", "256 KB", session:members(folder, print))
        session:close()
        rig.is_refused("closed", folder, session:members(folder, print))
    end)

    it("blames the user for bad arguments", function()
        rig.blames("the folder", function() session:members("relative", print) end)
        rig.blames("what members calls must be a function", function() session:members(folder) end)
        assert.equal(0, session:stats().watches)
    end)
end)


describe("members, when connections and sessions are lost", function()
    it("tells once what changed meanwhile, and nothing if nothing did", function()
        local fragile = rig.fragile(server, { timeout = 20 })
        joins(session, "a", "1")
        local told = followed(fragile.session)
        wait_for_list(told, "a=1")
        fragile.cut()
        joins(session, "b", "2")
        server:foreign("set %s/a 3", folder)
        fragile.heal()
        wait_for_list(told, "a=3 b=2")
        fragile.cut()
        fragile.heal()
        settled()
        server:foreign("set %s/a 4", folder)
        wait_for_list(told, "a=4 b=2")
    end)

    it("tells in the next session what changed, and goes on #slow", function()
        local fragile = rig.fragile(server, { timeout = 3 })
        joins(session, "b", "1")
        local mark, own = follows("b=1"), followed(fragile.session)
        wait_for_list(own, "b=1")
        joins(fragile.session, "mark")
        wait_for_list(own, "b=1 mark=")
        wait_for_list(mark, "b=1 mark=")
        local bytes = fragile.session:stats().watch_bytes
        expire(fragile, mark, "b=1", function() server:foreign("set %s/b 2", folder) end)
        wait_for_list(own, "b=2 mark=")
        assert.equal(bytes, fragile.session:stats().watch_bytes)
        server:foreign("set %s/b 3", folder)
        wait_for_list(own, "b=3 mark=")
    end)

    it("tells that a member's process is gone, when its session has ended #slow", function()
        local told = follows("")
        local fragile = rig.fragile(server, { timeout = 3 })
        joins(fragile.session, "a")
        wait_for_list(told, "a=")
        fragile.cut()
        wait_for_list(told, "")
        assert.same({ "", "a=", "" }, told)
        fragile.heal()
    end)
end)


describe("what may not be read", function()
    before_each(function() session = rig.session(server.hosts, { timeout = 1 }) end)

    it("is told of by its name alone, and with its data when it may be #server #slow", function()
        server:foreign("create %s '' create %s/a x create %s/b y hide %s/b", folder, folder,
                       folder, folder)
        local told = follows("a=x b=nil")
        server:foreign("show %s/b", folder)
        wait_for_list(told, "a=x b=y")
        settled()
        assert.equal(2, #told)
    end)

    it('as a folder gives "auth", and the list when it may be #server #slow', function()
        server:foreign("create %s '' create %s/a x hide %s", folder, folder, folder)
        local told = follows("auth")
        server:foreign("show %s", folder)
        wait_for_list(told, "a=x")
        server:foreign("hide %s", folder)
        wait_for_list(told, "auth")
        settled()
        assert.equal(3, #told)
    end)

    it("keeps a member that left until its node may be removed #server #slow", function()
        local told = followed(rig.session(server.hosts))
        local member = joins(session, "a")
        wait_for_list(told, "a=")
        server:foreign("hide %s", folder)
        member:leave()
        settled()
        assert.equal(1, session:stats().watches)
        server:foreign("show %s", folder)
        wait_for_list(told, "")
        rig.wait_for("no watch", function() return session:stats().watches == 0 end)
    end)

    it('gives "auth" to who joins #server', function()
        server:foreign("create %s '' hide %s", folder, folder)
        rig.is_refused("auth", folder, session:join(folder, { name = "a" }))
        assert.equal(0, session:stats().watches)
    end)
end)
