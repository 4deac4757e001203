--- [lua asan tsan] When trouble ends the waiting calls of a session, all of them and all later
-- calls return one code. Only calls of a lease return another code, for the lease's end.

local fault = require "spec.fault.fault"
local files = require "spec.files"
local rig = require "spec.rig"

local LONG = 60
local NO_DIGEST = "-Dzookeeper.DigestAuthenticationProvider.enabled=false"

local calls = {
    ["acquire"] = function(it) return it.free:acquire(it.timeout) end,
    ["acquire of a lock that is held"] = function(it) return it.held:acquire(it.timeout) end,
    ["acquire in turns"] = function(it) return it.turns:acquire(it.timeout) end,
    ["acquire by no order"] = function(it) return it.unfair:acquire(it.timeout) end,
    ["acquire of permits"] = function(it) return it.permits:acquire(it.timeout) end,
    ["acquire to read"] = function(it) return it.rwlock:read():acquire(it.timeout) end,
    ["acquire of several"] = function(it) return it.both:acquire(it.timeout) end,
    ["with"] = function(it) return it.free:with(it.timeout, error) end,
    ["locked"] = function(it)
        return it.session:locked(it.path .. "/key-", 1, error, it.timeout)("a")
    end,
    ["submit"] = function(it) return it.submit("item", it.timeout) end,
    ["queue"] = function(it) return it.held:queue(it.timeout) end,
    ["revoke"] = function(it) return it.held:revoke(it.timeout) end,
    ["get"] = function(it) return it.session:get(it.path, it.timeout) end,
    ["leader"] = function(it) return it.session:election(it.path):leader(it.timeout) end,
    ["join"] = function(it)
        return it.session:join(it.path .. "/members", { name = "a", timeout = it.timeout })
    end,
}

local questions = {
    ["check"] = function(it) return it.leases.check:check(it.timeout) end,
    ["downgrade"] = function(it) return it.leases.downgrade:downgrade(it.timeout) end,
}

-- Calls that are sent once, so they may return unknown.
local writes = {
    ["guard"] = function(it)
        return it.leases.guard:guard{ { "check", it.path }, timeout = it.timeout }
    end,
    ["signal"] = function(it) return it.conditions.signal:signal(it.leases.signal, it.timeout) end,
}

local endless = {
    ["wait"] = function(it) return it.conditions.wait:wait(it.leases.wait) end,
    ["lead"] = function(it) return it.session:election(it.path .. "/led"):lead(error) end,
}

local begins = {
    ["watch"] = function(it) return it.session:watch(it.path, print) end,
    ["members"] = function(it) return it.session:members(it.path, print) end,
    ["on_change"] = function(it) return it.session:election(it.path):on_change(print) end,
}


local function together(...)
    local all = {}
    for _, list in ipairs{ ... } do
        for name, call in pairs(list) do all[name] = call end
    end
    return all
end

local lease_calls = together(questions, writes)


local function prepared(session, other)
    local path = rig.path()
    local it = {
        session = session, path = path, timeout = LONG, leases = {}, conditions = {},
        free = session:mutex(path .. "/free"), held = session:mutex(path .. "/held"),
        turns = session:mutex(path .. "/turns", { order = "turns" }),
        unfair = session:mutex(path .. "/unfair", { order = "none" }),
        permits = session:semaphore(path .. "/permits", 2),
        rwlock = session:rwlock(path .. "/rwlock"),
        both = session:multi{ session:mutex(path .. "/1"), session:mutex(path .. "/2") },
        submit = session:mutex(path .. "/combined"):combine(error),
    }
    rig.hold(other:mutex(path .. "/held"))
    for _, name in ipairs{ "check", "downgrade", "guard", "signal", "wait" } do
        local lock = session:rwlock(path .. "/" .. name):write()
        it.leases[name], it.conditions[name] = rig.hold(lock), lock:condition "some"
    end
    return it
end


-- Runs the calls of `lists`, code -> calls, each in a coroutine, and checks their codes. strike()
-- runs after all of them have begun, and ends them.
local function assert_codes(it, lists, strike)
    local codes, expected, tasks = {}, {}, {}
    for code, list in pairs(lists) do
        for name, call in pairs(list) do
            expected[name] = code
            tasks[#tasks + 1] = function()
                local result, message, got = call(it)
                codes[name] = result == nil and got or ("%s, %s"):format(result, message)
            end
        end
    end
    rig.run(#tasks, function(n) tasks[n]() end, strike)
    assert.same(expected, codes)
end


describe("a waiting call without a connection #server #slow #failures", function()
    local server, proxy

    setup(function() server = rig.server() end)
    teardown(function() server:stop() end)
    after_each(rig.close_sessions)

    local function cut_off(options)
        local session
        session, proxy = rig.behind_proxy(server.hosts, options)
        local it = prepared(session, rig.session(server.hosts))
        fault.suspend(proxy, session)
        return it
    end

    it("a waiting call returns timeout at its deadline", function()
        local it_has = cut_off{ timeout = LONG }
        it_has.timeout = 0.3
        assert_codes(it_has, { timeout = together(calls, lease_calls) })
    end)

    it("waiting and later calls return closed when the session is closed", function()
        local it_has = cut_off{ timeout = LONG }
        assert_codes(it_has, { closed = together(calls, lease_calls, endless) },
                     function() it_has.session:close() end)
        assert_codes(it_has, {
            closed = together(calls, begins), released = lease_calls,
        })
    end)

    it("waiting and later calls return expired when a session without reopen ends", function()
        local it_has = cut_off{ timeout = 1, reopen = false }
        local id = "0x" .. it_has.session:id()
        assert_codes(it_has, { expired = together(calls, endless), lost = lease_calls }, function()
            rig.wait_for("its end", function()
                return not server:ask("dump"):match("(.-)Connections dump"):find(id, 1, true)
            end)
            proxy:command "accept"
        end)
        assert_codes(it_has, { expired = together(calls, begins), lost = lease_calls })
    end)

    it("waiting and later calls return auth when the server refuses the credentials", function()
        local it_has = cut_off{ timeout = LONG, auth = "digest:a:b" }
        assert_codes(it_has, { auth = together(calls, endless), lost = questions }, function()
            files.write(server.dir .. "/jvmflags", NO_DIGEST)
            server:restart()
            proxy:command "accept"
        end)
        assert_codes(it_has, { auth = together(calls, begins), lost = lease_calls })
    end)
end)
