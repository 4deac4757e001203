--- [lua luajit asan tsan memory worlds] order = "turns": processes take turns. Within its turn a
-- process hands the lock to its own next waiter without a request, and the node stays.
-- The seed article's S1, Q-02.

local fault = require "spec.fault.fault"
local rig = require "spec.rig"
local zklock = require "zklock"

local LONG = 60 -- seconds, so that a session's first heartbeat is 10 s away

local server, path, a, b
local come_to_rest, hold, code_of, release = rig.come_to_rest, rig.hold, rig.code_of, rig.release
local wait_for_waits = rig.wait_for_waits


local function turns(session, batch)
    return session:mutex(path, { order = "turns", batch = batch })
end

local function wait_for_nodes(count) server:wait_for_nodes(path, count) end

local function take_first(lock)
    return hold(lock, { timeout = 5, owner = "first" })
end

local function line_up(acquires, fn, during)
    local last = 0
    return rig.line_up(acquires, fn, function(n, lease)
        assert.is_true(lease.token > last)
        last = lease.token
        if during then during(n, lease) end
    end)
end

local function wait_in_line(session)
    local id = ("0"):rep(16 - #session:id()) .. session:id()
    rig.wait_for("the session's node", function()
        for _, node in ipairs(server:nodes(path)) do
            if table.concat({ node:match("/_c_(%x+)%-(%x+)%-(%x+)") }) == id then return true end
        end
    end)
end

-- Lets waiters come in the order of `names`, each for the lock named by its first letter, while
-- another owner holds. Returns the names in the order of their grants. Each holder keeps the lock
-- until the waiters of other sessions are in line, and asks for the queue, because that answer
-- comes after the events of the new nodes.
local function serve_in_turns(locks, names)
    local acquires, named, counts = {}, {}, {}
    for name in names:gmatch("%S+") do
        local lock = locks[name:sub(1, 1)]
        acquires[#acquires + 1], named[#named + 1] = lock, name
        counts[lock.session] = (counts[lock.session] or 0) + 1
    end
    local first = take_first(acquires[1])
    local order = line_up(acquires, function() first:release() end, function(n)
        local own = acquires[n].session
        counts[own] = counts[own] - 1
        for session, count in pairs(counts) do
            if session ~= own and count > 0 then wait_in_line(session) end
        end
        assert(acquires[n]:queue())
    end)
    for i, n in ipairs(order) do order[i] = named[n] end
    return table.concat(order, " ")
end


before_each(function() server, path, a, b = rig.begin(2) end)
after_each(rig.close_sessions)


describe("a mutex of turns #order_turns", function()
    it("turns serve a batch of one process, then one of the other, each in order of arrival",
       function()
        local locks = { a = turns(a, 3), b = turns(b, 3) }
        assert.equal("a1 a2 b1 b2 b3 a3 a4 a5 b4",
                     serve_in_turns(locks, "a1 a2 a3 a4 a5 b1 b2 b3 b4"))
        come_to_rest(a, b)
        assert.equal(0, #server:nodes(path))
    end)

    it("a process has one node, with the name of a mutex's #real", function()
        local lock = turns(a)
        local first = take_first(lock)
        local node = server:nodes(path)[1]
        assert.is_truthy(node:find("/_c_%x+%-%x+%-%x+%-%x+%-%x+%-lock%-%d+$"), node)
        local order = line_up({ lock, lock, lock, lock, lock }, function()
            assert.same({ node }, server:nodes(path))
            first:release()
        end)
        assert.same({ 1, 2, 3, 4, 5 }, order)
        wait_for_nodes(0)
    end)

    -- Grants the lock `count` times in an undisturbed session. Returns the cost without heartbeats,
    -- the first token and the other tokens.
    local function cost_of(count, batch)
        local quiet, tokens = rig.session(server.hosts, { timeout = LONG }), {}
        local lock = turns(quiet, batch)
        local first = take_first(lock)
        local before = quiet:stats()
        rig.run(count - 1, function(n)
            local lease = assert(lock:acquire{ timeout = LONG, owner = n })
            assert.is_true(lease.token > (tokens[#tokens] or first.token))
            tokens[#tokens + 1] = lease.token
            assert(lease:release())
        end, function()
            wait_for_waits(quiet, count - 1)
            first:release()
        end)
        come_to_rest(quiet)
        local cost = quiet:stats()
        assert.equal(count, cost.grants)
        for _, name in ipairs{ "creates", "deletes", "lists", "gets" } do
            cost[name] = cost[name] - before[name]
        end
        return cost, first.token, tokens
    end

    it("a hand-over costs no request, also after the batch while no other session waits",
       function()
        local cost = cost_of(32, 3)
        assert.same({ 0, 1, 1, 0 }, { cost.creates, cost.deletes, cost.lists, cost.gets })
    end)

    it("a session takes a new node after 1024 grants, with or without waiters, so that tokens grow",
       function()
        local cost, first, tokens = cost_of(1030, 3)
        assert.same({ 1, 2 }, { cost.creates, cost.deletes })
        assert.equal(first + 1023, tokens[1023])
        assert.equal(0, tokens[1024] % 1024)
    end)

    it("a turn without a batch ends within 500 grants when another process waits", function()
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
        assert.is_true(grants < 500, grants) -- because each takes 10 ms; a node's limit is 1024
    end)

    it("a node has 1024 tokens; a queue shows the session's own token, and others' first one " ..
       "#server", function()
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
        assert.same({ true, true }, { queue[1].held, queue[1].mine })
    end)

    it("the next turn's node stands in line while the last of a batch holds", function()
        local lock, in_line = turns(a, 2), false
        local first = take_first(turns(b))
        line_up({ lock, lock, lock, turns(rig.session(server.hosts)) }, function()
            assert.equal("busy", code_of(lock, { timeout = 0, owner = "x" }))
            first:release()
        end, function(n, lease)
            if n == 2 then
                wait_for_nodes(3)
                in_line = true
            elseif n == 3 then
                assert.is_true(in_line)
                assert.equal(0, lease.token % 1024)
            end
        end)
    end)

    it("turns of batch 1 alternate between the processes", function()
        local locks = { a = turns(a, 1), b = turns(b, 1) }
        assert.equal("b1 a1 b2 a2 b3 a3", serve_in_turns(locks, "a1 a2 a3 b1 b2 b3"))
    end)

    it("on_queued tells a waiter's place in the process, or in line", function()
        local lock, first = turns(a), take_first(turns(b))
        local _, told = line_up({ lock, lock, lock }, function() first:release() end)
        assert.same({ { 2 }, { 2 }, { 3 } }, told)
    end)

    it("on_queued tells the place of an acquire while a released turn awaits a list", function()
        local memory, session = zklock.memory("turns"), rig.session("memory:turns")
        local lock, place = turns(session), nil
        local first = take_first(lock)
        local order, told = line_up({ lock }, function()
            zklock.sleep(0.25)
            memory:delay(0.1)
            first:release()
            release(hold(lock, { owner = "late", on_queued = function(at) place = at end }))
            memory:delay(0)
        end)
        assert.same({ { 1 }, { { 2 } }, 3 }, { order, told, place })
    end)

    it("any number of waiters in turns count as two nodes in the session's limit #slow", function()
        local COUNT = 20000
        local order, codes, place = {}, {}, nil
        local lock = turns(a, 1024)
        local first = take_first(lock)
        local one_node = a:stats().path_bytes
        local function come_in(n)
            local function tell(at) place = at end
            local lease, _, code = lock:acquire{ owner = n, on_queued = tell }
            if not lease then codes[code] = true return end
            order[#order + 1] = n
            lease:release()
        end
        zklock.run(function()
            for n = 1, COUNT do coroutine.wrap(come_in)(n) end
            rig.wait_for("all waiting", function()
                return a:stats().waits == COUNT or next(codes)
            end, 300)
            assert.equal(2 * one_node, a:stats().path_bytes)
            first:release()
            rig.wait_for("all served", function() return #order == COUNT or next(codes) end, 300)
        end)
        assert.same({}, codes)
        assert.equal(COUNT + 1, place)
        for n = 1, COUNT do assert.equal(n, order[n]) end
        come_to_rest(a)
        assert.equal(0, a:stats().path_bytes)
    end)

    it("the release of the last handle hands the lock over", function()
        local lock = turns(a)
        local first = hold(lock, { timeout = 5, owner = "me" })
        local again = hold(lock, { timeout = 5, owner = "me" })
        local second = rig.wait_while(lock, { timeout = 5, owner = "you" }, function()
            first:release()
            assert.is_true(again:check(20))
            assert.equal("busy", code_of(lock, { timeout = 0, owner = "x" }))
            again:release()
        end)
        assert.equal("released", (select(3, again:release())))
        assert.is_true(second:check(20))
        assert.equal("held", second:state())
    end)

    it("release_all, a scope's end and the garbage collector hand the lock over #real", function()
        local lock, gone, count = turns(a), nil, nil
        lock:acquire{ timeout = 5, owner = "first" }
        zklock.run(function()
            local lease = hold(lock, { timeout = 5, owner = "second" })
            wait_for_waits(a, 2)
            assert.equal(1, a:release_all("second"))
            gone = lease:state()
        end, function()
            wait_for_waits(a, 1)
            local third = { timeout = 5, owner = "third" }
            count = select(2, assert(lock:with(third, function() return #server:nodes(path) end)))
        end, function()
            wait_for_waits(a, 2)
            rig.wait_for("the collection", function()
                collectgarbage()
                return gone
            end)
        end)
        assert.same({ "released", 1 }, { gone, count })
        wait_for_nodes(0)
    end)

    it("a try fails while others wait or hold, and a granted try hands the lock on", function()
        local lock = turns(a)
        local first = hold(lock, 0)
        assert.equal("busy", code_of(lock, { timeout = 0, owner = "x" }))
        assert.equal("busy", code_of(turns(b), 0))
        local second = rig.wait_while(lock, { timeout = 5, owner = "second" }, function()
            assert.equal("busy", code_of(lock, { timeout = 0, owner = "x" }))
            first:release()
        end)
        assert.equal(first.token + 1, second.token)
    end)

    -- Numbers from 2147483647 on tell no order.
    it("a lock whose numbers are exhausted serves turns in order (Q-02) #server", function()
        server, path = rig.server_for_test("/turns", 2147483645), "/turns"
        local sessions = rig.sessions(2, server.hosts)
        local locks = { a = turns(sessions[1], 2), b = turns(sessions[2], 2) }
        assert.equal("a1 b1 b2 a2 a3 b3 b4 a4", serve_in_turns(locks, "a1 a2 a3 a4 b1 b2 b3 b4"))
    end)
end)


describe("the end of a turn #order_turns", function()
    -- Lets two waiters of session a and one of c wait behind b. fn() ends the first with `code`.
    local function check_place_passes_on(timeout, fn, code)
        local c = rig.session(server.hosts)
        local lock, holder = turns(a), take_first(turns(b))
        local acquires = { { lock, timeout = timeout }, lock, turns(c) }
        assert.same({ code, 2, 3 }, line_up(acquires, function(order)
            fn()
            rig.wait_for("the first waiter's end", function() return order[1] == code end)
            wait_for_nodes(3)
            holder:release()
        end))
        come_to_rest(a, b, c)
        wait_for_nodes(0)
    end

    it("a timeout passes the place to the next waiter of the process #slow", function()
        check_place_passes_on(4, function() end, "timeout")
    end)

    it("an interrupt passes the place to the next waiter of the process", function()
        check_place_passes_on(LONG, function() assert.equal(1, a:interrupt(1)) end, "interrupted")
    end)

    it("a waiter that waits for its turn ends without a request #slow", function()
        local lock = turns(a)
        local first = take_first(lock)
        local creates = a:stats().creates
        local order = line_up({ { lock, timeout = 3 }, lock }, function()
            assert.equal(1, a:interrupt(2))
        end)
        assert.same({ "interrupted", "timeout" }, order)
        assert.equal(creates, a:stats().creates)
        assert.equal("held", first:state())
    end)

    it("a revoked turn ends before its batch, and the other process is next", function()
        local one, other, heard = turns(a), turns(b), nil
        local first = take_first(one)
        first:on_revoke(function() heard = true end)
        assert.same({ 2, 1 }, line_up({ one, other }, function()
            assert.equal(1, other:revoke())
            rig.wait_for("the request", function() return heard end)
            wait_for_nodes(3)
            first:release()
        end))
    end)

    it("a turn revoked before it began ends after one grant", function()
        local one, asked = turns(a), nil
        local first = take_first(turns(b))
        local order = line_up({ one, one, turns(rig.session(server.hosts)) }, function()
            local name = assert(one:queue(20))[2].name
            local gets = a:stats().gets
            server:foreign("set %s/%s __REVOKE__", path, name)
            rig.wait_for("a to see it", function() return a:stats().gets > gets end)
            rig.settle(a)
            asked = true
            first:release()
        end, function() assert.is_true(asked) end)
        assert.same({ 1, 3, 2 }, order)
    end)

    it("a turn revoked while it goes from hand to hand ends soon #server", function()
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

    it("a turn whose node somebody deletes is lost, and the next acquire begins another #slow",
       function()
        local lock = turns(a)
        local first = take_first(lock)
        local told = rig.note_losses(first)
        local second = rig.wait_while(lock, { timeout = LONG, owner = "second" }, function()
            first:release()
        end)
        assert.equal(first.token + 1, second.token)
        assert.is_true(second:check(20))
        rig.delete_node(server, path)
        rig.becomes(second, "lost")
        assert.equal("lost", (select(3, second:release())))
        assert.is_true(hold(lock, { timeout = LONG, owner = "third" }).token > second.token)
        assert.same({}, told)
    end)

    it("the session's close ends all waits with closed, and grants nobody", function()
        local lock, before = turns(a), nil
        take_first(lock)
        local codes = line_up({ lock, lock, lock, lock, lock }, function()
            before = a:stats()
            a:close()
        end)
        assert.same({ "closed", "closed", "closed", "closed", "closed" }, codes)
        assert.equal(before.grants, a:stats().grants)
        assert.equal(before.creates, a:stats().creates)
    end)
end)


describe("turns without a connection #server #order_turns", function()
    local proxy, session
    before_each(function() session, proxy = rig.behind_proxy(server.hosts) end)

    -- Lets a holder without a connection release the lock to a waiter of its session, and reconnect
    -- after meanwhile(). Returns the tokens of both.
    local function gives_up(meanwhile)
        local lock = turns(session)
        local first = take_first(lock)
        local second = rig.wait_while(lock, { timeout = LONG, owner = "second" }, function()
            proxy:break_off(session)
            first:release()
            meanwhile()
            assert.equal(1, session:stats().grants)
            proxy:command("accept")
        end)
        release(second)
        come_to_rest(session)
        wait_for_nodes(0)
        return first.token, second.token
    end

    it("a release hands the lock over after the reconnect, when the server was asked", function()
        local before, after = gives_up(function() assert.equal(1, #server:nodes(path)) end)
        assert.equal(before + 1, after)
    end)

    it("a release hands nothing over if the node went meanwhile", function()
        local before, after = gives_up(function() rig.delete_node(server, path) end)
        assert.is_true(after > before + 1)
    end)
end)


describe("the tokens of turns in a lock in order of arrival #from_fifo_to_turns_and_back",
         function()
    local function fifo(session)
        return session:mutex(path, { token = "turns" })
    end

    it("tokens of both kinds of lock are in one order while the two alternate", function()
        local locks, last = { fifo(a), turns(b) }, 0
        for i = 1, 6 do
            local lock = locks[i % 2 + 1]
            local lease = hold(lock)
            assert.is_true(lease.token > last)
            last = lease.token
            assert.equal(last, lock:queue()[1].token)
            assert.equal(0, last % 1024)
            release(lease)
        end
    end)

    it("tokens grow before and after a turn of several grants", function()
        local order = serve_in_turns({ a = fifo(a), b = turns(b, 2) }, "a1 b1 b2 b3 a2")
        assert.equal("a1 b1 b2 a2 b3", order)
    end)

    it("conditions and multi-locks of such a lock have its tokens, too", function()
        local lock = fifo(a)
        local lease = hold(lock)
        local before = lease.token
        assert.is_nil((assert(lock:condition("c")):wait(lease, 0.01)))
        local both = hold(a:multi{ lock, a:mutex(path .. "-2") })
        assert.is_true(both.token > before)
        assert.equal(0, both.token % 1024)
        release(both)
    end)
end)


describe("a lock of turns #order_turns", function()
    it("batch must be a whole number from 1 to 1024, and belongs to turns", function()
        for _, batch in ipairs{ 0, -1, 1.5, 1025, math.huge, 0 / 0 } do
            rig.blames("batch must be a whole number, 1 to 1024",
                       function() a:mutex(path, { order = "turns", batch = batch }) end)
        end
        for _, order in ipairs{ "fifo", "none", false } do
            rig.blames('batch belongs to order = "turns"',
                       function() a:mutex(path, { order = order or nil, batch = 2 }) end)
        end
    end)

    it("a second lock of the session on the path with another order or other tokens is refused",
       function()
        local fifo, none, in_turn = { order = "fifo" }, { order = "none" }, { order = "turns" }
        local counted = { token = "turns" }
        for _, pair in ipairs{ { fifo, in_turn }, { in_turn, fifo }, { none, in_turn },
                               { counted, in_turn }, { in_turn, counted }, { fifo, counted },
                               { counted, fifo } } do
            path = rig.path()
            local first, other = hold(a:mutex(path, pair[1])), a:mutex(path, pair[2])
            local name, value = next(pair[1])
            rig.check_refused("conflict", ('%s = "%s"'):format(name, value),
                           other:acquire{ timeout = 5, owner = "x" })
            release(first)
            release(hold(other))
        end
    end)

    it("a lock of turns refuses conditions and a place in a multi-lock", function()
        local lock = turns(a)
        rig.check_refused("unsupported", 'order = "fifo"', lock:condition("c"))
        rig.blames('must be a mutex with order = "fifo"', function() a:multi{ lock } end)
        local lease = hold(lock)
        local of_fifo = assert(a:mutex(path):condition("c"))
        assert.equal("unsupported", (select(3, of_fifo:wait(lease, 1))))
        assert.equal("held", lease:state())
    end)

    it("a lock of turns has guards, and excludes locks without turns in other sessions", function()
        local store = path .. "-store"
        server:foreign("create %s 0", store)
        local first = hold(turns(a))
        assert.is_true(first:guard{ { "set", store, "1" } })
        assert.equal("timeout", code_of(b:mutex(path), 0.1))
        release(first)
        assert.equal("released", (select(3, first:guard{ { "set", store, "2" } })))
        assert.equal("1", (b:get(store)))
        hold(b:mutex(path))
    end)
end)
