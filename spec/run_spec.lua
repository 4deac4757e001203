--- [lua luajit asan tsan memory worlds] zklock.run, zklock.sleep and zklock.driver, with many waits
-- at once.
local core = require "zklock.core"
local rig = require "spec.rig"
local zklock = require "zklock"

local unpack = table.unpack or unpack

local COLLECTED = coroutine.close and "" or " #real" -- luacheck: globals coroutine.close

local server = rig.shared()
local session, path, lock

before_each(function() lock, session, path = rig.mutex{ timeout = 10 } end)
after_each(function() zklock.driver(nil) end)
after_each(rig.close_sessions)

local function hold_elsewhere() return rig.hold_elsewhere(server, path) end


describe("run #zklock.run", function()
    for where, count in pairs{ ["a path that was used"] = 1000, ["a new path"] = 500 } do
        it(("%d coroutines get the lock once each, in order of arrival (REQ-06), on %s #real")
           :format(count, where), function()
            local order, expected, alone = {}, {}, rig.alone()
            if where == "a path that was used" then rig.use(lock) end
            rig.run(count, function(n)
                expected[n] = n
                assert(lock:with(60, function()
                    order[#order + 1] = n
                    alone(0)
                end))
            end)
            assert.same(expected, order)
            rig.come_to_rest(session)
            assert.same({}, lock:queue())
        end)
    end

    it("run returns the first function's results, nils too, when all have ended", function()
        local last
        local function give(...) return select("#", ...), ... end
        assert.same({ 3, 1, nil, nil }, { give(zklock.run(
            function() return 1, nil, nil end,
            function() zklock.sleep(0.05) last = true return "not this" end)) })
        assert.is_true(last)
        assert.equal(0, (give(zklock.run(function() end))))
    end)

    it("run passes arguments that are not all functions to its first function", function()
        local function pack(...) return { n = select("#", ...), ... } end
        local function check()
            assert.same({ n = 3, 1, print, nil }, zklock.run(pack, 1, print, nil))
            assert.same({ n = 1 }, zklock.run(pack, nil))
            return 4
        end
        assert.equal(4, check())
        assert.equal(4, (zklock.run(check)))
    end)

    -- Counts the stacks and the states of 1000 waits in turns.
    it("a waiter takes less than 3 kB of Lua with its coroutine, in LuaJIT 2 #real", function()
        local COUNT, MOST = 1000, rawget(_G, "jit") and 2 or 3
        local turns = session:mutex(rig.path(), { order = "turns" })
        local other = rig.hold(rig.session(server.hosts):mutex(turns.path, { order = "turns" }))
        local queued, before, grown = 0, nil, nil
        local opts = { timeout = 60, on_queued = function() queued = queued + 1 end }
        local function wait_and_release() assert(turns:acquire(opts)):release() end
        local function memory()
            collectgarbage()
            collectgarbage()
            return collectgarbage("count")
        end
        zklock.run(function()
            before = memory()
            for _ = 1, COUNT do coroutine.wrap(wait_and_release)() end
            rig.wait_for("all in line", function() return queued == COUNT end)
            grown = (memory() - before) / COUNT
            other:release()
            rig.wait_for("nobody waits", function() return session:stats().claims == 0 end, 60)
        end)
        assert.is_true(grown < MOST, ("%.2f kB each"):format(grown))
    end)

    it("run looks only at sessions with news #real", function()
        local idle, looks = rig.session(server.hosts), 0
        local handle = idle.handle
        idle:dispatch()
        idle.handle = setmetatable({}, { __index = function(_, verb)
            if verb == "next" then looks = looks + 1 end
            return function(_, ...) return handle[verb](handle, ...) end
        end })
        zklock.run(function()
            for _ = 1, 20 do assert(lock:acquire(20)):release() end
        end)
        assert.equal(0, looks)
        local lease = assert(lock:acquire(20))
        zklock.run(
            function() assert(idle:mutex(path):acquire(20)):release() end,
            function() lease:release() end)
        assert.is_true(looks > 0)
        idle.handle = handle
    end)

    it("other tasks go on while a task sleeps or waits", function()
        local events = {}
        local function note(what) events[#events + 1] = what end
        local lease = assert(lock:acquire(20))
        zklock.run(
            function() zklock.sleep(0.2) note("second") lease:release() end,
            function() assert(lock:acquire(10)):release() note("third") end,
            function() note("first") end)
        assert.same({ "first", "second", "third" }, events)
    end)

    it("run drives coroutines that a task starts itself", function()
        local results = {}
        local holder = hold_elsewhere()
        zklock.run(function()
            for n = 1, 5 do
                coroutine.wrap(function()
                    local lease = assert(lock:acquire(20))
                    zklock.sleep(0.001)
                    results[#results + 1] = n
                    lease:release()
                end)()
            end
            rig.wait_for("all wait", function() return session:stats().waits == 5 end)
            assert(#results == 0)
            holder:release()
            rig.wait_for("all results", function() return #results == 5 end)
        end)
        assert.same({ 1, 2, 3, 4, 5 }, results)
    end)

    it("an inner run lets the outer tasks go on, of which one releases the lock that it needs",
       function()
        local events = {}
        local function note(what) events[#events + 1] = what end
        local seconds = rig.timed(zklock.run,
            function()
                local lease = assert(lock:acquire(20))
                zklock.sleep(0.05)
                note("outer gives it up")
                lease:release()
            end,
            function()
                zklock.sleep(0.01)
                local a, b = zklock.run(
                    function()
                        assert(lock:acquire(20)):release()
                        note("inner had it")
                        return 1, nil
                    end,
                    function() zklock.sleep(0.02) end)
                note("inner ended")
                assert(a == 1 and b == nil)
            end)
        assert.same({ "outer gives it up", "inner had it", "inner ended" }, events)
        assert.is_true(seconds < 10, seconds)
    end)

    it("inner runs nest deeper, and side by side", function()
        local sum = 0
        local function nest(depth)
            zklock.sleep(0.001)
            if depth == 0 then
                sum = sum + 1
                return sum
            end
            return (zklock.run(function() return nest(depth - 1) end,
                               function() nest(depth - 1) end))
        end
        rig.run(3, function() assert(nest(4)) end)
        assert.equal(48, sum)
    end)

    -- A task raises while other tasks wait, sleep, hold, and run tasks of their own. All of them
    -- end.
    local function raise_among_others()
        local own, after, trouble, holder = rig.path(), {}, {}, hold_elsewhere()
        local function has_nodes(count, others)
            return #server:nodes(path) == count and #server:nodes(own) == others
                   and #server:nodes(own .. "-2") == others
        end
        local ok, problem = pcall(zklock.run, function()
            rig.wait_for("all wait", function() return has_nodes(3, 1) end)
            error(trouble)
        end, function()
            after[1] = lock:acquire(60) or true
        end, function()
            zklock.sleep(60)
            after[2] = true
        end, function()
            session:mutex(own):with(20, function() zklock.sleep(60) end)
            after[3] = true
        end, function()
            session:mutex(own .. "-2"):with(20, function()
                zklock.run(function() zklock.sleep(60) end, function() lock:with(60, error) end)
            end)
            after[4] = true
        end)
        rig.wait_for("nothing left", function()
            collectgarbage() -- because Lua 5.1 cannot close a coroutine
            session:dispatch()
            return has_nodes(1, 0)
        end)
        assert.is_false(ok)
        assert.equal(trouble, problem)
        assert.same({}, after)
        assert.equal("held", holder:state())
    end

    it("a task's error is raised unchanged, and ends all other tasks" .. COLLECTED,
       function()
        local seconds = rig.timed(raise_among_others)
        assert.is_true(seconds < 50, seconds)
    end)

    it("an inner run raises a task's error unchanged, and no outer task ends" .. COLLECTED,
       function()
        local over, ended
        zklock.run(function()
            raise_among_others()
            over = true
        end, function()
            session:mutex(rig.path()):with(20, function(lease)
                rig.wait_for("the end", function() return over end)
                ended = lease:state()
            end)
        end)
        assert.equal("held", ended)
    end)

    it("run inside a coroutine that a task started is an inner run", function()
        local other, inner = 0, nil
        zklock.run(function()
            coroutine.wrap(function()
                inner = zklock.run(function() zklock.sleep(0.05) return other end)
            end)()
            rig.wait_for("the inner task", function() return inner end)
        end, function()
            while not inner do
                zklock.sleep(0.001)
                other = other + 1
            end
        end)
        assert.is_true(inner > 0)
    end)

    if coroutine.close then -- luacheck: globals coroutine.close
        it("run ends when a task closes all other tasks, which give their locks up", function()
            local threads, own, after = {}, rig.path(), {}
            local function run()
                return zklock.run(
                    function()
                        threads[1] = coroutine.running()
                        lock:acquire(60)
                        after[1] = true
                    end,
                    function()
                        threads[2] = coroutine.running()
                        coroutine.yield()
                        zklock.sleep(60)
                    end,
                    function()
                        threads[3] = coroutine.running()
                        session:mutex(own):with(20, function() zklock.sleep(60) end)
                    end,
                    function()
                        rig.wait_for("all wait", function()
                            return #server:nodes(path) == 2 and #server:nodes(own) == 1
                        end)
                        for n = 1, 3 do assert(coroutine.close(threads[n])) end
                        zklock.sleep(0.01)
                        return "not this"
                    end)
            end
            local holder = hold_elsewhere()
            for _, call in ipairs{ run, function() return zklock.run(run) end } do
                local seconds, result = rig.timed(call)
                assert.is_nil(result)
                assert.is_true(seconds < 30, seconds)
                rig.wait_for("nothing left", function()
                    return #server:nodes(path) == 1 and #server:nodes(own) == 0
                end)
            end
            assert.same({}, after)
            assert.equal("held", holder:state())
        end)

        it("a task that fails, and coroutines that tasks started, give up their locks at once",
           function()
            collectgarbage("stop")
            finally(function() collectgarbage("restart") end)
            local take, trouble = assert(load [[
                local lock, trouble = ...
                local lease <close> = assert(lock:acquire(20))
                if trouble then error(trouble) end
                require("zklock").sleep(60)
            ]]), {}
            local function start_another()
                coroutine.wrap(take)(lock)
                rig.wait_for("the hold", function() return #server:nodes(path) == 1 end)
                error(trouble)
            end
            local function start_inside() return zklock.run(start_another) end
            for _, task in ipairs{ { take, lock, trouble }, { start_another }, { start_inside } } do
                assert.equal(trouble, rig.error_of(zklock.run, unpack(task)))
                rig.wait_for("nothing left", function() return #server:nodes(path) == 0 end)
            end
        end)

        it("the error of a <close> variable follows that of its task", function()
            local first, last = {}, {}
            local fail = assert(load [[
                local first, close = ...
                local variable <close> = setmetatable({}, { __close = close })
                error(first)
            ]])
            local seen
            assert.equal(last, rig.error_of(zklock.run, fail, first, function(_, problem)
                seen = problem
                error(last)
            end))
            assert.equal(first, seen)
        end)

        it("an inner run ends with its closed task", function()
            local outer, after
            zklock.run(function()
                outer = coroutine.running()
                zklock.run(function() lock:with(5, function() zklock.sleep(60) end) end,
                           function() zklock.sleep(0.2) after = true end)
            end, function()
                rig.wait_for("the holder's node", function() return #server:nodes(path) == 1 end)
                assert(coroutine.close(outer))
                rig.wait_for("nothing left", function() return #server:nodes(path) == 0 end)
                zklock.sleep(0.3)
            end)
            assert.is_nil(after)
        end)
    end

    it("run may be called again, also after an error and in any coroutine #real", function()
        for _ = 1, 3 do
            assert.is_false(pcall(zklock.run, function() zklock.sleep(0) error("x") end))
            local inside = coroutine.wrap(function()
                return zklock.run(function()
                    local lease = assert(lock:acquire(20))
                    lease:release{ wait = 20 }
                    return lease:state()
                end)
            end)
            assert.equal("released", inside())
            rig.use(lock)
        end
    end)

    it("run raises a later error of a started coroutine, too", function()
        local trouble = {}
        assert.equal(trouble, rig.error_of(zklock.run, function()
            coroutine.wrap(function() zklock.sleep(0.01) error(trouble) end)()
            zklock.sleep(20)
        end))
    end)
end)


describe("a wait where no coroutine can yield #context", function()
    local function call_in(place, fn)
        local results
        local function call() results = { fn() } end
        if place == "require" then
            package.preload["spec.waits"] = call
            require "spec.waits"
            package.preload["spec.waits"], package.loaded["spec.waits"] = nil, nil
        elseif place == "table.sort" then
            table.sort({ 1, 2 }, function(a, b)
                if not results then call() end
                return a < b
            end)
        else
            string.gsub("a", "a", call)
        end
        return unpack(results)
    end

    for _, place in ipairs{ "require", "table.sort", "string.gsub" } do
        it("each wait returns context in zklock.run: " .. place, function()
            zklock.run(function()
                local calls = {
                    function() return lock:acquire(5) end,
                    function() return zklock.connect(server.hosts) end,
                    function() return zklock.sleep(0.01) end,
                    function() return zklock.run(function() end) end,
                }
                for _, fn in ipairs(calls) do
                    local result, message, code = call_in(place, fn)
                    assert.same({ nil, "context" }, { result, code })
                    assert.truthy(message:find("inside require", 1, true))
                end
            end)
        end)

        it("a session is closed without a wait in zklock.run: " .. place, function()
            zklock.run(function()
                assert(lock:acquire(20))
                assert.is_true(call_in(place, function() return session:close() end))
            end)
            rig.wait_for("nothing left", function() return #server:nodes(path) == 0 end)
        end)
    end
end)


describe("sleep #zklock.sleep", function()
    it("sleep lasts as long as asked, outside of run and inside", function()
        assert.is_true(rig.timed(zklock.sleep, 0.05) >= 0.05)
        assert.is_true(rig.timed(zklock.run, function() zklock.sleep(0.05) end) >= 0.05)
        assert.is_true(rig.timed(zklock.sleep, 0) < 10)
        assert.is_true(zklock.sleep(0))
        assert.is_true(zklock.run(zklock.sleep, 0))
    end)

    it("sleepers wake in the order of their times", function()
        local order, times = {}, { 3, 1, 5, 2, 4 }
        local seconds = rig.timed(rig.run, 5, function(n)
            zklock.sleep(times[n] * 0.03)
            order[#order + 1] = times[n]
        end)
        assert.same({ 1, 2, 3, 4, 5 }, order)
        assert.is_true(seconds >= 0.15 and seconds < 10, seconds)
    end)

    it("sleep(0) lets other tasks go on", function()
        local turns, other = 0, nil
        zklock.run(
            function()
                while not other and turns < 1000 do
                    turns = turns + 1
                    zklock.sleep(0)
                end
            end,
            function() zklock.sleep(0.001) other = true end,
            function() zklock.sleep(0) other = true end)
        assert.is_true(turns < 1000, turns)
    end)

    it("2000 tasks sleep at once", function()
        local woken = 0
        local seconds = rig.timed(rig.run, 2000, function(n)
            zklock.sleep(n % 7 * 0.01)
            woken = woken + 1
        end)
        assert.equal(2000, woken)
        assert.is_true(seconds < 30, seconds)
    end)
end)


describe("callbacks during sleep #callbacks", function()
    local function plain(fn) fn() end

    local function in_run(fn)
        local other, ended = rig.session(server.hosts):mutex(rig.path()), false
        local holder = rig.hold(other, { timeout = 5, owner = "other" })
        zklock.run(function()
            fn()
            ended = true
            holder:release()
        end, function()
            assert(other:acquire(60)):release()
            assert(ended)
        end)
    end

    local function in_task(fn) zklock.run(fn) end

    for name, run in pairs{ ["outside of run"] = plain, ["beside a waiting task"] = in_run,
    ["in run's only task"] = in_task } do
        it("callbacks of sessions without a wait run " .. name .. " #server #slow", function()
            local proxy, heard = rig.proxy_for_test(server.hosts), {}
            local cut = rig.session(proxy.hosts, {
                timeout = 10, on_state = function(state) heard[state] = true end })
            local wanted = rig.hold(cut:mutex(rig.path()))
            local lost = rig.hold(session:mutex(rig.path()))
            wanted:on_revoke(function() heard.revoke = true end)
            lost:on_lost(function(_, state) heard[state] = true end)
            run(function()
                assert.equal(1, rig.session(server.hosts):mutex(wanted.path):revoke(5))
                rig.wait_for("on_revoke", function() return heard.revoke end)
                server:foreign("delete %s", server:nodes(lost.path)[1])
                rig.wait_for("on_lost", function() return heard.lost end)
                proxy:shut()
                rig.wait_for("on_state", function() return heard.suspended end)
                assert.equal("suspended", cut:state())
                proxy:command("accept")
            end)
            assert.is_true(heard.connected)
        end)
    end

    it("a callback, also with an error, does not shorten the sleep #slow", function()
        local lease, calls = rig.hold(lock), 0
        lease:on_lost(function()
            calls = calls + 1
            error("a mistake")
        end)
        server:foreign("delete %s", server:nodes(path)[1])
        assert.is_true(rig.timed(zklock.sleep, 0.3) >= 0.3)
        rig.wait_for("the call", function() return calls == 1 end)
        assert.equal(1, session:stats().callback_errors)
    end)

    for _, which in ipairs{ "the session", "another session" } do
        it("callbacks run in a wait of " .. which .. ", too #slow", function()
            local lease, states = rig.hold(lock), {}
            lease:on_lost(function(_, state) states[#states + 1] = state end)
            local waiting = which == "the session" and session or rig.session(server.hosts)
            local taken = waiting:mutex(rig.path())
            rig.hold(taken, { timeout = 5, owner = "other" })
            server:foreign("delete %s", server:nodes(path)[1])
            local deadline = core.now() + 10
            while not states[1] and core.now() < deadline do
                assert.equal("timeout", rig.code_of(taken, 0.3))
            end
            assert.same({ "lost" }, states)
        end)
    end
end)


describe("a user's driver #real #zklock.driver", function()
    local function check_nothing_left()
        rig.wait_for("nothing left", function() return session:stats().claims == 0 end)
        assert.same({}, server:nodes(path))
    end

    it("a driver gets session, request and deadline, and waits for request:done()", function()
        local holder = hold_elsewhere()
        local given, before = {}, core.now()
        assert.is_true(zklock.driver{ wait = function(...)
            given = { ... }
            assert(given[2]:done() == false)
            holder:release()
            while not given[2]:done() do given[1]:dispatch() end
            assert(given[2]:done() == true)
        end })
        local lease = assert(lock:acquire(30))
        assert.equal(session, given[1])
        assert.is_true(given[3] >= before + 30 and given[3] <= core.now() + 30)
        zklock.driver(nil)
        rig.release(lease)
        check_nothing_left()
    end)

    it("request:on_done(fn) calls fn once, with the request, in dispatch", function()
        local holder = hold_elsewhere()
        local calls, asked = {}, nil
        zklock.driver{ wait = function(of, request)
            asked = request
            request:on_done(function(...) calls[#calls + 1] = { select("#", ...), ... } end)
            of:dispatch()
            holder:release()
            rig.wait_apart("done", function() return request:done() end)
            assert(#calls == 0, "told outside of dispatch")
            of:dispatch()
            of:dispatch()
        end }
        local lease = assert(lock:acquire(20))
        zklock.driver(nil)
        assert.equal(1, #calls)
        assert.equal(1, calls[1][1])
        assert.equal(asked, calls[1][2])
        assert.equal("held", lease:state())
    end)

    it("an fn of on_done that raises is called twice, and hinders no later news", function()
        local holder, calls, told = hold_elsewhere(), 0, false
        zklock.driver{ wait = function(of, request)
            request:on_done(function()
                calls = calls + 1
                error "a bug"
            end)
            holder:release()
            rig.wait_apart("done", function() return request:done() end)
            for _ = 1, 2 do assert.is_false((pcall(of.dispatch, of))) end
        end }
        local lease = assert(lock:acquire(20))
        zklock.driver(nil)
        assert(session:watch(rig.path(), function() told = true end))
        rig.wait_for("the first look", function() return told end)
        assert.equal(2, calls)
        assert.equal("held", lease:state())
    end)

    it("a late on_done is called, too", function()
        local holder = hold_elsewhere()
        local told = 0
        zklock.driver{ wait = function(of, request)
            holder:release()
            zklock.driver(nil)
            rig.wait_for("done", function()
                of:dispatch()
                return request:done()
            end)
            of:dispatch()
            request:on_done(function() told = told + 1 end)
            of:dispatch()
        end }
        local lease = assert(lock:acquire(20))
        assert.equal("held", lease:state())
        assert.equal(1, told)
    end)

    it('a driver that returns early ends the wait with "interrupted", or "timeout" after the ' ..
       "deadline", function()
        local holder = hold_elsewhere()
        local count, deadline
        zklock.driver{ wait = function(...) count, deadline = select("#", ...), select(3, ...) end }
        assert.equal("interrupted", (rig.code_of(lock, 20)))
        assert.is_number(deadline)
        assert.equal("interrupted", (rig.code_of(lock)))
        assert.same({ 3, nil }, { count, deadline })
        zklock.driver{ wait = function(_, _, by) while core.now() < by do end end }
        assert.equal("timeout", (rig.code_of(lock, 0.05)))
        zklock.driver(nil)
        rig.release(holder)
        check_nothing_left()
    end)

    -- Checks that acquire and with raise `trouble`, unchanged; prepare() runs before each.
    local function check_both_raise(given_lock, trouble, prepare)
        for _, call in ipairs{ given_lock.acquire, given_lock.with } do
            if prepare then prepare() end
            assert.equal(trouble, rig.error_of(call, given_lock, 5, print))
        end
        zklock.driver(nil)
    end

    it("a driver that raises ends the wait, and its error passes unchanged", function()
        local holder, trouble = hold_elsewhere(), {}
        zklock.driver{ wait = function() error(trouble) end }
        check_both_raise(lock, trouble)
        rig.release(holder)
        check_nothing_left()
    end)

    it("a driver that raises after the grant releases the lock #server", function()
        local proxy = rig.proxy_for_test(server.hosts)
        local held_up, trouble = rig.use(rig.session(proxy.hosts):mutex(path)), {}
        zklock.driver{ wait = function(waiting_session, request)
            proxy:command("flow") -- later, because an immediate grant needs no wait
            while not request:done() do waiting_session:dispatch() end
            error(trouble)
        end }
        check_both_raise(held_up, trouble, function() proxy:command("halfopen") end)
        server:wait_for_nodes(path, 0)
        check_nothing_left()
    end)

    it("connect and every wait use the driver until another is chosen", function()
        local waits = 0
        zklock.driver{ wait = function(of, request)
            waits = waits + 1
            while not request:done() do of:dispatch() end
        end }
        local nowhere = { connect_timeout = 0.05 }
        assert.equal("connection", select(3, zklock.connect("127.0.0.1:1", nowhere)))
        assert.equal(1, waits)
        local mine = rig.session(server.hosts):mutex(path)
        local lease = assert(mine:acquire{ timeout = 5, owner = "other" })
        local before = waits
        assert.equal("timeout", select(3, mine:acquire(0.05)))
        assert.equal(before + 1, waits)
        for _, name in ipairs{ "block", "none" } do
            assert.is_true(zklock.driver(name ~= "none" and name or nil))
            assert.equal("timeout", select(3, mine:acquire(0.05)))
        end
        assert.equal(before + 1, waits)
        assert.is_true(lease:release())
    end)
end)
