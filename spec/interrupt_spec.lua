--- [lua luajit] An error between two instructions, as Ctrl-C raises it, in each operation: at every
-- n-th instruction, or with ZKLOCK_INTERRUPTS=all (make interrupts) at each.
local core = require "zklock.core"
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()
local jit = rawget(_G, "jit") -- its hooks are for all threads, and not for compiled code

local ALL = os.getenv("ZKLOCK_INTERRUPTS") == "all"
local POINTS = 60 -- interrupts of an operation, about
local BOUND = 20 -- seconds

local TASK = {} -- raises in each task
local hook = { fired = true }


local function hang()
    if core.now() > hook.deadline then error(debug.traceback("it hangs")) end
end


local function fire()
    if hook.inside and not hook.fired then
        if debug.getinfo(2, "n").name ~= hook.inside then return end
        hook.n = hook.n - 1
        if hook.n > 0 then return end
    end
    if not jit or not hook.fired then debug.sethook(hang, "", 1000) end
    if hook.fired then return end
    hook.fired = true
    error(hook.trouble)
end


--- Runs fn(...), and raises hook.trouble once at the n-th instruction of this thread, of a task
-- that called enter() (where = TASK), or of functions named `where`. Returns as pcall().
local function run_interrupted(n, where, fn, ...)
    hook = { n = n, in_task = where == TASK, inside = where ~= TASK and where, trouble = {},
             deadline = core.now() + BOUND }
    local ok, problem = pcall(function(...)
        if hook.in_task then debug.sethook(hang, "", 1000)
        else debug.sethook(fire, "", where and 1 or n) end
        fn(...)
        debug.sethook()
    end, ...)
    debug.sethook()
    local seconds = core.now() - hook.deadline + BOUND
    assert(seconds < BOUND, ("at %d it took %.1f s: %s"):format(n, seconds, tostring(problem)))
    return ok, problem
end


--- Begins a task. In Lua 5.4 a coroutine has a hook of its own, at first its creator's.
local function enter()
    if jit then return end
    if hook.in_task and not hook.fired then debug.sethook(fire, "", hook.n)
    else debug.sethook() end
end


describe("an interrupt #session:interrupt", function()
    local session, other -- shared by all operations, so that the next one would meet leftovers

    setup(function()
        if jit then jit.off() end
        session, other = assert(zklock.connect(server.hosts)), assert(zklock.connect(server.hosts))
    end)
    teardown(function()
        session:close()
        other:close()
        if jit then jit.on() end
    end)
    after_each(rig.close_sessions)

    local function come_to_rest(given_session)
        local deadline, looks = core.now() + 10, 0
        while given_session:stats().claims > 0 do
            assert(core.now() < deadline, "it leaves something behind")
            looks = looks + 1
            if looks > 5 then collectgarbage() end
            core.sleep(0.001)
        end
    end

    local function assert_free(path)
        assert(other:mutex(path):acquire(10)):release()
        local take_it = coroutine.wrap(function() return session:mutex(path):acquire(10) end)
        local lease, message = take_it()
        assert(lease, message or "a wait in a coroutine yields to nobody")
        lease:release()
        local function take()
            return session:mutex(path):with(10, function() zklock.sleep(0) end)
        end
        assert(zklock.run(take, function() zklock.sleep(0) end))
        come_to_rest(session)
        come_to_rest(other)
    end

    --- Interrupts the operation once, in a fresh setting. Returns false if it ended before.
    local function try(operation, n, where)
        local path = rig.path()
        local setting = { session = session, other = other, path = path,
                          lock = session:mutex(path) }
        if operation.before then operation.before(setting) end
        local ok, problem = run_interrupted(n, where, operation.run, setting)
        if not ok and problem ~= hook.trouble then
            error(("at %d: %s"):format(n, tostring(problem)))
        end
        if ok and hook.fired and session:stats().callback_error ~= hook.trouble then
            error(("at %d it was swallowed"):format(n))
        end
        if operation.after and setting.submit then
            collectgarbage()
            collectgarbage()
            operation.after(setting)
        end
        if setting.holder then setting.holder:release() end
        if setting.lease then setting.lease:release() end
        for _, each in pairs(session.watchers) do -- of an interrupted call, which did not return it
            if each.leave then each:leave() else each:stop() end
        end
        local own = setting.own
        setting = nil -- luacheck: ignore
        if own then come_to_rest(own) end
        come_to_rest(session)
        assert_free(path)
        return hook.fired
    end

    --- Returns the operation's number of instructions, rounded up to a power of 2.
    local function count_instructions(operation)
        local n = 1
        while try(operation, n) do n = n * 2 end
        return n
    end

    local function interrupt(operation, where)
        local count = ALL and 0 or count_instructions(operation)
        local step = math.max(1, math.floor(count / 2 / POINTS))
        local n = 1
        while try(operation, n, where) do n = n + step end
    end

    local operations = {}

    local function operation(name, run, before, options)
        local each = options or {}
        each.name, each.run, each.before = name, run, before
        operations[#operations + 1] = each
    end

    local function hold(setting)
        setting.holder = assert(other:mutex(setting.path):acquire(5))
    end

    local function take(setting)
        setting.lease = assert(setting.lock:acquire(5))
    end

    local function connect(setting)
        setting.own = rig.session(server.hosts)
        setting.lock = setting.own:mutex(setting.path)
    end

    operation("connect and close", function() assert(zklock.connect(server.hosts)):close() end)

    operation("close", function(setting)
        local lease = assert(setting.lock:acquire(5))
        assert(setting.own:close())
        assert(lease:state() == "released")
    end, connect)

    operation("acquire, free", function(setting)
        assert(assert(setting.lock:acquire(5)):release())
    end)

    operation("acquire, queued", function(setting)
        local function give_way() setting.holder:release() end -- raises its own error, if it fails
        local lease, _, code = setting.lock:acquire{ timeout = 0.2, on_queued = give_way }
        assert(lease or hook.fired or code == "timeout") -- 0.2 s is little on a busy machine
        if lease then assert(lease:release()) end
    end, hold)

    operation("acquire, in vain", function(setting)
        assert(select(3, setting.lock:acquire(0.005)) == "timeout")
    end, hold)

    operation("try", function(setting)
        assert(assert(setting.lock:acquire(0)):release())
    end)

    operation("try, in vain", function(setting)
        assert(select(3, setting.lock:acquire(0)) == "busy")
    end, hold)

    operation("release that waits", function(setting)
        assert(setting.lease:release{ wait = 5 })
    end, take)

    operation("with", function(setting)
        assert(setting.lock:with(5, function(lease) return lease:state() end))
    end)

    operation("with, nested", function(setting)
        assert(setting.lock:with(5, function()
            return setting.lock:with(0, function(lease) return lease:check(5) end)
        end))
    end)

    operation("sleep", function() zklock.sleep(0.002) end)

    operation("queue, check, guard, get, revoke", function(setting)
        assert(#setting.lock:queue() == 1)
        assert(setting.lease:check(5))
        assert(setting.lease:guard{ { "check", setting.path } })
        assert(setting.session:get(setting.path))
        assert(setting.lock:revoke(5) == 1)
    end, take)

    operation("watch", function(setting)
        local told = 0
        local stop = assert(setting.session:watch(setting.path, function() told = told + 1 end))
        repeat zklock.sleep(0.001) until told > 0 or hook.fired
        stop()
    end)

    operation("join and members", function(setting)
        local folder, told = setting.path .. "-members", nil
        local member = assert(setting.session:join(folder, { name = "a", timeout = 5 }))
        local stop = assert(setting.session:members(folder, function(list) told = #list end))
        repeat zklock.sleep(0.001) until told == 1 or hook.fired
        stop()
        member:leave()
    end)

    operation("downgrade", function(setting)
        assert(setting.session:rwlock(setting.path):write():with(5, function(lease)
            return assert(lease:downgrade(5))
        end))
    end)

    operation("permits", function(setting)
        local gate = setting.session:semaphore(setting.path, 2)
        assert(gate:with({ permits = 2, timeout = 5 }, function() return true end))
    end)

    operation("several locks", function(setting)
        local second = setting.session:mutex(setting.path .. "-2")
        assert(setting.session:multi{ setting.lock, second }:with(5, function() return true end))
    end)

    local function enter_and_take(setting)
        return function()
            enter()
            return setting.lock:with(5, function() zklock.sleep(0.0005) return 1 end)
        end
    end

    operation("run", function(setting)
        local take_it = enter_and_take(setting)
        assert(zklock.run(take_it, take_it))
    end, nil, { tasks = true })

    operation("run, nested", function(setting)
        local take_it = enter_and_take(setting)
        assert(zklock.run(function()
            enter()
            return zklock.run(take_it, function() enter() zklock.sleep(0.001) end)
        end, take_it))
    end, nil, { tasks = true })

    local function combine(setting)
        return setting.lock:combine(function(_, items)
            zklock.sleep(0.0005)
            return items
        end, { most = 2 })
    end

    operation("combine", function(setting)
        setting.submit = setting.submit or combine(setting)
        assert(setting.submit(1, 5) == 1)
    end, nil, { slow = true, after = function(setting) assert(setting.submit(2, 10) == 2) end })

    operation("combine, many", function(setting)
        setting.submit = setting.submit or combine(setting)
        local function submit()
            enter()
            return assert(setting.submit(1, 5))
        end
        zklock.run(submit, submit, submit)
    end, nil, { tasks = true, slow = true, after = function(setting)
        zklock.run(function() assert(setting.submit(2, 10) == 2) end)
        assert(setting.submit(3, 10) == 3)
    end })

    operation("condition", function(setting)
        local condition, signalled = setting.lock:condition("it"), false
        zklock.run(function()
            enter()
            setting.lock:with(10, function(lease)
                while not signalled do assert(condition:wait(lease, 10)) end
            end)
        end, function()
            enter()
            repeat
                setting.lock:with(10, function(lease)
                    signalled = assert(condition:signal(lease)) == 1
                end)
            until signalled
        end)
    end, nil, { tasks = true })

    for _, each in ipairs(operations) do
        local where, tag = "of `" .. each.name .. "`", each.slow and " #slow" or ""
        it("an interrupt " .. where .. " is raised, and leaves nothing" .. tag, function()
            interrupt(each)
        end)
        if each.tasks and not jit then
            it("an interrupt " .. where .. " is raised by a task, too" .. tag, function()
                interrupt(each, TASK)
            end)
        end
    end

    for _, name in ipairs{ "wake", "dispatch", "resume" } do
        it(("an interrupt at any instruction of %s() during a wait is raised"):format(name),
           function()
            local n = 1
            while try({ before = hold, run = function(setting)
                zklock.run(function()
                    enter()
                    assert(setting.lock:acquire(10)):release()
                end, function()
                    enter()
                    zklock.sleep(0.001)
                    setting.holder:release()
                end)
            end }, n, name) do n = n + 1 end
            assert.is_true(n > 5, "no such function")
        end)
    end

    it("an interrupt of dispatch() loses no wake-up, which the next dispatch() delivers", function()
        local n = 0
        repeat
            local path, told, asked = rig.path(), 0, nil
            local holder = assert(other:mutex(path):acquire(10))
            local wait = coroutine.wrap(function() return session:mutex(path):acquire(10) end)
            zklock.driver{ wait = function(_, request)
                asked = request
                request:on_done(function() told = told + 1 end)
                coroutine.yield()
            end }
            wait()
            zklock.driver(nil)
            holder:release()
            rig.wait_apart("the grant", function() return asked:done() end)
            n = n + 1
            local ok, problem = run_interrupted(n, nil, session.dispatch, session)
            assert.is_true(ok or problem == hook.trouble)
            session:dispatch()
            assert.is_true(told >= 1, "lost at " .. n)
            wait():release()
        until not hook.fired
        come_to_rest(session)
        come_to_rest(other)
    end)

    it("an interrupt of dispatch() loses no news of a watch, which the next dispatch() tells",
       function()
        local n = 0
        repeat
            local told, own = 0, rig.session(server.hosts)
            assert(own:watch(rig.path(), function() told = told + 1 end))
            rig.wait_apart("the look", function() return own:stats().in_flight == 0 end)
            n = n + 1
            local ok, problem = run_interrupted(n, nil, own.dispatch, own)
            assert.is_true(ok or problem == hook.trouble)
            own:dispatch()
            local inside = own:stats().callback_error == hook.trouble
            assert.is_true(told >= 1 or inside, "lost at " .. n)
            own:close()
        until not hook.fired
    end)

    it("session:interrupt() may be called between any two instructions of acquire()", function()
        local n, came = 0, true
        while came do
            local lock, ok, problem = session:mutex(rig.path()), true, nil
            n, came = n + 1, false
            debug.sethook(function()
                debug.sethook()
                came, ok, problem = true, pcall(session.interrupt, session)
            end, "", n)
            local lease, message, code = lock:acquire(20)
            debug.sethook()
            assert.is_true(ok, ("at %d: %s"):format(n, tostring(problem)))
            if not lease then assert.equal("interrupted", code, message) end
            if lease then assert.is_true(lease:release()) end
        end
        assert.is_true(n > 20, "no instruction")
        come_to_rest(session)
    end)

    it("interrupts leave no session behind #server", function()
        assert.is_truthy(session:id())
        rig.wait_for("two connections", function()
            collectgarbage()
            local count = tonumber(server:ask("srvr"):match("Connections: (%d+)"))
            return count <= 3 -- ask() makes the third
        end)
    end)

    it("interrupts leave no node behind", function()
        assert.same({}, server:nodes("/spec"))
    end)
end)
