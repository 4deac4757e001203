--- [lua luajit asan tsan memory worlds] zklock.resty_lock behaves like resty.lock in
-- lua-resty-lock's documentation and tests, but for the list of docs/resty-lock.md.

local current = require "zklock.world.current"
local resty_lock = require "zklock.resty_lock"
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()
local name, a, b
local wait_for = rig.wait_for

local function new(session, opts)
    resty_lock.use(session)
    return assert(resty_lock:new(name, opts))
end

local function path_of(key) return ("/resty_lock/%s/%s"):format(name, key) end

local function wait_for_contenders(key, count) server:wait_for_nodes(path_of(key), count) end

local function fails(why, ...) assert.same({ n = 2, nil, why }, { n = select("#", ...), ... }) end

local function gives(value, ...) assert.same({ n = 1, value }, { n = select("#", ...), ... }) end

local function hold_new(session, key, opts)
    local lock = new(session, opts)
    gives(0, lock:lock(key))
    return lock
end

local function check_taken(session, key)
    fails("timeout", new(session, { timeout = 0 }):lock(key))
end

local function check_free(key)
    wait_for_contenders(key, 0)
    hold_new(b, key)
end

before_each(function()
    name = rig.path():gsub("/", "-")
    a, b = rig.session(server.hosts), rig.session(server.hosts)
end)
after_each(rig.close_sessions)


describe("resty_lock before use() #resty_lock.use", function() -- must come first
    it('new returns "closed" before use()', function()
        fails("closed", resty_lock:new(name))
    end)
end)


describe("resty_lock #resty_lock:lock", function()
    for _, opts in ipairs{ {}, { timeout = 0 } } do
        it(("lock returns 0 for a free lock, and unlock 1, again and again (timeout %s)"):format(
           opts.timeout or "by default"), function()
            for _, session in ipairs{ a, b, b, a } do
                for _ = 1, 3 do gives(1, hold_new(session, "foo", opts):unlock()) end
                rig.come_to_rest(session)
            end
        end)
    end

    for _, timeout in ipairs{ 0.01, 0 } do
        it("lock times out while another object holds the lock: " .. timeout, function()
            for _, other in ipairs{ a, b } do
                local one, two = hold_new(a, "foo"), new(other, { timeout = timeout })
                fails("timeout", two:lock("foo"))
                gives(1, one:unlock())
                fails("unlocked", two:unlock())
                rig.come_to_rest(a)
            end
        end)
    end

    it("lock returns the seconds that it waited, while other light threads go on", function()
        zklock.run(function()
            local one, two = hold_new(a, "blah"), new(b)
            coroutine.wrap(function()
                wait_for_contenders("blah", 2)
                zklock.sleep(0.1)
                gives(1, one:unlock("blah"))
            end)()
            local elapsed, why = two:lock("blah")
            assert.is_nil(why)
            assert.is_true(elapsed >= 0.1 - rig.ROUNDED, elapsed)
            gives(1, two:unlock())
        end)
    end)

    it("lock returns more than 0 for the shortest wait", function()
        zklock.run(function()
            local one, two = hold_new(a, "blah"), new(a)
            coroutine.wrap(function()
                while a:stats().waits == 0 do zklock.sleep(0.00001) end
                one:unlock()
            end)()
            assert.is_true(two:lock("blah") >= 0.001)
        end)
    end)

    it("different keys, and different names, are different locks", function()
        local held = {}
        for _, key in ipairs{ "a", "b", "a/b", "a%2Fb", ".", "%2E", "a b", "a:b", 3, -3 } do
            held[#held + 1] = hold_new(a, key)
        end
        name = name .. "/2"
        held[#held + 1] = hold_new(b, "a")
        name = name:gsub("/", "%%2F")
        wait_for_contenders("a", 1)
        for _, lock in ipairs(held) do gives(1, lock:unlock()) end
    end)

    it("a number is one lock in any form, the same as the mutex of its path", function()
        local lock = hold_new(a, 3)
        check_taken(b, "3")
        check_taken(b, 3.0)
        assert.equal("busy", (rig.code_of(b:mutex(path_of(3)), 0)))
        gives(1, lock:unlock())
    end)

    it("a bad key is refused with the messages of a shared dictionary", function()
        local lock = new(a)
        fails("nil key", lock:lock(nil))
        fails("nil key", lock:lock(false))
        fails("empty key", lock:lock(""))
        fails("key too long", lock:lock(("x"):rep(65536)))
        fails("unlocked", lock:unlock())
        gives(0, lock:lock(("/"):rep(65535)))
        gives(1, lock:unlock())
    end)

    it("an object that holds a lock refuses every key, its own too", function()
        local lock, other = hold_new(a, "a"), hold_new(b, "b")
        for _, key in ipairs{ "a", "b", "c" } do fails("locked", lock:lock(key)) end
        check_taken(b, "a")
        wait_for_contenders("c", 0)
        gives(1, lock:unlock())
        gives(0, lock:lock("c"))
        gives(1, other:unlock())
    end)

    it("an object holds its lock also while the lease is suspect", function()
        local session, proxy = rig.behind_proxy(server.hosts)
        local lock = hold_new(session, "a")
        proxy:break_off(session)
        assert.equal("suspect", lock.lease:state())
        fails("locked", lock:lock("b"))
        proxy:pass()
        gives(1, lock:unlock())
    end)

    it('unlock and expire without a lock return "unlocked"', function()
        local lock = new(a)
        fails("unlocked", lock:unlock())
        fails("unlocked", lock:expire())
        fails("unlocked", lock:expire(1))
        lock:lock("foo")
        lock:unlock()
        fails("unlocked", lock:unlock())
        fails("unlocked", lock:expire())
    end)

    it("any light thread may unlock", function()
        local lock = new(a)
        zklock.run(function() gives(0, lock:lock("foo")) end)
        zklock.run(function() gives(1, lock:unlock()) end)
        check_free("foo")
    end)

    it("a failure that resty.lock does not know returns zklock's message", function()
        local lock = hold_new(a, "foo", { timeout = 20 })
        zklock.run(function()
            local waiter, result = new(a, { timeout = 20 }), nil
            coroutine.wrap(function() result = { waiter:lock("foo") } end)()
            wait_for("the waiter", function() return a:stats().waits == 1 end)
            assert.equal(1, a:interrupt(waiter))
            wait_for("the end of the wait", function() return result end)
            assert.matches("^interrupted: " .. path_of("foo"):gsub("%p", "%%%0"), result[2])
        end)
        lock:unlock()
        a:close()
        local ok, why = lock:lock("foo")
        assert.is_nil(ok)
        assert.matches("^closed: ", why)
    end)

    it("tostring shows the path", function()
        local lock = new(a)
        assert.equal(("zklock.resty_lock (%s)"):format(path_of("")), tostring(lock))
        lock:lock("foo")
        assert.equal(("zklock.resty_lock (%s)"):format(path_of("foo")), tostring(lock))
    end)
end)


describe("two light threads with one object of resty_lock #resty_lock:lock", function()
    it("the later of two calls for two keys is refused, and its lock is given up", function()
        zklock.run(function()
            local holder, lock, result = hold_new(b, "a"), new(a), nil
            coroutine.wrap(function() result = { lock:lock("a") } end)()
            wait_for_contenders("a", 2)
            gives(0, lock:lock("b"))
            holder:unlock()
            wait_for("the lock's answer", function() return result end)
            assert.same({ nil, "locked" }, result)
            wait_for_contenders("a", 0)
            check_taken(b, "b")
            gives(1, lock:unlock())
        end)
    end)

    it("a second lock of a key is refused, also before the first call has returned", function()
        zklock.run(function()
            local holder, lock, result = hold_new(a, "a"), new(a), nil
            coroutine.wrap(function() result = { lock:lock("a") } end)()
            wait_for("the waiter", function() return a:stats().waits == 1 end)
            holder:unlock()
            rig.wait_apart("the grant", function() return a:stats().grants == 2 end)
            assert.is_nil(result)
            fails("locked", lock:lock("a"))
            wait_for("the lock's answer", function() return result end)
            assert.is_true(result[1] > 0)
            gives(1, lock:unlock())
        end)
    end)
end)


describe("the end of a lock of resty_lock #resty_lock:unlock #resty_lock:expire", function()
    it("a lock ends after exptime, and its unlock leaves the next holder's lock alone", function()
        local one, two = hold_new(a, "blah", { exptime = 0.1 }), new(b, { timeout = 20 })
        assert.is_true(two:lock("blah") > 0)
        fails("unlocked", one:unlock())
        fails("unlocked", one:expire(20))
        check_taken(a, "blah")
        gives(1, two:unlock())
    end)

    it("an object may lock again after exptime", function()
        local lock = hold_new(a, "blah", { exptime = 0.1 })
        wait_for("the end of the wait", function() return lock:lock("other") == 0 end)
        check_free("blah")
        gives(1, lock:unlock())
    end)

    it("expire moves the end to a time from now", function()
        local one, two = hold_new(a, "foo", { exptime = 60 }), new(b, { timeout = 20 })
        gives(true, one:expire(0.1))
        assert.is_true(two:lock("foo") > 0)
        fails("unlocked", one:expire())
        gives(1, two:unlock())
    end)

    it("unlock returns 'unlocked' if another client removed the lock's node", function()
        local quick = rig.session(server.hosts, { timeout = 3 })
        local lock = hold_new(quick, "foo")
        rig.delete_node(server, path_of("foo"))
        wait_for("the loss", function() return quick:stats().losses == 1 end)
        fails("unlocked", lock:unlock())
    end)

    it("the collection of its object ends a lock #real", function()
        for _ = 1, 2 do
            gives(0, new(a):lock("foo"))
            wait_for("the end of the wait", function()
                collectgarbage()
                return a:stats().claims == 0
            end)
        end
        check_free("foo")
    end)

    it("a lock does not end while a variable refers to its object #real", function()
        local lock = hold_new(a, "foo")
        for _ = 1, 5 do collectgarbage() end
        check_taken(b, "foo")
        gives(1, lock:unlock())
    end)

    it("objects, also after timeouts, are collected #real", function()
        local objects = setmetatable({}, { __mode = "k" })
        local function object(opts)
            local lock = new(a, opts)
            objects[lock] = true
            return lock
        end
        for _ = 1, 3 do
            local one, two = object{ timeout = 20 }, object{ timeout = 0.01 }
            one:lock("foo")
            two:lock("foo")
            one:unlock()
            two:unlock()
        end
        wait_for("no claims", function() return a:stats().claims == 0 end)
        wait_for("no objects", function()
            collectgarbage()
            return next(objects) == nil
        end)
    end)
end)


-- lua-resty-lock 0.09 returns 0 for a free lock, and "timeout" for a taken lock, with each of
-- these. Both ran side by side in nginx 1.22 with lua-resty-core 0.1.25.
describe("resty_lock with options that resty.lock takes, too #resty_lock:new", function()
    -- On a slow machine a free lock may take longer than 0.1 s.
    local function patient(opts)
        if not opts or opts.timeout ~= 0.1 then return opts end
        local copy = { timeout = 20 }
        for key, value in pairs(opts) do copy[key] = copy[key] or value end
        return copy
    end

    for shown, opts in pairs{
        ["false"] = false,
        ["timeout = -1"] = { timeout = -1 },
        ["timeout = 0"] = { timeout = 0 },
        ["timeout = \"0\""] = { timeout = "0" },
        ["timeout = \"0.1\""] = { timeout = "0.1" },
        ["timeout = false"] = { timeout = false },
        ["exptime = false"] = { timeout = 0.1, exptime = false },
        ["exptime = math.huge"] = { timeout = 0.1, exptime = math.huge },
        ["ratio = \"2\""] = { timeout = 0.1, ratio = "2" },
        ["ratio = -1"] = { timeout = 0.1, ratio = -1 },
        ["step = \"0.01\""] = { timeout = 0.1, step = "0.01" },
        ["step = 0"] = { timeout = 0.1, step = 0 },
        ["max_step = \"0.1\""] = { timeout = 0.1, max_step = "0.1" },
        ["step, ratio and max_step = false"] =
            { timeout = 0.1, step = false, ratio = false, max_step = false },
    } do
        it("new takes " .. shown .. (opts and opts.timeout and "" or " #slow"), function()
            local lock = hold_new(a, "foo", patient(opts))
            fails("timeout", new(b, opts):lock("foo"))
            gives(true, lock:expire(math.huge))
            gives(true, lock:expire(false))
            gives(1, lock:unlock("foo"))
        end)
    end
end)


describe("misuse of resty_lock #failures", function()
    local blames = rig.blames

    it("misuse blames the caller", function()
        resty_lock.use(a)
        blames("use takes a session, not nil", function() resty_lock.use() end)
        blames("the name must be a string, not nil", function() resty_lock:new() end)
        blames("the name must not be empty", function() resty_lock:new("") end)
        blames("the options of new must be a table", function() resty_lock:new("x", 5) end)
        blames("known: exptime, max_step, ratio, step, timeout",
               function() resty_lock:new("x", { tiemout = 5 }) end)
        for _, option in ipairs{ "timeout", "exptime", "step", "ratio", "max_step" } do
            for _, value in ipairs{ "x", "", true, {} } do
                blames(option .. " must be a number",
                       function() resty_lock:new("x", { [option] = value }) end)
            end
        end
        blames("timeout must be a number, not",
               function() resty_lock:new("x", { timeout = 0 / 0 }) end)
        blames("exptime must be seconds, 0 or more",
               function() resty_lock:new("x", { exptime = -1 }) end)
        local lock = new(a)
        blames("a key, must be text that is not empty, or a whole number",
               function() lock:lock{} end)
        blames("the time must be seconds, 0 or more", function() lock:expire(-1) end)
        blames("call it with a colon: resty_lock:lock(...)", function() lock.lock("foo") end)
    end)
end)


if not current.world() then return end

describe("resty_lock in virtual time #resty_lock:lock", function()
    it("lock waits 5 s, and holds 30 s, by default", function()
        local one, two = hold_new(a, "foo"), new(b)
        fails("timeout", rig.takes(5, 5.1, two.lock, two, "foo"))
        local elapsed = new(b, { timeout = 60, exptime = 60 }):lock("foo")
        assert.is_true(elapsed > 24.5 and elapsed < 25.1, elapsed)
        fails("unlocked", one:unlock())
    end)

    it("lock waits no longer than exptime", function()
        local one, two = hold_new(a, "foo"), new(b, { timeout = 4, exptime = 1 })
        fails("timeout", rig.takes(1, 1.1, two.lock, two, "foo"))
        gives(1, one:unlock())
    end)

    it("a lock with exptime 0, or expire(0), lasts without an end", function()
        for _, opts in ipairs{ { exptime = 0 }, { exptime = 1 } } do
            local lock = hold_new(a, "foo", opts)
            gives(true, lock:expire(0))
            zklock.sleep(10000)
            fails("timeout", new(b, { timeout = 1 }):lock("foo"))
            gives(1, lock:unlock())
            rig.come_to_rest(a)
        end
    end)

    it("expire moves the end again and again, by default to exptime", function()
        for _, time in ipairs{ false, 0.2 } do
            local one = hold_new(a, "foo", { exptime = 0.1 })
            for _ = 1, 3 do
                zklock.sleep(0.06)
                gives(true, one:expire(time))
            end
            zklock.sleep((time or 0.1) - 0.05)
            check_taken(b, "foo")
            zklock.sleep(0.1)
            gives(1, hold_new(b, "foo"):unlock())
            fails("unlocked", one:expire(time))
            rig.come_to_rest(b)
        end
    end)

    it("each process of a world has a session of its own", function()
        local function process(hosts)
            return function()
                local session = assert(zklock.connect(hosts))
                assert.equal("closed", (select(2, resty_lock:new(name))))
                resty_lock.use(session)
                zklock.sleep(1)
                gives(0, resty_lock:new(name):lock(hosts))
                assert.equal(1, session:stats().grants)
            end
        end
        local world = current.world()
        world:process(name .. "-1", process(server.hosts))
        world:process(name .. "-2", process("memory:other"))
        zklock.sleep(2)
    end)
end)
