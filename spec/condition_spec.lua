--- [lua luajit asan tsan memory worlds] Conditions: a holder waits for a signal, and others hold
-- the lock meanwhile. Cerberus' Condition of the seed article (S4). The faults are those of
-- Menagerie's ZkCondition.

local conditions = require "spec.conditions"
local files = require "spec.files"
local rig = require "spec.rig"
local zklock = require "zklock"

local LONG = 30
local unpack = table.unpack or unpack

local server, scene, path, a, b, c


before_each(function()
    server, path, a, b, c = rig.begin(3)
    scene = conditions(server, path)
end)

after_each(rig.close_sessions)


describe("a condition #lock:condition #condition:wait #condition:signal", function()
    after_each(function() scene:come_to_rest(a, b, c) end)

    it("a wait gives the lock up until a signal, and gets it again with a larger token", function()
        local token
        local result, lease = scene:wait_while(a, function(lease)
            token = lease.token
            assert.equal(0, #server:nodes(path))
            assert.equal(1, scene:wake(b))
        end)
        assert.is_true(result)
        assert.equal("held", lease:state())
        assert.is_true(lease:check(20))
        assert.is_true(lease.token > token)
        assert.equal(1, #server:nodes(path))
        scene:wait_for_waiters(0)
        rig.release(lease)
    end)

    it("a woken waiter returns after the signaller's release", function()
        assert.same({ "signaller", 1 }, scene:line_up({ a }, function(order)
            local lease, condition = scene:hold(b)
            assert.equal(1, condition:signal(lease))
            scene:wait_for_contenders(2)
            assert.is_true(lease:check(20))
            order[#order + 1] = "signaller"
            lease:release()
        end))
    end)

    -- The waiter's place in the condition exists before its release lets the signaller in.
    it("a wait is never missed by the next holder's signal (Menagerie) #slow",
       function()
        local lock, condition = scene:lock_and_condition(a)
        local other, other_condition = scene:lock_and_condition(b)
        for round = 1, 40 do
            local lease = rig.hold(lock)
            rig.line_up({ other }, function()
                assert.is_true(condition:wait(lease, LONG))
                lease:release()
            end, function(_, theirs)
                assert.equal(1, other_condition:signal(theirs), "round " .. round)
            end)
        end
    end)

    it("a signal wakes the longest waiter of all sessions", function()
        assert.same({ 1, 2, 3, 4, 5 }, scene:line_up({ a, b, a, c, b }, function(order)
            for n = 1, 5 do
                scene:wait_for_waiters(6 - n)
                assert.equal(1, scene:wake(n % 2 == 0 and a or c))
                rig.wait_for("the return", function() return #order == n end)
            end
            assert.equal(0, scene:wake(a))
        end))
    end)

    it("each signal wakes one more waiter, also under one lease, and returns the count", function()
        assert.equal(3, #scene:line_up({ a, b, c }, function(order)
            local lease, condition = scene:hold(a)
            assert.equal(1, condition:signal(lease))
            assert.equal(1, condition:signal(lease))
            assert.equal(1, condition:broadcast(lease))
            assert.equal(0, condition:signal(lease))
            assert.equal(0, condition:broadcast(lease))
            assert.same({}, order)
            lease:release()
        end))
    end)

    it("a signal without waiters returns 0, and a later waiter does not get it", function()
        assert.equal(0, scene:wake(b))
        assert.equal(0, scene:wake(b, "broadcast"))
        assert.equal("timeout", scene:wait_once(a, 0.2))
    end)

    it("a broadcast wakes all fifty waiters, each once, one after the other #condition:broadcast",
       function()
        local alone, back = rig.alone(), 0
        rig.run(50, function(n)
            local lock, condition = scene:lock_and_condition(({ a, b, c })[n % 3 + 1])
            local lease = assert(lock:acquire(LONG))
            assert.is_true(condition:wait(lease, LONG))
            back = back + 1
            alone(0.002)
            assert.equal("held", lease:state())
            lease:release()
        end, function()
            scene:wait_for_waiters(50)
            assert.equal(50, scene:wake(a, "broadcast"))
        end)
        assert.equal(50, back)
    end)

    it("a signal reaches no other condition of the lock (Menagerie)", function()
        local woken = {}
        zklock.run(function()
            woken.full = scene:wait_once(a, LONG, "full")
        end, function()
            woken.empty = scene:wait_once(b, LONG, "empty")
        end, function()
            scene:wait_for_waiters(1, "full")
            scene:wait_for_waiters(1, "empty")
            assert.equal(0, scene:wake(c, "broadcast", "other"))
            assert.equal(1, scene:wake(c, "broadcast", "full"))
            rig.wait_for("the waiter until full", function() return woken.full end)
            assert.is_nil(woken.empty)
            scene:wait_for_waiters(1, "empty")
            assert.equal(1, scene:wake(c, "signal", "empty"))
        end)
        assert.same({ full = true, empty = true }, woken)
    end)

    it("a signal does not reach another lock's condition of the same name", function()
        local other = b:mutex(path .. "-2")
        assert.same({ 1 }, scene:line_up({ a }, function(order)
            assert(other:with(LONG, function(lease)
                assert.equal(0, other:condition("c"):broadcast(lease))
            end))
            assert.same({}, order)
            assert.equal(1, scene:wake(b))
        end))
    end)

    it("a write lock has conditions, and others read while its writer waits", function()
        local rw, other = a:rwlock(path), b:rwlock(path)
        zklock.run(function()
            local lease = rig.hold(rw:write())
            assert.is_true(rw:write():condition("c"):wait(lease, LONG))
            assert.equal("busy", rig.code_of(other:read(), 0))
            assert.is_true(lease:downgrade(5))
            rig.check_refused("not_owner", nil, rw:write():condition("c"):wait(lease, LONG))
            assert.equal("held", lease:state())
            lease:release()
        end, function()
            scene:wait_for_waiters(1)
            rig.release(rig.hold(other:read()))
            local lease = rig.hold(other:write())
            assert.equal(1, other:write():condition("c"):signal(lease))
            lease:release()
        end)
    end)

    it("producers and consumers that wait in two conditions lose no item #slow", function()
        local COUNT, CAPACITY = 150, 2
        local store = "/store" .. path:match("[^/]*$")
        server:foreign("create %s 0", store)
        local produce = { function(items) return items < CAPACITY end, 1, "not_full", "not_empty" }
        local consume = { function(items) return items > 0 end, -1, "not_empty", "not_full" }

        -- Changes the number of items COUNT times, each once may(items) is true, and signals.
        local function work(session, may, change, wait_in, signal_to)
            local lock, awaited = scene:lock_and_condition(session, wait_in)
            local signalled = lock:condition(signal_to)
            local function step(lease)
                local items = tonumber((assert(session:get(store))))
                while not may(items) do
                    assert(awaited:wait(lease, LONG))
                    items = tonumber((assert(session:get(store))))
                end
                assert(lease:guard{ { "set", store, ("%d"):format(items + change) } })
                assert(signalled:signal(lease))
            end
            for _ = 1, COUNT do assert(lock:with(LONG, step)) end
        end

        local sessions, jobs = { a, b, c, c }, { produce, consume, consume, produce }
        rig.run(4, function(n) work(sessions[n], unpack(jobs[n])) end)
        assert.equal("0", (a:get(store)))
    end)

    -- Returns the functions put and take of the reference, with these paths of a lock and a job.
    local function put_and_take(session, lock, job)
        local page = assert(files.read("docs/reference/locks.md"))
        local example = page:match('\n(local lock = session:mutex%("/locks/jobs.-)```')
        example = example:gsub("/locks/jobs", lock):gsub("/jobs", job)
        local source = "local session = ...\n" .. example .. "return put, take"
        return assert((loadstring or load)(source))(session) -- luacheck: globals loadstring
    end

    it("the example of the reference works", function()
        local job_path = "/jobs" .. path:match("[^/]*$")
        local function program(session) return put_and_take(session, path, job_path) end

        local put, taken = program(a), {}
        local function take_all()
            local take = select(2, program(b))
            repeat
                local job = select(2, assert(take()))
                taken[#taken + 1] = job
            until job == "last"
        end
        zklock.run(take_all, function()
            for n = 1, 60 do assert(put("job " .. n)) end
            assert(put("last"))
        end)
        assert.equal(61, #taken)
        for n = 1, 60 do assert.equal("job " .. n, taken[n]) end
    end)

    it("the example of the reference loses no job by stops, cuts and lost replies #real", function()
        local JOBS = 3

        -- Calls fn until its results say that its work was done. Returns the results.
        local function insist(fn, ...)
            while true do
                local returned, ok, result, code, lost_result = pcall(fn, ...)
                if returned and ok then return result end
                if returned and code == "lost" then return lost_result end
            end
        end

        local found = assert(zklock.simulate(function(world)
            local taken, count = {}, 0
            local function functions()
                return put_and_take(assert(zklock.connect "memory:jobs"), "/locks/jobs", "/jobs")
            end
            world:process("producer", function()
                local put = functions()
                for n = 1, JOBS do insist(put, "job " .. n) end
            end)
            world:process("consumer", function()
                local take = select(2, functions())
                while count < JOBS do
                    local job = insist(take)
                    if not taken[job] then taken[job], count = true, count + 1 end
                end
            end)
        end, { seeds = 150, faults = { stop = true, cut = true, delay = 0.01 },
               limit = { seconds = 3600 } }))
        assert.equal(0, found.wrong, tostring(found))
    end)
end)


describe("the handles of a waiter in a condition #condition:wait", function()
    local lock, condition

    before_each(function() lock, condition = scene:lock_and_condition(a) end)

    local function hold_handles(count)
        local leases = {}
        for n = 1, count do leases[n] = rig.hold(lock, { timeout = 5, owner = "me" }) end
        return leases
    end

    -- Waits with that handle until b signals, with fn() meanwhile. Returns true, or the code.
    local function wait_with(lease, fn)
        return (scene:wait_while(a, function()
            if fn then fn() end
            assert.equal(1, scene:wake(b))
        end, lease))
    end

    local function check_states(state, leases)
        for _, lease in ipairs(leases) do assert.equal(state, lease:state()) end
    end

    it("the handles are released, and held again with a new token (Menagerie kept the lock)",
       function()
        local leases = hold_handles(3)
        local before = leases[1]:token_string()
        assert.is_true(wait_with(leases[2], function()
            check_states("released", leases)
            assert.equal(0, leases[3]:remaining())
            assert.equal("released", (select(3, leases[3]:check(20))))
            assert.equal("released", (select(3, leases[3]:guard{ { "check", "/" } })))
            assert.equal("released", (select(3, condition:wait(leases[1], LONG))))
        end))
        check_states("held", leases)
        for _, lease in ipairs(leases) do
            assert.equal(leases[1]:token_string(), lease:token_string())
            assert.is_true(tonumber(lease:token_string()) > tonumber(before))
            assert.equal(tostring(lease.token):match("^%d+"), lease:token_string())
        end
        for _, lease in ipairs(leases) do
            assert.equal(1, #server:nodes(path))
            rig.release(lease)
        end
        scene:come_to_rest(a, b, c)
    end)

    it("each of the handles may wait, again and again", function()
        local leases = hold_handles(2)
        for n = 1, 6 do
            local last = leases[1].token
            assert.is_true(wait_with(leases[n % 2 + 1]))
            assert.is_true(leases[1].token > last)
        end
        check_states("held", leases)
    end)

    it("on_lost of the handles hears of a loss after the wait, and not of the wait", function()
        local leases = hold_handles(2)
        local told = { rig.note_losses(leases[1]), rig.note_losses(leases[2]) }
        assert.is_true(wait_with(leases[1]))
        a:dispatch()
        assert.same({ {}, {} }, told)
        rig.delete_node(server, path)
        assert.equal("lost", (select(3, leases[1]:check(20))))
        a:dispatch()
        assert.same({ { "lost" }, { "lost" } }, told)
    end)

    it("callbacks may be registered during the wait", function()
        local leases, told = hold_handles(2), {}
        assert.is_true(wait_with(leases[1], function()
            rig.note_losses(leases[2], told)
            leases[1]:on_revoke(function() told[#told + 1] = "revoke" end)
        end))
        assert.equal(1, b:mutex(path):revoke())
        rig.wait_for("the request", function() return #told == 1 end)
        rig.delete_node(server, path)
        assert.equal("lost", (select(3, leases[1]:check(20))))
        a:dispatch()
        assert.same({ "revoke", "lost" }, told)
    end)

    it("a loss during the wait reaches all handles", function()
        local leases = hold_handles(2)
        local told = rig.note_losses(leases[2])
        assert.equal("lost", (scene:wait_while(a, function()
            rig.delete_node(server, scene:folder())
        end, leases[1])))
        a:dispatch()
        check_states("lost", leases)
        assert.same({ "lost" }, told)
    end)

    it("on_revoke of the handles hears of requests before and after the wait", function()
        local leases, told = hold_handles(2), {}
        for n, lease in ipairs(leases) do
            lease:on_revoke(function() told[#told + 1] = n end)
        end
        local function ask(count)
            assert.equal(1, b:mutex(path):revoke())
            rig.wait_for("the request", function() return #told == count end)
        end
        ask(2)
        assert.is_true(wait_with(leases[1]))
        ask(4)
        table.sort(told)
        assert.same({ 1, 1, 2, 2 }, told)
    end)

    for how, tag in pairs{ released = "", collected = " #real" } do
        it(("handles that are %s during the wait do not come back%s"):format(how, tag), function()
            local leases = { assert(lock:acquire{ timeout = 5, owner = "me" }),
                             assert(lock:acquire{ timeout = 5, owner = "me" }) }
            assert.is_true(wait_with(leases[1], function()
                if how == "released" then
                    assert.equal("released", (select(3, leases[2]:release())))
                else
                    leases[2] = nil
                    collectgarbage()
                    collectgarbage()
                end
            end))
            check_states(how == "released" and "released" or "held", { leases[2] })
            rig.release(leases[1])
            scene:come_to_rest(a, b, c)
        end)
    end

    it("a release of the waiter's handle ends its wait with released, and the other handles are " ..
       "held", function()
        local leases = hold_handles(2)
        assert.equal("released", wait_with(leases[1], function() leases[1]:release() end))
        assert.equal("held", leases[2]:state())
        rig.release(leases[2])
        scene:come_to_rest(a, b, c)
    end)
end)
