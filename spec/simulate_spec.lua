--- [lua luajit asan tsan] zklock.simulate and zklock.world run users' programs in virtual time.

local zklock = require "zklock"

local unpack = table.unpack or unpack

local ALL = { stop = true, kill = true, cut = true, expire = true, delay = 0.05 }


local function connect(options)
    return assert(zklock.connect("memory:shop", options))
end


local function hold(options)
    return assert(connect(options):mutex("/locks/bun"):acquire())
end


-- Simulates, by default without a search for the moment of the first wrong schedule.
local function simulate(program, opts)
    opts = opts or {}
    opts.moment = opts.moment or false
    return assert(zklock.simulate(program, opts))
end


-- Runs a world in which nothing may go wrong, and returns it.
local function play(program, opts)
    local world = assert(zklock.world(program, opts))
    assert(world:run())
    return world
end


local function start_two(world, fn)
    for n = 1, 2 do world:process("p" .. n, function() fn(n) end) end
end


-- Returns how many of `seeds` schedules are oversold. No other may be wrong.
local function count_wrong(program, seeds, faults)
    local result = simulate(program, { seeds = seeds, faults = faults })
    assert.equal(seeds, result.schedules)
    if result.first then assert.matches("oversold", tostring(result.first.problem)) end
    return result.wrong
end


-- A sale of one bun in two processes: purchase(shop, session) is what each does.
local function sale(purchase)
    return function(world)
        local shop = { stock = 1, sold = 0, token = 0 }
        for n = 1, 2 do
            world:process("server " .. n, function() purchase(shop, connect()) end)
        end
        world:finally(function() assert(shop.sold <= 1, "oversold") end)
    end
end


local function sell(shop)
    if shop.stock == 0 then return end
    assert(zklock.sleep(0.02))
    shop.stock, shop.sold = shop.stock - 1, shop.sold + 1
end


local with_lock = sale(function(shop, session)
    session:mutex("/locks/bun"):with(60, function() sell(shop) end)
end)


-- Sells one bun, and asks a server before it writes the stock.
local function sell_slowly(shop, session)
    if shop.stock == 0 then return end
    session:get("/x")
    shop.stock, shop.sold = shop.stock - 1, shop.sold + 1
end


local slowly_with_lock = sale(function(shop, session)
    session:mutex("/locks/bun"):with(60, function() sell_slowly(shop, session) end)
end)


describe("a simulated program #zklock.simulate", function()
    it("a program with a lock is right in every schedule without faults", function()
        assert.equal(0, count_wrong(with_lock, 300))
    end)

    it("Ctrl-C ends a simulation", function()
        local schedules = 0
        assert.error_matches(function()
            zklock.simulate(function()
                schedules = schedules + 1
                error("interrupted!", 0) -- as Lua's own program raises it
            end)
        end, "^interrupted!$")
        assert.equal(1, schedules)
    end)

    it("a shop without a lock sells too much (DEMO-01)", function()
        assert.is_true(count_wrong(sale(sell), 100) > 0)
    end)

    it("a shop with a lock but no token sells too much if a holder is stopped (DEMO-17a)",
    function()
        assert.is_true(count_wrong(with_lock, 1000, { stop = true }) > 0)
    end)

    it("a shop that shows its token before it reads never sells too much (DEMO-17b) #slow",
    function()
        local program = sale(function(shop, session)
            session:mutex("/locks/bun"):with(60, function(lease)
                local token = lease.token
                if token < shop.token then return end
                shop.token = token
                local stock = shop.stock
                zklock.sleep(0.02)
                if stock == 0 or token < shop.token then return end
                shop.stock, shop.sold = stock - 1, shop.sold + 1
            end)
        end)
        assert.equal(0, count_wrong(program, 3000, ALL))
    end)

    it("a program that waits for ever for a dropped lease is reported", function()
        local result = simulate(function(world)
            local lock
            world:process("forgetful", function()
                lock = connect():mutex("/locks/bun")
                assert(lock:acquire())
                collectgarbage()
                assert(lock:acquire{ owner = "another" })
            end)
        end, { seeds = 3 })
        assert.equal(3, result.wrong)
        assert.matches("nothing more can happen: forgetful waits for /locks/bun",
                       result.first.problem)
    end)

    -- The process "p" does the first; after a second the test does the second to it.
    for text, case in pairs{
        ["its death in zklock.run"] = {
            function()
                zklock.sleep(0.5)
                zklock.run(function() connect():mutex("/locks/bun"):acquire(20) end)
            end,
            function(world) world:kill "p" end,
        },
        ["its death in zklock.run during a sleep"] = {
            function() zklock.run(function() zklock.sleep(1e6) end) end,
            function(world) world:kill "p" end,
        },
        ["its end while its coroutine sleeps"] = {
            function() coroutine.wrap(function() zklock.sleep(1e6) end)() end, function() end,
        },
        ["its death during a stop"] = {
            function() zklock.sleep(10) end,
            function(world)
                world:stop("p", 1e6)
                world:kill "p"
            end,
        },
        ["a cut that was healed"] = {
            function() zklock.sleep(10) end,
            function(world)
                world:cut("p", 1e6)
                world:heal "p"
            end,
        },
        ["its end during a cut"] = {
            function() zklock.sleep(10) end, function(world) world:cut("p", 1e6) end,
        },
    } do
        it("nothing of a process is to come after " .. text, function()
            local function program(world)
                world:process("p", case[1])
                world:at(1, function() case[2](world) end)
            end
            assert.is_true(play(program):now() < 50)
            local world = zklock.world(function(world)
                world:process("forgetful", function()
                    local lease = hold()
                    hold()
                    lease:release()
                end)
                program(world)
            end)
            world:run()
            assert.matches("^nothing more can happen: forgetful waits", world.problem)
            assert.is_true(world:now() < 200)
        end)
    end
end)


describe("the same seed #zklock.simulate", function()
    local function story_of(seed)
        local world = assert(zklock.world(with_lock, { seed = seed, faults = ALL }))
        world:run()
        return table.concat(world.story, "\n")
    end

    it("a seed is the same schedule, whatever the collector does", function()
        for seed = 1, 30 do
            local story = story_of(seed)
            collectgarbage()
            assert.equal(story, story_of(seed))
        end
    end)

    it("a seed is the same schedule with and without on_event", function()
        local function time_of(seed, on_event)
            local world = assert(zklock.world(function(world)
                for n = 1, 3 do
                    world:process("server " .. n, function()
                        local lock = connect{ on_event = on_event }:mutex("/locks/bun")
                        for _ = 1, 3 do lock:with(60, function() zklock.sleep(0.01) end) end
                    end)
                end
            end, { seed = seed, faults = ALL }))
            world:run()
            return world:now()
        end
        for seed = 1, 50 do
            local heard = 0
            assert.equal(time_of(seed), time_of(seed, function() heard = heard + 1 end))
            assert.is_true(heard > 0)
        end
    end)

    it("two seeds are two schedules", function()
        assert.not_equal(story_of(1), story_of(2))
    end)
end)


describe("the first wrong seed #zklock.simulate", function()
    it("the first wrong seed is told with the faults that it needs, and its story", function()
        local first = simulate(with_lock, { seeds = 1000, faults = ALL }).first
        assert.matches("stop server %d for %d+%.%d+ s", table.concat(first.faults, "\n"))
        assert.matches("is stopped for", first.story)
        assert.matches("wants /locks/bun", first.story)
        local again = simulate(with_lock, { seed = first.seed, faults = ALL })
        assert.equal(1, again.schedules)
        assert.same(first, again.first)
        assert.matches("^1 schedules, 1 wrong; the first: seed " .. first.seed, tostring(again))
    end)
end)


-- Returns the results of fn(world) in a world of one process.
local function run_alone(fn)
    local results
    play(function(world)
        world:process("alone", function() results = { fn(world) } end)
    end)
    return unpack(results)
end


describe("time in a world #zklock.world", function()
    it("a sleep takes exactly its time in the world", function()
        local before, after = run_alone(function(world)
            local start = world:now()
            zklock.sleep(3600)
            return start, world:now()
        end)
        assert.near(3600, after - before, 1e-6)
    end)

    it("a wait ends at its deadline by the world's time", function()
        local waited, lease, code = run_alone(function(world)
            local held = hold()
            local begun = world:now()
            local lock = held.session:mutex("/locks/bun")
            local lease, _, code = lock:acquire{ owner = "b", timeout = 7 }
            return world:now() - begun, lease or false, code
        end)
        assert.near(7, waited, 0.01)
        assert.same({ false, "timeout" }, { lease, code })
    end)

    it("a session expires by the world's time", function()
        local story = {}
        play(function(world)
            world:process("holder", function()
                local lease = hold{ timeout = 4 }
                zklock.sleep(1)
                story[#story + 1] = lease:state()
            end)
            world:process("next", function()
                local lock = connect():mutex("/locks/bun")
                zklock.sleep(0.1)
                assert(lock:acquire(60))
                story[#story + 1] = "granted"
            end)
            world:at(0.5, function() assert(world:stop("holder", 20)) end)
        end)
        assert.same({ "granted", "lost" }, story)
    end)

    it("time goes on until a max_hold or a jitter is over", function()
        local function held(world)
            start_two(world, function(n)
                local session = connect()
                local own, others = "/" .. n, "/" .. 3 - n
                local max_hold = n == 1 and 100 or nil
                local lease = assert(session:mutex(own):acquire{ max_hold = max_hold })
                zklock.sleep(1)
                assert(session:mutex(others):acquire()) -- each has the other's
                lease:release()
            end)
        end
        local function by_chance(world)
            start_two(world, function(n)
                local session = connect{ timeout = 1 }
                zklock.sleep(n)
                local lock = session:mutex("/x", { order = "none", jitter = 30 })
                local lease = assert(lock:acquire())
                zklock.sleep(2)
                lease:release()
            end)
        end
        assert.equal(0, simulate(held, { seeds = 5 }).wrong)
        assert.equal(0, simulate(by_chance, { seeds = 20 }).wrong)
    end)

    it("a session from outside cannot be used in a world, and stays as it was", function()
        local lease = hold()
        local session = lease.session
        local state, ok, problem = run_alone(function()
            zklock.sleep(3600)
            assert.is_false(pcall(session.close, session))
            return lease:state(), pcall(session.get, session, "/locks")
        end)
        assert.same({ "held", false }, { state, ok })
        assert.matches("a world of virtual time shares no session with the code outside", problem)
        assert.equal("held", lease:state())
        session:close()
    end)
end)


describe("a process of a world #zklock.world", function()
    it("a process that is cut off is healed once", function()
        local state
        play(function(world)
            world:process("server", function()
                local lease = hold{ timeout = 10 }
                zklock.sleep(20)
                state = lease:state()
            end)
            world:at(1, function() assert.is_true(world:cut "server") end)
            world:at(4, function()
                assert.is_true(world:heal "server")
                assert.is_false(world:heal "server")
            end)
        end)
        assert.equal("held", state)
    end)

    it("a killed process runs no further line, and its session expires", function()
        local closed, granted_at = false, nil
        play(function(world)
            world:process("killed", function()
                local lease = hold{ timeout = 4 }
                pcall(zklock.sleep, 60)
                closed = true
                lease:release()
            end)
            world:process("next", function()
                local lock = connect():mutex("/locks/bun")
                zklock.sleep(0.5)
                assert(lock:acquire(60))
                granted_at = world:now()
            end)
            world:at(1, function() assert.is_true(world:kill("killed")) end)
        end)
        assert.is_false(closed)
        assert.is_true(granted_at > 1 + 4 * 2 / 3 and granted_at < 1 + 4 * 1.5 + 1, granted_at)
    end)

    it("a session can be used by its process alone, and only processes connect", function()
        local codes, session = {}, nil
        local function is_refused() return not pcall(session.get, session, "/locks") end
        play(function(world)
            world:process("first", function()
                session = connect()
                zklock.sleep(5)
            end)
            world:process("second", function()
                zklock.sleep(1)
                codes[1] = is_refused()
            end)
            world:at(2, function() codes[2] = select(3, zklock.connect("memory:shop")) end)
            world:at(2, function() codes[3] = is_refused() end)
        end)
        codes[4] = select(3, session:get("/locks"))
        assert.same({ true, "context", true, "context" }, codes)
    end)

    it("a process cannot connect to a real server, and its session has no descriptor", function()
        local server, fd = run_alone(function()
            return select(3, zklock.connect("127.0.0.1:1")), select(3, connect():fd())
        end)
        assert.same({ "context", "unsupported" }, { server, fd })
    end)

    it("an error of a process is the schedule's problem, and finally() is not called", function()
        local result = simulate(function(world)
            world:process("faulty", function() error("a defect", 0) end)
            world:finally(function() error("not reached", 0) end)
        end, { seeds = 2 })
        assert.equal(2, result.wrong)
        assert.equal("a defect", result.first.problem)
    end)

    it("a process that stops itself goes on after the stop, and by a kill it ends", function()
        local states = {}
        play(function(world)
            world:process("a", function()
                local lease = hold{ timeout = 10 }
                world:stop("a", 100)
                states[1], states[2] = lease:held(), world:now() > 100
                coroutine.wrap(function() world:kill "a" end)()
                states[3] = "goes on"
            end)
        end)
        assert.same({ false, true }, states)
    end)

    it("a process can wait after the test has killed another between two steps", function()
        local world = assert(zklock.world(function(world)
            start_two(world, function(n)
                zklock.sleep(n)
                local lease = hold{ timeout = 10 }
                if n == 1 then zklock.sleep(1e9) end
                lease:release()
            end)
        end, { limit = { seconds = 1e6 } }))
        repeat world:step() until world:now() > 39
        world:kill("p1")
        assert(world:run())
        assert.is_true(world:now() > 45)
    end)

    it("a process hears of a lost lease by a callback that the test registers", function()
        local heard, lease
        play(function(world)
            world:process("p", function()
                lease = hold{ timeout = 4 }
                zklock.memory("shop"):expire(lease.session)
                zklock.sleep(100)
            end)
            world:at(50, function() lease:on_lost(function() heard = world:now() end) end)
        end)
        assert.near(50, heard, 1)
    end)

    it("thousands of processes may run one after the other", function()
        local most = 0
        play(function(world)
            local function start(n)
                world:process("p" .. n, function()
                    zklock.sleep(0.2)
                    local runs = 0
                    for _ in pairs(world.runs) do runs = runs + 1 end
                    most = math.max(most, runs)
                    if n < 2000 then start(n + 1) end
                end)
            end
            start(1)
        end)
        assert.equal(1, most) -- ended coroutines are forgotten
    end)
end)


describe("a world #zklock.world", function()
    it("an error that is nil is a problem, too", function()
        local world = assert(zklock.world(function(world)
            world:process("p", function() error() end) -- luacheck: ignore
        end))
        assert.same({ nil, "an error that is nil" }, { world:run() })
    end)

    it("a callback that an earlier callback stops is not called", function()
        local told = {}
        run_alone(function()
            local lease = hold{ timeout = 4 }
            local stop
            lease:on_lost(function() stop() end)
            stop = lease:on_lost(function() told.stopped = true end)
            lease:on_lost(function() told.last = true end)
            zklock.memory("shop"):expire(lease.session)
            zklock.sleep(2)
        end)
        assert.same({ last = true }, told)
    end)

    it("a world has servers of its own, which end with it", function()
        for _ = 1, 2 do
            assert.equal(0, #run_alone(function()
                local names = assert(zklock.memory("shop"):children("/"))
                hold()
                assert.equal("locks", zklock.memory("shop"):children("/")[1])
                return names
            end))
        end
        assert.same({}, (zklock.memory("shop"):children("/")))
    end)

    it("expire, cut, heal and delay act on a world's servers", function()
        run_alone(function(world)
            local server, lease = zklock.memory("shop"), hold{ timeout = 4 }
            local session = lease.session
            assert.is_true(server:expire(session))
            zklock.sleep(2)
            assert.equal("lost", lease:state())
            lease = assert(session:mutex("/locks/bun"):acquire(30))
            assert.is_true(server:cut(session))
            assert.is_false(server:cut(session))
            zklock.sleep(3.9)
            assert.not_equal("held", lease:state())
            assert.is_true(server:heal(session))
            zklock.sleep(2)
            server:delay(0.5)
            local begun = world:now()
            session:get("/locks")
            assert.near(0.5, world:now() - begun, 0.01)
        end)
    end)

    it("metrics() in a world counts only the world's sessions", function()
        local text = run_alone(function()
            hold()
            return zklock.metrics()
        end)
        assert.matches('zklock_acquires_total{[^}]*"granted"[^}]*} 1\n', text)
    end)

    it("choose() and step() run a world by hand", function()
        local done = {}
        local world = assert(zklock.world(function(world)
            start_two(world, function(n)
                world:pause()
                done[#done + 1] = n
            end)
        end))
        assert.same({ "p1 goes on", "p2 goes on", "time goes on" }, world:choices())
        assert.is_true(world:choose(2))
        assert.is_true(world:choose(2))
        assert.same({ 2 }, done)
        while world:step() do end
        assert.same({ 2, 1 }, done)
        assert.same({}, world:choices())
        assert.matches("over", tostring(world))
    end)

    it("a world has no choice left when its processes have ended", function()
        local ended = false
        local world = assert(zklock.world(function(world)
            world:process("p", function() end)
            world:finally(function() ended = true end)
        end))
        assert.is_false(world:choose(1))
        assert.same({}, world:choices())
        assert.is_true(ended)
    end)

    it("choose() goes on to the end though a coroutine of an ended process was ready", function()
        local world = assert(zklock.world(function(world)
            world:process("p", function()
                coroutine.wrap(function() zklock.sleep(1) end)()
                zklock.sleep(1)
            end)
        end))
        local steps = 0
        repeat
            steps = steps + 1
            local texts = world:choices()
            assert.is_not_nil(texts[1])
            local last = texts[2] and #texts - 1 or 1 -- p's main coroutine, if it can go on
        until not world:choose(last)
        assert.equal(3, steps)
    end)

    it("choose() can let any packet arrive first", function()
        local world = assert(zklock.world(function(world)
            start_two(world, function() hold() end)
        end))
        local function choose(pattern)
            for i, text in ipairs(world:choices()) do
                if text:find(pattern) then return world:choose(i) end
            end
            error("no choice " .. pattern .. ": " .. table.concat(world:choices(), "; "))
        end
        choose "p1 goes on"
        choose "p2 goes on"
        choose "time goes on"
        choose "time goes on"
        local now = world:now()
        choose "p2 to the server: connect"
        choose "p2 from the server: connected"
        assert.equal(now, world:now()) -- neither packet waited for its time
        assert.is_true(#world:choices() > 0)
    end)

    it("a world ends at its limit of steps or of time", function()
        local function program(world)
            world:process("endless", function() while true do world:pause() end end)
        end
        local result = simulate(program, { seeds = 1, limit = { steps = 1000 } })
        assert.matches("not over after 1000 steps", result.first.problem)
        local stepped = zklock.world(program, { limit = { steps = 1000 } })
        while stepped:step() do end
        assert.equal(result.first.problem, stepped.problem)
        for seconds, problem in pairs{ [1e6] = "^it is not over after 100 s",
                [1e300] = "^it is not over after 100 s",
                [math.huge] = "^nothing more can happen: sleeper waits" } do
            result = simulate(function(world)
                world:process("sleeper", function() zklock.sleep(seconds) end)
            end, { seeds = 1, limit = { seconds = 100 } })
            assert.matches(problem, result.first.problem)
        end
    end)

    it("a world may go on for 4e6 seconds #slow", function()
        play(function(world)
            world:process("sleeper", function()
                zklock.sleep(4e6 - 10)
                for n = 1, 1000 do zklock.sleep(1 / n) end
            end)
        end, { limit = { seconds = 4e6 } })
    end)

    it("simulate() and a world name their wrong arguments", function()
        local function check_refused(pattern, ...)
            local ok, problem = pcall(...)
            assert.is_false(ok)
            assert.matches(pattern, problem)
        end
        local function none() end
        for pattern, opts in pairs{
            ["unknown option \"seds\""] = { seds = 1 },
            ["seeds must be a whole number"] = { seeds = 0.5 },
            ["not both"] = { seeds = 1, seed = 1 },
            ["must be a table, not 1"] = { limit = 1 },
            ["limit.seconds must be at most 4000000, not 4000001"] =
                { limit = { seconds = 4000001 } },
            ["unknown option \"fire\" in faults"] = { faults = { fire = true } },
            ["stop.longest must be a number above 0"] = { faults = { stop = { longest = 0 } } },
            ["unknown option \"longest\" in the fault kill"] =
                { faults = { kill = { longest = 1 } } },
            ["takes seeds, how many"] = { all = true, seeds = 1 },
            ["its schedules, or a schedule of it; not both"] = { all = true, schedule = "1:2" },
            ["known: preemptions, runs"] = { all = { bound = 1 } },
            ["all.preemptions must be a whole number, 0 or more"] = { all = { preemptions = -1 } },
            ["all.runs must be a number above 0"] = { all = { runs = 0 } },
            ["faults.stop has no per_second where all schedules are run"] =
                { all = true, faults = { stop = { per_second = 1 } } },
            ["takes pct, or all of the schedules"] = { all = true, pct = 2 },
            ["pct must be a whole number from 1"] = { pct = 1.5 },
            ["moment must be a number above 0"] = { moment = 0 },
            ['such as "14:2 22:3", not "3:2 2:1"'] = { schedule = "3:2 2:1" },
        } do
            check_refused(pattern, zklock.simulate, none, opts)
        end
        check_refused("simulate takes a function", zklock.simulate, 1)
        local world = assert(zklock.world(none))
        check_refused("with a colon", world.step)
        check_refused("there is no process", world.kill, world, "nobody")
        check_refused("is for a coroutine of a process", world.pause, world)
    end)

    -- Raises at the count-th instruction of the running coroutine, in LuaJIT of all together.
    local function interrupt_at(count)
        debug.sethook(function()
            debug.sethook()
            error("interrupted!", 0)
        end, "", count)
    end

    -- Returns the first of some counts at which interrupt(count) interrupts nothing any more.
    local function first_unhurt(interrupt)
        local jit = rawget(_G, "jit")
        if jit then jit.off() end -- compiled code calls no hook
        for count = 1, math.huge, jit and 23 or 7 do
            local unhurt, problem = coroutine.resume(coroutine.create(interrupt), count)
            debug.sethook()
            assert(unhurt or problem == "interrupted!", problem)
            assert(zklock.connect("memory:after")):close()
            if unhurt and jit then jit.on() end
            if unhurt then return count end
        end
    end

    for where, interrupt in pairs{
        ["of the simulation"] = function(count)
            interrupt_at(count)
            zklock.simulate(with_lock, { seeds = 1 })
            debug.sethook()
        end,
        ["of one of its processes"] = function(count)
            local set = false
            zklock.simulate(sale(function(shop, session)
                if not set then interrupt_at(count) end
                set = true
                session:mutex("/locks/bun"):with(60, function() sell(shop) end)
            end), { seeds = 1 })
            debug.sethook()
        end,
    } do
        it(("an error at any instruction %s ends it and its world"):format(where), function()
            assert.equal(0, count_wrong(with_lock, 1)) -- in Lua 5.1 a module loads once, or never
            local last = first_unhurt(interrupt)
            assert.is_true(last > 500, ("it has less than %d instructions"):format(last))
        end)
    end

    it("a world cannot run inside another world", function()
        local code = run_alone(function()
            return select(3, zklock.simulate(function() end))
        end)
        assert.equal("context", code)
    end)
end)


describe("a schedule is wrong #zklock.simulate", function()
    local function first_of(program, opts)
        opts = opts or { seeds = 5 }
        local result = simulate(program, opts)
        assert.is_truthy(result.first, tostring(result))
        return result.first, result
    end

    local function of_one(fn)
        return function(world) world:process("p", function() fn(world) end) end
    end

    it("a schedule is wrong if a callback raises an error", function()
        for _, use in ipairs{
            function(session) session:watch("/", function() error "bad" end) end,
            function(session) session:members("/m", function() error "bad" end) end,
            function(session)
                session:mutex("/x"):acquire():on_lost(function() error "bad" end)
                zklock.memory("shop"):expire(session)
            end,
        } do
            local first = first_of(of_one(function()
                use(connect())
                zklock.sleep(20)
            end))
            assert.matches("bad$", first.problem)
        end
    end)

    it("a schedule is wrong without a process, or if a process uses a session from outside",
    function()
        assert.equal("there was no process", first_of(function() end).problem)
        local outside = assert(zklock.connect("memory:outside"))
        local first, result = first_of(of_one(function()
            outside:mutex("/x"):with(1, function() end)
        end))
        assert.matches("shares no session", first.problem)
        assert.equal(0, result.tried.sections)
        outside:close()
    end)

    it("a schedule is wrong if code outside of the processes yields", function()
        local function yields() coroutine.yield() end
        for _, program in ipairs{
            yields,
            function(world) world:process("p", function() end) world:at(1, yields) end,
            function(world) world:process("p", function() end) world:finally(yields) end,
        } do
            assert.matches("only the coroutines of a process yield", first_of(program).problem)
        end
    end)

    it("a schedule is wrong if a coroutine, which is named, runs for ever at one time", function()
        local first = first_of(of_one(function(world) while true do world:pause() end end))
        assert.equal("p makes no progress: 10000 turns while time stands still", first.problem)
        first = first_of(function(world)
            local function again() world:at(world:now(), again) end
            world:at(1, again)
        end)
        assert.equal("world:at() makes no progress: 10000 turns while time stands still",
                     first.problem)
    end)

    it("a schedule is not wrong if much happens at one time", function()
        local count = 0
        local result = simulate(of_one(function(world)
            for _ = 1, 20000 do world:at(1, function() count = count + 1 end) end
            zklock.sleep(2)
        end), { seeds = 1 })
        assert.is_nil(result.first)
        assert.equal(20000, count)
    end)

    it("a schedule is wrong by an error whose text ends with interrupted!", function()
        local first, result = first_of(of_one(function() error "the payment was interrupted!" end))
        assert.matches("interrupted!$", first.problem)
        assert.equal(5, result.wrong)
    end)

    it("an error that is a table is shown, and needs no more faults than a text", function()
        local function raises_table(world)
            with_lock(setmetatable({ finally = function(_, fn)
                world:finally(function()
                    if not pcall(fn) then error{ code = "oversold", stock = 0 } end
                end)
            end }, { __index = function(_, name)
                return function(_, ...) return world[name](world, ...) end
            end }))
        end
        local faults = { stop = true, cut = true, expire = true }
        local text = first_of(with_lock, { seeds = 300, faults = faults })
        local thrown, result = first_of(raises_table, { seeds = 300, faults = faults })
        assert.same({ text.seed, text.faults }, { thrown.seed, thrown.faults })
        assert.same({ code = "oversold", stock = 0 }, thrown.problem)
        assert.is_truthy(tostring(result):find('{ code = "oversold", stock = 0 }', 1, true))
    end)

    it("a result tells if its wrong schedule does not repeat", function()
        local calls = 0
        local first, result = first_of(of_one(function()
            calls = calls + 1
            if calls == 1 then error "only once" end
        end))
        assert.is_false(first.repeats)
        assert.matches("It does not repeat", tostring(result))
        assert.is_true(first_of(of_one(function() error "always" end)).repeats)
    end)

    it("a schedule is wrong in the same way by step(), run() and simulate()", function()
        local function stuck(world)
            start_two(world, function(n)
                local session = connect()
                local first = session:mutex("/" .. n):acquire()
                zklock.sleep(1)
                session:mutex("/" .. 3 - n):acquire()
                first:release()
            end)
        end
        for seed = 1, 10 do
            local run = zklock.world(stuck, { seed = seed })
            local steps = zklock.world(stuck, { seed = seed })
            run:run()
            while steps:step() do end
            local first = first_of(stuck, { seed = seed })
            assert.matches("^nothing more can happen", run.problem)
            assert.same({ run.problem, run:now(), run.problem },
                        { steps.problem, steps:now(), first.problem })
            assert.equal(table.concat(run.story, "\n"), first.story)
        end
    end)
end)


describe("a result tells what was tried #zklock.simulate", function()
    it("a result tells the faults by kind, the critical sections and the repeated orders",
    function()
        local result = simulate(with_lock, { seeds = 200, faults = { stop = true, kill = true } })
        local tried = result.tried
        assert.is_true(tried.sections > 200 and tried.sections <= 400)
        assert.is_true(tried.faults.stop > 0 and tried.faults.kill > 0)
        assert.is_nil(tried.faults.cut)
        assert.is_true(tried.repeated > 0 and tried.repeated < 200)
        assert.matches(("\n%d critical sections ran; faults: stop %d, kill %d; %d schedules had "
            .. "the order of another$"):format(tried.sections, tried.faults.stop,
            tried.faults.kill, tried.repeated), (tostring(result):gsub("\nIt does.*", "")))
    end)

    it("a result tells that no fault was tried, and by default it has 1000 schedules", function()
        assert.matches("^5 schedules, none wrong\n10 critical sections ran; no fault was tried; ",
                       tostring(simulate(with_lock, { seeds = 5 })))
        local function nothing(world) world:process("p", function() end) end
        assert.equal(1000, simulate(nothing).schedules)
    end)

    it("half of the seeds try one of several kinds of faults alone", function()
        local counts = {}
        for seed = 1, 400 do
            local kinds = {}
            local world = zklock.world(with_lock, { seed = seed, faults = ALL })
            for kind in pairs(world.faults.settings) do kinds[#kinds + 1] = kind end
            counts[#kinds] = (counts[#kinds] or 0) + 1
        end
        -- Half of the seeds by choice, and about a quarter of the others by chance.
        assert.is_true(counts[1] > 220 and counts[1] < 280, counts[1])
        assert.is_true(counts[4] > 0)
    end)

    it("world:note() adds a line to the story", function()
        local world = play(function(world)
            world:note("begins")
            world:process("p", function() world:note{ stock = 1 } end)
        end)
        assert.matches("^   0.000000 s  +begins$", world.story[1])
        assert.matches("^   0.000000 s  p +{ stock = 1 }$", world.story[2])
    end)
end)


describe("a fault #zklock.simulate", function()
    it("a fault comes at its rate, however short the waits are", function()
        for _, wait in ipairs{ 0.001, 0.01, 0.1 } do
            local result = simulate(function(world)
                world:process("p", function()
                    connect()
                    for _ = 1, 2 / wait do zklock.sleep(wait) end
                end)
            end, { seeds = 50,
                   faults = { stop = { per_second = 1, longest = 1e-6, most = 100000 } } })
            assert.is_true(result.tried.faults.stop > 60 and result.tried.faults.stop < 140,
                           result.tried.faults.stop) -- 100 on average
        end
    end)

    it("the end of an earlier cut does not end a later one", function()
        local world = play(function(world)
            world:process("p", function()
                connect{ timeout = 100 }
                zklock.sleep(20)
            end)
            world:at(1, function() world:cut("p", 2) end)
            world:at(2, function() world:heal "p" end)
            world:at(2.5, function() world:cut "p" end) -- not over at 3 s
            world:at(5, function() world:cut("p", 1) end)
            world:at(10, function() world:heal "p" end)
        end)
        local healed = {}
        for at in table.concat(world.story, "\n"):gmatch "([%d.]+) s  p +has a network again" do
            healed[#healed + 1] = tonumber(at)
        end
        assert.same({ 2, 10 }, healed)
    end)
end)


describe("the moment from which a schedule was likely to be wrong #the_moment", function()
    local stop = { stop = { most = 1 } }

    for name, options in pairs{
        ["random schedules"] = { seeds = 1000, faults = ALL },
        ["random priorities"] = { pct = 2, seeds = 1000, faults = { stop = true } },
        ["all schedules"] = { all = { preemptions = 0 }, faults = stop },
    } do
        it("the moment is the stop, in the text and in the story: " .. name, function()
            options.moment = 100
            local result = simulate(slowly_with_lock, options)
            local moment = result.first.moment
            assert.matches("^server %d is stopped for ", moment.text)
            assert.is_true(moment.wrong >= 60, tostring(result))
            if options.all then assert.equal(100, moment.wrong) end -- it was the only stop
            -- Some end wrong by later faults instead.
            assert.is_true(moment.before >= 1 and moment.before <= 20, tostring(result))
            local words = ("%d of 100 end wrong, before it %d\n"):format(moment.wrong,
                moment.before)
            local text = ("\nfrom step %d (%s) %s"):format(moment.step, moment.text, words)
            assert.is_truthy(tostring(result):find(text, 1, true))
            assert.matches(("\n +step %d +from here %s[^\n]* is stopped for "):format(moment.step,
                words), result.first.story)
        end)
    end

    local function draws(world)
        world:process("p", function()
            world:pause()
            local number = world:random(4)
            for _ = 1, 5 do world:pause() end
            assert(number > 1, "drew 1")
        end)
    end
    local function fails(world)
        world:process("p", function() error("always", 0) end)
    end
    -- Each has a program, a step, its words, and the bounds of `before`.
    for name, case in pairs{
        ["a turn without a line in the story"] = { draws, 2, "p goes on", 15, 35 },
        ["the beginning"] = { fails, 0, "the beginning" },
    } do
        local program, step, text, least, most = unpack(case, 1, 5)
        it("the moment is " .. name, function()
            local result = simulate(program, { moment = 100 })
            local moment = result.first.moment
            assert.same({ step, text, 100 }, { moment.step, moment.text, moment.wrong })
            assert.equal(least == nil, moment.before == nil)
            if least then assert.is_true(moment.before >= least and moment.before <= most) end
            local curve = moment.curve
            assert.same({ 0, 100 }, { curve[1].step, curve[#curve].wrong })
            for i = 2, #curve do assert.is_true(curve[i - 1].step < curve[i].step) end
        end)
    end

    it("the moment is sought with as many seeds as asked for, or with fewer for many steps",
    function()
        local function moment_of(seeds, pauses)
            return simulate(function(world)
                world:process("p", function()
                    for _ = 1, pauses do world:pause() end
                    error("in the end", 0)
                end)
            end, { moment = seeds, seed = 1 }).first.moment
        end
        assert.equal(7, moment_of(7, 3).seeds)
        local seeds = moment_of(nil, 1000)
        assert.is_nil(seeds) -- the helper asks for none
        seeds = moment_of(100, 1000).seeds
        assert.is_true(seeds >= 10 and seeds < 100)
        assert.is_nil(moment_of(100, 5000))
    end)
end)


-- `count` processes with `turns` turns each, and nothing else.
local function turns_of(count, turns)
    return function(world)
        for n = 1, count do
            world:process("p" .. n, function()
                for _ = 2, turns do world:pause() end
            end)
        end
    end
end


describe("all schedules #all_schedules", function()
    -- Two processes of three turns have 20 interleavings. To begin with the second process is a
    -- deviation, and so is to leave a process that could go on. The numbers of interleavings with 0
    -- to 5 deviations are 1, 3, 6, 6, 3 and 1.
    local cases = {
        { turns_of(2, 3), { preemptions = 0 }, "all 1 schedules with at most 0 preemptions" },
        { turns_of(2, 3), { preemptions = 1 }, "all 4 schedules with at most 1 preemption" },
        { turns_of(2, 3), true, "all 10 schedules with at most 2 preemptions" },
        { turns_of(2, 3), { preemptions = 4 }, "all 19 schedules with at most 4 preemptions" },
        { turns_of(2, 3), { preemptions = 5 }, "all 20 schedules" },
        { turns_of(3, 2), { preemptions = 9 }, "all 90 schedules" }, -- 6! / 2! / 2! / 2!
        { turns_of(1, 9), { preemptions = 0 }, "all 1 schedules" },
        { turns_of(2, 3), { preemptions = 5, runs = 19 }, "19 schedules (not all: there were as "
          .. "many runs as all.runs allows)" },
        { slowly_with_lock, true, "all 180 schedules with at most 2 preemptions" },
        { slowly_with_lock, { preemptions = 0 },
          "all 491 schedules with at most 0 preemptions, 1 stop and 1 kill",
          { stop = { most = 1 }, kill = true } },
    }
    for _, case in ipairs(cases) do
        local program, bounds, text, faults = unpack(case, 1, 4)
        it("all schedules are run, each once, and counted: " .. text, function()
            local result = simulate(program, { all = bounds, faults = faults })
            assert.equal(text, tostring(result):match "^(.-), %d* ?n?o?n?e? ?wrong")
            assert.equal(not text:find("not all"), result.complete)
        end)
    end

    it("all schedules are different orders of turns", function()
        local orders, order = {}, nil
        local result = simulate(function(world)
            order = {}
            start_two(world, function(n)
                for turn = 1, 3 do
                    order[#order + 1] = n
                    if turn < 3 then world:pause() end
                end
            end)
            world:finally(function() orders[#orders + 1] = table.concat(order) end)
        end, { all = { preemptions = 9 } })
        assert.same({ 20, {} }, { result.schedules, result.bounds })
        table.sort(orders)
        for i, each in ipairs(orders) do assert.not_equal(orders[i + 1], each) end
        assert.equal(20, #orders)
    end)

    it("some schedules are oversold without a lock, and none with a lock", function()
        local result = simulate(sale(sell_slowly), { all = true })
        assert.same({ 52, 18, "7:1" },
                    { result.schedules, result.wrong, result.first.schedule })
        assert.matches("oversold", result.first.problem)
        assert.same({ "decision 7: server 2 goes on, not: server 1 to the server: get /x" },
                    result.first.decisions)
        assert.equal(0, simulate(slowly_with_lock, { all = { preemptions = 3 } }).wrong)
    end)

    it("a schedule with one stop is oversold in spite of a lock", function()
        local options = { all = { preemptions = 0 }, faults = { stop = { most = 1 } } }
        local result = simulate(slowly_with_lock, options)
        assert.same({ preemptions = 0, stop = 1 }, result.bounds)
        local first = result.first
        assert.matches("oversold", first.problem)
        assert.same({ "stop server 1 for 30.000 s, 0.000 s after its turn 3" }, first.faults)
        local again = simulate(slowly_with_lock, { schedule = first.schedule,
                                                   faults = options.faults })
        assert.same(first, again.first)
        assert.is_true(first.repeats)
        assert.matches("the first: schedule \"" .. first.schedule .. "\"", tostring(again))
    end)

    it("a schedule delays a packet for as long as faults.delay allows", function()
        local function wrong_of(seconds)
            return simulate(function(world)
                world:process("p", function() assert(connect():mutex("/l"):acquire(seconds)) end)
            end, { all = true, faults = { delay = 0.01 } }).wrong
        end
        assert.is_true(wrong_of(0.009) > 0)
        assert.equal(0, wrong_of(0.011))
    end)

    it("a schedule that the program does not have is reported", function()
        for _, name in ipairs{ "2:99", "9999:1" } do
            local result = simulate(slowly_with_lock, { schedule = name })
            assert.equal(("the program has no schedule %q"):format(name), result.first.problem)
        end
        assert.equal(0, simulate(slowly_with_lock, { schedule = "" }).wrong)
    end)
end)


-- Runs each schedule with at most `most` deviations that are no fault, without any reduction.
local function run_each(fn, faults, most)
    local search = require "zklock.world.search"
    local opts = require("zklock.world.options").simulation{ schedule = "", faults = faults }
    local function go_on(places, last, deviations)
        local at, others = 0, {}
        local function decide(steps, default)
            at = at + 1
            for place, step in ipairs(at > last and steps or {}) do
                local count = deviations + (step.is_fault and 0 or 1)
                if place ~= default and count <= most then
                    others[#others + 1] = { at, place, count }
                end
            end
            return places[at] or default
        end
        search.play(fn, opts, 1, { decide = function(world)
            require "zklock.world.schedule"(world, opts.faults.delay, { count = 0 }, decide)
        end })
        for _, each in ipairs(others) do
            places[each[1]] = each[2]
            go_on(places, each[1], each[3])
            places[each[1]] = nil
        end
    end
    go_on({}, 0, 0)
end


describe("a search of all schedules #all_schedules", function()
    local function with(session, note, ...)
        session:mutex("/l"):with(60, function(lease) note(lease.token) end, ...)
    end
    for name, body in pairs{
        ["pauses"] = function(session, note, world)
            note(1)
            world:pause()
            note(tostring(session:get("/x")))
            note(2)
        end,
        ["a watch"] = function(session, note, _, n)
            if n == 2 then return with(session, note) end
            session:watch("/l", function() note("saw") end)
            zklock.sleep(1)
        end,
        ["sleeps shorter than a packet may take"] = function(session, note, _, n)
            zklock.sleep(0.0004 * n)
            note(1)
            with(session, note)
            zklock.sleep(0.0003)
            note(2)
        end,
        ["tries with a timeout"] = function(session, note, _, n)
            local lease, _, code = session:mutex("/l"):acquire(0.0005 * n)
            note(lease and "held" or code)
            if not lease then return end
            zklock.sleep(0.0004)
            lease:release()
        end,
        ["a process that looks into a server, and ends the other's session"] =
        function(session, note, _, n)
            if n == 2 then
                local server = zklock.memory("shop")
                note(#(server:children("/") or {}))
                server:expire(note())
                return note(session:get("/kept"))
            end
            local lease = session:mutex("/l"):acquire()
            note("held")
            note(lease and (select(3, lease:guard{ { "create", "/kept", "written" } })) or "done")
        end,
    } do
        it("a search has all outcomes of a search without its reduction: " .. name, function()
            local outcomes
            local function program(world)
                local log, other = {}, nil
                start_two(world, function(n)
                    local session = connect()
                    other = n == 1 and session or other
                    local function note(text)
                        if text then log[#log + 1] = n .. text end
                        return other or session
                    end
                    body(session, note, world, n)
                end)
                world:finally(function() outcomes[table.concat(log, " ")] = true end)
            end
            for most, faults in pairs{ [0] = { stop = { most = 1 } }, [2] = {} } do
                outcomes = {}
                simulate(program, { all = { preemptions = most }, faults = faults })
                local reduced = outcomes
                outcomes = {}
                run_each(program, faults, most)
                assert.same(outcomes, reduced)
                assert.is_truthy(next(outcomes))
            end
        end)
    end
end)


describe("a planted bug #pct", function()
    local page = assert(require "spec.files".read("docs/testing-your-code.md"))

    for _, bug in ipairs(require "spec.planted") do
        it("a planted bug is found by random priorities and among all schedules: " .. bug.name,
        function()
            assert.is_true(simulate(bug.program, { all = { runs = 300 } }).wrong > 0)
            local options = { pct = bug.depth, seeds = 100 }
            local result = simulate(bug.program, options)
            local first = result.first
            assert.is_true(first.depth >= 1 and first.depth <= bug.depth)
            assert.matches(("the first: seed %d, depth %d, "):format(first.seed, first.depth),
                           tostring(result))
            assert.same(first, simulate(bug.program, { pct = bug.depth, seed = first.seed }).first)
            assert.truthy(page:find(("\n| %s | %d |"):format(bug.name, bug.depth), 1, true))
        end)
    end

    it("a planted bug is found with at least the promised probability", function()
        for _, bug in ipairs(require "spec.planted") do
            if bug.depth == 2 then
                local result = simulate(bug.program, { pct = 2, seeds = 400 })
                assert.is_true(result.wrong >= 400 / (3 * result.steps), bug.name)
                assert.equal(0, simulate(bug.program, { pct = 1, seeds = 50 }).wrong)
                -- Falls of priority that the seed does not need are not counted.
                local first = simulate(bug.program, { pct = 4, seeds = 100 }).first
                assert.equal(2, first.depth)
            end
        end
    end)

    it("a bug is found together with the fault that it needs", function()
        local faults = { stop = { most = 1 }, kill = true }
        local first = simulate(slowly_with_lock, { pct = 1, seeds = 300, faults = faults }).first
        assert.matches("oversold", first.problem)
        assert.equal(1, #first.faults)
        assert.matches("^stop server %d", first.faults[1])
    end)
end)
