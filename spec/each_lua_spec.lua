--- [lua luajit worlds older lua5.1] Differences between Luas: coroutines, integers, and C functions
-- that not all of them have. The other specs run on Lua 5.4 and LuaJIT; this spec runs on each Lua
-- of Debian.
local rig = require "spec.rig"
local runtime = require "zklock.waiting.runtime"
local zklock = require "zklock"

local server = rig.shared()
local is_plain_51 = _VERSION == "Lua 5.1" and not rawget(_G, "jit")
local CANNOT = "plain Lua 5.1 cannot yield across pcall; use LuaJIT, or Lua 5.2 or later"


local session, path, lock

before_each(function()
    session, path = rig.session(server.hosts), rig.path()
    lock = session:mutex(path, { data = "seen" })
end)

after_each(function() zklock.driver(nil) end)
after_each(rig.close_sessions)


local function check_unsupported(result, message, code)
    assert.is_nil(result)
    assert.equal("unsupported", code)
    assert.is_truthy(message:find(CANNOT, 1, true), message)
end


describe("each Lua #context", function()
    it("every kind of lock is taken and released", function()
        local rw = session:rwlock(path .. "-rw")
        local locks = {
            lock, rw:read(), rw:write(), session:semaphore(path .. "-permits", 2),
            session:mutex(path .. "-turns", { order = "turns" }),
            session:mutex(path .. "-none", { order = "none" }),
            session:mutex(path .. "-kept", { keep = 1 }),
            session:multi{ session:mutex(path .. "-1"), session:mutex(path .. "-2") },
        }
        for _, each in ipairs(locks) do
            local lease = assert(each:acquire(20))
            assert.equal("held", lease:state())
            assert.is_true(lease:check(20))
            assert.is_true(lease:release{ wait = 20 })
        end
    end)

    it("tokens grow, and are the same as text", function()
        local last = 0
        for _ = 1, 3 do
            lock:with(20, function(lease)
                assert.is_true(lease.token > last)
                last = lease.token
                assert.equal(("%d"):format(last), lease:token_string())
            end)
        end
    end)

    it("queue shows the line, and a wait ends at its deadline", function()
        local lease = assert(lock:acquire(20))
        local begun = runtime.now()
        local other, _, code = lock:acquire{ owner = "another", timeout = 0.1 }
        assert.is_nil(other)
        assert.equal("timeout", code)
        assert.is_true(runtime.now() - begun >= 0.1 - rig.ROUNDED)
        assert.equal("seen", lock:queue()[1].data)
        assert.equal(lease.token, lock:queue()[1].token)
    end)

    it("`with` takes its options, though Lua 5.1 has an `arg` of its own in such functions",
       function()
        local lease = assert(lock:acquire(20))
        local options = { owner = "another", timeout = 0 }
        assert.equal("busy", select(3, lock:with(options, function() end)))
        lease:release()
        assert.is_true(lock:with(function() end))
    end)

    it("`with` passes an error through unchanged, and releases", function()
        local problem = {}
        local ok, raised = pcall(lock.with, lock, 20, function() error(problem) end)
        assert.is_false(ok)
        assert.equal(problem, raised)
        assert.same({}, lock:queue())
    end)

    it("a watch hears a change during a wait", function()
        local seen = {}
        local stop = session:watch(path .. "-node", function(data)
            seen[#seen + 1] = data or "none"
        end)
        lock:with(20, function(lease)
            assert(lease:guard{ { "create", path .. "-node", "new" } })
            rig.wait_for("told", function() return seen[#seen] == "new" end)
        end)
        stop()
    end)

    it("combine works, and a wait in a condition", function()
        local submit = lock:combine(function(_, items) return items end)
        assert.equal("item", submit("item", 20))
        local lease = assert(lock:acquire(20))
        local _, _, code = lock:condition("full"):wait(lease, 0.1)
        assert.equal("timeout", code)
    end)

    it("misuse blames the line of the call", function()
        local _, message = pcall(function() session:mutex("no path") end)
        assert.is_truthy(message:find("each_lua_spec.lua:%d+: the lock path"), message)
        assert.is_false(pcall(lock.condition, lock, "no\0name"))
    end)

    it("a wait in a plain coroutine blocks, as in the main program #real", function()
        local thread = coroutine.create(function()
            return lock:with(20, function(lease) return lease:state() end)
        end)
        local ok, held, state = coroutine.resume(thread)
        assert.same({ true, true, "held" }, { ok, held, state })
        assert.equal("dead", coroutine.status(thread))
    end)
end)


describe("zklock.run #zklock.run", function()
    local function nothing() end

    if is_plain_51 then
        it("run is refused by plain Lua 5.1, with the reason", function()
            check_unsupported(zklock.run(nothing))
        end)
    else
        it("coroutines of run wait for one another #real", function()
            local order = {}
            local function take(n)
                lock:with(20, function()
                    zklock.sleep(0)
                    order[#order + 1] = n
                end)
            end
            zklock.run(function() take(1) end, function() take(2) end, function() take(3) end)
            assert.same({ 1, 2, 3 }, order)
        end)
    end
end)


describe("an event loop #session:dispatch", function()
    if is_plain_51 then
        it("a driver is refused by plain Lua 5.1, with the reason", function()
            for _, name in ipairs{ "cqueues", "luv", "copas" } do
                check_unsupported(zklock.driver(name))
            end
            assert.is_true(zklock.driver "block")
        end)
    end

    it("a wait in an event loop is suspended, or refused by plain Lua 5.1 #real", function()
        local held = assert(lock:acquire(20))
        local loop = require("cqueues").new()
        local result, code
        loop:wrap(function()
            result, code = select(2, lock:acquire{ owner = "loop", timeout = 20 })
        end)
        loop:wrap(function() held:release() end)
        assert(loop:loop())
        if is_plain_51 then check_unsupported(nil, result, code) else assert.is_nil(code) end
    end)
end)


describe("the prompt", function()
    it("the prompt reads Lua, shows results, and goes on after an error #real", function()
        local text = rig.shell([[printf '%%s\n' 'x = 6 * 7' x 'for i = 1, 2 do' 'print(i)' end \
            'y = = 1' 'session:mutx("/a")' 'error "mine"' |
            %s bin/zklock repl --hosts memory:repl 2>&1]], os.getenv "ZKLOCK_LUA" or "lua5.4")
        for _, said in ipairs{ "> 42\n", ">> 1\n2\n", "stdin:1: unexpected symbol near '='\n",
                               ": did you mean mutex?\n", "stdin:1: mine\n> \n" } do
            assert.is_truthy(text:find(said, 1, true), said .. text)
        end
    end)
end)
