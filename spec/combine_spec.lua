--- [lua luajit asan tsan memory worlds] lock:combine() carries out the items of many submitters in
-- one hold, and returns each its own result.
local core = require "zklock.core"
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()
local close = coroutine.close -- luacheck: globals coroutine.close
local unpack = table.unpack or unpack


after_each(rig.close_sessions)


describe("combine #lock:combine", function()
    local session, path, lock
    before_each(function() lock, session, path = rig.mutex() end)

    local function hold_elsewhere() return rig.hold_elsewhere(server, path) end

    local function check_nothing_left()
        rig.come_to_rest(session)
        server:wait_for_nodes(path, 0)
        assert.is_nil(next(session.requests))
    end

    after_each(function() zklock.driver(nil) end)
    after_each(check_nothing_left)

    local function wait_for_nodes(count) server:wait_for_nodes(path, count) end

    -- Returns a submit that doubles numbers, and the arguments of its batches: { items, tokens }.
    local function new_doubler(options, given_lock)
        local calls = { items = {}, tokens = {} }
        return (given_lock or lock):combine(function(lease, items)
            assert(lease:held())
            calls.items[#calls.items + 1] = items
            calls.tokens[#calls.tokens + 1] = lease.token
            local results = {}
            for i, item in ipairs(items) do results[i] = 2 * item end
            return results
        end, options), calls
    end

    -- Submits 1 to count, in that order, and then runs fn(answers). Returns the answers, each a
    -- list.
    local function submit_all(submit, count, fn, timeout)
        local answers = {}
        rig.run(count, function(n) answers[n] = { submit(n, timeout) } end, function()
            if fn then fn(answers) end
        end)
        return answers
    end

    local function submit_behind(submit, count, fn)
        local holder = hold_elsewhere()
        return submit_all(submit, count, function(answers)
            if fn then fn(answers) end
            holder:release()
        end)
    end

    local function check_doubled(answers, count)
        for n = 1, count do assert.same({ 2 * n }, answers[n]) end
    end

    local function check_all_refused(answers, count, code)
        for n = 1, count do assert.equal(code, answers[n][3]) end
    end

    describe("a batch", function()
        it("a batch has all items submitted while the lock was taken, in order of arrival #real",
           function()
            local submit, calls = new_doubler()
            check_doubled(submit_behind(submit, 20), 20)
            local expected = {}
            for n = 1, 20 do expected[n] = n end
            assert.same({ expected }, calls.items)
            assert.equal(1, session:stats().grants)
        end)

        it("a batch has at most `most` items, by default 100", function()
            for _, case in ipairs{ { { most = 7 }, 7, 7, 6 }, { { most = 1 }, 1, 1, 1 },
                                   { {}, 100, 20 }, { false, 100, 20 } } do
                local submit, calls = new_doubler(case[1] or nil)
                local count = case[2] + case[3] + (case[4] or 0)
                check_doubled(submit_behind(submit, count), count)
                local sizes = {}
                for i, items in ipairs(calls.items) do sizes[i] = #items end
                assert.same({ unpack(case, 2) }, sizes)
                check_nothing_left()
            end
        end)

        it("a batch is a hold of its own, and other contenders hold between two batches", function()
            local holder, submit, calls = hold_elsewhere(), new_doubler{ most = 1 }
            local other, token = rig.session(server.hosts):mutex(path), nil
            zklock.run(function() submit(1) end, function() submit(2) end, function()
                wait_for_nodes(2)
                token = select(2, assert(other:with(30, function(lease) return lease.token end)))
            end, function()
                wait_for_nodes(3)
                holder:release()
            end)
            assert.is_true(calls.tokens[1] < token and token < calls.tokens[2])
        end)

        it("a submit outside zklock.run() is a batch of one item, in its caller's coroutine #real",
           function()
            local thread
            local submit = lock:combine(function(_, items)
                thread = coroutine.running()
                return items
            end)
            assert.equal("a", submit("a"))
            assert.equal("b", coroutine.wrap(function()
                local result = submit("b")
                assert(thread == coroutine.running())
                return result
            end)())
        end)

        it("combine returns each result as it is, also false and tables", function()
            local trouble = {}
            local submit = lock:combine(function(_, items) return items end)
            for _, item in ipairs{ false, trouble, "text", 0, print } do
                assert.equal(item, submit(item))
                assert.equal(1, select("#", submit(item)))
            end
        end)

        it("combine takes any value that can be called", function()
            local submit = lock:combine(setmetatable({}, { __call = function(_, lease, items)
                return { lease.path .. items[1] }
            end }))
            assert.equal(path .. "x", submit("x"))
        end)
    end)

    describe("the locks that can combine", function()
        local function check_lock_refused(shared_lock)
            local problem = rig.error_of(shared_lock.combine, shared_lock, print)
            assert.matches("needs an exclusive lock", problem)
        end

        local shared = { ["a read lock"] = true, ["a semaphore"] = true }
        for kind, make in pairs(rig.kinds) do
            it(kind .. (shared[kind] and " is refused" or " combines"), function()
                local made = make(session, path)
                if shared[kind] then return check_lock_refused(made) end
                local submit, calls = new_doubler({ most = 15 }, made)
                check_doubled(submit_all(submit, 30), 30)
                assert.is_true(#calls.items < 30)
                assert(made:with(function() assert(submit(1) == 2 or made.parts) end))
            end)
        end

        it("several read locks are refused", function()
            check_lock_refused(session:multi{ session:rwlock(path):read(),
                                      session:rwlock(path .. "-2"):read() })
        end)
    end)

    describe("a submit with a deadline", function()
        it("an item whose time ends before it was taken gets timeout, and is not carried out",
           function()
            local holder, submit, calls = hold_elsewhere(), new_doubler()
            zklock.run(function()
                rig.check_refused("timeout", nil, rig.takes(0.2, 60, submit, 1, 0.2))
                holder:release()
            end, function() assert(submit(2) == 4) end)
            assert.same({ { 2 } }, calls.items)
        end)

        for name, others in pairs{ ["alone"] = 0, ["beside others"] = 3 } do
            it("an item whose time ends while it is carried out gets unknown at once, " .. name ..
                " #real #slow", function()
                    local over, done, told = false, 0, nil
                    local submit = lock:combine(function(_, items)
                        repeat zklock.sleep(0.01) until over
                        done = done + #items
                        return items
                    end)
                    rig.run(others, function(n) assert(submit(n) == n) end, function()
                        told = { submit("late", 2) }
                        over = true
                    end)
                    assert.equal("unknown", told[3])
                    assert.equal(1 + others, done)
                end)
        end

        it("the end of the last item's time takes the node out of line #slow", function()
            local holder, submit = hold_elsewhere(), new_doubler()
            local answers = submit_all(submit, 300, function() wait_for_nodes(2) end, 4)
            check_all_refused(answers, 300, "timeout")
            wait_for_nodes(1)
            rig.come_to_rest(session)
            assert.is_nil(next(session.requests))
            holder:release()
            assert.equal(42, submit(21))
        end)

        it("an item whose time ends leaves the place in line to the other items", function()
            local holder, order = hold_elsewhere(), {}
            local other = rig.session(server.hosts):mutex(path)
            local submit = lock:combine(function(_, items)
                order[#order + 1] = items[1]
                return items
            end)
            zklock.run(function()
                assert(select(3, submit("first", 0.5)) == "timeout")
                wait_for_nodes(3)
                holder:release()
            end, function() submit "second" end, function()
                wait_for_nodes(2)
                other:with(30, function() order[#order + 1] = "other" end)
            end)
            assert.same({ "second", "other" }, order)
        end)

        it("an item with a timeout of 0 is carried out at once, or not at all", function()
            local submit, calls = new_doubler()
            assert.equal(2, submit(1, 0))
            local holder = hold_elsewhere()
            assert.equal("busy", select(3, submit(2, 0)))
            zklock.run(function() assert(submit(3) == 6) end, function()
                assert(select(3, submit(4, 0)) == "busy")
                holder:release()
            end)
            assert.same({ { 1 }, { 3 } }, calls.items)
        end)
    end)

    describe("max_waiters", function()
        local function assert_crowded(answer)
            local message = rig.check_refused("busy", nil, unpack(answer, 1, 3))
            assert.matches("busy: .*%(as many wait as max_waiters allows%)$", message)
        end

        it("submit is busy at once when max_waiters items wait, and those are carried out #real",
        function()
            local submit, calls = new_doubler{ max_waiters = 2 }
            local answers = submit_behind(submit, 4, function(answers)
                assert(not answers[1] and not answers[2])
            end)
            check_doubled(answers, 2)
            for n = 3, 4 do assert_crowded(answers[n]) end
            assert.same({ { 1, 2 } }, calls.items)
        end)

        it("items that are carried out, or gave up, do not count", function()
            local begun, over = false, false
            local submit = lock:combine(function(_, items)
                begun = true
                repeat zklock.sleep(0.01) until over
                return items
            end, { max_waiters = 1 })
            local gave_up, waited
            zklock.run(function() assert(submit(1) == 1) end, function()
                rig.wait_for("the batch", function() return begun end)
                gave_up = select(3, submit(2, 0.1))
                waited = { submit(3, 30) }
            end, function()
                rig.wait_for("the second item's timeout", function() return gave_up end)
                assert(select(3, submit(4)) == "busy")
                over = true
            end)
            assert.equal("timeout", gave_up)
            assert.same({ 3 }, waited)
        end)

        it("submit is busy when max_waiters contenders wait for the lock, in a batch and alone",
           function()
            local submit, answer = new_doubler{ max_waiters = 2 }, nil
            local holder, other = hold_elsewhere(), rig.session(server.hosts):mutex(path)
            rig.line_up({ other, other }, function()
                assert_crowded{ submit(1) }
                zklock.driver{ wait = function(own, request)
                    while not request:done() do own:dispatch() end
                end }
                answer = { submit(2) }
                zklock.driver(nil)
                assert_crowded(answer)
                holder:release()
            end)
            holder = hold_elsewhere()
            rig.line_up({ other }, function()
                coroutine.wrap(function() answer = submit(3) end)()
                wait_for_nodes(3)
                holder:release()
                rig.wait_for("the answer", function() return answer == 6 end)
            end)
        end)
    end)

    it("the option timeout is the default for each item", function()
        local holder, submit = hold_elsewhere(), new_doubler{ timeout = 0.2 }
        local answers = {}
        zklock.run(function()
            answers[1] = { submit(1) }
            answers[2] = { submit(2, {}) }
            answers[3] = { submit(3, 0.1) }
            answers[4] = { submit(4, 0) }
            answers[5] = { new_doubler{ timeout = 0 }(5) }
            holder:release()
        end)
        for n, code in ipairs{ "timeout", "timeout", "timeout", "busy", "busy" } do
            assert.equal(code, answers[n][3])
        end
        for n, text in ipairs{ "waited 0.2 s", "waited 0.2 s", "waited 0.1 s" } do
            assert.is_truthy(answers[n][2]:find(text, 1, true), answers[n][2])
        end
    end)

    for how, run in pairs{ ["in a batch"] = zklock.run, alone = function(fn) fn() end } do
        it("a batch that exceeds max_hold returns lost, and the next batch works, " .. how,
        function()
            local other, token = rig.session(server.hosts):mutex(path), nil
            local submit = lock:combine(function(lease, items)
                if items[1] == "next" then return items end
                rig.becomes(lease, "lost")
                token = select(2, assert(other:with(20, function(each) return each.token end)))
                return { token > lease.token }
            end, { max_hold = 0.2 })
            run(function()
                rig.check_refused("lost", "may have been carried out", submit "a")
                assert(submit("next", 20) == "next")
            end)
            assert.is_truthy(token)
        end)
    end

    describe("an error in combine", function()
        -- Returns what pcall(submit) returns to three submitters of one batch. Checks that the next
        -- batch works.
        local function answers_to(fn)
            local calls = 0
            local submit = lock:combine(function(...)
                calls = calls + 1
                if calls > 1 then return select(2, ...) end
                return fn(...)
            end)
            local answers = submit_behind(function(n) return pcall(submit, n) end, 3)
            assert.equal(1, calls)
            assert.equal("next", submit "next")
            check_nothing_left()
            return answers
        end

        it("an error of fn is raised in every submitter of the batch, unchanged", function()
            for _, value in ipairs{ {}, "text", 42, false, print } do
                for _, answer in ipairs(answers_to(function() error(value, 0) end)) do
                    assert.equal(false, answer[1])
                    assert.equal(value, answer[2])
                end
            end
        end)

        it("an error that the result list raises is raised in every submitter", function()
            local strict = { __index = function() error("no such field", 0) end }
            for _, answer in ipairs(answers_to(function(_, items)
                return setmetatable({ unpack(items, 1, 2) }, strict)
            end)) do
                assert.same({ false, "no such field" }, answer)
            end
        end)

        it("each result is read once, so a list that raises later harms nobody", function()
            local read = {}
            for n, answer in ipairs(answers_to(function(_, items)
                return setmetatable({}, { __index = function(_, i)
                    if read[i] then error("read again", 0) end
                    read[i] = true
                    return items[i]
                end })
            end)) do
                assert.same({ true, n }, answer)
            end
        end)

        it("a result that is no list of the right length raises, and names the function", function()
            for text, result in pairs{
                ["list of 3 results, and result 3 is nil"] = { 1, 2 },
                ["list of 3 results, and result 2 is nil"] = { 1, nil, 3 },
                ["list of 3 results, and there are more"] = { 1, 2, 3, 4 },
                ["list of 3 results, not true"] = true,
            } do
                for _, answer in ipairs(answers_to(function() return result end)) do
                    assert.is_false(answer[1])
                    assert.is_truthy(answer[2]:find(text, 1, true), answer[2])
                    assert.matches("^spec/combine_spec.lua:%d+: ", answer[2])
                end
            end
        end)
    end)

    describe("a lease that is not held at the end of fn", function()
        it("a lost or released lease gives lost, and the next batch goes on #slow", function()
            local cause
            local submit = lock:combine(function(lease, items)
                if cause then cause(lease) end
                return items
            end)
            for _, each in ipairs{
                function(lease)
                    rig.delete_node(server, path)
                    rig.becomes(lease, "lost")
                end,
                function(lease) lease:release() end,
            } do
                cause = each
                local answers = submit_behind(submit, 3)
                for n = 1, 3 do
                    assert.equal("lost", answers[n][3])
                    assert.matches("may have been carried out", answers[n][2])
                end
                cause = nil
                assert.equal("next", submit "next")
                check_nothing_left()
            end
        end)

        it("results of a suspect lease are returned once the server confirms the lease #slow",
        function()
            local fragile, returned = rig.fragile(server, { timeout = 20 }), false
            local submit = fragile.session:mutex(path):combine(function(lease, items)
                fragile.cut()
                rig.becomes(lease, "suspect")
                returned = true
                return items
            end)
            local answer
            zklock.run(function() answer = { submit "a" } end, function()
                rig.wait_for("the end of fn", function() return returned end)
                fragile.heal()
            end)
            assert.same({ "a" }, answer)
        end)

        it("a lease of an expired session gives lost #slow", function()
            local fragile = rig.fragile(server, { timeout = 3 })
            local submit = fragile.session:mutex(path):combine(function(lease, items)
                if items[1] == "next" then return items end
                fragile.cut()
                rig.becomes(lease, "lost")
                fragile.heal()
                return items
            end)
            zklock.run(function()
                assert(select(3, submit "a") == "lost")
                rig.wait_for("the next", function() return submit("next", 30) == "next" end)
            end)
        end)
    end)

    describe("a submit inside fn", function()
        it("a submit of the same lock is would_deadlock, alone, in a batch and in a coroutine",
           function()
            local submit, codes
            submit = lock:combine(function(_, items)
                local function code() return (select(3, submit "inner")) end
                codes = { code(), coroutine.wrap(code)() }
                return items
            end)
            for _, run in ipairs{ function(fn) fn() end, zklock.run } do
                run(function() assert(submit "outer" == "outer") end)
                assert.same({ "would_deadlock", "would_deadlock" }, codes)
            end
        end)

        it("a submit of another lock works, and other submitters go on", function()
            local inner = session:mutex(path .. "-other"):combine(function(_, items)
                return { items[1] .. "!" }
            end)
            local submit = lock:combine(function(_, items)
                zklock.sleep(0.05)
                return { (inner(items[1])) }
            end, { most = 1 })
            local a, b
            zklock.run(function() a = submit "a" end, function()
                zklock.sleep(0.01)
                b = submit "b"
            end)
            assert.same({ "a!", "b!" }, { a, b })
        end)

        it("fn may acquire the lock again in its coroutine", function()
            local submit = lock:combine(function(lease)
                return { select(2, assert(lock:with(0, function(again)
                    return again.token == lease.token
                end))) }
            end)
            zklock.run(function() assert(submit(1) == true) end)
        end)
    end)

    describe("a submitter that holds the lock", function()
        it("the holder's item is carried out alone, under its lease #real", function()
            local submit, calls = new_doubler()
            zklock.run(function()
                lock:with(5, function(lease)
                    zklock.sleep(0.05)
                    assert(submit(1) == 2)
                    assert(calls.tokens[1] == lease.token)
                end)
            end, function() assert(submit(2) == 4) end)
            assert.same({ { 1 }, { 2 } }, calls.items)
        end)

        it("the holder of a lock that is not re-entrant is refused", function()
            lock = session:mutex(path, { reentrant = false })
            local submit = lock:combine(print)
            zklock.run(function()
                lock:with(5, function() assert(select(3, submit(1)) == "would_deadlock") end)
            end)
        end)
    end)

    describe("the answers when submitters are refused", function()
        it('all submitters get "closed" when the session is closed', function()
            check_all_refused(submit_behind(new_doubler(), 30, function()
                wait_for_nodes(2)
                session:close()
            end), 30, "closed")
        end)

        it('all submitters get "expired" when the session expires, and a later submit works #slow',
           function()
            local fragile, holder = rig.fragile(server, { timeout = 3 }), hold_elsewhere()
            local submit = new_doubler(nil, fragile.session:mutex(path))
            check_all_refused(submit_all(submit, 30, function(answers)
                wait_for_nodes(2)
                fragile.cut()
                wait_for_nodes(1)
                fragile.heal()
                rig.wait_for("all answers", function() return #answers == 30 end)
                holder:release()
                assert(submit(4, 30) == 8)
            end), 30, "expired")
        end)

        it("all submitters get the code with which the lock's acquire is refused", function()
            assert(session:semaphore(path, 2):with(function()
                check_all_refused(submit_all(new_doubler(), 3), 3, "conflict")
            end))
        end)

        it("an interrupt ends only its owner's submit #real", function()
            local holder, submit, thread, code = hold_elsewhere(), new_doubler(), nil, nil
            zklock.run(function()
                thread = coroutine.running()
                code = select(3, submit(1))
            end, function() assert(submit(2) == 4) end, function()
                assert(session:interrupt(thread) == 1)
                rig.wait_for("the answer", function() return code end)
                holder:release()
            end)
            assert.equal("interrupted", code)
        end)
    end)

    describe("a dropped submitter", function()
        if close then
            it("a dropped submitter's item is not carried out, and all other items are #real",
               function()
                local holder, submit, calls = hold_elsewhere(), new_doubler()
                local thread
                zklock.run(function()
                    thread = coroutine.running()
                    submit(1)
                end, function() assert(submit(2) == 4) end, function()
                    close(thread)
                    holder:release()
                end)
                assert.same({ { 2 } }, calls.items)
            end)
        end

        it("a dropped run leaves no node, and the next run works" .. (close and "" or " #real"),
           function()
            local holder, submit = hold_elsewhere(), new_doubler()
            assert.equal("enough", rig.error_of(zklock.run, function() submit(1) end, function()
                wait_for_nodes(2)
                error("enough", 0)
            end))
            wait_for_nodes(1)
            holder:release()
            zklock.run(function() assert(submit(2) == 4) end, function() assert(submit(3) == 6) end)
            assert.equal(8, submit(4))
        end)

        it("a run dropped in the middle of a batch gives the lock up #real", function()
            local inside = false
            local submit = lock:combine(function(_, items)
                inside = true
                if items[1] == 1 then zklock.sleep(60) end
                return items
            end)
            rig.error_of(zklock.run, function() submit(1) end, function()
                rig.wait_for("the batch", function() return inside end)
                error "enough"
            end)
            rig.wait_for("a free lock", function()
                collectgarbage()
                return #server:nodes(path) == 0
            end)
            zklock.run(function() assert(submit(2) == 2) end)
        end)

        it("a submit after a run that failed before its runner began starts another runner",
           function()
            local submit = new_doubler()
            rig.error_of(zklock.run, function() submit(1) end, function() error "enough" end)
            local answer
            zklock.run(function() answer = submit(2, 30) end)
            assert.equal(4, answer)
        end)

        it("a run dropped inside a task does not stop the outer run's batch", function()
            local holder, submit, came, answer = hold_elsewhere(), new_doubler(), false, nil
            zklock.run(function()
                rig.error_of(zklock.run, function() submit(1) end, function()
                    rig.wait_for("another submitter", function() return came end)
                    error "enough"
                end)
                holder:release()
            end, function()
                wait_for_nodes(2)
                came = true
                answer = submit(2, 30)
            end)
            assert.equal(4, answer)
        end)
    end)

    describe("a user's driver with combine #real", function()
        -- Returns spawn, and a function that runs the loop and returns its coroutines' errors.
        local function loop(spawns, on_wait)
            local threads, problems = {}, {}
            local function spawn(fn) threads[#threads + 1] = coroutine.create(fn) end
            zklock.driver{ spawn = spawns and spawn or nil, wait = function(_, request)
                if on_wait then on_wait() end
                while not request:done() do coroutine.yield() end
            end }
            return spawn, function(given_session)
                local deadline = core.now() + 60
                repeat
                    local live, own = 0, given_session or session
                    own:dispatch()
                    for _, thread in ipairs(threads) do
                        if coroutine.status(thread) == "suspended" then
                            live = live + 1
                            local ok, problem = coroutine.resume(thread)
                            if not ok then problems[#problems + 1] = problem end
                        end
                    end
                until live == 0 or core.now() > deadline
                return problems
            end
        end

        for _, spawns in ipairs{ true, false } do
            it(spawns and "a driver with spawn combines"
                or "a driver without spawn does not combine",
                function()
                    local submit, calls = new_doubler()
                    local answers = {}
                    local spawn, go = loop(spawns)
                    for n = 1, 5 do spawn(function() answers[n] = submit(n) end) end
                    assert.same({}, go())
                    zklock.driver(nil)
                    assert.same({ 2, 4, 6, 8, 10 }, answers)
                    assert.equal(spawns, #calls.items < 5)
                end)
        end

        -- Returns the answers to 1 to 4. Calls on_wait() before waits of the coroutine of batches.
        local function submit_four(submit, on_wait, given_session)
            local submits, answers = {}, {}
            local spawn, go = loop(true, function()
                if not submits[coroutine.running()] then on_wait() end
            end)
            for n = 1, 4 do
                spawn(function()
                    submits[coroutine.running()] = true
                    answers[n] = { submit(n) }
                end)
            end
            assert.same({ "no wait" }, go(given_session))
            return answers
        end

        it("items are carried out one by one if an error ends the wait for the lock", function()
            local submit, calls = new_doubler()
            check_doubled(submit_four(submit, function() error("no wait", 0) end), 4)
            assert.same({ { 1 }, { 2 }, { 3 }, { 4 } }, calls.items)
        end)

        it("an error after fn leaves the batch's items unknown, and others are carried out #slow",
           function()
            local fragile, done = rig.fragile(server, { timeout = 20 }), {}
            local submit = fragile.session:mutex(path):combine(function(lease, items)
                for _, item in ipairs(items) do done[#done + 1] = item end
                if items[2] then
                    fragile.cut()
                    rig.becomes(lease, "suspect")
                end
                return items
            end, { most = 2 })
            local answers = submit_four(submit, function()
                if not done[1] then return end
                fragile.heal()
                error("no wait", 0)
            end, fragile.session)
            for n = 1, 2 do assert.equal("unknown", answers[n][3]) end
            assert.same({ { 3 }, { 4 } }, { answers[3], answers[4] })
            assert.same({ 1, 2, 3, 4 }, done)
        end)
    end)
end)
