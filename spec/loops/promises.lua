--- Promises that hold in every loop. promises(loop, it, before_each, after_each) describes them for
-- a loop (see loop.lua) with busted's functions, which only spec files have.

local Request = require "zklock.waiting.request"
local assert = require "luassert"
local core = require "zklock.core"
local drivers = require "zklock.waiting.drivers"
local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()
local unpack = table.unpack or unpack


local function times(count, fn, ...)
    local fns = {}
    for n = 1, count do fns[n] = fn end
    for _, last in ipairs{ ... } do fns[#fns + 1] = last end
    return unpack(fns)
end


return function(loop, it, before_each, after_each)
    local session, path, lock
    local run, sleep = loop.run, loop.sleep

    before_each(function() lock, session, path = rig.mutex() end)
    after_each(function() zklock.driver(nil) end)
    after_each(rig.close_sessions)

    local function hold_elsewhere() return rig.hold_elsewhere(server, path) end

    local function wait_for_waits(count)
        loop:wait_for(count .. " waits", function()
            return #server:nodes(path) == count + 1
        end)
    end

    --- Lets 50 coroutines wait for the lock until fn() ends the waits. All get the code `expected`.
    local function check_codes(expected, given_lock, fn)
        local codes = {}
        run(times(50, function()
            local code = rig.code_of(given_lock)
            codes[#codes + 1] = code
        end, function()
            wait_for_waits(50)
            fn(function() return #codes == 50 end)
        end))
        assert.equal(50, #codes)
        for n = 1, 50 do assert.equal(expected, codes[n]) end
    end

    --- Holds another lock. Returns a growing list of its on_lost's states, and lose(). on_lost
    -- calls fn, if given.
    local function hold_to_lose(fn)
        local states, lost = {}, rig.hold(session:mutex(rig.path()))
        lost:on_lost(function(_, state)
            states[#states + 1] = state
            if fn then fn() end
        end)
        return states, function() rig.delete_node(server, lost.path) end
    end

    --- Waits, outside of the loop, until the session has no claim and the lock no node.
    local function check_nothing_left()
        rig.wait_for("nothing left", function()
            session:dispatch()
            return session:stats().claims == 0
        end)
        server:wait_for_nodes(path, 0)
        assert.equal(0, session:stats().watches)
    end

    it("1000 coroutines get the lock once each, in order of arrival, but for timeouts and " ..
       "interrupts", function()
        local holder, order, expected, codes = hold_elsewhere(), {}, {}, {}
        local arrived, counter = 0, 0
        local function hold(number)
            local seen = counter
            if number % 200 == 1 then sleep(0.001) end
            counter = seen + 1
            order[#order + 1] = number
        end
        run(times(1000, function()
            arrived = arrived + 1
            local number = arrived
            local late, tired = number % 10 == 0, number % 10 == 5
            local lease, _, code = lock:acquire{ timeout = late and 0.3 or 60,
                                                 owner = tired and "tired" or number }
            if not lease then
                codes[code] = (codes[code] or 0) + 1
                return
            end
            hold(number)
            lease:release()
        end, function()
            loop:wait_for("the late ones", function() return codes.timeout == 100 end)
            assert(rig.code_of(lock, 0) == "busy")
            assert(session:interrupt("tired") == 100)
            loop:wait_for("the tired ones", function() return codes.interrupted == 100 end)
            holder:release()
        end))
        for number = 1, 1000 do
            if number % 5 ~= 0 then expected[#expected + 1] = number end
        end
        assert.same(expected, order)
        assert.equal(800, counter)
        assert.same({ timeout = 100, interrupted = 100 }, codes)
        check_nothing_left()
    end)

    it("a wait ends at once if a dispatch, as in a finalizer, told of its end before", function()
        run(function()
            local request = Request.new(session, session.handle:pause(0))
            loop:wait_for("told", function()
                session:dispatch()
                return request.told
            end)
            drivers.driver().wait(session, request)
            request:close()
        end)
    end)

    it("the loop's timers and sockets go on while many coroutines wait", function()
        local holder, served, count = hold_elsewhere(), false, 0
        local function wait()
            lock:with(30, function()
                assert(served, "the lock was free")
                count = count + 1
            end)
        end
        run(times(100, wait, function()
            wait_for_waits(100)
            loop.echo(100)
            for _ = 1, 10 do sleep(0.01) end
            served = true
            holder:release()
        end))
        assert.equal(100, count)
        check_nothing_left()
    end)

    -- Repeated when the machine is busier during a later part.
    it("the loop ticks about as often while hundreds hand over the lock", function()
        local function hand_over()
            for _ = 1, 5 do lock:with(60, function() sleep(0.002) end) end
        end
        rig.wait_for("ticks", function()
            local holder = hold_elsewhere()
            local quiet = loop:ticks_while(function() sleep(0.3) end)
            local waiting = loop:ticks_while(function()
                loop:wait_for("all wait", function() return session:stats().claims == 300 end)
                sleep(0.3)
                holder:release()
            end, times(300, function() assert(lock:acquire(60)):release() end))
            local busy = loop:ticks_while(times(10, hand_over))
            return waiting > quiet / 4 and busy > quiet / 4
        end)
    end)

    it("the driver is chosen by itself, and a session of the top level works inside and after",
       function()
        local lease = assert(lock:acquire(20))
        run(function()
            assert(session:state() == "connected")
            assert(lock:acquire{ timeout = 0.05, owner = "other" } == nil)
            assert(lease:release{ wait = 20 } == true)
            lease = assert(lock:acquire(20))
        end, function() sleep(0.01) end)
        assert.is_true(lease:check(20))
        assert.equal("timeout", select(3, lock:acquire{ timeout = 0.05, owner = "other" }))
        assert.is_true(lease:release{ wait = 20 })
        run(function() rig.use(lock) end)
        check_nothing_left()
    end)

    it("every call that waits, also connect, suspends its coroutine", function()
        local holder, mine = hold_elsewhere(), rig.path()
        run(function()
            local own = assert(zklock.connect(server.hosts))
            local lease = rig.hold(own:rwlock(mine):write())
            assert(lease:guard{ { "create", mine .. "-data", "x" } })
            assert(own:get(mine .. "-data") == "x")
            assert(lease:check(20) and lease:downgrade(5))
            assert(#lock:queue() == 1 and lock:revoke(5) == 1)
            assert(lease:release{ wait = 20 })
            local permits = assert(own:semaphore(mine .. "-permits", 2):acquire{ permits = 2 })
            assert(own:multi{ own:mutex(mine), own:mutex(mine .. "-too") }:with(5, function()
                sleep(0.01)
            end))
            permits:release()
            holder:release()
            assert(own:mutex(path):acquire(20)):release{ wait = 20 }
            assert(own:close())
        end, function() for _ = 1, 5 do sleep(0.01) end end)
    end)

    it("sessions work side by side", function()
        local inside, count, locks = 0, 0, {}
        for n = 1, 6 do locks[n] = rig.session(server.hosts):mutex(path) end
        run(times(6, function()
            assert(table.remove(locks):with(30, function()
                inside = inside + 1
                assert(inside == 1, "two hold")
                sleep(0.002)
                inside, count = inside - 1, count + 1
            end))
        end))
        assert.equal(6, count)
    end)

    it("callbacks run inside a wait, and a wait of a callback is refused #slow", function()
        local holder, positions, code = hold_elsewhere(), {}, nil
        local states, lose = hold_to_lose(function()
            code = code or select(3, lock:acquire(1))
        end)
        run(function()
            lock:acquire{ timeout = 20, owner = 1, on_queued = function(position)
                positions[#positions + 1] = position
            end }
        end, function()
            loop:wait_for("on_queued", function() return positions[1] end)
            lose()
            loop:wait_for("on_lost", function() return states[1] end)
            loop:wait_for("the refusal", function() return code end)
            holder:release()
        end)
        assert.same({ 2 }, positions)
        assert.same({ "lost" }, states)
        assert.equal("context", code)
        assert.equal(0, session:stats().callback_errors)
    end)

    it("a wait goes on when another call dispatches", function()
        local holder, lease = hold_elsewhere(), nil
        run(function() lease = assert(lock:acquire(20)) end, function()
            wait_for_waits(1)
            local before = session:stats().grants
            holder:release()
            rig.wait_apart("the grant", function() -- blocks the loop
                return session:stats().grants > before
            end)
            assert(session:dispatch() > 0)
            loop:wait_for("the waiter", function() return lease end)
        end)
        assert.is_true(lease:release{ wait = 20 })
        check_nothing_left()
    end)

    it("zklock.sleep and zklock.run block the loop, but callbacks run, and waits go on #slow",
       function()
        for _, block in ipairs{ zklock.sleep, function(seconds)
            zklock.run(function() zklock.sleep(seconds) end)
        end } do
            local holder, lease = hold_elsewhere(), nil
            local states, lose = hold_to_lose()
            run(function() lease = assert(lock:acquire(20)) end, function()
                wait_for_waits(1)
                lose()
                holder:release()
                local deadline = core.now() + 10
                while not states[1] and core.now() < deadline do block(0.01) end
                loop:wait_for("the waiter", function() return lease end)
            end)
            assert.same({ "lost" }, states)
            assert.is_true(lease:release{ wait = 20 })
            check_nothing_left()
        end
    end)

    it("a multi-lock whose node is deleted again and again pauses its coroutine alone", function()
        local holder, mine, code, looks = hold_elsewhere(), rig.path(), nil, 0
        local part, both = holder.session:mutex(mine), session:multi{ session:mutex(mine), lock }
        run(function() code = rig.code_of(both, { owner = "me", timeout = 20 }) end, function()
            loop:wait_for("a pause, in three looks", function()
                looks = session:stats().claims == 0 and looks + 1 or 0
                for _, each in ipairs(part:queue()) do
                    holder:guard{ { "delete", mine .. "/" .. each.name } }
                end
                return looks == 3 or code
            end)
            loop:wait_for("the end of the wait", function()
                session:interrupt("me")
                return code
            end)
        end)
        assert.equal("interrupted", code)
    end)

    it('all waits return "closed" when the session is closed', function()
        local holder = hold_elsewhere()
        check_codes("closed", lock, function() session:close() end)
        assert.equal("held", holder:state())
        assert.equal(1, #server:nodes(path))
    end)

    it('all waits return "expired" when the session expires, and later calls go on #slow',
       function()
        local fragile = rig.fragile(server, { timeout = 3 })
        local short, holder = fragile.session:mutex(path), hold_elsewhere()
        check_codes("expired", short, function(all_are)
            fragile.cut()
            wait_for_waits(0)
            fragile.heal()
            loop:wait_for("all answers", all_are)
            holder:release()
            rig.use(short)
        end)
        fragile.stop()
        check_nothing_left()
    end)

    it("combine serves the loop's coroutines in batches, and each returns by its deadline #slow",
       function()
        local holder, over, arrived, sizes, late = hold_elsewhere(), false, 0, {}, nil
        local submit = lock:combine(function(_, items)
            sizes[#sizes + 1] = #items
            while not over do sleep(0.01) end
            return items
        end, { most = 50 })
        local function want()
            arrived = arrived + 1
            local number = arrived
            if number > 1 then return assert(submit(number) == number) end
            late = { submit(number, 2) }
            over = true -- fn returns after that
        end
        local wants = { times(120, want) }
        wants[#wants + 1] = function()
            loop:wait_for("all", function() return arrived == 120 end)
            holder:release()
        end
        run(unpack(wants))
        assert.same({ 50, 50, 20 }, sizes)
        assert.equal("unknown", late[3])
        check_nothing_left()
    end)

    it("a coroutine that ends by an error while it holds a lock leaves nothing", function()
        local holder, other = hold_elsewhere(), session:mutex(rig.path())
        local ended = pcall(run, function()
            assert(other:with(5, function()
                assert(lock:acquire(0.1)) -- raises
            end))
        end)
        assert.is_false(ended)
        assert.same({}, other:queue())
        assert.is_true(holder:release{ wait = 20 })
        check_nothing_left()
    end)

    it("a named driver refuses a wait outside of its loop with context and advice", function()
        assert.is_true(zklock.driver(loop.name))
        local lease, message, code = lock:acquire(20)
        assert.is_nil(lease)
        assert.equal("context", code)
        assert.is_truthy(message:find(loop.start, 1, true), message)
        assert.equal("context", select(3, zklock.connect(server.hosts)))
        run(function() rig.use(lock) end)
        zklock.driver(nil)
        check_nothing_left()
    end)

    it("a forked child is refused the parent's session, which stays intact", function()
        if program.sanitizer == "tsan" then return end -- no thread after a fork
        local system = program.system()
        local lease = rig.hold(lock)
        local submit = lock:combine(print)
        io.stdout:flush()
        local pid = system.fork(60)
        if pid == 0 then
            local code, refused
            local ok = pcall(run, function()
                code, refused = select(3, lock:acquire(20)), select(3, submit(1, 20))
            end)
            system.exit(ok and code == "forked" and refused == "forked" and 0 or 1)
        end
        assert.equal(0, system.wait(pid))
        run(function() assert(lease:check(20)) end)
        assert.equal("held", lease:state())
    end)
end
