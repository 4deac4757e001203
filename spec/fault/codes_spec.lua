--- [lua asan tsan] When trouble ends the waiting calls of a session, all of them and all later
-- calls return one code. Only calls of a lease return another code, for the lease's end.

local fault = require "spec.fault.fault"
local files = require "spec.files"
local rig = require "spec.rig"

local LONG = 60
local NO_DIGEST = "-Dzookeeper.DigestAuthenticationProvider.enabled=false"

local calls = {
    ["acquire"] = function(objects) return objects.free:acquire(objects.timeout) end,
    ["acquire of a lock that is held"] = function(objects)
        return objects.held:acquire(objects.timeout)
    end,
    ["acquire in turns"] = function(objects) return objects.turns:acquire(objects.timeout) end,
    ["acquire by no order"] = function(objects) return objects.unfair:acquire(objects.timeout) end,
    ["acquire of permits"] = function(objects) return objects.permits:acquire(objects.timeout) end,
    ["acquire to read"] = function(objects)
        return objects.rwlock:read():acquire(objects.timeout)
    end,
    ["acquire of several"] = function(objects) return objects.both:acquire(objects.timeout) end,
    ["with"] = function(objects) return objects.free:with(objects.timeout, error) end,
    ["locked"] = function(objects)
        return objects.session:locked(objects.path .. "/key-", 1, error, objects.timeout)("a")
    end,
    ["submit"] = function(objects) return objects.submit("item", objects.timeout) end,
    ["queue"] = function(objects) return objects.held:queue(objects.timeout) end,
    ["revoke"] = function(objects) return objects.held:revoke(objects.timeout) end,
    ["get"] = function(objects) return objects.session:get(objects.path, objects.timeout) end,
    ["leader"] = function(objects)
        return objects.session:election(objects.path):leader(objects.timeout)
    end,
    ["join"] = function(objects)
        local options = { name = "a", timeout = objects.timeout }
        return objects.session:join(objects.path .. "/members", options)
    end,
}

-- Calls of a lease that are repeated until an answer.
local repeated_calls = {
    ["check"] = function(objects) return objects.leases.check:check(objects.timeout) end,
    ["downgrade"] = function(objects)
        return objects.leases.downgrade:downgrade(objects.timeout)
    end,
}

-- Calls of a lease that are sent once, so they may return unknown.
local single_calls = {
    ["guard"] = function(objects)
        return objects.leases.guard:guard{ { "check", objects.path }, timeout = objects.timeout }
    end,
    ["signal"] = function(objects)
        return objects.conditions.signal:signal(objects.leases.signal, objects.timeout)
    end,
}

local endless_calls = {
    ["wait"] = function(objects) return objects.conditions.wait:wait(objects.leases.wait) end,
    ["lead"] = function(objects)
        return objects.session:election(objects.path .. "/led"):lead(error)
    end,
}

local subscriptions = {
    ["watch"] = function(objects) return objects.session:watch(objects.path, print) end,
    ["members"] = function(objects) return objects.session:members(objects.path, print) end,
    ["on_change"] = function(objects)
        return objects.session:election(objects.path):on_change(print)
    end,
}


local function merge(...)
    local all = {}
    for _, list in ipairs{ ... } do
        for name, call in pairs(list) do all[name] = call end
    end
    return all
end

local lease_calls = merge(repeated_calls, single_calls)


local function prepare(session, other)
    local path = rig.path()
    local objects = {
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
        objects.leases[name], objects.conditions[name] = rig.hold(lock), lock:condition "some"
    end
    return objects
end


-- Runs the calls of `lists` (code -> calls), each in a coroutine, and checks their codes. strike(),
-- if given, ends their waits once all wait.
local function assert_codes(objects, lists, strike)
    local codes, expected, tasks = {}, {}, {}
    for code, list in pairs(lists) do
        for name, call in pairs(list) do
            expected[name] = code
            tasks[#tasks + 1] = function()
                local result, message, got = call(objects)
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
        local objects = prepare(session, rig.session(server.hosts))
        fault.suspend(proxy, session)
        return objects
    end

    it("a waiting call returns timeout at its deadline", function()
        local objects = cut_off{ timeout = LONG }
        objects.timeout = 0.3
        assert_codes(objects, { timeout = merge(calls, lease_calls) })
    end)

    it("waiting and later calls return closed when the session is closed", function()
        local objects = cut_off{ timeout = LONG }
        assert_codes(objects, { closed = merge(calls, lease_calls, endless_calls) },
                     function() objects.session:close() end)
        assert_codes(objects, {
            closed = merge(calls, subscriptions), released = lease_calls,
        })
    end)

    it("waiting and later calls return expired when a session without reopen ends", function()
        local objects = cut_off{ timeout = 1, reopen = false }
        local id = "0x" .. objects.session:id()
        local waiting_calls = { expired = merge(calls, endless_calls), lost = lease_calls }
        assert_codes(objects, waiting_calls, function()
            rig.wait_for("the session's end", function()
                return not server:ask("dump"):match("(.-)Connections dump"):find(id, 1, true)
            end)
            proxy:command "accept"
        end)
        assert_codes(objects, { expired = merge(calls, subscriptions), lost = lease_calls })
    end)

    it("waiting and later calls return auth when the server refuses the credentials", function()
        local objects = cut_off{ timeout = LONG, auth = "digest:a:b" }
        local waiting_calls = { auth = merge(calls, endless_calls), lost = repeated_calls }
        assert_codes(objects, waiting_calls, function()
            files.write(server.dir .. "/jvmflags", NO_DIGEST)
            server:restart()
            proxy:command "accept"
        end)
        assert_codes(objects, { auth = merge(calls, subscriptions), lost = lease_calls })
    end)
end)
