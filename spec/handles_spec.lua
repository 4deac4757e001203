--- [lua luajit asan tsan memory older] The collector ends objects without references (REQ-02,
-- PIT-13).
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()


local function collect_until(what, condition)
    rig.wait_for(what, function()
        collectgarbage()
        return condition()
    end)
end


-- Returns an object with a finalizer.
local function finalized_by(fn)
    if not newproxy then return setmetatable({}, { __gc = fn }) end -- luacheck: globals newproxy
    local proxy = newproxy(true) -- luacheck: globals newproxy
    getmetatable(proxy).__gc = fn
    return proxy
end


-- Registers an on_lost and an on_revoke callback that refer to `object`. Returns their stop
-- functions, and the set of callbacks that are not collected.
local function listen(lease, object)
    local stops, alive = {}, setmetatable({}, { __mode = "k" })
    for i, name in ipairs{ "on_lost", "on_revoke" } do
        local function fn() return object end
        alive[fn] = true
        stops[i] = lease[name](lease, fn)
    end
    return stops, alive
end


describe("the collector #lease:release", function()
    local session, path
    before_each(function()
        session = rig.session(server.hosts)
        path = rig.path()
    end)
    after_each(rig.close_sessions)
    after_each(function() zklock.driver(nil) end)

    local function wait_until_released()
        collect_until("released", function()
            session:dispatch()
            return session:stats().claims == 0
        end)
    end

    it("the collector releases a thousand dropped leases", function()
        local lock = session:mutex(path)
        for n = 1, 1000 do assert(lock:acquire{ timeout = 5, owner = "me" }, n) end
        wait_until_released()
        assert.same({}, lock:queue())
        rig.hold(rig.session(server.hosts):mutex(path))
    end)

    it("the collector releases a dropped lease of each kind", function()
        for kind, make in pairs(rig.kinds) do
            assert(make(session, rig.path()):acquire(20), kind)
            wait_until_released()
        end
    end)

    it("the collector spares a lease in a variable when its other handles are dropped", function()
        local lock = session:mutex(path)
        local lease = assert(lock:acquire(20))
        for _ = 1, 10 do assert(lock:acquire(20)) end
        lock = nil -- luacheck: ignore
        for _ = 1, 5 do collectgarbage() end
        assert.equal("held", lease:state())
        assert.is_true(lease:check(20))
    end)

    it("the collector spares a session to which only a lease refers", function()
        local lease
        do
            local own = assert(zklock.connect(server.hosts, { timeout = 20 }))
            lease = assert(own:mutex(path):acquire(20))
        end
        for _ = 1, 5 do collectgarbage() end
        assert.is_true(lease:check(20))
        assert.is_true(lease.session:close())
    end)

    it("the collector releases a lease whose own callbacks refer to it, though stop is kept",
       function()
        local stops, alive
        do
            local lease = assert(session:mutex(path):acquire(20))
            stops, alive = listen(lease, lease)
        end
        wait_until_released()
        collect_until("collected", function() return next(alive) == nil end)
        for _, stop in ipairs(stops) do stop() end
    end)

    it("the collector takes a stopped callback, while the lease is held and stop is kept",
       function()
        local lease = assert(session:mutex(path):acquire(20))
        local stops, alive = listen(lease, {})
        for _, stop in ipairs(stops) do stop() end
        collect_until("collected", function() return next(alive) == nil end)
        for _, stop in ipairs(stops) do stop() end
        assert.is_true(lease:check(20))
    end)

    it("the collector ends a wait whose coroutine was dropped", function()
        local holder = rig.hold_elsewhere(server, path)
        zklock.driver{ wait = function(_, request)
            request:on_done(function() error("nobody is there") end)
            coroutine.yield()
        end }
        for _ = 1, 10 do
            coroutine.wrap(function() session:mutex(path):acquire() end)()
        end
        server:wait_for_nodes(path, 11)
        wait_until_released()
        assert.equal(1, #server:nodes(path))
        assert.equal(0, session:stats().callback_errors)
        assert.equal("held", holder:state())
    end)

    it("the collector ends a join whose coroutine was dropped, and no node is left", function()
        local count
        local joined = {}
        assert(rig.session(server.hosts):members(path, function(list) count = #list end))
        zklock.driver{ wait = function() coroutine.yield() end }
        for i = 1, 10 do
            coroutine.wrap(function()
                joined[#joined + 1] = session:join(path, { name = "member " .. i })
            end)()
        end
        rig.wait_for("all nodes", function() return count == 10 end)
        for _, member in ipairs(joined) do member:leave() end
        collect_until("all have left", function()
            session:dispatch()
            return count == 0 and session:stats().watches == 0
        end)
        assert.equal(0, session:stats().callback_errors)
    end)

    it("the collector closes a dropped session, with all its leases #server", function()
        local id
        do
            local own = assert(zklock.connect(server.hosts, { timeout = 20 }))
            id = own:id()
            own:mutex(path):acquire{ timeout = 5, owner = {} }
            own.kept = own:mutex(path .. "/kept"):acquire(20)
        end
        assert.is_truthy(server:ask("dump"):find(id, 1, true))
        collect_until("closed", function()
            return not server:ask("dump"):find(id, 1, true)
        end)
    end)

    it("the collector may take a session, its leases and their callbacks at once", function()
        for _ = 1, 20 do
            local own = assert(zklock.connect(server.hosts, { timeout = 20 }))
            local lock = own:mutex(path .. "/" .. tostring(own:id()))
            local leases = { lock:acquire(20), lock:acquire(20) }
            leases[1]:on_lost(function() return leases, own end)
            own, lock, leases = nil, nil, nil -- luacheck: ignore
            collectgarbage("step")
        end
        collect_until("all gone", function() return #server:nodes(path) == 0 end)
    end)

    local lease_calls = {
        release = { "released" }, ["release with wait"] = { "released", { wait = 1 } },
        check = { "released" }, downgrade = { "released" }, expire = { "released", 1 },
        guard = { "released", { { "check", "/" } } }, state = { "released" }, held = { false },
        remaining = { 0 }, on_lost = { "function", print }, on_revoke = { "function", print },
    }
    local session_calls = {
        close = { true }, ["close with drain"] = { true, { drain = 1 } }, state = { "closed" },
        id = { "nil" }, timeout = { 20 }, dispatch = { 0 }, fd = { "closed" },
        interrupt = { "closed" }, release_all = { "closed" }, get = { "closed", "/" },
        watch = { "closed", "/", print }, members = { "closed", "/", print },
        join = { "closed", "/", { name = "a" } }, set_hosts = { "closed", "127.0.0.1:1" },
    }
    local lock_calls = {
        acquire = { "closed", 1 }, ["acquire as a try"] = { "closed", 0 }, queue = { "closed" },
        with = { "closed", function() end }, revoke = { "closed" },
    }

    -- Returns a call's code, or its first result, or the type's name for a function or nil.
    local function outcome(ok, first, message, code)
        if not ok or code then return code or first end
        local kind = type(first)
        return (kind == "function" or kind == "nil") and kind or first, message
    end

    local function call_each(object, calls, report)
        for name, call in pairs(calls) do
            local method = object[name:match "%S+"]
            report[name] = outcome(pcall(method, object, call[2], call[3]))
        end
    end

    it("a finalizer finds a session closed, and its lease released, that the collector took first",
       function()
        local reports
        local function make_garbage()
            local own, lock, lease = nil, nil, nil
            local first = finalized_by(function()
                local made = { lease = {}, session = {}, lock = {} }
                call_each(lease, lease_calls, made.lease)
                call_each(own, session_calls, made.session)
                call_each(lock, lock_calls, made.lock)
                made.texts = { tostring(own), tostring(lease), own:mutex(path, { metrics = "a" }) }
                reports = made
            end)
            own = assert(zklock.connect(server.hosts, { timeout = 20 }))
            lock = own:mutex(path)
            lease = assert(lock:acquire(20))
            return first
        end
        make_garbage()
        collect_until("the finalizer", function() return reports end)
        for name, calls in pairs{ lease = lease_calls, session = session_calls,
                                  lock = lock_calls } do
            local expected = {}
            for method, call in pairs(calls) do expected[method] = call[1] end
            assert.same(expected, reports[name], name)
        end
        assert.matches("^zklock.session %(closed, ", reports.texts[1])
        assert.matches(", token %?, released%)$", reports.texts[2])
    end)

    it("waiters are granted in order while the collector runs", function()
        local lock, order, expected = session:mutex(path), {}, {}
        rig.run(50, function(n)
            expected[n] = n
            lock:with(function() -- no deadline: how long it takes is a matter of the heap
                if n % 5 == 1 then collectgarbage() end
                order[#order + 1] = n
            end)
        end)
        assert.same(expected, order)
    end)
end)
