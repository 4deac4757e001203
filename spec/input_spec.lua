--- [lua luajit asan tsan worlds older lua5.1] Misuse raises, blames the line of the call, and names
-- the allowed values. Nothing here waits for a server. Other specs have the rules of semaphores,
-- guards and timeouts.
local rig = require "spec.rig"
local zklock = require "zklock"

local nan = 0 / 0
local huge = math.huge


--- Adds a test that fn() raises a message that blames its line and has each of the texts.
local function test(name, fn, first, ...)
    local others = { ... }
    it(name, function()
        local message = rig.blames(first, fn)
        for _, text in ipairs(others) do assert.is_truthy(message:find(text, 1, true), message) end
    end)
end


describe("bad hosts #zklock.connect", function()
    local form = 'expected "host:port,host:port/chroot"'

    local function bad(name, hosts, ...)
        test("hosts are refused: " .. name, function() zklock.connect(hosts) end, ...)
    end

    bad("nil", nil, "hosts must be a string, not nil", form)
    bad("a number", 2181, "hosts must be a string, not 2181", form)
    bad("a table", {}, "hosts must be a string, not table", form)
    bad("empty", "", "no host", form)
    bad("a chroot alone", "/shop", "no host", form)
    bad("a comma alone", ",", "an entry is empty", form)
    bad("an empty entry", "a:1,,b:1", "an entry is empty", form)
    bad("a comma at the end", "a:1,", "an entry is empty", form)
    bad("a space alone", " ", "contains a space", form)
    bad("a space behind the comma", "a:1, b:1", "contains a space", form)
    bad("NUL", "a\0:1", form)
    bad("a port alone", ":2181", '":2181"', form)
    bad("a colon without a port", "a:", 'no port after the :', form)
    bad("port 0", "a:0", "1 to 65535", form)
    bad("port 65536", "a:65536", "1 to 65535", form)
    bad("a negative port", "a:-1", "1 to 65535", form)
    bad("a hexadecimal port", "a:0x50", "1 to 65535", form)
    bad("a port with a fraction", "a:1.5", "1 to 65535", form)
    bad("a service name for a port", "a:http", "1 to 65535", form)
    bad("two ports", "a:1:2", form)
    bad("a bare IPv6 address", "::1", form)
    bad("an open bracket", "[::1:2181", form)
    bad("a bracket that only closes", "::1]:2181", form)
    bad("empty brackets", "[]:2181", form)
    bad("a word in brackets", "[cafe]:2181", form)
    bad("a name in brackets", "[localhost]:2181", form)
    bad("a port right behind the bracket", "[::1]2181", form)
    bad("a good entry behind a bad one", "[::1:2181,127.0.0.1:2181", form)
    bad("a URL", "zk://a:2181", form)
    bad("a chroot that ends in /", "a:1/shop/", "chroot", "must not end with /")
    bad("a chroot with an empty segment", "a:1//shop", "chroot", "empty segment")
    bad("a chroot with ..", "a:1/shop/../x", "chroot", "segment . or ..")
    bad("a chroot with NUL", "a:1/sh\0op", "chroot", "NUL")
end)


describe("a bad option of connect #zklock.connect", function()
    local function bad(name, options, ...)
        test("the option is refused: " .. name, function() zklock.connect("a:1", options) end, ...)
    end

    bad("not a table", 5, "the options of connect must be a table, not 5")
    bad("an unknown name", { timout = 5 }, 'unknown option "timout"',
         "known: acl, auth, connect_timeout, drain, grace, identity, margin, on_event, " ..
             "on_state, parents, recover, reopen, timeout, tls")
    bad("a list", { "digest:a:b" }, "unknown option 1", "known: acl, auth")
    bad("timeout 0", { timeout = 0 }, "timeout must be seconds, at least 0.1, not 0")
    bad("a negative timeout", { timeout = -1 }, "timeout must be seconds, at least 0.1, not -1")
    bad("a tiny timeout", { timeout = 1e-8 },
         "timeout must be seconds, at least 0.1, not 1e-08")
    bad("timeout NaN", { timeout = nan }, "timeout must be seconds, at least 0.1")
    bad("an infinite timeout", { timeout = huge }, "timeout must be seconds")
    bad("a timeout in a string", { timeout = "10" }, 'timeout must be a number, not "10"')
    bad("connect_timeout 0", { connect_timeout = 0 }, "connect_timeout must be seconds")
    bad("connect_timeout NaN", { connect_timeout = nan }, "connect_timeout must be seconds")
    bad("margin 0", { margin = 0 }, "margin must be in (0, 0.5], not 0")
    bad("margin 0.6", { margin = 0.6 }, "margin must be in (0, 0.5], not 0.6")
    bad("margin NaN", { margin = nan }, "margin must be in (0, 0.5]")
    bad("margin in a string", { margin = "x" }, "margin must be a number")
    bad("an unknown acl", { acl = "all" }, 'acl must be "open" or "creator" or "read", not "all"')
    bad("acl creator without auth", { acl = "creator" }, 'acl = "creator" needs auth')
    bad("acl read without auth", { acl = "read" }, 'acl = "read" needs auth')
    bad("unknown parents", { parents = "ephemeral" },
         'parents must be "container" or "persistent", not "ephemeral"')
    bad("auth without a scheme", { auth = "password" }, '"scheme:credentials"')
    bad("auth without credentials", { auth = "digest:" }, '"scheme:credentials"')
    bad("auth that is no string", { auth = {} }, "auth must be a string")
    bad("auth with NUL", { auth = "digest:a:b\0c" }, "auth", "NUL")
    bad("reopen that is no boolean", { reopen = 1 }, "reopen must be a boolean, not 1")
    bad("an identity of two lines", { identity = "a\nb" },
         "identity must not contain control characters")
    bad("an identity that is no string", { identity = 7 }, "identity must be a string, not 7")
    bad("a relative folder to recover", { recover = "run" },
         'recover must be the absolute path of a folder, not "run"')
    bad("a negative grace", { recover = "/run", grace = -1 }, "grace must be seconds, 0 or more")
    bad("grace without recover", { grace = 1 }, "grace needs recover")
    bad("an on_state that is no function", { on_state = "x" },
         'on_state must be a function, not "x"')
end)


describe("the calls of a session #failures", function()
    local session, lock, lease
    setup(function()
        session = rig.session(rig.shared().hosts)
        lock = session:mutex(rig.path())
        lease = assert(lock:acquire(5))
    end)
    teardown(rig.close_sessions)

    local paths = {
        { "nil", nil, "must be a string, not nil" },
        { "a number", 42, "must be a string, not 42" },
        { "a table", {}, "must be a string, not table" },
        { "empty", "", "must start with /" },
        { "relative", "locks/a", "must start with /" },
        { "/ alone", "/", "must not end with /" },
        { "a slash at the end", "/locks/", "must not end with /" },
        { "an empty segment", "/locks//a", "must not contain an empty segment" },
        { "two slashes at the start", "//a", "must not contain an empty segment" },
        { "a dot", "/locks/./a", "must not contain the segment . or .." },
        { "a dot at the end", "/locks/.", "must not contain the segment . or .." },
        { "two dots", "/locks/../a", "must not contain the segment . or .." },
        { "NUL", "/locks/a\0b", "must not contain NUL or control characters" },
        { "a newline", "/locks/a\n", "must not contain NUL or control characters" },
        { "DEL", "/locks/\127", "must not contain NUL or control characters" },
        { "bytes that are no UTF-8", "/locks/\255", "UTF-8" },
        { "a cut UTF-8 character", "/locks/a\228\184", "UTF-8" },
        { "a control character of two bytes", "/locks/\194\133", "control characters" },
    }
    for _, case in ipairs(paths) do
        test("a lock path is refused: " .. case[1], function() session:mutex(case[2]) end,
             "lock path", case[3])
    end

    test("mutex refuses an unknown option", function() session:mutex("/a", { fair = true }) end,
         'unknown option "fair"', "known: batch, data, jitter, keep, metrics, order, reentrant, " ..
             "token")
    test("mutex refuses options that are no table", function() session:mutex("/a", 5) end,
         "the options of mutex must be a table, not 5")
    test("mutex refuses an unknown order", function() session:mutex("/a", { order = "lifo" }) end,
         'order must be "fifo" or "none" or "turns", not "lifo"')
    test("mutex refuses data with NUL", function() session:mutex("/a", { data = "a\0" }) end,
         "data must not contain NUL")
    test("mutex refuses data that is no string", function() session:mutex("/a", { data = 1 }) end,
         "data must be a string, not 1")
    test("mutex refuses a reentrant that is no boolean",
         function() session:mutex("/a", { reentrant = "yes" }) end, "reentrant must be a boolean")
    test("mutex refuses a batch that is no number",
         function() session:mutex("/a", { order = "turns", batch = "x" }) end,
         "batch must be a number")
    test("mutex refuses tokens of another kind",
         function() session:mutex("/a", { token = "czxid" }) end,
         'token must be "turns", not "czxid"')
    test("mutex refuses tokens of turns without an order",
         function() session:mutex("/a", { order = "none", token = "turns" }) end,
         'token belongs to order = "fifo"')

    for name, bad in pairs{ ["negative"] = -1, ["NaN"] = nan, ["minus infinity"] = -huge } do
        test("acquire refuses a timeout that is " .. name,
             function() lock:acquire(bad) end, "timeout must be seconds, 0 or more")
        test("release refuses a wait that is " .. name,
             function() lease:release{ wait = bad } end, "wait must be seconds, 0 or more")
        test("sleep refuses a time that is " .. name,
             function() zklock.sleep(bad) end, "sleep takes seconds, 0 or more")
    end
    test("acquire refuses a boolean, and names seconds too",
         function() lock:acquire(true) end, "true", "table", "seconds")
    test("acquire refuses options after seconds", function() lock:acquire(5, { owner = "o" }) end,
         "acquire takes seconds or a table: { timeout = seconds }")
    test("acquire refuses an unknown option", function() lock:acquire{ time = 5 } end,
         'unknown option "time"', "known: max_hold, max_waiters, on_queued, owner, timeout")
    test("acquire refuses an on_queued that is no function",
         function() lock:acquire{ on_queued = 1 } end, "on_queued must be a function, not 1")
    for name, call in pairs{
        ["nothing"] = function() lock:with() end,
        ["a timeout alone"] = function() lock:with(1) end,
        ["nil for the function"] = function() lock:with(nil, nil, print) end,
        ["a string for the function"] = function() lock:with(1, "print") end,
    } do
        test("with refuses " .. name, call, "with takes ([timeout or options,] function")
    end
    test("with refuses an unknown option", function() lock:with({ wait = 1 }, print) end,
         'unknown option "wait"', "known: max_hold, max_waiters, on_queued, owner, timeout")

    test("release refuses a number", function() lease:release(1) end,
         "the options of release must be a table, not 1")
    test("release refuses an unknown option", function() lease:release{ timeout = 1 } end,
         'unknown option "timeout"', "known: wait")
    test("release refuses a wait in a string", function() lease:release{ wait = "1" } end,
         "wait must be a number")
    test("on_lost refuses nil", function() lease:on_lost() end, "must be a function, not nil")
    test("on_lost refuses a table", function() lease:on_lost{} end, "must be a function, not table")

    it("a refused release has released nothing", function()
        assert.equal("held", lease:state())
        assert.equal(1, #lock:queue())
    end)

    test("run refuses nothing", function() zklock.run() end, "run takes functions")
    test("run refuses a string", function() zklock.run("x") end, "run takes functions")
    test("sleep refuses nil", function() zklock.sleep() end, "sleep takes seconds")
    test("sleep refuses a string", function() zklock.sleep("1") end, "sleep takes seconds")
    for name, bad in pairs{ ["a number"] = 5, ["an unknown name"] = "epoll", ["a flag"] = true,
                            ["a function"] = print } do
        test("driver refuses " .. name, function() zklock.driver(bad) end,
             '"block", "ngx", "cqueues", "luv", "copas"', "wait")
    end
    test("driver refuses a table without wait", function() zklock.driver{} end,
         "function wait(session, request, deadline)")
    test("driver refuses a wait that is no function", function() zklock.driver{ wait = 1 } end,
         "function wait(session, request, deadline)")
    it("a refused driver changes nothing", function()
        assert.is_true(lease:check(5))
    end)
end)
