-- order = "turns": processes take turns, and in a turn a process hands the lock to its own
-- next waiter without a request; the node stays. Seeds S1, Q-02.

local fault = require "spec.fault.fault"
local rig = require "spec.rig"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: globals unpack

local LONG = 60 -- seconds; a session whose first heartbeat is 10 s away

local server, path, a, b
local at_rest, hold, code_of, released = rig.at_rest, rig.hold, rig.code_of, rig.released


local function turns(session, batch)
    return session:mutex(path, { order = "turns", batch = batch })
end

local function nodes(count) server:wait_for_nodes(path, count) end

local function waits(session)
    return session:stats().waits
end

-- Waits until so many of the session wait in line or for their turn.
local function waiting(session, count)
    rig.wait_for(count .. " waits", function() return waits(session) == count end)
end

-- The lock for the owner "first".
local function take_first(lock)
    return hold(lock, { timeout = 5, owner = "first" })
end

-- A task that has the lock `name`, notes that in `order`, and lets it go, after order.meet().
local function comer(lock, order, name, arg)
    arg = arg or { timeout = LONG }
    arg.owner = name
    return function()
        local lease, _, code = lock:acquire(arg)
        order[#order + 1] = lease and name or code
        if not lease then return end
        order.tokens[#order.tokens + 1] = lease.token
        if order.meet then order.meet(lock) end
        assert(lease:release())
    end
end

local function is_growing(tokens)
    for i = 2, #tokens do assert.is_true(tokens[i] > tokens[i - 1]) end
end

-- Waits until the session has a node in line.
local function wait_in_line(session)
    local id = ("0"):rep(16 - #session:id()) .. session:id()
    rig.wait_for("its node", function()
        for _, node in ipairs(server:nodes(path)) do
            if table.concat({ node:match("/_c_(%x+)%-(%x+)%-(%x+)") }) == id then return true end
        end
    end)
end

-- Comers of a lock each, by the letter that their names begin with, come in the order of `names`
-- while the first of them holds; what they got. Who has the lock keeps it until those who wait in
-- another session are in line and its own session heard of it: an answer comes after the event.
local function in_turns(locks, names)
    local order, comers, counts = { tokens = {} }, {}, {}
    function order.meet(lock)
        counts[lock.session] = counts[lock.session] - 1
        for other, count in pairs(counts) do
            if other ~= lock.session and count > 0 then wait_in_line(other) end
        end
        assert(lock:queue())
    end
    for name in names:gmatch("%S+") do
        local lock = locks[name:sub(1, 1)]
        local before = counts[lock.session] or 0
        counts[lock.session] = before + 1
        comers[#comers + 1] = { name = name, lock = lock, before = before }
    end
    local first = take_first(comers[1].lock)
    rig.run(#comers, function(i)
        local lock = comers[i].lock
        for k = 1, i - 1 do
            rig.wait_for("turn", function() return waits(comers[k].lock.session) > 0 end)
        end
        waiting(lock.session, comers[i].before)
        comer(lock, order, comers[i].name)()
    end, function()
        for session, count in pairs(counts) do waiting(session, count) end
        first:release()
    end)
    return order
end


before_each(function()
    server, path = rig.shared(), rig.path()
    a, b = rig.session(server.hosts), rig.session(server.hosts)
end)

after_each(rig.close_sessions)


describe("a mutex of turns", function()
    it("serves a batch of one process, then one of the other, each in order of arrival", function()
        local one, other = turns(a, 3), turns(b, 3)
        local order = in_turns({ a = one, b = other }, "a1 a2 a3 a4 a5 b1 b2 b3 b4")
        -- the first of a's turn held already
        assert.equal("a1 a2 b1 b2 b3 a3 a4 a5 b4", table.concat(order, " "))
        is_growing(order.tokens)
        at_rest(a, b)
        assert.equal(0, #server:nodes(path))
    end)

    it("has one node a process, with the name of a mutex's #real", function()
        local lock = turns(a)
        local order = { tokens = {} }
        local first = take_first(lock)
        local node = server:nodes(path)[1]
        assert.is_truthy(node:find("/_c_%x+%-%x+%-%x+%-%x+%-%x+%-lock%-%d+$"), node)
        rig.run(5, function(n) comer(lock, order, n)() end, function()
            waiting(a, 5)
            assert.same({ node }, server:nodes(path))
            first:release()
        end)
        assert.same({ 1, 2, 3, 4, 5 }, { unpack(order) })
        nodes(0)
    end)

    -- So many of a session that none else disturbs have the lock, one after the other; what that
    -- cost, without heartbeats.
    local function cost_of(count, batch)
        local order = { tokens = {} }
        local quiet = rig.session(server.hosts, { timeout = LONG })
        local lock = turns(quiet, batch)
        local first = take_first(lock)
        local before = quiet:stats()
        rig.run(count - 1, function(n) comer(lock, order, n)() end, function()
            waiting(quiet, count - 1)
            first:release()
        end)
        at_rest(quiet)
        assert.equal(count - 1, #order.tokens)
        is_growing(order.tokens)
        local cost = quiet:stats()
        assert.equal(count, cost.grants)
        for _, name in ipairs{ "creates", "deletes", "lists", "gets" } do
            cost[name] = cost[name] - before[name]
        end
        return cost, first.token, order.tokens
    end

    it("hands over without a request, and goes on after its batch while nobody else waits",
       function()
        local cost = cost_of(32, 3)
        assert.same({ 0, 1, 1, 0 }, { cost.creates, cost.deletes, cost.lists, cost.gets })
    end)

    it("has another node after 1024 grants, whoever waits: tokens grow", function()
        local cost, first, tokens = cost_of(1030, 3)
        assert.same({ 1, 2 }, { cost.creates, cost.deletes })
        assert.equal(first + 1023, tokens[1023])
        assert.equal(0, tokens[1024] % 1024)
    end)

    it("ends its turn at the next hand-over when another process comes", function()
        local lock, order = turns(a, 1), { tokens = {} }
        local first = take_first(lock)
        local second
        zklock.run(function()
            second = hold(lock, { timeout = LONG, owner = "second" })
            assert.equal(first.token + 1, second.token)
            rig.wait_for("another to wait", function() return waits(b) == 1 end)
            nodes(2)
            assert(lock:queue()) -- behind the event that tells of it
            second:release()
        end, function()
            waiting(a, 1)
            comer(lock, order, "third")()
        end, function()
            waiting(a, 2)
            first:release()
            rig.wait_for("the second", function() return second end)
            comer(turns(b, 1), order, "other")()
        end)
        assert.same({ "other", "third" }, { unpack(order) })
        is_growing(order.tokens)
    end)

    it("without a batch ends its turn after some time, for another process", function()
        local one, had, grants = turns(a), false, 0
        local function go_on()
            while not had do
                one:with(LONG, function()
                    grants = grants + 1
                    zklock.sleep(0.01)
                end)
            end
        end
        zklock.run(go_on, go_on, go_on, function()
            rig.wait_for("some grants", function() return grants > 3 end)
            grants = 0
            had = turns(b):with(LONG, function() return true end)
        end)
        assert.is_true(had)
        assert.is_true(grants < 500, grants) -- of 10 ms at least, and a node has 1024
    end)

    it("has tokens of 1024 a node; the queue has its own, and of others the first #server",
       function()
        local lock = turns(a, 2)
        local first = take_first(lock)
        local czxid = fault.czxid(server, server:nodes(path)[1])
        assert.equal(tonumber(czxid) * 1024, first.token)
        assert.equal(("%.0f"):format(first.token), first:token_string())
        local second = rig.wait_while(lock, { timeout = 5, owner = "second" }, function()
            first:release()
        end)
        assert.equal(first.token + 1, second.token)
        local queue = assert(lock:queue())
        assert.equal(1, #queue)
        assert.equal(second.token, queue[1].token)
        assert.equal(first.token, assert(turns(b):queue())[1].token)
        assert.is_nil(queue[1].served)
        assert.is_true(queue[1].held)
        assert.is_true(queue[1].mine)
    end)

    it("lets the next turn stand in line while the last of a batch holds", function()
        local lock, order = turns(a, 2), { tokens = {} }
        local c = rig.session(server.hosts)
        local first = take_first(turns(b))
        local leave, second = false, nil
        zklock.run(function()
            hold(lock, { timeout = LONG, owner = "one" }):release()
        end, function()
            waiting(a, 1)
            second = hold(lock, { timeout = LONG, owner = "second" })
            rig.wait_for("the next node", function() return #server:nodes(path) == 3 end)
            leave = true
            second:release()
        end, function()
            waiting(a, 2)
            local third = hold(lock, { timeout = LONG, owner = "third" })
            assert.is_true(leave)
            assert.is_true(third.token > second.token)
            assert.equal(0, third.token % 1024)
        end, function()
            waiting(a, 3)
            comer(turns(c), order, "other")()
        end, function()
            waiting(c, 1)
            assert.equal("busy", code_of(lock, { timeout = 0, owner = "x" })) -- a look
            first:release()
        end)
    end)

    it("is as fair as it can be with a batch of one", function()
        local one, other = turns(a, 1), turns(b, 1)
        local order = in_turns({ a = one, b = other }, "a1 a2 a3 b1 b2 b3")
        assert.equal("b1 a1 b2 a2 b3 a3", table.concat(order, " ")) -- a held before
        is_growing(order.tokens)
    end)

    it("tells who waits his place in the process, or in line", function()
        local lock, places = turns(a), {}
        local first = take_first(turns(b))
        rig.run(3, function(n)
            waiting(a, n - 1)
            local arg = { timeout = LONG, on_queued = function(place) places[n] = place end }
            comer(lock, { tokens = {} }, n, arg)()
        end, function()
            rig.wait_for("all told", function() return #places == 3 end)
            first:release()
        end)
        assert.same({ 2, 2, 3 }, places)
    end)

    it("tells his place to who comes while the turn's end awaits a list", function()
        local memory, session = zklock.memory("turns"), rig.session("memory:turns")
        local lock, places = turns(session), {}
        local first = take_first(lock)
        local function come(n)
            local arg = { timeout = LONG, on_queued = function(place) places[n] = place end }
            comer(lock, { tokens = {} }, n, arg)()
        end
        zklock.run(function() come(1) end, function()
            waiting(session, 1)
            zklock.sleep(0.25) -- longer than a turn
            memory:delay(0.1)
            first:release()
            come(2)
            memory:delay(0)
        end)
        assert.same({ 2, 3 }, places)
    end)

    it("has any number of waiters in a session, which count as two nodes #slow", function()
        local COUNT = 20000
        local order, codes, place, bytes = {}, {}, nil, nil
        local lock = turns(a, 1024)
        local first = take_first(lock)
        local one_node = a:stats().path_bytes
        local function comer_of(n)
            return function()
                local lease, _, code = lock:acquire{ owner = n, on_queued = function(at)
                    place = at
                end }
                if lease then order[#order + 1] = n else codes[code] = true end
                if lease then lease:release() end
            end
        end
        zklock.run(function()
            for n = 1, COUNT do coroutine.wrap(comer_of(n))() end
            rig.wait_for("all waiting", function() return waits(a) == COUNT or next(codes) end, 300)
            bytes = a:stats().path_bytes
            first:release()
            rig.wait_for("all served", function() return #order == COUNT or next(codes) end, 300)
        end)
        assert.same({}, codes)
        assert.equal(COUNT + 1, place)
        assert.equal(2 * one_node, bytes)
        for n = 1, COUNT do assert.equal(n, order[n]) end
        at_rest(a)
        assert.equal(0, a:stats().path_bytes)
    end)

    it("re-enters, and hands over with the last handle", function()
        local lock = turns(a)
        local first = hold(lock, { timeout = 5, owner = "me" })
        local again = hold(lock, { timeout = 5, owner = "me" })
        assert.equal(first.token, again.token)
        local second
        zklock.run(function() second = hold(lock, { timeout = 5, owner = "you" }) end, function()
            waiting(a, 1)
            first:release()
            assert.is_true(again:check(20))
            assert.is_nil(second)
            again:release()
        end)
        assert.equal("released", (select(3, again:release())))
        assert.is_true(second:check(20))
        assert.equal("held", second:state())
    end)

    it("hands over what is given up by its owner, or closed, or collected #real", function()
        local lock, order = turns(a), { tokens = {} }
        lock:acquire{ timeout = 5, owner = "first" } -- collected
        local gone = {}
        zklock.run(function()
            local lease = hold(lock, { timeout = 5, owner = "second" })
            waiting(a, 2)
            assert.equal(1, a:release_all("second"))
            gone[1] = lease:state()
        end, function()
            waiting(a, 1)
            assert(lock:with({ timeout = 5, owner = "third" }, function()
                order[1] = #server:nodes(path)
            end))
        end, function()
            waiting(a, 2)
            rig.wait_for("the collection", function()
                collectgarbage()
                return gone[1]
            end)
        end)
        assert.equal("released", gone[1])
        assert.equal(1, order[1])
        nodes(0)
    end)

    it("tries without regard to who waits, and what is had is handed on", function()
        local lock, order = turns(a), { tokens = {} }
        local first = hold(lock, 0)
        assert.equal("busy", code_of(lock, { timeout = 0, owner = "x" }))
        assert.equal("busy", code_of(turns(b), 0))
        zklock.run(comer(lock, order, "second"), function()
            waiting(a, 1)
            assert.equal("busy", code_of(lock, { timeout = 0, owner = "x" }))
            first:release()
        end)
        assert.same({ "second" }, { unpack(order) })
        assert.equal(first.token + 1, order.tokens[1])
    end)
end)


describe("a turn that ends otherwise", function()
    -- `fn` ends the first of two waiters behind b, and c comes after them.
    local function gives_its_place(arg, fn, code)
        local c = rig.session(server.hosts)
        local holder = hold(turns(b), { timeout = 5, owner = "holder" })
        local lock, order = turns(a), { tokens = {} }
        zklock.run(comer(lock, order, "first", arg), function()
            waiting(a, 1)
            comer(lock, order, "second")()
        end, function()
            waiting(a, 2)
            comer(turns(c), order, "third")()
        end, function()
            waiting(c, 1)
            fn()
            rig.wait_for("its end", function() return order[1] == code end)
            nodes(3)
            holder:release()
        end)
        assert.same({ code, "second", "third" }, { unpack(order) })
        is_growing(order.tokens)
        at_rest(a, b, c)
        nodes(0)
    end

    it("at its deadline: who waits behind it in its process has the place #slow", function()
        gives_its_place({ timeout = 4 }, function() end, "timeout")
    end)

    it("by an interrupt: likewise", function()
        gives_its_place({ timeout = LONG }, function()
            assert.equal(1, a:interrupt("first"))
        end, "interrupted")
    end)

    it("for one that waits for its turn: nothing is asked of the server #slow", function()
        local lock = turns(a)
        local first = take_first(lock)
        local creates = a:stats().creates
        local codes = {}
        zklock.run(function() codes[1] = code_of(lock, { timeout = 3, owner = "x" }) end,
                   function()
                       codes[2] = code_of(lock, { timeout = LONG, owner = "y" })
                   end, function()
                       waiting(a, 2)
                       assert.equal(1, a:interrupt("y"))
                   end)
        assert.same({ "timeout", "interrupted" }, codes)
        assert.equal(creates, a:stats().creates)
        assert.equal("held", first:state())
    end)

    it("when it is revoked: the other process is next, though the batch is not served", function()
        local one, other = turns(a), turns(b)
        local order = { tokens = {} }
        local first = take_first(one)
        local heard
        first:on_revoke(function() heard = true end)
        zklock.run(comer(one, order, "a"), function()
            waiting(a, 1)
            comer(other, order, "b")()
        end, function()
            waiting(b, 1)
            assert.equal(1, other:revoke())
            rig.wait_for("the wish", function() return heard end)
            nodes(3) -- the next of a stands in line already, behind b
            first:release()
        end)
        assert.same({ "b", "a" }, { unpack(order) })
        is_growing(order.tokens)
    end)

    it("when it was revoked before it began: after one grant", function()
        local one, order = turns(a), { tokens = {} }
        local first = take_first(turns(b))
        local c = rig.session(server.hosts)
        local asked
        zklock.run(function()
            local lease = hold(one, { timeout = LONG, owner = "a1" })
            order[1] = "a1"
            assert.is_true(asked)
            lease:release()
        end, function()
            waiting(a, 1)
            comer(one, order, "a2")()
        end, function()
            waiting(a, 2)
            comer(turns(c), order, "c")()
        end, function()
            waiting(c, 1)
            local name = assert(one:queue(20))[2].name
            local gets = a:stats().gets
            server:foreign("set %s/%s __REVOKE__", path, name)
            rig.wait_for("a to see it", function()
                local stats = a:stats()
                asked = stats.gets > gets and stats.in_flight == 0
                return asked
            end)
            first:release()
        end)
        assert.same({ "a1", "c", "a2" }, { unpack(order) })
    end)

    it("when it is revoked while it goes from hand to hand #server", function()
        local far, proxy = rig.behind_proxy(server.hosts, { timeout = LONG })
        local one, other = turns(far, 1024), turns(b)
        local begun, served, had = nil, 0, false
        local function go_on()
            while not had do
                one:with({ timeout = LONG }, function(lease)
                    lease:on_revoke(function() end) -- asks for the node; gone before the answer
                    served = served + 1
                    zklock.sleep(0.001)
                end)
            end
        end
        proxy:command("delay 20")
        zklock.run(go_on, go_on, go_on, function()
            rig.wait_for("some turns", function() return served > 10 end)
            assert(other:revoke(5))
            begun = served
            had = other:with(LONG, function() return true end)
        end)
        assert.is_true(had)
        assert.is_true(served - begun < 300, served - begun)
    end)

    it("when somebody deletes its node: the holder is told, the next begins anew #slow", function()
        local lock, order = turns(a), { tokens = {} }
        local first = take_first(lock)
        local told
        first:on_lost(function(_, state) told = state end)
        zklock.run(function()
            local second = hold(lock, { timeout = LONG, owner = "second" })
            order[1] = second.token
            assert.is_true(second:check(20))
            server:foreign("delete %s", server:nodes(path)[1]) -- it was handed over
            rig.wait_for("the loss", function() return second:state() == "lost" end)
            assert.equal("lost", (select(3, second:release())))
            comer(lock, order, "third")()
        end, function()
            waiting(a, 1)
            first:release()
        end)
        assert.equal("third", order[2])
        assert.equal(first.token + 1, order[1])
        assert.is_true(order.tokens[1] > order[1])
        assert.is_nil(told) -- it had been released
    end)

    it("with its session: closed for all, and nobody is granted after", function()
        local lock, codes = turns(a), {}
        local first = take_first(lock)
        local before = a:stats()
        rig.run(5, function(n)
            codes[n] = code_of(lock, { timeout = LONG, owner = n })
        end, function()
            waiting(a, 5)
            a:close()
        end)
        assert.same({ "closed", "closed", "closed", "closed", "closed" }, codes)
        local after = a:stats()
        assert.equal(before.grants, after.grants)
        assert.equal(before.creates, after.creates)
        assert.equal("released", first:state())
        nodes(0)
    end)

    it("with its process: the others go on #server #slow", function()
        local child = rig.child(server.hosts, ("local PATH = %q\n"):format(path) .. [[
            local session = assert(zklock.connect(HOSTS, { timeout = 3 }))
            local lock = session:mutex(PATH, { order = "turns" })
            local lease = assert(lock:acquire(20))
            say "held"
            zklock.run(function() lock:acquire{ timeout = 60, owner = "x" } end,
                       function() lock:acquire{ timeout = 60, owner = "y" } end)
        ]])
        assert.equal("held", child:line())
        local order = { tokens = {} }
        zklock.run(comer(turns(b), order, "b"), function()
            waiting(b, 1)
            child:signal("KILL")
        end)
        child:finish()
        assert.same({ "b" }, { unpack(order) })
        nodes(0)
    end)
end)


describe("turns without a connection #server", function()
    local proxy, session
    before_each(function()
        proxy = rig.proxy_for_test(server.hosts)
        session = rig.session(proxy.hosts)
    end)

    -- What a holder without a connection gives up; `meanwhile` happens before it is back.
    -- The tokens before and after.
    local function gives_up(meanwhile)
        local lock, order = turns(session), { tokens = {} }
        local first = take_first(lock)
        zklock.run(comer(lock, order, "second"), function()
            waiting(session, 1)
            proxy:break_off(session)
            first:release()
            meanwhile()
            assert.equal(0, #order)
            proxy:command("accept")
        end)
        assert.same({ "second" }, { unpack(order) })
        at_rest(session)
        nodes(0)
        return first.token, order.tokens[1]
    end

    it("are handed over when it is back, and the server was asked", function()
        local before, after = gives_up(function() assert.equal(1, #server:nodes(path)) end)
        assert.equal(before + 1, after)
    end)

    it("are not, when the node went meanwhile", function()
        local before, after = gives_up(function()
            server:foreign("delete %s", server:nodes(path)[1])
        end)
        assert.is_true(after > before + 1)
    end)

    it("end with the session: expired for who waits, lost for who holds #slow", function()
        local short = rig.session(proxy.hosts, { timeout = 3 })
        local lock, codes = turns(short), {}
        local first = take_first(lock)
        rig.run(3, function(n)
            codes[n] = code_of(lock, { timeout = LONG, owner = n })
        end, function()
            waiting(short, 3)
            proxy:command("blackhole")
            nodes(0)
            proxy:command("flow")
        end)
        assert.same({ "expired", "expired", "expired" }, codes)
        assert.equal("lost", first:state())
        at_rest(short)
        local again = hold(lock, { timeout = 20, owner = "again" })
        assert.is_true(again.token > first.token)
    end)
end)


-- Q-02: from 2147483647 on numbers tell nothing.
describe("turns whose numbers are exhausted", function()
    it("are in order, for all that #server", function()
        local own = rig.server_at("/turns", 2147483645)
        server, path = own, "/turns"
        a, b = rig.session(own.hosts), rig.session(own.hosts)
        local one, other = turns(a, 2), turns(b, 2)
        local order = in_turns({ a = one, b = other }, "a1 a2 a3 a4 b1 b2 b3 b4")
        rig.close_sessions()
        own:stop()
        assert.equal("a1 b1 b2 a2 a3 b3 b4 a4", table.concat(order, " "))
        is_growing(order.tokens)
    end)
end)


describe("the tokens of turns, of a lock in order of arrival", function()
    local function fifo(session)
        return session:mutex(path, { token = "turns" })
    end

    it("are in one order with those of turns, while the two alternate", function()
        local locks, last = { fifo(a), turns(b) }, 0
        for i = 1, 6 do
            local lock = locks[i % 2 + 1]
            local lease = hold(lock)
            assert.is_true(lease.token > last)
            last = lease.token
            assert.equal(last, lock:queue()[1].token)
            assert.equal(0, last % 1024) -- the first grant of its node
            released(lease)
        end
    end)

    it("grow with those of a turn of several, and after it", function()
        local order = in_turns({ a = fifo(a), b = turns(b, 2) }, "a1 b1 b2 b3 a2")
        assert.equal("a1 b1 b2 a2 b3", table.concat(order, " "))
        is_growing(order.tokens)
    end)

    it("are those of its conditions, too, and of a multi-lock that it is a part of", function()
        local lock = fifo(a)
        local lease = hold(lock)
        local before = lease.token
        assert.is_nil((assert(lock:condition("c")):wait(lease, 0.01)))
        local both = hold(a:multi{ lock, a:mutex(path .. "-2") })
        assert.is_true(both.token > before)
        assert.equal(0, both.token % 1024)
        released(both)
    end)

    it("are the lock's for all of a session: one with others is refused meanwhile", function()
        for _, tokens in ipairs{ { "turns", false }, { false, "turns" } } do
            path = rig.path()
            local first = hold(a:mutex(path, { token = tokens[1] or nil }))
            rig.is_refused("conflict", tokens[1] and 'token = "turns"' or 'order = "fifo"',
                           a:mutex(path, { token = tokens[2] or nil })
                                :acquire{ timeout = 5, owner = "x" })
            released(first)
            released(hold(a:mutex(path, { token = tokens[2] or nil })))
        end
    end)
end)


describe("a lock of turns is refused", function()
    it("with a batch that is none", function()
        for _, batch in ipairs{ 0, -1, 1.5, 1025, math.huge, 0 / 0 } do
            rig.blames("batch must be a whole number, 1 to 1024",
                       function() a:mutex(path, { order = "turns", batch = batch }) end)
        end
        for _, order in ipairs{ "fifo", "none", false } do
            rig.blames('batch belongs to order = "turns"',
                       function() a:mutex(path, { order = order or nil, batch = 2 }) end)
        end
    end)

    it("where the session uses the path in another order, and the other way round", function()
        local fifo, none, in_turn = { order = "fifo" }, { order = "none" }, { order = "turns" }
        local counted = { token = "turns" }
        for _, pair in ipairs{ { fifo, in_turn }, { in_turn, fifo }, { none, in_turn },
                               { counted, in_turn }, { in_turn, counted } } do
            path = rig.path()
            local first, other = hold(a:mutex(path, pair[1])), a:mutex(path, pair[2])
            local name, value = next(pair[1])
            rig.is_refused("conflict", ('%s = "%s"'):format(name, value),
                           other:acquire{ timeout = 5, owner = "x" })
            released(first)
            released(hold(other))
        end
    end)

    it("a condition, and a place in a multi-lock", function()
        local lock = turns(a)
        rig.is_refused("unsupported", 'order = "fifo"', lock:condition("c"))
        rig.blames('must be a mutex with order = "fifo"', function() a:multi{ lock } end)
        local lease = hold(lock)
        local of_fifo = assert(a:mutex(path):condition("c"))
        assert.equal("unsupported", (select(3, of_fifo:wait(lease, 1))))
        assert.equal("held", lease:state())
    end)

    it("nothing else: it is guarded, and excludes who takes no turns elsewhere", function()
        local store = path .. "-store"
        server:foreign("create %s 0", store)
        local first = hold(turns(a))
        assert.is_true(first:guard{ { "set", store, "1" } })
        assert.equal("timeout", code_of(b:mutex(path), 0.1))
        released(first)
        assert.equal("released", (select(3, first:guard{ { "set", store, "2" } })))
        assert.equal("1", (b:get(store)))
        hold(b:mutex(path))
    end)
end)
