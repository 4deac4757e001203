--- [lua luajit asan tsan memory worlds] The mutex without an order has one node of a fixed name,
-- for the quickest contender. The seed article's S1, ALG-05, PIT-01, BUG-03.

local now = require("zklock.waiting.runtime").now
local fault = require "spec.fault.fault"
local rig = require "spec.rig"
local zklock = require "zklock"

local LONG = 60
local UNFAIR = { order = "none" }

local server, path, a, b


local keep, hold, code_of, release = rig.keep, rig.hold, rig.code_of, rig.release
local come_to_rest, use, wait_while = rig.come_to_rest, rig.use, rig.wait_while

local function wait_for_no_node() server:wait_for_nodes(path, 0) end

before_each(function() server, path, a, b = rig.begin(2) end)
after_each(rig.close_sessions)


describe("an unfair mutex #order_none", function()
    local one, other
    before_each(function() one, other = a:mutex(path, UNFAIR), b:mutex(path, UNFAIR) end)

    it("the lock is one node of a fixed name (ALG-05) #server", function()
        local lease = hold(one)
        assert.same({ path .. "/lock" }, server:nodes(path))
        assert.equal(fault.czxid(server, path .. "/lock"), lease:token_string())
        assert.equal("held", lease:state())
        assert.is_true(lease:check(20))
        release(lease)
        wait_for_no_node()
    end)

    it("on_queued tells each waiter position 2, because nobody is ahead of anybody", function()
        local lease = hold(one)
        local _, told = rig.line_up({ other, other, one }, function() lease:release() end)
        assert.same({ { 2 }, { 2 }, { 2 } }, told)
    end)

    it("the queue shows the one node as a mutex", function()
        assert.same({}, one:queue())
        local lease = hold(b:mutex(path, { order = "none", data = "order-service" }))
        local queue = one:queue()
        assert.equal(1, #queue)
        local entry = queue[1]
        assert.same({ "mutex", "lock", "order-service", true, false, lease.token, b:id() },
                    { entry.kind, entry.name, entry.data, entry.held, entry.mine, entry.token,
                      entry.session })
        assert.is_true(other:queue()[1].mine)
        release(lease)
        assert.same({}, one:queue())
    end)

    it("a wait ends at its deadline, or by an interrupt, and the next waiter gets the lock",
       function()
        local lease = hold(one)
        local order = rig.line_up({ { other, timeout = 0.3 }, other, other }, function(order)
            assert.equal(1, b:interrupt(2))
            rig.wait_for("both ends", function() return order[2] end)
            lease:release()
        end)
        assert.equal(3, table.remove(order))
        table.sort(order)
        assert.same({ "interrupted", "timeout" }, order)
    end)

    it("a path in use as another kind of lock is a conflict in one session", function()
        local lease = hold(one)
        assert.equal("conflict", code_of(a:mutex(path), 0))
        assert.equal("conflict", code_of(a:rwlock(path):read(), { timeout = 1, owner = "x" }))
        release(lease)
        lease = hold(a:mutex(path))
        rig.check_refused("conflict", 'order = "fifo"', one:acquire(1))
        release(lease)
        lease = hold(a:rwlock(path):read())
        assert.equal("conflict", code_of(one, 0))
        release(lease)
        assert.equal("held", hold(one, 0):state())
    end)

    it("an unfair mutex and one in order of arrival do not exclude each other in two sessions",
    function()
        local lease = hold(one)
        local fifo = hold(b:mutex(path), 1)
        assert.equal("held", lease:state())
        assert.equal(2, #server:nodes(path))
        release(fifo)
    end)

    it("a lock whose node somebody deleted is lost, also if another session makes it again #server",
       function()
        for _, again in ipairs{ false, true } do
            local lease = hold(one)
            local told = rig.note_losses(lease)
            server:foreign("delete %s/lock", path)
            local next_lease = again and hold(other)
            assert.equal("lost", select(3, lease:check(20)))
            assert.equal("lost", lease:state())
            rig.wait_for("the news", function() return told[#told] == "lost" end)
            assert.equal("lost", select(3, lease:release()))
            if again then
                come_to_rest(a)
                assert.is_true(next_lease:check(20))
                release(next_lease)
            end
        end
    end)

    it("a lock whose node somebody wrote to stays held #server", function()
        local lease = hold(one)
        server:foreign("set %s/lock x", path)
        assert.is_true(lease:check(20))
        assert.equal("held", lease:state())
    end)

    it("an acquire waits for a node of the name by another program #server", function()
        use(one)
        server:foreign("create %s/lock ''", path)
        assert.equal("busy", code_of(one, 0))
        local lease = wait_while(one, { timeout = 10 }, function()
            server:foreign("delete %s/lock", path)
        end)
        assert.equal("held", lease:state())
    end)

    it("options of other orders are refused", function()
        local blames = rig.blames
        blames('belongs to order = "none"', function() a:mutex(path, { jitter = 1 }) end)
        blames('"turns"', function() a:mutex(path, { jitter = 1, order = "turns" }) end)
        for _, jitter in ipairs{ -1, math.huge, 0 / 0, "1" } do
            blames("jitter", function() a:mutex(path, { order = "none", jitter = jitter }) end)
        end
        blames('"turns"', function() a:mutex(path, { order = "none", batch = 2 }) end)
    end)
end)


describe("the requests of an unfair mutex #server #order_none", function()
    local proxy, session, lock

    before_each(function()
        session, proxy = rig.behind_proxy(server.hosts, { timeout = LONG })
        lock = use(session:mutex(path, UNFAIR))
        proxy:reset()
    end)

    local function assert_counts(expected)
        rig.settle(session)
        local seen = proxy:seen()
        seen.events = nil
        assert.same(expected, seen)
    end

    it("an acquire costs a create, and a release a delete", function()
        local lease = hold(lock)
        assert_counts{ create2 = 1, flights = 1 }
        proxy:reset()
        release(lease)
        assert_counts{ delete = 1, flights = 1 }
    end)

    it("a try costs a create, granted or not", function()
        release(hold(lock, 0))
        local holder = hold(a:mutex(path, UNFAIR))
        proxy:reset()
        assert.equal("busy", code_of(lock, 0))
        assert_counts{ create2 = 1, flights = 1 }
        release(holder)
    end)

    it("a wait costs a create and a get, and another create when the lock is free", function()
        local holder = hold(a:mutex(path, UNFAIR))
        local lease = wait_while(lock, { timeout = 10 }, function()
            assert_counts{ create2 = 1, getData = 1, flights = 2 }
            proxy:reset()
            holder:release()
        end)
        assert_counts{ create2 = 1, flights = 1 }
        release(lease)
    end)

    it("all waiters of a session cost the requests of one", function()
        local holder = hold(a:mutex(path, UNFAIR))
        rig.run(4, function(n)
            assert(lock:acquire{ timeout = 20, owner = n }):release()
        end, function()
            rig.wait_for_waits(session, 4)
            assert_counts{ create2 = 1, getData = 1, flights = 2 }
            holder:release()
        end)
        rig.come_to_rest(session)
        local counts = proxy:counts()
        assert.same({ 5, 4, 1 }, { counts.create2, counts.delete, counts.getData })
    end)

    it("a release and the next acquire are in one flight", function()
        proxy:command("delay 200")
        local lease = hold(lock)
        proxy:reset()
        lease:release()
        local seconds = rig.timed(hold, lock)
        assert.equal(1, proxy:counts().flights)
        assert.is_true(seconds >= 0.2)
    end)
end)


describe("a lost reply of an unfair mutex #server #order_none", function()
    local proxy, session, lock, others

    before_each(function()
        session, proxy = rig.behind_proxy(server.hosts, { timeout = 6 })
        lock, others = use(session:mutex(path, UNFAIR)), a:mutex(path, UNFAIR)
    end)

    it("a revocation that comes before the look after a lost reply is heard", function()
        local lease, heard
        proxy:command("drop-reply create2 1")
        proxy:command("refuse")
        zklock.run(function() lease = hold(lock) end, function()
            rig.becomes(session, "suspended")
            assert.equal(1, others:revoke(5))
            proxy:command("accept")
        end)
        lease:on_revoke(function() heard = true end)
        rig.wait_for("the request", function() return heard end)
        release(lease)
    end)

    local function take_meanwhile(loss, begin)
        local theirs, mine
        proxy:command(loss)
        proxy:command("refuse")
        zklock.run(function() mine = begin() end, function()
            rig.becomes(session, "suspended")
            theirs = hold(others)
            proxy:command("accept")
            rig.becomes(session, "connected")
            rig.settle(session)
            assert.is_true(theirs:check(20), "another session's node was removed")
            release(theirs)
        end)
        return theirs, mine
    end

    it("a create that never arrived waits for the client that took the lock meanwhile", function()
        local theirs, mine = take_meanwhile("drop-request create2 1", function()
            return hold(lock, 20)
        end)
        assert.is_true(mine.token > theirs.token)
        assert.is_true(mine:check(20))
        release(mine)
        come_to_rest(session)
    end)

    it("a delete that was carried out leaves the next holder's node alone", function()
        local lease = hold(lock)
        local deletes = session:stats().deletes
        local theirs = take_meanwhile("drop-reply delete 1", function()
            release(lease)
        end)
        assert.is_true(theirs.token > lease.token)
        assert.equal(deletes + 1, session:stats().deletes)
        come_to_rest(session)
    end)

    it("a wait without a reply ends at its deadline, and the node is removed", function()
        proxy:command("drop-reply create2 1")
        proxy:command("refuse")
        assert.equal("timeout", code_of(lock, 0.5))
        proxy:command("accept")
        wait_for_no_node()
        come_to_rest(session)
    end)

    -- Creates the lock's node in the session by another connection, unknown to its client.
    local function create_unseen(owner)
        proxy:command("refuse") -- else it would reconnect at once, and end the other connection
        local host = server:host(1) .. "@" .. owner:id()
        local answer = rig.foreign(host, "ephemeral %s/lock ''", path)
        proxy:command("accept")
        assert.matches("^ok ", answer)
        fault.wait_for_reconnects(owner, 1)
    end

    it("the node of a late create is removed by the next acquire, which makes its own", function()
        create_unseen(session)
        local stray = fault.czxid(server, path .. "/lock")
        local lease = hold(lock)
        assert.equal(1, session:stats().orphans)
        assert.is_true(tonumber(lease:token_string()) > tonumber(stray))
        assert.is_true(lease:check(20))
        release(lease)
        come_to_rest(session)
    end)

    it("a create without a reply is looked after once more, a session timeout later #slow",
       function()
        local brief = rig.session(proxy.hosts, { timeout = 4 })
        proxy:command("drop-reply create2 1")
        release(hold(brief:mutex(path, UNFAIR)))
        come_to_rest(brief)
        create_unseen(brief)
        assert.equal(1, #server:nodes(path))
        rig.wait_for("the late look", function() return brief:stats().orphans == 1 end)
        wait_for_no_node()
        come_to_rest(brief)
    end)

    it("another session's unknown node is not removed", function()
        create_unseen(rig.session(proxy.hosts))
        assert.equal("timeout", code_of(lock, 0.3))
        assert.equal(0, session:stats().orphans)
        assert.equal(1, #server:nodes(path))
    end)

    it("a waiter's get without a reply is repeated", function()
        local lease = hold(others)
        proxy:command("drop-reply getData 1")
        local mine = wait_while(lock, { timeout = 20 }, function()
            fault.wait_for_reconnects(session, 1)
            rig.settle(session)
            lease:release()
        end)
        assert.is_true(mine.token > lease.token)
    end)
end)


describe("many sessions with an unfair mutex #order_none", function()
    for name, options in pairs{
        ["many sessions exclude each other"] = UNFAIR,
        ["many sessions exclude each other also with pauses"] = { order = "none", jitter = 0.01 },
    } do
        it(name, function()
            rig.never_two({ a:mutex(path, options), b:mutex(path, options) }, 20)
            come_to_rest(a, b)
            wait_for_no_node()
        end)
    end

    -- Counts the requests of `count` waiting sessions from the release of the lock until a grant.
    local function herd(count, options)
        local sessions, first = rig.sessions(count, server.hosts, { timeout = LONG }), nil
        local holder = hold(a:mutex(path, UNFAIR))
        local function sum(what)
            local total = 0
            for _, session in ipairs(sessions) do total = total + session:stats()[what] end
            return total
        end
        local creates, begin, seconds
        rig.run(count, function(n)
            local lease = sessions[n]:mutex(path, options):acquire(60)
            first = first or lease
            if lease then keep(lease) end
        end, function()
            rig.wait_for("all to wait", function()
                return sum("waits") == count and sum("in_flight") == 0
            end)
            creates, begin = sum("creates"), now()
            holder:release()
            rig.wait_for("a grant", function() return first end)
            seconds = now() - begin
            rig.wait_for("the others' new watches", function()
                return sum("creates") == creates + count and sum("in_flight") == 0
            end)
            creates = sum("creates") - creates
            for _, session in ipairs(sessions) do session:close() end
        end)
        return creates, seconds
    end

    it("all waiters try at once when the lock is free, as a herd (PIT-01)", function()
        assert.equal(8, (herd(8, UNFAIR)))
    end)

    it("a waiter with jitter gets the free lock after its pause #slow", function()
        -- The first of eight pauses of up to 4 s, on average 0.5 s.
        local creates, seconds = herd(8, { order = "none", jitter = 4 })
        assert.equal(8, creates)
        assert.is_true(seconds < 15, ("took %.2f s"):format(seconds))
    end)

    it("waiters pause for any part of the jitter #slow", function()
        local other = a:mutex(path, UNFAIR)
        local lock = b:mutex(path, { order = "none", jitter = 1 })
        local shortest, longest = math.huge, 0
        for _ = 1, 6 do
            local lease, begin = hold(other), nil
            local mine = wait_while(lock, { timeout = 10 }, function()
                begin = now()
                lease:release()
            end)
            local pause = now() - begin
            shortest, longest = math.min(shortest, pause), math.max(longest, pause)
            release(mine)
        end
        -- The chance that six pauses of 0 to 1 s are all shorter than a tenth, or all longer than
        -- nine tenths, is one in a million.
        assert.is_true(longest > 0.1, "nobody paused")
        assert.is_true(shortest < 0.9 and longest < 10,
                       ("%.2f to %.2f s"):format(shortest, longest))
    end)
end)
