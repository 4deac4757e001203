--- [lua tsan] Traps of libzookeeper and of ZooKeeper that a lock library falls into. Each was
-- reproduced with the bare client; these tests show that zklock is immune.

local core = require "zklock.core"
local fault = require "spec.fault.fault"
local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"

local come_to_rest, foreign = rig.come_to_rest, fault.foreign

local server, proxy = rig.shared(), nil

before_each(function() proxy = rig.proxy_for_test(server.hosts) end)
after_each(rig.close_sessions)


-- Calls a lock's method. Returns "ok" or the code, and the result.
local function outcome(lock, method, arg)
    local result, _, code = lock[method](lock, arg)
    return result and "ok" or code, result
end


-- ZOOKEEPER-1998: libzookeeper resolves names on every turn of its loop, and neither sends nor
-- delivers while it cannot.
describe("trap 1: name resolution that fails #zklock.connect", function()
    local names, options

    before_each(function()
        names = rig.shell("mktemp -d"):match("%S+")
        program.write(names .. "/zk", proxy.hosts)
        options = { preload = program.library("names"), environment = "NAMES=" .. names }
    end)

    after_each(function() rig.shell("rm -r %s", names) end)

    local function break_resolver() program.write(names .. "/fails", "") end

    it("a failure after connect costs no heartbeat, no lease and no reconnect #slow", function()
        local path = rig.path()
        options.input = true
        local child = program.start("zk.test", ([[
            local PATH = %q
            local session = assert(zklock.connect(HOSTS, { timeout = 8 }))
            local lease = assert(session:mutex(PATH):acquire(20))
            say(lease:token_string())
            for line in io.lines() do
                if line == "broken" then
                    local _, _, code = zklock.connect("zk.test", { connect_timeout = 0.1 })
                    say(code)
                elseif line == "state" then say(lease:state(), session:stats().reconnects)
                elseif line == "check" then say(tostring(lease:check(2))) end
            end
        ]]):format(path), options)
        local token = assert(child:line(), "no lock")
        break_resolver()
        child:tell("broken")
        child:says("connection")
        local begin = core.now()
        proxy:reset()
        rig.wait_for("heartbeats, six in a timeout", function()
            child:tell("state")
            local state = child:line() -- suspect if a busy machine was late with a heartbeat
            assert.is_true(state == "held\t0" or state == "suspect\t0", state)
            return core.now() - begin > 9 and proxy:counts().sync >= 6
        end)
        child:tell("check")
        child:says("true")
        proxy:command("cut")
        rig.wait_for("a reconnect by address", function()
            child:tell("state")
            return child:line() == "held\t1"
        end)
        child:tell("check")
        child:says("true")
        local node = assert(server:nodes(path)[1])
        assert.equal(token, fault.czxid(server, node))
        child:tell(nil)
        child:ends()
    end)

    it("a failure before connect returns connection at the deadline, and is cured with name " ..
       "resolution", function()
        break_resolver()
        local child = program.start("zk.test", [[
            local core = require "zklock.core"
            local begin = core.now()
            local session, message, code = zklock.connect(HOSTS, { connect_timeout = 0.3 })
            say(tostring(session), code, core.now() - begin < 20)
            say(message)
            os.remove(os.getenv("NAMES") .. "/fails")
            say(zklock.connect(HOSTS, { connect_timeout = 60 }) ~= nil)
        ]], options)
        child:says("nil\tconnection\ttrue")
        assert.matches("zk%.test.*resolution", child:line())
        child:says("true")
        child:ends()
    end)
end)


-- ZOOKEEPER-2466: the cursor advances twice after a failure, so half of an even number of addresses
-- is never tried.
describe("trap 2: an even number of addresses #zklock.connect", function()
    for _, order in ipairs{ "dead,live", "live,dead", "dead,dead,dead,live",
                            "dead,dead,live,dead", "dead,live,dead,dead",
                            "live,dead,dead,dead" } do
        it(("a session always finds the live server of %s #slow"):format(order), function()
            local live
            local hosts = order:gsub("%a+", function(word)
                local each = rig.proxy_for_test(server.hosts)
                if word == "live" then live = each else each:command("refuse") end
                return each.hosts
            end)
            local session = rig.session(hosts, { timeout = 10 })
            for i = 1, 6 do
                fault.suspend(live, session)
                zklock.sleep(0.05 * (i % 3))
                live:command("accept")
                fault.wait_for_reconnects(session, i)
            end
            assert.equal(0, session:stats().expiries)
        end)
    end
end)


-- The follower answers pings and reads, so its client would believe for ten ticks that all is well.
describe("trap 3: a follower that is cut off from its leader (Curator, kazoo) #lease:held",
         function()
    local ensemble

    setup(function() ensemble = rig.server{ n = 3 } end)
    teardown(function() ensemble:stop() end)
    after_each(function() for n = 1, 3 do ensemble:resume(n) end end)

    it("a lease does not live on a cut-off follower, but is suspect, then lost, by the clock #slow",
       function()
        local TIMEOUT, follower = 3, ensemble:leader() % 3 + 1
        local hosts = ensemble:host(follower)
        local session = rig.session(hosts, { timeout = TIMEOUT })
        local idle = rig.session(hosts, { timeout = 4 })
        local lock = session:mutex(rig.path())
        local lease = rig.hold(lock)
        local told = rig.note_losses(lease)
        rig.wait_for("heartbeats, and a lease for certain", function()
            return session:stats().syncs >= 3 and lease:state() == "held"
        end)
        for other = 1, 3 do
            if other ~= follower then ensemble:pause(other) end
        end
        local begin, certain = core.now(), lease:remaining()
        assert.is_true(certain <= TIMEOUT / 2, ("certain for %.2f s"):format(certain))
        -- While it serves, the follower lists the holder as first in line.
        local function look()
            local line = idle:mutex(lock.path):queue(1)
            if line then assert.is_true(line[1].held) end
        end
        look()
        rig.wait_for("suspect", function() session:dispatch() return not lease:held() end)
        if session:state() == "connected" then look() end
        rig.wait_for("lost", function() session:dispatch() return lease:state() == "lost" end)
        assert.is_true(core.now() - begin <= TIMEOUT + 5, "lost too late")
        session:dispatch()
        -- It may have been suspect for a moment before, on a busy machine.
        assert.equal("lost", table.remove(told))
        assert.is_true(#told > 0)
        for _, state in ipairs(told) do assert.equal("suspect", state) end
        assert.equal(0, session:stats().expiries)
    end)
end)


-- ZOOKEEPER-3868: zookeeper_close() forgets completions.
describe("trap 4: completions that are lost at close #session:close", function()
    local ALLOWED = { ok = true, closed = true, busy = true, timeout = true }

    local function close_under_load(session, before_close)
        local path, ends, count = rig.path(), {}, 0
        rig.run(200, function(i)
            local method = i % 4 == 0 and "queue" or "acquire"
            local timeout = i % 4 == 1 and 0 or nil
            local name = outcome(session:mutex(path .. i % 20), method, timeout)
            assert.is_true(ALLOWED[name], name)
            ends[name] = (ends[name] or 0) + 1
            count = count + 1
        end, function()
            before_close()
            session:close()
            assert.equal("closed", session:state())
        end)
        local stats = session:stats()
        assert.same({ 200, 0, 0, 0 },
                    { count, stats.in_flight, stats.claims, stats.path_bytes })
        server:wait_for_nodes(path, 0)
        return ends
    end

    it("twenty closes of 200 operations end every waiter at once #slow", function()
        local closed = 0
        for round = 1, 20 do
            local ends = close_under_load(rig.session(server.hosts), function()
                if round > 10 then zklock.sleep(0.002 * (round - 10)) end
            end)
            closed = closed + (ends.closed or 0)
        end
        assert.is_true(closed > 0, "none was under way")
    end)

    it("a close without any reply ends every waiter #slow", function()
        local session = rig.session(proxy.hosts, { timeout = 4 })
        proxy:command("halfopen")
        assert.same({ closed = 200 }, close_under_load(session, function() end))
    end)
end)


-- Requests made while libzookeeper says "expired" stay in its queue.
describe("trap 5: requests while a session expires #session:state", function()
    local TIMEOUT = 20 -- seconds for each call, more than all calls take on a busy machine

    -- With rig.wait_for() the news of the end are delivered before the last requests are made,
    -- with rig.wait_apart() after that.
    local function ask_while_it_expires(wait)
        local path, session, count, asked = rig.path(), nil, 0, 0
        local ends = {}
        local function ask(folder)
            asked = asked + 1
            local lock = session:mutex(path .. folder .. "/" .. asked % 10)
            local method, arg = "acquire", { timeout = TIMEOUT, owner = asked }
            if asked % 2 == 0 then method, arg = "queue", TIMEOUT end
            return function()
                local name, result = outcome(lock, method, arg)
                if result and result.release then result:release() end
                count, ends[name] = count + 1, true
            end
        end
        local function ask_for(number)
            for _ = 1, number do coroutine.wrap(ask("/task"))() end
        end
        -- The callback waits, and holds up all waits that would end with its news.
        local function on_state(state)
            if state ~= "expired" then return end
            local folder = "/callback" .. asked
            rig.run(20, function() ask(folder)() end)
        end
        zklock.run(function()
            session = rig.session(proxy.hosts, { timeout = 3, on_state = on_state })
            local lease = assert(session:mutex(path):acquire(20))
            proxy:command("blackhole")
            ask_for(20)
            rig.becomes(session, "suspended")
            ask_for(20)
            server:wait_for_nodes(path, 0)
            assert.are_not.equal("held", lease:state())
            proxy:command("flow")
            wait("expired", function()
                ask_for(2)
                return session:stats().expiries > 0
            end)
            ask_for(20)
            rig.wait_for("all answered", function()
                return asked >= 82 and count == asked
            end, 2 * TIMEOUT)
            assert.equal("lost", lease:state())
            assert.is_true(lease:release() == nil)
        end)
        assert.same({ ok = true, expired = true }, ends)
        assert.equal(0, session:stats().callback_errors)
        come_to_rest(session)
        assert.equal(0, #server:nodes(path))
    end

    it("all requests before, during and after the expiry are answered #slow", function()
        ask_while_it_expires(rig.wait_for)
    end)

    it("all requests are answered, too, if more are made before the end is known #slow", function()
        ask_while_it_expires(rig.wait_apart)
    end)
end)


-- ZOOKEEPER-706: more than 1 MB of watched paths is too long a packet, and the session disconnects
-- for ever. ZOOKEEPER-4306: a close of more than 2 MB of ephemeral paths is a log that cannot be
-- read.
describe("traps 6 and 7: a session with many long paths #session:state", function()
    local LIMIT = 512 * 1024
    local OTHERS = 256 * 1024 -- of watched nodes of other sessions
    local LONG = ("x"):rep(2000)
    local own, link

    setup(function() own = rig.server() end)
    before_each(function() link = rig.proxy_for_test(own.hosts) end)
    teardown(function() own:stop() end)

    -- Waiters fill the room for watches, and then leases the room for nodes.
    it("a session is refused more watches than it could set again, and reconnects #slow", function()
        local COUNT = 230
        local path, ends = rig.path(), {}
        local session, holder = rig.session(link.hosts), rig.session(own.hosts)
        local function lock_of(who, name, i)
            return who:mutex(("%s/%s-%s-%d"):format(path, LONG, name, i))
        end
        for i = 1, COUNT do rig.hold(lock_of(holder, "theirs", i)) end
        local function take_leases()
            for i = 1, COUNT do
                local lease, _, code = lock_of(session, "ours", i):acquire(20)
                if not lease then return code end
                rig.keep(lease):on_revoke(function() end)
            end
        end
        link:command("delay 200") -- so that all ask before the first answer
        rig.run(COUNT, function(i)
            local code = rig.code_of(lock_of(session, "theirs", i))
            ends[code] = (ends[code] or 0) + 1
        end, function()
            rig.wait_for("all in line or refused", function()
                local stats = session:stats()
                return stats.in_flight == 0 and (ends.too_many or 0) + stats.claims == COUNT
            end)
            link:command("delay 0")
            assert.equal("too_many", take_leases())
            rig.settle(session)
            link:command("cut")
            fault.wait_for_reconnects(session, 1)
            local watched = session:stats().watches * (#path + #LONG)
            assert.same({}, session:mutex(path .. "/other"):queue(20))
            assert.equal(1, session:stats().reconnects)
            assert.is_true(watched <= LIMIT + OTHERS, watched .. " bytes are watched")
            assert.is_true(watched > LIMIT, watched .. " bytes are watched")
            assert.is_true(session:stats().watch_bytes <= OTHERS)
            session:close()
        end)
        assert.equal(COUNT, ends.too_many + ends.closed)
        own:wait_for_nodes(path, COUNT)
    end)

    it("a session is refused more nodes than the log can bear, and the server starts again #slow",
       function()
        local path = rig.path()
        local session = rig.session(link.hosts, { timeout = 6 })
        local leases, code, result = {}
        repeat
            code, result = outcome(session:mutex(("%s/%s%d"):format(path, LONG, #leases)),
                                   "acquire", 20)
            leases[#leases + 1] = result
        until code ~= "ok"
        assert.equal("too_many", code)
        local bytes = 0
        for _, node in ipairs(own:nodes(path)) do bytes = bytes + #node + 4 end
        assert.equal(#leases, #own:nodes(path))
        assert.is_true(bytes <= LIMIT and bytes > LIMIT / 2, bytes .. " bytes")
        assert.is_true(session:stats().path_bytes <= LIMIT)
        rig.release(leases[1])
        leases[1] = rig.hold(session:mutex(path .. "/" .. LONG .. "again"))
        -- The worst close, without a delete before.
        link:command("blackhole")
        session:close()
        own:wait_for_nodes(path, 0)
        link:command("flow")
        own:kill()
        own:restart()
        rig.use(rig.session(own.hosts):mutex(path))
    end)
end)


-- A container create inside a multi aborts the process, and empty containers are removed.
describe("trap 8: containers (Curator, kazoo-563) #session:mutex", function()
    local own

    setup(function()
        own = rig.server{ environment = "JVMFLAGS=-Dznode.container.checkIntervalMs=100" }
    end)
    teardown(function() own:stop() end)

    local function wait_until_reaped(path)
        rig.wait_for("all reaped", function() return not fault.czxid(own, path) end)
    end

    it("containers are made as parents, never in a multi, and go when empty #slow", function()
        local session, link = rig.behind_proxy(own.hosts, { timeout = 10 })
        local lock = session:mutex(rig.path() .. "/a/b")
        for _ = 1, 3 do
            rig.use(lock)
            wait_until_reaped("/spec")
            assert.is_nil((select(2, lock:queue(20))))
        end
        assert.equal(12, link:counts().createContainer)
        assert.equal(0, link:counts().multi)
    end)

    it("containers that are reaped all the time cost no acquire and no waiter #slow", function()
        local session, other = rig.session(own.hosts), rig.session(own.hosts)
        local path, token, finish = rig.path() .. "/a/b", 0, core.now() + 2
        local function contend(mine)
            while core.now() < finish do
                local lease = rig.hold(mine:mutex(path))
                assert.is_true(lease.token > token)
                token = lease.token
                rig.release(lease)
                if token % 4 == 0 then zklock.sleep(0.1) end
            end
        end
        zklock.run(function() contend(session) end, function() contend(other) end)
        come_to_rest(session)
    end)

    it('parents = "persistent" makes persistent nodes, which stay', function()
        local session = rig.session(own.hosts, { parents = "persistent" })
        local lock = rig.use(session:mutex(rig.path() .. "/a"))
        assert.matches("owner=0 ", foreign(own, "stat %s", lock.path))
        -- A later container is reaped; the persistent node is not.
        wait_until_reaped(rig.use(rig.session(own.hosts):mutex(rig.path() .. "/b")).path)
        assert.is_truthy(fault.czxid(own, lock.path))
    end)
end)


-- ZOOKEEPER-3249, Q-02, PIT-22: the counter sticks at 2^31 - 1. Later numbers are equal, or
-- negative, and tell no order.
describe("trap 9: a counter at its end (Q-02, PIT-22, Curator, kazoo-730, go-zk-65) #lease.token",
         function()
    local own, PATH = nil, "/worn"

    setup(function() own = rig.server_at(PATH, 2147483640) end)
    teardown(function() own:stop() end)

    it("a lock grants one at a time, in order, with growing tokens, over the counter's end #slow",
       function()
        local SESSIONS, EACH, COUNT = 4, 4, 15
        local alone, last, grants, locks = rig.alone(), 0, 0, {}
        for i = 1, SESSIONS do
            locks[i] = rig.session(own.hosts, { timeout = 10 }):mutex(PATH)
        end
        rig.run(SESSIONS * EACH, function(owner)
            for _ = 1, COUNT do
                local lock = locks[owner % SESSIONS + 1]
                local lease = assert(lock:acquire{ timeout = 30, owner = owner })
                assert.is_true(lease.token > last, "not in order")
                last, grants = lease.token, grants + 1
                alone()
                lease:release()
            end
        end)
        assert.equal(SESSIONS * EACH * COUNT, grants)
        own:wait_for_nodes(PATH, 0)
    end)

    it("a queue over the counter's end is in order", function()
        local holder, session = rig.session(own.hosts), rig.session(own.hosts)
        for _ = 1, 8 do rig.use(holder:mutex(PATH)) end
        local lease, acquires = rig.hold(holder:mutex(PATH)), {}
        for i = 1, 6 do acquires[i] = session:mutex(PATH) end
        assert.same({ 1, 2, 3, 4, 5, 6 }, rig.line_up(acquires, function()
            local queue, last = assert(holder:mutex(PATH):queue(20)), 0
            assert.equal(7, #queue)
            assert.equal(lease.token, queue[1].token)
            assert.matches("2147483647$", queue[1].name)
            for position, entry in ipairs(queue) do
                assert.equal(position, entry.position)
                assert.equal(position == 1, entry.held)
                assert.is_true(entry.token > last)
                last = entry.token
            end
            lease:release()
        end))
    end)
end)


-- Session events go to every distinct context, with a search for duplicates: O(n^2).
describe("trap 10: two thousand waits #lock:acquire", function()
    it("a reconnect with two thousand waits stalls neither the session nor the line #slow",
       function()
        local COUNT, PATHS = 2000, 100
        local session, holder = rig.session(proxy.hosts), rig.session(server.hosts)
        local path, leases, granted, queued = rig.path(), {}, 0, 0
        local lock = session:mutex(path)
        for i = 1, PATHS do leases[i] = rig.hold(holder:mutex(path .. "/" .. i)) end
        rig.run(COUNT, function(i)
            local lease = assert(session:mutex(leases[i % PATHS + 1].path):acquire{
                timeout = 120, owner = i, on_queued = function() queued = queued + 1 end })
            granted = granted + 1
            lease:release()
        end, function()
            rig.wait_for("all in line", function() return queued == COUNT end, 30)
            rig.settle(session)
            proxy:command("cut")
            rig.takes(0, 10, fault.wait_for_reconnects, session, 1)
            assert(rig.takes(0, 10, lock.queue, lock, 20))
            assert.equal(0, granted)
            rig.takes(0, 30, function()
                for i = 1, PATHS do leases[i]:release() end
                rig.wait_for("all granted", function() return granted == COUNT end)
            end)
        end)
        come_to_rest(session)
        assert.equal(0, #server:nodes(path))
        assert.equal(1, session:stats().reconnects)
    end)
end)
