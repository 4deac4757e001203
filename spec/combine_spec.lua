--- lock:combine(): what many want of a lock is carried out in one hold, and each is told its own.
local core = require "zklock.core"
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()
local close = coroutine.close -- luacheck: globals coroutine.close
local unpack = table.unpack or unpack


describe("combine", function()
    local session, path, lock
    before_each(function()
        session = rig.session(server.hosts)
        path = rig.path()
        lock = session:mutex(path)
    end)
    after_each(rig.close_sessions)
    after_each(function() zklock.driver(nil) end)

    local function held_by_another()
        return rig.hold(rig.session(server.hosts):mutex(path))
    end

    local function nothing_left()
        rig.at_rest(session)
        server:wait_for_nodes(path, 0)
        assert.is_nil(next(session.requests))
    end

    local function in_line(count)
        rig.wait_for(count .. " in line", function() return #server:nodes(path) == count end)
    end

    -- Doubles numbers; keeps what each call was given: { items, tokens }.
    local function doubling(options, of)
        local calls = { items = {}, tokens = {} }
        return (of or lock):combine(function(lease, items)
            assert(lease:held())
            calls.items[#calls.items + 1] = items
            calls.tokens[#calls.tokens + 1] = lease.token
            local results = {}
            for i, item in ipairs(items) do results[i] = 2 * item end
            return results
        end, options), calls
    end

    -- Tasks that submit 1 to count, in that order; their answers come into a list.
    local function submitters(submit, count, timeout)
        local tasks, answers = {}, {}
        for n = 1, count do
            tasks[n] = function() answers[n] = { submit(n, timeout) } end
        end
        return tasks, answers
    end

    local function plus(tasks, ...)
        local all = { unpack(tasks) }
        for _, task in ipairs{ ... } do all[#all + 1] = task end
        return unpack(all)
    end

    describe("a batch", function()
        it("is all that came while the lock was not free, in order of arrival #real", function()
            local holder, submit, calls = held_by_another(), doubling()
            local tasks, answers = submitters(submit, 20)
            zklock.run(plus(tasks, function() holder:release() end))
            local expected = {}
            for n = 1, 20 do
                expected[n] = n
                assert.same({ 2 * n }, answers[n])
            end
            assert.same({ expected }, calls.items)
            assert.equal(1, session:stats().grants)
            nothing_left()
        end)

        it("has at most `most` items: 100, unless told otherwise", function()
            for _, case in ipairs{ { { most = 7 }, 7, 7, 6 }, { { most = 1 }, 1, 1, 1 },
                                   { {}, 100, 20 }, { false, 100, 20 } } do
                local holder, submit, calls = held_by_another(), doubling(case[1] or nil)
                local count = case[2] + case[3] + (case[4] or 0)
                local tasks, answers = submitters(submit, count)
                zklock.run(plus(tasks, function() holder:release() end))
                for n = 1, count do assert.same({ 2 * n }, answers[n]) end
                local sizes = {}
                for i, items in ipairs(calls.items) do sizes[i] = #items end
                assert.same({ unpack(case, 2) }, sizes)
                nothing_left()
            end
        end)

        it("is a hold of its own: between two of them others have their turn", function()
            local holder, submit, calls = held_by_another(), doubling{ most = 1 }
            local other, token = rig.session(server.hosts):mutex(path), nil
            zklock.run(function() submit(1) end, function() submit(2) end, function()
                in_line(2)
                token = select(2, assert(other:with(30, function(lease) return lease.token end)))
            end, function()
                in_line(3)
                holder:release()
            end)
            assert.is_true(calls.tokens[1] < token and token < calls.tokens[2])
            nothing_left()
        end)

        it("is of one item where nothing runs beside the caller, in its coroutine #real", function()
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
            nothing_left()
        end)

        it("gives each result as it is, false and tables, too", function()
            local trouble = {}
            local submit = lock:combine(function(_, items) return items end)
            for _, item in ipairs{ false, trouble, "text", 0, print } do
                assert.equal(item, submit(item))
                assert.equal(1, select("#", submit(item)))
            end
        end)

        it("may be asked of anything that can be called", function()
            local submit = lock:combine(setmetatable({}, { __call = function(_, lease, items)
                return { lease.path .. items[1] }
            end }))
            assert.equal(path .. "x", submit("x"))
        end)
    end)

    describe("of any lock that is had alone", function()
        for name, make in pairs{
            ["a mutex in turns"] = function() return session:mutex(path, { order = "turns" }) end,
            ["an unfair mutex"] = function() return session:mutex(path, { order = "none" }) end,
            ["a write lock"] = function() return session:rwlock(path):write() end,
            ["a multi-lock"] = function()
                return session:multi{ lock, session:rwlock(path .. "/b"):write() }
            end,
        } do
            it("combines: " .. name, function()
                local made = make()
                local submit, calls = doubling({ most = 15 }, made)
                local tasks, answers = submitters(submit, 30)
                zklock.run(unpack(tasks))
                for n = 1, 30 do assert.same({ 2 * n }, answers[n]) end
                assert.is_true(#calls.items < 30)
                assert(made:with(function() assert(submit(1) == 2 or made.parts) end))
                nothing_left()
            end)
        end

        it("refuses a read lock, several of them, and a semaphore", function()
            local read = session:rwlock(path):read()
            local several = session:multi{ read, session:rwlock(path .. "-2"):read() }
            for _, each in ipairs{ read, several, session:semaphore(path, 2) } do
                local ok, problem = pcall(each.combine, each, print)
                assert.is_false(ok)
                assert.matches("needs a lock that one has alone", problem)
            end
        end)
    end)

    describe("a deadline", function()
        it("before the item was taken: timeout, and it is not carried out", function()
            local holder, submit, calls = held_by_another(), doubling()
            local answer, seconds
            zklock.run(function()
                seconds, answer = rig.timed(function() return { submit(1, 0.2) } end)
                holder:release()
            end, function() assert(submit(2) == 4) end)
            assert.equal("timeout", answer[3])
            assert.is_true(seconds >= 0.2)
            assert.same({ { 2 } }, calls.items)
            nothing_left()
        end)

        for name, others in pairs{ ["alone"] = 0, ["beside others"] = 3 } do
            it("while it is taken: unknown at once, it may have been carried out: " .. name ..
                " #real #slow", function()
                    local over, done, told = false, 0, nil
                    local submit = lock:combine(function(_, items)
                        repeat zklock.sleep(0.01) until over
                        done = done + #items
                        return items
                    end)
                    local tasks = {}
                    for n = 1, others do tasks[n] = function() assert(submit(n) == n) end end
                    zklock.run(function()
                        told = { submit("late", 2) }
                        over = true -- it is told before fn returns
                    end, unpack(tasks))
                    assert.equal("unknown", told[3])
                    assert.equal(1 + others, done) -- a run ends when the batch has
                    nothing_left()
                end)
        end

        it("of the last: nobody stands in line any more #slow", function()
            local holder, submit = held_by_another(), doubling()
            local tasks, answers = submitters(submit, 300, 4)
            zklock.run(plus(tasks, function() in_line(2) end))
            for n = 1, 300 do assert.equal("timeout", answers[n][3]) end
            in_line(1)
            rig.at_rest(session)
            assert.is_nil(next(session.requests))
            holder:release()
            assert.equal(42, submit(21))
            nothing_left()
        end)

        it("of one does not cost the others their place in line", function()
            local holder, order = held_by_another(), {}
            local other = rig.session(server.hosts):mutex(path)
            local submit = lock:combine(function(_, items)
                order[#order + 1] = items[1]
                return items
            end)
            zklock.run(function()
                assert(select(3, submit("first", 0.5)) == "timeout")
                in_line(3)
                holder:release()
            end, function() submit "second" end, function()
                in_line(2)
                other:with(30, function() order[#order + 1] = "other" end)
            end)
            assert.same({ "second", "other" }, order)
            nothing_left()
        end)

        it("of 0 tries: the item is carried out at once, or not at all", function()
            local submit, calls = doubling()
            assert.equal(2, submit(1, 0))
            local holder = held_by_another()
            assert.equal("busy", select(3, submit(2, 0)))
            zklock.run(function() assert(submit(3) == 6) end, function()
                assert(select(3, submit(4, 0)) == "busy") -- others wait already
                holder:release()
            end)
            assert.same({ { 1 }, { 3 } }, calls.items)
            nothing_left()
        end)
    end)

    describe("max_waiters", function()
        local CROWDED = "busy: .*%(as many wait as max_waiters allows%)$"

        -- So many of another session wait for the lock, while fn runs, and until it releases.
        local function behind(count, fn)
            local holder, other = held_by_another(), rig.session(server.hosts):mutex(path)
            zklock.run(function()
                for _ = 1, count do
                    coroutine.wrap(function() assert(other:acquire()):release() end)()
                end
                in_line(1 + count)
                fn(holder)
                rig.wait_for("the others", function() return #server:nodes(path) == 0 end)
            end)
        end

        it("is busy at once when so many items wait, which go on to wait #real", function()
            local holder, submit, calls = held_by_another(), doubling{ max_waiters = 2 }
            local tasks, answers = submitters(submit, 4)
            zklock.run(plus(tasks, function()
                assert(not answers[1] and not answers[2])
                holder:release()
            end))
            assert.same({ { 2 }, { 4 } }, { answers[1], answers[2] })
            for n = 3, 4 do
                rig.is_refused("busy", nil, unpack(answers[n], 1, 3))
                assert.matches(CROWDED, answers[n][2])
            end
            assert.same({ { 1, 2 } }, calls.items)
            nothing_left()
        end)

        it("does not count what is carried out, nor who gave up", function()
            local over = false
            local submit = lock:combine(function(_, items)
                repeat zklock.sleep(0.01) until over
                return items
            end, { max_waiters = 1 })
            local gave_up, waited
            zklock.run(function() assert(submit(1) == 1) end, function()
                rig.wait_for("the batch", function() return session:stats().grants == 1 end)
                gave_up = select(3, submit(2, 0.1))
                waited = { submit(3, 30) }
            end, function()
                rig.wait_for("the second", function() return gave_up end)
                assert(select(3, submit(4)) == "busy")
                over = true
            end)
            assert.equal("timeout", gave_up)
            assert.same({ 3 }, waited)
            nothing_left()
        end)

        it("is busy when so many others wait for the lock, in a batch and alone", function()
            local submit, answers = doubling{ max_waiters = 2 }, {}
            behind(2, function(holder)
                answers[1] = { submit(1) }
                zklock.driver{ wait = function(own, request)
                    while not request:done() do own:dispatch() end
                end }
                answers[2] = { submit(2) }
                zklock.driver(nil)
                holder:release()
            end)
            for n = 1, 2 do
                rig.is_refused("busy", nil, unpack(answers[n], 1, 3))
                assert.matches(CROWDED, answers[n][2])
            end
            behind(1, function(holder)
                coroutine.wrap(function() answers[3] = submit(3) end)()
                in_line(3)
                holder:release()
                rig.wait_for("the answer", function() return answers[3] end)
            end)
            assert.equal(6, answers[3])
            nothing_left()
        end)
    end)

    it("has a timeout for those that do not give one themselves", function()
        local holder, submit = held_by_another(), doubling{ timeout = 0.2 }
        local answers = {}
        zklock.run(function()
            answers[1] = { submit(1) }
            answers[2] = { submit(2, {}) }
            answers[3] = { submit(3, 0.1) }
            answers[4] = { submit(4, 0) }
            answers[5] = { doubling{ timeout = 0 }(5) }
            holder:release()
        end)
        for n, code in ipairs{ "timeout", "timeout", "timeout", "busy", "busy" } do
            assert.equal(code, answers[n][3])
        end
        for n, text in ipairs{ "waited 0.2 s", "waited 0.2 s", "waited 0.1 s" } do
            assert.is_truthy(answers[n][2]:find(text, 1, true), answers[n][2])
        end
        nothing_left()
    end)

    describe("max_hold", function()
        for how, run in pairs{ ["in a batch"] = zklock.run, alone = function(fn) fn() end } do
            it("ends each hold by itself: the outcome is unknown: " .. how, function()
                local other, token = rig.session(server.hosts):mutex(path), nil
                local submit = lock:combine(function(lease, items)
                    if items[1] == "next" then return items end
                    rig.wait_for("the end", function() return lease:state() == "lost" end)
                    local others = assert(other:acquire{ timeout = 20, owner = "other" })
                    token = others.token
                    assert(others:release())
                    return { token > lease.token }
                end, { max_hold = 0.2 })
                run(function()
                    rig.is_refused("lost", "may have been carried out", submit "a")
                    assert(submit("next", 20) == "next")
                end)
                assert.is_truthy(token)
                nothing_left()
            end)
        end
    end)

    describe("an error", function()
        -- The answers of three submitters of one batch, of pcall(); then a batch that is right.
        local function answers_to(fn)
            local holder, tasks, answers, calls = held_by_another(), {}, {}, 0
            local submit = lock:combine(function(...)
                calls = calls + 1
                if calls > 1 then return select(2, ...) end
                return fn(...)
            end)
            for n = 1, 3 do tasks[n] = function() answers[n] = { pcall(submit, n) } end end
            zklock.run(plus(tasks, function() holder:release() end))
            assert.equal(1, calls)
            assert.equal("next", submit "next")
            nothing_left()
            return answers
        end

        it("of fn is raised in every submitter of the batch, unchanged", function()
            for _, value in ipairs{ {}, "text", 42, false, print } do
                for _, answer in ipairs(answers_to(function() error(value, 0) end)) do
                    assert.equal(false, answer[1])
                    assert.equal(value, answer[2])
                end
            end
        end)

        it("is a list of another length, or no list: it names the function", function()
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

    describe("a lease that is not held at the end", function()
        it("is lost: the outcome is unknown, and the next batch goes on #slow", function()
            local cause
            local submit = lock:combine(function(lease, items)
                if cause then cause(lease) end
                return items
            end)
            for _, each in ipairs{
                function(lease)
                    server:foreign("delete %s", server:nodes(path)[1])
                    rig.wait_for("the loss", function() return lease:state() == "lost" end)
                end,
                function(lease) lease:release() end,
            } do
                local holder = held_by_another()
                local tasks, answers = submitters(submit, 3)
                cause = each
                zklock.run(plus(tasks, function() holder:release() end))
                for n = 1, 3 do
                    assert.equal("lost", answers[n][3])
                    assert.matches("may have been carried out", answers[n][2])
                end
                cause = nil
                assert.equal("next", submit "next")
                nothing_left()
            end
        end)

        it("is not one that is suspect: the server is asked #slow", function()
            local fragile, returned = rig.fragile(server, { timeout = 20 }), false
            local submit = fragile.session:mutex(path):combine(function(lease, items)
                fragile.cut()
                rig.wait_for("doubt", function() return lease:state() == "suspect" end)
                returned = true
                return items
            end)
            local answer
            zklock.run(function() answer = { submit "a" } end, function()
                rig.wait_for("the end of fn", function() return returned end)
                fragile.heal()
            end)
            assert.same({ "a" }, answer)
            fragile.stop()
        end)

        it("is lost when the session expired #slow", function()
            local fragile = rig.fragile(server, { timeout = 3 })
            local submit = fragile.session:mutex(path):combine(function(lease, items)
                if items[1] == "next" then return items end
                fragile.cut()
                rig.wait_for("the loss", function() return lease:state() == "lost" end)
                fragile.heal()
                return items
            end)
            zklock.run(function()
                assert(select(3, submit "a") == "lost")
                rig.wait_for("the next", function() return submit("next", 30) == "next" end)
            end)
            fragile.stop()
        end)
    end)

    describe("submit inside its function", function()
        it("is would_deadlock, alone and in a batch", function()
            local submit, inner
            submit = lock:combine(function(_, items)
                inner = { submit "inner" }
                return items
            end)
            for _, run in ipairs{ function(fn) fn() end, zklock.run } do
                run(function() assert(submit "outer" == "outer") end)
                assert.equal("would_deadlock", inner[3])
            end
            nothing_left()
        end)

        it("is so in a coroutine that the function resumes", function()
            local submit, code
            submit = lock:combine(function(_, items)
                code = coroutine.wrap(function() return select(3, submit "inner") end)()
                return items
            end)
            zklock.run(function() submit "outer" end)
            assert.equal("would_deadlock", code)
        end)

        it("may be of another lock, and beside it others go on to submit", function()
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

        it("can enter the lock again: the function's coroutine holds it", function()
            local submit = lock:combine(function(lease)
                return { select(2, assert(lock:with(0, function(again)
                    return again.token == lease.token
                end))) }
            end)
            zklock.run(function() assert(submit(1) == true) end)
        end)
    end)

    describe("a submitter that holds the lock", function()
        it("enters it again, with its own item alone #real", function()
            local submit, calls = doubling()
            zklock.run(function()
                lock:with(5, function(lease)
                    zklock.sleep(0.05)
                    assert(submit(1) == 2)
                    assert(calls.tokens[1] == lease.token)
                end)
            end, function() assert(submit(2) == 4) end)
            assert.same({ { 1 }, { 2 } }, calls.items)
            nothing_left()
        end)

        it("is refused by a lock that is not re-entrant", function()
            lock = session:mutex(path, { reentrant = false })
            local submit = lock:combine(print)
            zklock.run(function()
                lock:with(5, function() assert(select(3, submit(1)) == "would_deadlock") end)
            end)
            nothing_left()
        end)
    end)

    describe("every submitter is answered", function()
        it('when the session is closed: "closed"', function()
            held_by_another()
            local tasks, answers = submitters(doubling(), 30)
            zklock.run(plus(tasks, function()
                in_line(2)
                session:close()
            end))
            for n = 1, 30 do assert.equal("closed", answers[n][3]) end
        end)

        it('when the session expires: "expired"; a later one goes on #slow', function()
            local fragile, holder = rig.fragile(server, { timeout = 3 }), held_by_another()
            local submit = doubling(nil, fragile.session:mutex(path))
            local tasks, answers = submitters(submit, 30)
            zklock.run(plus(tasks, function()
                in_line(2)
                fragile.cut()
                in_line(1)
                fragile.heal()
                rig.wait_for("all answers", function() return #answers == 30 end)
                holder:release()
                assert(submit(4, 30) == 8)
            end))
            for n = 1, 30 do assert.equal("expired", answers[n][3]) end
            fragile.stop()
        end)

        it("by the code with which the lock is refused", function()
            rig.hold(session:semaphore(path, 2))
            local tasks, answers = submitters(doubling(), 3)
            zklock.run(unpack(tasks))
            for n = 1, 3 do assert.equal("conflict", answers[n][3]) end
        end)

        it("and an owner that is interrupted alone #real", function()
            local holder, submit, thread, code = held_by_another(), doubling(), nil, nil
            zklock.run(function()
                thread = coroutine.running()
                code = select(3, submit(1))
            end, function() assert(submit(2) == 4) end, function()
                assert(session:interrupt(thread) == 1)
                rig.wait_for("the answer", function() return code end)
                holder:release()
            end)
            assert.equal("interrupted", code)
            nothing_left()
        end)
    end)

    describe("a submitter that is dropped", function()
        if close then
            it("takes its item along, and nobody else's #real", function()
                local holder, submit, calls = held_by_another(), doubling()
                local thread
                zklock.run(function()
                    thread = coroutine.running()
                    submit(1)
                end, function() assert(submit(2) == 4) end, function()
                    close(thread)
                    holder:release()
                end)
                assert.same({ { 2 } }, calls.items)
                nothing_left()
            end)
        end

        it("with its run leaves nothing, and the next run goes on" .. (close and "" or " #real"),
           function()
            local holder, submit = held_by_another(), doubling()
            local ok, problem = pcall(zklock.run, function() submit(1) end, function()
                in_line(2)
                error("enough", 0)
            end)
            assert.same({ false, "enough" }, { ok, problem })
            in_line(1)
            holder:release()
            zklock.run(function() assert(submit(2) == 4) end, function() assert(submit(3) == 6) end)
            assert.equal(8, submit(4))
            nothing_left()
        end)

        it("with its run in the middle of a batch gives the lock up #real", function()
            local inside = false
            local submit = lock:combine(function(_, items)
                inside = true
                if items[1] == 1 then zklock.sleep(60) end
                return items
            end)
            assert.is_false(pcall(zklock.run, function() submit(1) end, function()
                rig.wait_for("the batch", function() return inside end)
                error "enough"
            end))
            rig.wait_for("a free lock", function()
                collectgarbage()
                return #server:nodes(path) == 0
            end)
            zklock.run(function() assert(submit(2) == 2) end)
            nothing_left()
        end)

        it("with a run inside of a task does not stop the others' batch", function()
            local holder, submit, came, answer = held_by_another(), doubling(), false, nil
            zklock.run(function()
                assert(not pcall(zklock.run, function() submit(1) end, function()
                    rig.wait_for("another submitter", function() return came end)
                    error "enough"
                end))
                holder:release()
            end, function()
                in_line(2)
                came = true
                answer = submit(2, 30)
            end)
            assert.equal(4, answer)
        end)
    end)

    describe("a driver of the user's #real", function()
        -- A loop of coroutines: whoever waits is resumed again and again.
        local function loop(spawns)
            local threads = {}
            local function spawn(fn) threads[#threads + 1] = coroutine.create(fn) end
            zklock.driver{ spawn = spawns and spawn or nil, wait = function(_, request)
                while not request:done() do coroutine.yield() end
            end }
            return spawn, function()
                local deadline = core.now() + 60
                repeat
                    local live = 0
                    session:dispatch()
                    for _, thread in ipairs(threads) do
                        if coroutine.status(thread) == "suspended" then
                            live = live + 1
                            assert(coroutine.resume(thread))
                        end
                    end
                until live == 0 or core.now() > deadline
            end
        end

        for _, spawns in ipairs{ true, false } do
            it(spawns and "that has spawn combines" or "without spawn carries out each alone",
                function()
                    local submit, calls = doubling()
                    local answers = {}
                    local spawn, go = loop(spawns)
                    for n = 1, 5 do spawn(function() answers[n] = submit(n) end) end
                    go()
                    zklock.driver(nil)
                    assert.same({ 2, 4, 6, 8, 10 }, answers)
                    assert.equal(spawns, #calls.items < 5)
                    nothing_left()
                end)
        end
    end)
end)
