--- [lua luajit asan tsan memory worlds older] session:locked() is the seed article's annotation
-- (@CacheLock, @LockedObject, @LockedComplexObject) as a function. The key is the value of an
-- argument, or of several (BUG-17, BUG-20).
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()
local jit = rawget(_G, "jit")
-- luacheck: globals math.maxinteger math.mininteger
local max, min = math.maxinteger, math.mininteger
local unpack = table.unpack or unpack -- luacheck: globals unpack

local session, other, prefix

before_each(function()
    session, other = rig.session(server.hosts), rig.session(server.hosts)
    prefix = rig.path() .. "/stock-"
end)
after_each(rig.close_sessions)

local function is_taken(path)
    local lease, _, code = other:mutex(path):acquire(0)
    if not lease then return code == "busy" end
    rig.release(lease)
    return false
end

local function path_of(key, ...)
    local folder, path = prefix:match("^(.*)/[^/]*$"), nil
    server:wait_for_nodes(folder, 0)
    session:locked(prefix, key, function()
        path = server:nodes(folder)[1]:match("^(.*)/[^/]*$")
    end)(...)
    return path
end

local function key_of(key, ...)
    local path = path_of(key, ...)
    assert.equal(prefix, path:sub(1, #prefix))
    return path:sub(#prefix + 1)
end

local function excludes(key, a, b)
    local code
    local inner = other:locked(prefix, key, function() return "ran" end, 0)
    session:locked(prefix, key, function()
        local result, _
        result, _, code = inner(unpack(b, 1, b.n))
        assert(result == "ran" or code == "busy", code)
    end)(unpack(a, 1, a.n))
    return code == "busy"
end


describe("a locked function #session:locked", function()
    it("a call runs under the lock of its key, with its arguments and results", function()
        local function given(...) return { n = select("#", ...), ... } end
        local function buy(...)
            assert.is_true(is_taken(prefix .. "42"))
            return select("#", ...), ..., nil
        end
        local results = given(session:locked(prefix, 2, buy)("user", 42, nil))
        assert.same({ n = 3, 3, "user" }, results)
        assert.equal(0, given(session:locked(prefix, 1, function() end)("a")).n)
        assert.is_false(is_taken(prefix .. "42"))
    end)

    it("a call keeps out calls with the same key in another session, and no other calls", function()
        assert.is_true(excludes(1, { 42 }, { 42 }))
        assert.is_true(excludes(2, { "ann", 42 }, { "bob", 42 }))
        assert.is_false(excludes(1, { 42 }, { 43 }))
    end)

    it("the key is the value of an object's field, not the field's name (BUG-17)", function()
        local function id(order) return order.item.id end
        assert.is_false(excludes(id, { { item = { id = 1 } } }, { { item = { id = 2 } } }))
        assert.is_true(excludes(id, { { item = { id = 1 } } }, { { item = { id = 1 } } }))
        assert.equal("7", key_of(id, { item = { id = 7 } }))
    end)

    it("the key has each argument whose position the list names (BUG-20)", function()
        local both = { 1, 3 }
        assert.is_true(excludes(both, { "a", 0, 1 }, { "a", 9, 1 }))
        assert.is_false(excludes(both, { "a", 0, 1 }, { "a", 0, 2 }))
        assert.is_false(excludes(both, { "a", 0, 1 }, { "b", 0, 1 }))
        assert.equal("a:1", key_of(both, "a", 0, 1))
        assert.equal("1:a", key_of({ 3, 1 }, "a", 0, 1))
    end)

    it("a key's function gets all arguments, and may return a list", function()
        local function pair(...)
            assert.equal(3, select("#", ...))
            local user, order = ...
            return { user, order.id }
        end
        assert.equal("ann:5", key_of(pair, "ann", { id = 5 }, nil))
    end)

    it("a change of the key's list after locked() has no effect", function()
        local positions = { 1, 2 }
        local call = session:locked(prefix, positions, function()
            return is_taken(prefix .. "a:b")
        end)
        positions[2] = nil
        assert.is_true(call("a", "b"))
    end)

    it("keys differ for values that would look alike when joined", function()
        local both = { 1, 2 }
        assert.is_false(excludes(both, { "a:b", "c" }, { "a", "b:c" }))
        assert.is_false(excludes(1, { "a/b" }, { "a%2Fb" }))
        assert.is_false(excludes(1, { "." }, { "%2E" }))
        assert.equal("a%3Ab:c", key_of(both, "a:b", "c"))
    end)

    it("a whole number is one key in any form", function()
        for _, three in ipairs{ 3, 3.0, "3" } do assert.equal("3", key_of(1, three)) end
        assert.equal("0", key_of(1, -0.0))
        assert.equal("-7", key_of(1, -7))
        assert.equal("9007199254740992", key_of(1, 2 ^ 53))
    end)

    it("integers of 64 bits have exact keys where Lua has them", function()
        if not max then return end
        assert.equal("9223372036854775807", key_of(1, max))
        assert.equal("-9223372036854775808", key_of(1, min))
    end)

    for text, escaped in pairs{
        ["a b"] = "a b",
        ["."] = "%2E",
        [".."] = "%2E%2E",
        ["..."] = "...",
        ["a.b"] = "a.b",
        ["/"] = "%2F",
        ["/etc/passwd"] = "%2Fetc%2Fpasswd",
        ["100%"] = "100%25",
        ["a\0b"] = "a%00b",
        ["a\nb\127"] = "a%0Ab%7F",
        ["\194\133"] = "%C2%85", -- U+0085, a control character
        ["\229\149\134\229\147\129"] = "\229\149\134\229\147\129", -- two Chinese characters
        ["\240\159\142\129!"] = "%F0%9F%8E%81!", -- above U+FFFF, which ZooKeeper does not take
        ["\239\191\191"] = "%EF%BF%BF", -- U+FFFF
        ["\237\160\128"] = "%ED%A0%80", -- a surrogate
        ["caf\233"] = "caf%E9", -- Latin-1
        ["\192\128"] = "%C0%80", -- more bytes than its value needs
    } do
        it(("the key may be any text: %q"):format(text), function()
            assert.equal(escaped, key_of(1, text))
        end)
    end

    it("a call without the lock returns nil, message, code, and runs nothing", function()
        local holder = rig.hold(other:mutex(prefix .. "a"))
        for _, opts in ipairs{ 0, 0.1, { timeout = 0.1 } } do
            rig.check_refused(opts == 0 and "busy" or "timeout", prefix .. "a",
                           session:locked(prefix, 1, error, opts)("a"))
        end
        assert.equal("held", holder:state())
    end)

    it("a call releases, and raises its function's error unchanged", function()
        local problem = {}
        local call = session:locked(prefix, 1, function() error(problem) end)
        assert.equal(problem, rig.error_of(call, "a"))
        rig.come_to_rest(session)
        assert.is_false(is_taken(prefix .. "a"))
    end)

    it("a locked function may call itself with the same key", function()
        local countdown
        countdown = session:locked(prefix, 1, function(key, n)
            return n == 0 and "done" or countdown(key, n - 1)
        end, 5)
        assert.equal("done", countdown("a", 3))
    end)

    it("a call whose lease was lost returns its results, as with() does", function()
        local quick = rig.session(server.hosts, { timeout = 3 })
        local function lose()
            rig.delete_node(server, prefix .. "a")
            rig.wait_for("the loss", function() return quick:stats().losses == 1 end)
            return "result"
        end
        assert.equal("result", quick:locked(prefix, 1, lose)("a"))
        rig.come_to_rest(quick)
    end)

    it("a call waits in line, and on_queued tells its position", function()
        local order, queued_at = {}, nil
        local opts = { timeout = 20, on_queued = function(position) queued_at = position end }
        local call = session:locked(prefix, 1, function(_, who) order[#order + 1] = who end, opts)
        local holder = rig.hold(other:mutex(prefix .. "a"))
        zklock.run(function() call("a", "waiter") end, function()
            rig.wait_for("the place in line", function() return queued_at == 2 end)
            order[#order + 1] = "holder"
            holder:release()
        end)
        assert.same({ "holder", "waiter" }, order)
    end)

    it('a call after the close of its session returns "closed"', function()
        local call = session:locked(prefix, 1, error)
        session:close()
        assert.equal("closed", select(3, call("a")))
    end)
end)


describe("misuse of locked #session:locked", function()
    local blames = rig.blames

    local prefixes = { relative = "locks/", double = "/a//", dot = "/../a", nul = "/\0", type = 5 }
    for name, given in pairs(prefixes) do
        it("a bad prefix is named: " .. name, function()
            blames("the prefix ", function() session:locked(given, 1, print) end)
        end)
    end

    local keys = { 0, 1.5, -1, 256, "1", true, { "1" }, { 0 }, {}, { 1, nil, 3 }, { a = 1 } }
    for _, key in ipairs(keys) do
        it("a bad key raises with the allowed ones: " .. tostring(key), function()
            blames("the key must", function() session:locked(prefix, key, print) end)
        end)
    end

    it("bad options raise when the function is made, not at a call", function()
        blames("the key must be an argument's place",
               function() session:locked(prefix, nil, print) end)
        blames("fn of locked must be a function",
               function() session:locked(prefix, 1, "print") end)
        blames("known: max_hold, max_waiters, metrics, on_queued, owner, timeout",
               function() session:locked(prefix, 1, print, { wait = 1 }) end)
        blames("timeout must be seconds", function() session:locked(prefix, 1, print, -1) end)
    end)

    it("a bad argument blames the caller, with the allowed keys, and sends no request", function()
        local call = session:locked(prefix, 2, error)
        local bad = { "", true, 0.5, 2 ^ 54, 0 / 0, 1 / 0, {}, print, session }
        if jit then bad[#bad + 1] = require "ffi".new("int64_t", 3) end
        for _, value in ipairs(bad) do
            blames("argument 2, a key, must be text that is not empty, or a whole number",
                   function() call("a", value) end)
        end
        blames("not nil", function() call("a") end)
        assert.equal(0, session:stats().claims)
        assert.equal(0, session:stats().creates)
    end)

    local lists = { empty = {}, hole = { 1, nil, 3 }, named = { id = 1 }, nested = { {} } }
    for name, given in pairs(lists) do
        it("a bad list of the key's function raises: " .. name, function()
            local call = session:locked(prefix, function() return given end, error)
            blames("the result of the key's function must", function() call() end)
        end)
    end

    it("a key's function without a result raises, and its own error passes", function()
        local call = session:locked(prefix, function() end, error)
        blames("the result of the key's function must be text", function() call() end)
        local problem = {}
        local raises = session:locked(prefix, function() error(problem) end, error)
        assert.equal(problem, rig.error_of(raises))
    end)

    it("a path that gets too long raises with the limit", function()
        local call = session:locked(prefix, 1, error)
        blames("at most 262144 bytes", function() call(("x"):rep(262144)) end)
    end)
end)
