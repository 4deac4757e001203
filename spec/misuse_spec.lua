--- [lua luajit older] Misuse blames the user's line with the call, names the mistake, and is short.
-- Nothing here waits for a server.
local block = require "zklock.waiting.driver.block"
local engine = require "zklock.engine"
local public_calls = require "spec.finalizers.calls"
local reference = require "spec.reference"
local resty_lock = require "zklock.resty_lock"
local rig = require "spec.rig"
local seckill = require "zklock.seckill"
local throwaway = require "zklock.seckill.throwaway"
local zklock = require "zklock"

local LONG = ("x"):rep(300000)

local function blames(fn) return rig.blames(nil, fn) end


local function documented_methods()
    local found = {}
    for _, call in ipairs(reference.calls()) do
        for word, method in call.heading:gmatch("([%l_]+):([%l_]+)[%(%{]") do
            found[word] = found[word] or {}
            found[word][method] = true
        end
    end
    found.request = { done = true, on_done = true }
    return found
end


local WRONG = { -1, 0 / 0, true, "", { unknown = 1 }, { -1 } }

local function done() return true end

-- Calls the method with wrong arguments. Raises if an error comes from inside the library.
local function check_errors(object, method)
    local fn = object[method]
    for _, wrong in ipairs(WRONG) do
        for _, given in ipairs{ { wrong }, { "/a", wrong }, { done, wrong }, { wrong, done } } do
            local ok, message = pcall(fn, object, given[1], given[2])
            local inner = not ok and (message:find "bad argument" or message:find "attempt to"
                or message:find("zklock/", 1, true))
            if inner then error(method .. ": " .. message, 0) end
        end
    end
end


local function open_session()
    local lock, session = rig.mutex()
    return session, lock, assert(lock:acquire(5))
end


local function open_engines()
    local hosts, servers = rig.shared().hosts, throwaway.open()
    return {
        redisson = assert(engine.open("redisson", { redis = servers:redis(1) })),
        zookeeper = assert(engine.open("zookeeper", { zookeeper = hosts })),
        close = function(self)
            self.redisson:close()
            self.zookeeper:close()
            servers:close()
        end,
    }
end


describe("a method with wrong arguments #failures", function()
    local named = documented_methods()
    local objects, engines = {}, nil
    setup(function()
        local session, mutex, lease = open_session()
        local rwlock = session:rwlock(rig.path())
        objects.session = session
        objects.mutex = mutex
        objects["mutex in turns"] = session:mutex(rig.path(), { order = "turns" })
        objects["unfair mutex"] = session:mutex(rig.path(), { order = "none" })
        objects.semaphore = session:semaphore(rig.path(), 3)
        objects["multi-lock"] = session:multi{ mutex, rwlock:write() }
        objects.rwlock = rwlock
        objects["read lock"] = rwlock:read()
        objects["write lock"] = rwlock:write()
        objects.election = session:election(rig.path())
        objects.member = assert(session:join(rig.path(), { name = "a" }))
        objects.condition = mutex:condition("some")
        objects.lease = lease
        resty_lock.use(session)
        objects.resty_lock = resty_lock:new("some")
        zklock.driver{ wait = function(...)
            objects.request = select(2, ...)
            return block.wait(...)
        end }
        assert.is_nil((mutex:acquire{ timeout = 0.1, owner = "another" }))
        zklock.driver(nil)
        engines = open_engines()
        objects["engine zookeeper"] = engines.zookeeper
        objects.engine = engines.redisson
        objects["engine's rwlock"] = engines.redisson:rwlock("some")
        objects["engine's lock"] = engines.redisson:mutex("some")
        objects["engine's lease"] = assert(objects["engine's lock"]:acquire(5))
    end)
    teardown(function()
        engines:close()
        rig.close_sessions()
    end)

    local function methods_of(object, list)
        local names = {}
        for name in pairs(list or {}) do names[name] = true end
        local members = getmetatable(object).__index
        for name in pairs(type(members) == "table" and members or {}) do
            local is_method = name:sub(1, 2) ~= "__" and type(object[name]) == "function"
            names[name] = is_method or nil
        end
        local class_functions = { "new", "connect", "run", "use" }
        for _, name in ipairs(class_functions) do names[name] = nil end
        return names
    end

    local function test_colon(name, word, list)
        it("a method of a " .. name .. " asks for a colon, and its own object", function()
            local object = objects[name]
            local other = word == "session" and objects.mutex or objects.session
            local count = 0
            for method in pairs(methods_of(object, list)) do
                local fn = object[method]
                local colon = ("call it with a colon: %s:%s(...)"):format(word, method)
                assert.equal(colon, blames(function() fn() end))
                for _, wrong in ipairs{ 1, "/a", print, {}, setmetatable({}, {}) } do
                    assert.equal(colon, blames(function() fn(wrong, {}) end))
                end
                local names = (" of a %s, not of a %s"):format(
                    getmetatable(object).__name, getmetatable(other).__name)
                assert.equal(colon .. names, blames(function() fn(other, 1) end))
                count = count + 1
            end
            assert.is_true(count >= 2, "no methods found")
        end)
    end

    local kinds = {
        ["session"] = "session", ["mutex"] = "lock", ["mutex in turns"] = "lock",
        ["unfair mutex"] = "lock", ["semaphore"] = "lock", ["multi-lock"] = "lock",
        ["rwlock"] = "rwlock", ["read lock"] = "lock", ["write lock"] = "lock",
        ["condition"] = "condition", ["lease"] = "lease", ["request"] = "request",
        ["election"] = "election", ["member"] = "member", ["resty_lock"] = "resty_lock",
    }
    local known = {}

    for name, word in pairs(kinds) do
        known[word] = true
        test_colon(name, word, named[word])
        if name ~= "request" then
            it("an error of a " .. name .. "'s method is not of a line inside zklock", function()
                for method in pairs(named[word]) do check_errors(objects[name], method) end
            end)
        end
    end

    for name, word in pairs{
        ["engine"] = "engine", ["engine zookeeper"] = "engine", ["engine's rwlock"] = "rwlock",
        ["engine's lock"] = "lock", ["engine's lease"] = "lease",
    } do
        test_colon(name, word)
    end

    it("the reference's classes are tested", function()
        for word in pairs(named) do assert.is_true(known[word], word) end
    end)
end)


-- Messages are also checked in the specs of the calls, in input_spec.lua and, for timeouts, in
-- timeout_spec.lua.
describe("the line that misuse blames #failures", function()
    local session, lock, lease, parts, engines, redisson, redisson_lock, zookeeper
    setup(function()
        session, lock, lease = open_session()
        parts = session:multi{ session:mutex(rig.path()), session:mutex(rig.path()) }
        engines = open_engines()
        redisson, zookeeper = engines.redisson, engines.zookeeper
        redisson_lock = redisson:mutex("some")
    end)
    teardown(function()
        engines:close()
        rig.close_sessions()
    end)

    local calls = {
        ["rwlock, path"] = function() session:rwlock("a") end,
        ["rwlock, options"] = function() session:rwlock("/a", { order = "none" }) end,
        ["semaphore, path"] = function() session:semaphore("a", 1) end,
        ["get, path"] = function() session:get("a") end,
        ["acquire of several"] = function() parts:acquire(-1) end,
        ["combine, nothing"] = function() lock:combine() end,
        ["combine, no function"] = function() lock:combine({}) end,
        ["combine, options"] = function() lock:combine(print, 5) end,
        ["combine, an unknown option"] = function() lock:combine(print, { x = 1 }) end,
        ["combine, most of none"] = function() lock:combine(print, { most = 0 }) end,
        ["combine, most of a part"] = function() lock:combine(print, { most = 1.5 }) end,
        ["combine, most without end"] = function() lock:combine(print, { most = math.huge }) end,
        ["combine, most's type"] = function() lock:combine(print, { most = "x" }) end,
        ["combine, max_waiters of none"] = function() lock:combine(print, { max_waiters = 0 }) end,
        ["combine, timeout"] = function() lock:combine(print, { timeout = -1 }) end,
        ["combine, max_hold of none"] = function() lock:combine(print, { max_hold = 0 }) end,
        ["combine of permits"] = function() session:semaphore("/a", 2):combine(print) end,
        ["submit, no item"] = function() lock:combine(print)() end,
        ["condition, name of control characters"] = function() lock:condition("a\0") end,
        ["on_revoke"] = function() lease:on_revoke(1) end,
        ["engine, none"] = function() engine.open() end,
        ["engine, name"] = function() engine.open("redis", {}) end,
        ["engine, options"] = function() engine.open("redlock", 1) end,
        ["engine, no server"] = function() engine.open("redis-set") end,
        ["engine, no servers"] = function() engine.open("redlock", {}) end,
        ["engine, no database"] = function() engine.open("sql-table", {}) end,
        ["engine, URL"] = function() engine.open("sql-pessimistic", { mysql = "x" }) end,
        ["engine, address"] = function() engine.open("redis-set", { redis = "x" }) end,
        ["engine, addresses"] = function() engine.open("redlock", { redis = { "x" } }) end,
        ["engine, seconds"] = function() engine.open("redisson", { lease = -1 }) end,
        ["engine, whole seconds"] = function() engine.open("redis-expire", { lease = 0.5 }) end,
        ["engine, an unknown option"] = function() engine.open("zookeeper", { x = 1 }) end,
        ["engine, order"] = function() engine.open("cerberus", { order = "zookeeper" }) end,
        ["engine, name in the order"] = function() engine.open("cerberus", { order = { 1 } }) end,
        ["engine, no order"] = function() engine.open("cerberus", {}) end,
        ["engine.has"] = function() engine.has("redis") end,
        ["engine:mutex, no name"] = function() redisson:mutex() end,
        ["engine:mutex, options"] = function() redisson:mutex("a", 1) end,
        ["engine:mutex, an unknown option"] = function() redisson:mutex("a", { x = 1 }) end,
        ["engine:mutex, fair"] = function() redisson:mutex("a", { fair = 1 }) end,
        ["engine:mutex, lease"] = function() redisson:mutex("a", { lease = 0 }) end,
        ["engine:rwlock, no name"] = function() redisson:rwlock() end,
        ["engine:rwlock, options"] = function() redisson:rwlock("a", { fair = true }) end,
        ["engine:multi, no list"] = function() redisson:multi() end,
        ["engine:multi, no lock"] = function() redisson:multi{ "a" } end,
        ["engine:multi, a lock of zklock's"] = function() redisson:multi{ lock } end,
        ["acquire of an engine's lock"] = function() redisson_lock:acquire(-1) end,
        ["acquire of an engine's, string"] = function() redisson_lock:acquire("x") end,
        ["acquire of an engine's, an unknown option"] = function()
            redisson_lock:acquire{ x = 1 }
        end,
        ["with of an engine's, nothing"] = function() redisson_lock:with() end,
        ["with of an engine's, timeout"] = function() redisson_lock:with(-1, print) end,
        ["with of an engine's, no function"] = function() redisson_lock:with(1, "x") end,
        ["engine zookeeper:mutex, no name"] = function() zookeeper:mutex() end,
        ["engine zookeeper:mutex, options"] = function() zookeeper:mutex("a", { x = 1 }) end,
        ["engine zookeeper:rwlock, no name"] = function() zookeeper:rwlock() end,
        ["engine zookeeper:rwlock, options"] = function() zookeeper:rwlock("a", { x = 1 }) end,
        ["engine zookeeper:multi"] = function() zookeeper:multi() end,
        ["sale, options"] = function() seckill.sale(1) end,
        ["sale, an unknown option"] = function() seckill.sale{ x = 1 } end,
        ["sale, buyers"] = function() seckill.sale{ buyers = 0 } end,
        ["sale, strategy"] = function() seckill.sale{ strategy = "x" } end,
    }

    for name, call in pairs(calls) do
        it("misuse blames the line of the call: " .. name, function() blames(call) end)
    end

    it("misuse blames the line of the call in a function that ends with the call", function()
        local function tail() return session:mutex("a") end
        blames(function() tail(1, 2) local _ = 1 end)
    end)

    it("misuse by way of pcall blames the line of the call", function()
        local mutex = session.mutex
        local message = blames(function() error(select(2, pcall(mutex, session, "a")), 0) end)
        assert.is_truthy(message:find("^the lock path"), message)
    end)

    it("misuse in a coroutine, also of run, blames the line of the call", function()
        blames(function() coroutine.wrap(function() session:mutex("a") end)() end)
        blames(function() zklock.run(function() session:mutex("a") end) end)
    end)

    it("misuse in with()'s function blames the line of the call", function()
        blames(function() assert(lock:with(5, function() session:mutex("a") end)) end)
    end)

    it("misuse blames no line, and no file of zklock, where a coroutine begins with the call",
       function()
        local ok, message = pcall(coroutine.wrap(zklock.connect), "")
        assert.is_false(ok)
        assert.equal('no host in ""; expected "host:port,host:port/chroot"', message)
    end)

    -- A user's code has no file in these chunks.
    for name, chunk in pairs{ ["the REPL"] = "=stdin", ["nginx"] = "=content_by_lua(nginx.conf:9)",
                              ["a string"] = "return ..." } do
        it("misuse blames the line of the call in " .. name, function()
            local load_text = loadstring or load -- luacheck: ignore
            local call = assert(load_text("local z = ...\nz.connect('')\n", chunk))
            local place = debug.getinfo(call, "S").short_src
            local _, message = pcall(call, zklock)
            assert.equal(place .. ":2: no host in", message:sub(1, #place + 14))
        end)
    end

    -- A REPL makes a tail call of an expression, which leaves no line to blame.
    for typed, blamed in pairs{ ['session = zklock.connect("")'] = "stdin:1: ",
                                ['return zklock.connect("")'] = "" } do
        it("misuse blames the typed line in a REPL: " .. typed, function()
            local lines = "'zklock = require \"zklock\"' '" .. typed .. "'"
            local output = rig.shell("printf '%%s\\n' %s | %s -i 2>&1", lines,
                                     os.getenv("ZKLOCK_LUA") or "lua5.4")
            local message = output:gsub("> ", ""):match("([^\n]*no host in)")
            assert.equal(blamed .. "no host in", message, output)
        end)
    end
end)


describe("an engine without its Lua module", function()
    it("an engine is not opened, and tells how to install the missing Lua module", function()
        local missing = { ["luasql.sqlite3"] = { "sql-table", { sqlite = "none.db" } },
                          ["luasql.mysql"] = { "sql-table", { mysql = "mysql://a@b/c" } } }
        for module, call in pairs(missing) do
            local loaded = package.loaded[module]
            package.loaded[module] = nil
            package.preload[module] = function() error "not installed" end
            local result, message, code = engine.open(call[1], call[2])
            package.loaded[module], package.preload[module] = loaded, nil
            rig.check_refused("unsupported", ("%s: not supported (the Lua module %s is not "
                .. "installed: apt install lua-"):format(call[1], module), result, message, code)
        end
    end)
end)


describe("a world", function()
    it("an error of a world's method is not of a line inside zklock", function()
        local count = 0
        for name in pairs(public_calls) do
            local method = name:match "^world:(.+)"
            local world = method and zklock.world(function(each) each:process("a", done) end)
            if world then
                check_errors(world, method)
                count = count + 1
            end
        end
        assert.is_true(count > 10)
    end)

    it("a world names the mistake in the bounds of a random number", function()
        local world = zklock.world(function() end)
        if not world then return end
        for given, bounds in pairs{ ["(0)"] = { 0 }, ["(5, 1)"] = { 5, 1 }, ["(1.5)"] = { 1.5 },
                                    ['("x")'] = { "x" }, ["(nil, 3)"] = { nil, 3 } } do
            rig.blames("random takes (), (m) or (m, n)", function()
                world:random(bounds[1], bounds[2])
            end)
            local _, message = pcall(world.random, world, bounds[1], bounds[2])
            assert.is_truthy(message:find("not " .. given, 1, true), message)
        end
        assert.is_true(world:random(3, 3) == 3 and world:random(-2 ^ 52, 0) <= 0)
    end)
end)


describe("a long value in a message #failures", function()
    local session, lock, lease
    setup(function() session, lock, lease = open_session() end)
    teardown(rig.close_sessions)

    local shown = ("x"):rep(60) .. '"… (300000 bytes)'
    local named = setmetatable({}, { __tostring = function() return LONG end })
    for name, call in pairs{
        ["hosts"] = function() zklock.connect(LONG .. ":") end,
        ["a chroot"] = function() zklock.connect("a:1/" .. LONG) end,
        ["an option's name"] = function() zklock.connect("a:1", { [LONG] = 1 }) end,
        ["an option"] = function() zklock.connect("a:1", { acl = LONG }) end,
        ["an option of another type"] = function() zklock.connect("a:1", { timeout = LONG }) end,
        ["the options"] = function() session:mutex("/a", LONG) end,
        ["an object"] = function() session:mutex("/a", { data = named }) end,
        ["a path"] = function() session:mutex(LONG) end,
        ["a short enough path"] = function() session:mutex(LONG:sub(1, 200000)) end,
        ["a node's path"] = function() session:get(LONG:sub(1, 200000)) end,
        ["a limit"] = function() session:semaphore("/a", LONG) end,
        ["a timeout"] = function() lock:acquire(LONG) end,
        ["a condition's name"] = function() lock:condition("/" .. LONG) end,
        ["a write's verb"] = function() lease:guard{ { LONG, "/a" } } end,
        ["a write's path"] = function() lease:guard{ { "check", LONG:sub(1, 200000) } } end,
        ["a write's version"] = function() lease:guard{ { "check", "/a", LONG } } end,
        ["a write's field"] = function() lease:guard{ { "check", "/a", [LONG] = 1 } } end,
        ["locks on one path"] = function()
            local long = session:mutex("/" .. LONG:sub(1, 200000))
            session:multi{ long, long }
        end,
    } do
        it("a message is short about " .. name, function()
            local ok, message = pcall(call)
            assert.is_false(ok)
            assert.is_true(#message < 400, ("%d bytes: %s"):format(#message, message:sub(1, 400)))
        end)
    end

    it("a message shows the beginning of a long text, and its length", function()
        rig.blames('not "' .. shown, function() session:mutex("/a", { order = LONG }) end)
    end)

    it("a message shows a text of 60 bytes in full", function()
        local message = blames(function() session:mutex("/a", { order = LONG:sub(1, 60) }) end)
        assert.is_truthy(message:find('not "' .. ("x"):rep(60) .. '"$'), message)
    end)

    it("a message cuts a text between characters of UTF-8", function()
        rig.blames('"a' .. ("ä"):rep(29) .. '"… (199 bytes)',
                   function() session:mutex("/a", { order = "a" .. ("ä"):rep(99) }) end)
    end)

    it("a message of acquire cuts a lock's path", function()
        local long = session:mutex("/" .. LONG:sub(1, 200000))
        session:close()
        local _, message, code = long:acquire(5)
        assert.equal("closed", code)
        assert.is_true(#message < 4400, #message)
        assert.is_truthy(message:find("… (200001 bytes)", 1, true), message)
    end)
end)
