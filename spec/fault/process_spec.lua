--- [lua asan tsan memory] The process of a session, with its signals, forks, descriptors, output,
-- and every way to end. The seed article's REQ-08, DEMO-15, BUG-06, PIT-13.

local fault = require "spec.fault.fault"
local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: globals unpack

-- ThreadSanitizer sleeps before a process ends.
local AT_EXIT = program.sanitizer == "tsan" and 1 or 0


local server = rig.shared()

local ENDINGS = {
    ["os.exit(0)"] = "os.exit(0)",
    ["os.exit(0, true), which closes the state"] = "os.exit(0, true)",
    ["falling off the end"] = "",
}

after_each(rig.close_sessions)

local function proc_entries(what)
    local set, count = {}, 0
    for id in rig.shell("ls /proc/%d/%s", rig.pid, what):gmatch("%d+") do
        set[id], count = true, count + 1
    end
    return set, count
end


describe("signals #times", function()
    it("signals are blocked in every thread of the library", function()
        local before = proc_entries("task")
        local session = rig.session(server.hosts)
        assert(session:mutex(rig.path()):acquire(20))
        local count = 0
        for id in pairs((proc_entries("task"))) do
            local status = rig.shell("cat /proc/%d/task/%s/status 2>&1", rig.pid, id)
            local blocked = status:match("SigBlk:%s*(%x+)")
            if not before[id] and blocked then
                count = count + 1
                -- All of 1 to 31 but KILL (9) and STOP (19).
                assert.equal("7ffbfeff", blocked:sub(-8), "thread " .. id)
            end
        end
        local least = rig.in_memory and 2 or 3
        assert.is_true(count >= least, count .. " threads")
    end)

    local WAITS = {
        ["an acquire"] = "lock:acquire()",
        ["an acquire in zklock.run"] =
            "zklock.run(function() lock:acquire() end, function() zklock.sleep(60) end)",
        ["a sleep"] = "zklock.sleep(60)",
        ["a check against a server that does not answer"] = "lease:check(60)",
    }

    for name, wait in pairs(WAITS) do
        it(("a signal interrupts %s at once, leaving no node (BUG-06) #server #slow"):format(name),
           function()
            local proxy = rig.proxy_for_test(server.hosts)
            local holder, path = rig.session(server.hosts), rig.path()
            local lease = assert(holder:mutex(path):acquire(20))
            local child = program.start(proxy.hosts, ([[
                local PATH = %q
                local session = assert(zklock.connect(HOSTS, { timeout = 60 }))
                local lock = session:mutex(PATH)
                local lease = assert(session:mutex(PATH .. "-own"):acquire(20))
                say("ready")
                io.read()
                %s
                say("came back")
            ]]):format(path, wait), { input = true })
            child:says("ready")
            if wait:find("check") then proxy:command("blackhole") end
            child:tell("go on")
            if wait:find("acquire") then server:wait_for_nodes(path, 2) end
            zklock.sleep(0.15)
            child:signal("INT")
            -- Less than the wait, or the session, would last.
            local rest, _, status = rig.takes(0, 30, child.finish, child)
            assert.equal("", rest)
            assert.are_not.equal(0, status)
            proxy:command("flow")
            server:wait_for_nodes(path, 1)
            assert.equal("held", lease:state())
        end)
    end
end)


describe("a forked child #failures", function()
    local system = program.system()
    local TSAN = program.sanitizer == "tsan" -- forbids threads after a fork

    local function in_child(fn)
        local report = os.tmpname()
        io.stdout:flush()
        io.stderr:flush()
        local pid = system.fork(60)
        if pid == 0 then
            local file = io.open(report, "w")
            local ok, problem = pcall(fn, function(...) file:write(table.concat{ ... }, "\n") end)
            if not ok then file:write("error: ", tostring(problem), "\n") end
            file:close()
            system.exit(ok and 0 or 1)
        end
        local status, lines = system.wait(pid), {}
        for line in io.lines(report) do lines[#lines + 1] = line end
        os.remove(report)
        assert.equal(0, status, lines[#lines])
        return lines
    end

    -- Returns a call's code, first result or error. An error by a fork must name a line of this
    -- file.
    local function outcome(fn, ...)
        local ok, first, _, code = pcall(fn, ...)
        local text = tostring(first)
        if ok then return first == nil and code or "gave " .. text end
        return "raised: " .. text:gsub("^[^:]*process_spec%.lua:%d+: forked.*", "forked")
    end

    it("every call returns forked, or raises it if it has no code, and none hangs (kazoo-519)",
       function()
        local lock, session = rig.mutex()
        local lease = assert(lock:acquire(20))
        local changes, config = 0, rig.path()
        local stop = assert(session:watch(config, function() changes = changes + 1 end))
        lease:on_lost(function() end)
        session:fd()
        local calls = {
            { session, "close" }, { session, "interrupt" }, { session, "release_all" },
            { session, "watch", "/", print }, { session, "get", "/" },
            { session, "join", "/a", { name = "a" } },
            { lock, "acquire", 0 }, { lock, "acquire", 5 }, { lock, "acquire" },
            { lock, "with", function() end }, { lock, "queue" }, { lock, "revoke" },
            { lease, "expire", 1 }, { lease, "check" }, { lease, "release" },
            { lease, "release", { wait = 1 } },
        }
        local raising = {
            { session, "state" }, { session, "id" }, { session, "timeout" }, { session, "stats" },
            { session, "fd" }, { session, "dispatch" },
            { lease, "state" }, { lease, "held" }, { lease, "remaining" },
            { lease, "token_string" }, { lease, "on_lost", print },
        }
        local lines = in_child(function(say)
            for _, list in ipairs{ calls, raising } do
                for _, call in ipairs(list) do
                    local object, method = call[1], call[2]
                    say(method, ": ", outcome(object[method], object, unpack(call, 3)))
                end
            end
            say("token: ", outcome(function() return lease.token end))
            stop()
            say("run: ", outcome(zklock.run, function() return lock:acquire(1) end))
        end)
        local expected = {}
        for i, call in ipairs(calls) do expected[i] = call[2] .. ": forked" end
        for i, call in ipairs(raising) do expected[#calls + i] = call[2] .. ": raised: forked" end
        expected[#expected + 1] = "token: raised: forked"
        expected[#expected + 1] = "run: forked"
        assert.same(expected, lines)
        assert.equal("held", lease:state())
        assert.is_true(lease:check(20))
        assert.is_true(lease:release{ wait = 20 })
        assert.is_true(assert(lock:acquire(20)):release{ wait = 20 })
        rig.wait_for("the first look", function() return changes == 1 end)
        server:foreign("create %s ''", config)
        rig.wait_for("the watch, which the child stopped only for itself", function()
            return changes == 2
        end)
    end)

    it("waits of a run that began before the fork end with forked", function()
        local session, path = rig.session(server.hosts), rig.path()
        local holder = rig.hold_elsewhere(server, path)
        local lines, code
        zklock.run(function()
            rig.wait_for("the wait", function() return #server:nodes(path) == 2 end)
            lines = in_child(function(say)
                rig.wait_for("the end of the wait", function() return code end)
                say(code)
            end)
            holder:release()
        end, function() code = select(3, session:mutex(path):acquire(60)) end)
        assert.same({ "forked" }, lines)
    end)

    it("a fork in a run ends no wait for a session of the child", function()
        if TSAN then return end
        local session, path = rig.session(server.hosts), rig.path()
        local lines
        zklock.run(function()
            lines = in_child(function(say)
                local own = assert(zklock.connect(server.hosts, { timeout = 8 }))
                say(assert(own:mutex(path):acquire(20)):state())
                own:close()
            end)
            assert.is_true(assert(session:mutex(path):acquire(20)):release())
        end)
        assert.same({ "held" }, lines)
    end)

    it("calls return forked, and the end harms nobody, if the child's id is its parent's",
       function()
        local library, module = program.library("without"), program.library("system")
        local parent = program.start(server.hosts, ([[
            local system = assert(package.loadlib(%q, "luaopen_system"))()
            local session = assert(zklock.connect(HOSTS, { timeout = 60 }))
            local lock = session:mutex(%q)
            local lease, pid = assert(lock:acquire(20)), system.fork(20)
            if pid == 0 then
                say(select(3, lock:acquire(0.1)), select(3, lease:check(0.1)))
                os.exit(0)
            end
            say(system.wait(pid), tostring(lease:check(20)))
            session:close()
        ]]):format(module, rig.path()), { preload = library, environment = "WITHOUT=ids" })
        parent:says("forked\tforked", "0\ttrue")
        parent:ends()
    end)

    it("connect returns at its deadline if another thread resolved at the fork #server", function()
        if TSAN then return end
        local library, module = program.library("without"), program.library("system")
        local parent = program.start(server.hosts, ([[
            local system = assert(package.loadlib(%q, "luaopen_system"))()
            local pid = system.fork(20)
            if pid == 0 then
                say(select(3, zklock.connect(HOSTS, { connect_timeout = 0.3 })))
                os.exit(0)
            end
            say(system.wait(pid))
        ]]):format(module), { preload = library, environment = "WITHOUT=resolver" })
        parent:says("connection", "0")
        parent:ends()
    end)

    it("making a lock, printing and collecting do no harm", function()
        local lock, session = rig.mutex()
        local lease = assert(lock:acquire(20))
        local lines = in_child(function(say)
            say(tostring(session):match("forked") or tostring(session))
            say(tostring(lease):match("forked") or tostring(lease))
            say(tostring(lock))
            session, lock, lease = nil, nil, nil -- luacheck: ignore 331
            rig.close_sessions = nil
            for _ = 1, 3 do collectgarbage() end
            say("collected")
        end)
        assert.equal("collected", lines[#lines])
        assert.equal("held", lease:state())
        assert.is_true(lease:check(20))
    end)

    -- A thread of the parent may hold the mutex at the fork, and the child lacks the thread.
    it("each source with a static mutex handles a fork", function()
        local files = rig.shell("grep -rl '^static pthread_mutex_t' src")
        assert.matches("src/shell/process%.c", files)
        for file in files:gmatch("[^\n]+") do
            assert.equal("", rig.shell("grep -L pthread_atfork %s", file))
        end
    end)

    it("a session of the child works beside the parent's #server", function()
        if TSAN then return end
        local lock, session = rig.mutex()
        local lease = assert(lock:acquire(20))
        local own_path = rig.path()
        local lines = in_child(function(say)
            local own = assert(zklock.connect(server.hosts, { timeout = 8 }))
            local mine = assert(own:mutex(own_path):acquire(20))
            say(mine:state())
            say((select(3, own:mutex(lock.path):acquire(0))))
            say(outcome(session.state, session))
            own:close()
        end)
        assert.same({ "held", "busy", "raised: forked" }, lines)
        assert.equal("held", lease:state())
        assert.equal(0, #server:nodes(own_path))
    end)

    describe("a server in memory", function()
        local HOSTS = "memory:forked"
        local memory = zklock.memory "forked"
        local session, lease
        before_each(function()
            session = rig.session(HOSTS)
            lease = rig.hold(session:mutex("/sale"))
        end)

        it("a server in memory is not there in the child, which may open its own", function()
            if TSAN then return end
            local lines = in_child(function(say)
                for _, verb in ipairs{ "expire", "cut", "heal" } do
                    say(outcome(memory[verb], memory, session))
                end
                say(#memory:children("/"))
                memory:reset()
                local own = assert(zklock.connect(HOSTS))
                local mine = assert(own:mutex("/sale"):acquire(0))
                say(mine:state())
                memory:cut(own)
                say(mine:state())
                memory:heal(own)
                say(tostring(mine:check(5)))
                say(outcome(session.state, session))
                assert(own:close())
            end)
            local forked = "raised: forked"
            assert.same({ forked, forked, forked, "0", "held", "suspect", "true", forked }, lines)
            assert.is_true(lease:check(5))
            assert.equal("busy", rig.code_of(rig.session(HOSTS):mutex("/sale"), 0))
        end)

        -- A sanitizer's allocator keeps locks that another thread held at the fork.
        it("a server in memory may be opened by each of many children while the parent's is at " ..
           "work", function()
            if program.sanitizer then return end
            for _ = 1, 20 do
                local leases = {}
                for n = 1, 100 do leases[n] = assert(session:mutex("/job/" .. n):acquire(5)) end
                for n = 1, 100 do leases[n]:release() end
                local lines = in_child(function(say)
                    local own = assert(zklock.connect(HOSTS))
                    say(assert(own:mutex("/sale"):acquire(5)):state())
                    assert(own:close())
                end)
                assert.same({ "held" }, lines)
            end
            assert.is_true(lease:check(5))
        end)
    end)

    -- The parent is a program, because busted may not survive its child's end. The parent holds a
    -- lock and keeps another, which it acquires again without a request.
    local function test_child_end(name, ending, status)
        it(("a child that ends by %s harms neither the parent nor its kept lock"):format(name),
           function()
            local parent = program.start(server.hosts, ([[
                local PATH = %q
                local system = require "spec.fault.program".system()
                local session = assert(zklock.connect(HOSTS, { timeout = 60 }))
                local lease = assert(session:mutex(PATH):acquire(20))
                local lock = session:mutex(PATH .. "-kept", { keep = 60 })
                local kept = assert(lock:acquire(20))
                assert(kept:release())
                while session:stats().in_flight > 0 do zklock.sleep(0.01) end
                local function asked()
                    local stats, sum = session:stats(), 0
                    for _, name in ipairs{ "creates", "sets", "deletes", "lists", "gets", "exists",
                                           "syncs" } do
                        sum = sum + stats[name]
                    end
                    return sum
                end
                local before = asked()
                local pid = system.fork(20)
                if pid == 0 then
                    io.stderr:close()
                    for _, timeout in ipairs{ 0, 5 } do
                        local ok, first, _, code = pcall(lock.acquire, lock, timeout)
                        if not (ok and code or first):find("forked") then system.exit(9) end
                    end
                    %s
                else
                    say(system.wait(pid))
                    local again = assert(lock:acquire(0))
                    say(again.token - kept.token, asked() - before)
                    assert(again:release())
                    say(tostring(lock:queue()[1].kept))
                    local other = assert(zklock.connect(HOSTS)):mutex(lock.path)
                    assert(assert(other:acquire(0)):release{ wait = 20 })
                    say(#lock:queue(), session:stats().claims)
                    say(tostring(lease:check(20)), lease:state())
                    say(tostring(lease:release{ wait = 20 }), tostring(session:close()))
                    system.exit(0)
                end
            ]]):format(rig.path(), ending))
            parent:says(status, "1\t0", "true", "0\t1", "true\theld", "true\ttrue")
            local rest, _, ended = parent:finish()
            assert.same({ "", 0 }, { rest, ended })
        end)
    end

    for name, ending in pairs(ENDINGS) do test_child_end(name, ending, "0") end
    test_child_end("_exit", "system.exit(0)", "0")
    test_child_end("an error", "error('an end', 0)", "1")

    it("calls in a child return forked also if the parent's threads were busy at the fork",
    function()
        if program.sanitizer then return end
        local lock, session = rig.mutex()
        zklock.run(function()
            for _ = 1, 200 do assert(lock:acquire(20)):release() end
        end, function()
            for _ = 1, 20 do
                in_child(function()
                    assert(outcome(lock.acquire, lock, 1) == "forked")
                    assert(outcome(session.close, session) == "forked")
                    collectgarbage()
                end)
                zklock.sleep(0.002)
            end
        end)
        assert.equal("connected", session:state())
    end)
end)


-- `zklock run` limits its command like this while a lease is suspect, because `zklock run` may be
-- killed before its next look at the lease.
describe("a command whose lock is suspect", function()
    it("the command ends after its process was killed, though it ignores SIGTERM", function()
        local owner = program.start(server.hosts, [[
            local words = { "sh", "-c", "trap '' TERM; echo $$; exec sleep 600" }
            local child = require("zklock.child").start(words, "/")
            child:limit(600, 600, 0)
            child:launch("1", "1", 600)
            child:wait(nil, 600)
            zklock.sleep(600)]])
        local command = tonumber(owner:line())
        finally(function() rig.signal("KILL", command) end)
        owner:signal("KILL")
        rig.wait_for("the end of the command", function()
            return rig.shell("kill -0 %d 2>&1", command) ~= ""
        end)
        owner:finish()
    end)
end)


describe("a command at a terminal", function()
    -- As after a second Ctrl-Z that came before zklock was stopped by the first.
    it("TSTP stops no other process of its owner's group if the command is stopped", function()
        local owner = program.start(server.hosts, [[
            local child = require("zklock.child").start({ "sleep", "600" }, "/")
            local function await(expected)
                while true do
                    child:wait(nil, 600)
                    for kind, number in child.next, child do
                        if kind == expected then return number end
                    end
                end
            end
            child:launch("1", "1", 600, 5)
            os.execute("kill -s TSTP -- -" .. await("started"))
            say("the command stopped", await("stopped"))
            child:signal(20)
            say("it was stopped", await("stopped"))
            child:kill()
        ]], { prefix = "sh -c 'exec script -qec \"$*\" /dev/null </dev/null' sh" })
        assert.matches("^the command stopped\t20\r?$", owner:line())
        assert.matches("^it was stopped\t0\r?$", owner:line())
        owner:finish()
    end)
end)


describe("descriptors #session:close", function()
    local count_inherited = fault.count_inherited

    it("descriptors do not leak into programs that are started #server", function()
        local proxy = rig.proxy_for_test(server.hosts)
        local before = count_inherited()
        local session = rig.session(proxy.hosts)
        assert.equal(before, count_inherited())
        session:fd()
        assert(session:mutex(rig.path()):acquire(20))
        assert.equal(before, count_inherited())
        proxy:command("cut")
        fault.wait_for_reconnects(session, 1)
        assert.equal(before, count_inherited())
        session:close()
        assert.equal(before, count_inherited())
    end)

    for name, opening in pairs{ connect = "assert(zklock.connect(HOSTS))",
                                close_on_signal = 'assert(zklock.close_on_signal("TERM"))' } do
        it(("%s takes no number of a closed standard descriptor"):format(name), function()
            local child = program.start(server.hosts, ([[
                opened = %s
                for fd = 0, 2 do
                    local pipe = io.popen("readlink /proc/$PPID/fd/" .. fd)
                    assert(pipe:read("*a") == "/dev/null\n")
                end
            ]]):format(opening), { prefix = [[sh -c 'exec "$@" <&- >&- 2>&-' sh]] })
            child:ends()
        end)
    end

    -- inherited(kind) counts the descriptors of that kind, a pattern, that a child process gets.
    local INHERITED = [[
        local function inherited(kind)
            local pipe = io.popen("exec ls -l /proc/self/fd")
            local _, count = pipe:read("*a"):gsub(kind .. ":%[", "")
            pipe:close()
            return count
        end
    ]]

    it("descriptors do not leak while a handle is being made by a slow thread", function()
        local child = program.start(server.hosts, INHERITED .. [[
            local before = inherited "pipe"
            local session = assert(zklock.connect(HOSTS))
            say(inherited "pipe" - before)
            session:close()
        ]], { preload = program.library("init") })
        child:says("0")
        child:ends()
    end)

    local function prepare_failover()
        local first, second = rig.proxy(server.hosts), rig.proxy(server.hosts)
        finally(function()
            first:stop()
            second:stop()
        end)
        second:shut()
        return first.hosts .. "," .. second.hosts, function()
            second:pass()
            first:shut()
        end
    end

    for _, free in ipairs{ 0, 1 } do
        it(("a session goes to another server while %d descriptors are free #server"):format(free),
           function()
            local hosts, fail_over = prepare_failover()
            local child = program.start(hosts, ([[
                local session = assert(zklock.connect(HOSTS, { timeout = 8 }))
                local lease, files = assert(session:mutex(%q):acquire(20)), {}
                repeat
                    local file = io.open("/dev/null")
                    files[#files + 1] = file
                until not file
                for _ = 1, %d do table.remove(files):close() end
                say("full")
                io.read()
                say(tostring(lease:check(20)), session:stats().reconnects)
                os.exit(0, true)
            ]]):format(rig.path(), free), { prefix = "prlimit --nofile=64", input = true })
            child:says("full")
            fail_over()
            child:tell("go on")
            child:says("true\t1")
            child:ends()
        end)
    end

    it("descriptors do not leak, and a session goes to another server, without /dev/fd #server",
       function()
        local library = program.library("without")
        local hosts, fail_over = prepare_failover()
        local child = program.start(hosts, INHERITED .. ([[
            local any = "%%-> %%a+"
            local before = inherited(any)
            local session = assert(zklock.connect(HOSTS, { timeout = 8 }))
            local lease = assert(session:mutex(%q):acquire(20))
            say(inherited(any) - before)
            io.read()
            say(tostring(lease:check(20)), session:stats().reconnects, inherited(any) - before)
            session:close()
        ]]):format(rig.path()), { preload = library, environment = "WITHOUT=descriptors",
                                  input = true })
        child:says("0")
        fail_over()
        child:tell("go on")
        child:says("true\t1\t0")
        child:ends()
    end)

    -- libzookeeper connects without close-on-exec, and the keeper looks for such sockets.
    it("descriptors do not leak while a connection is being made #server", function()
        local session, proxy = rig.behind_proxy(server.hosts, { timeout = 8 })
        local before = count_inherited()
        proxy:command("blackhole")
        proxy:command("cut")
        rig.becomes(session, "suspended")
        zklock.sleep(0.2)
        rig.wait_for("no socket inherited", function() return count_inherited() == before end)
    end)

    it("descriptors and threads are all given back when a session expires and reopens #server " ..
       "#slow", function()
        local session, proxy = rig.behind_proxy(server.hosts, { timeout = 0.6 })
        local function count(what) return (select(2, proc_entries(what))) end
        local lock = session:mutex(rig.path())
        session:fd()
        local fds, tasks = count("fd"), count("task")
        for _ = 1, 3 do
            local lease = rig.wait_for("the lock", function() return lock:acquire(20) end)
            fault.expire(proxy, session, function()
                assert.are_not.equal("held", lease:state())
            end)
            rig.becomes(session, "connected")
        end
        rig.wait_for("as many descriptors", function() return count("fd") <= fds end)
        rig.wait_for("as many threads", function() return count("task") <= tasks end)
    end)
end)


describe("the library's output", function()
    it("the library is silent in use, outage, expiry, refusal and close #server #slow", function()
        local proxy, path = rig.proxy_for_test(server.hosts), rig.path()
        local child = program.start(proxy.hosts, ([[
            local PATH = %q
            local session = assert(zklock.connect(HOSTS, { timeout = 4 }))
            local lock = session:mutex(PATH)
            assert(lock:acquire(20)):release()
            local lease = assert(lock:acquire(20))
            say("in use")
            while lease:state() ~= "suspect" do zklock.sleep(0.01) end
            while lease:state() ~= "held" do zklock.sleep(0.01) end
            say("outage over")
            while session:stats().expiries == 0 do zklock.sleep(0.01) end
            while session:state() ~= "connected" do zklock.sleep(0.01) end
            say("expired")
            zklock.connect("127.0.0.1:1", { connect_timeout = 0.3 })
            zklock.connect("no.such.host.invalid:1", { connect_timeout = 0.3 })
            zklock.connect(HOSTS .. "/no/such/chroot", { connect_timeout = 1 })
            zklock.connect(HOSTS, { auth = "nonsense:x", connect_timeout = 1 })
            session:mutex(PATH):acquire(0.1)
            session:close()
            say("closed")
        ]]):format(path))
        child:says("in use")
        proxy:shut()
        zklock.sleep(0.1)
        proxy:command("accept")
        child:says("outage over")
        proxy:command("blackhole")
        server:wait_for_nodes(path, 0)
        proxy:command("flow")
        child:says("expired", "closed")
        child:ends()
    end)
end)


describe("a stopped server #server #times", function()
    local own

    setup(function() own = rig.server() end)
    teardown(function() own:stop() end)
    after_each(function() own:resume() end)

    it("a stopped server delays close by 5 s at most, and no wait beyond its deadline (kazoo) " ..
       "#slow", function()
        local session = rig.session(own.hosts, { timeout = 20 })
        local held, other = session:mutex(rig.path()), session:mutex(rig.path())
        local lease = assert(held:acquire(20))
        own:pause()
        fault.times_out(0.3, other.acquire, other, 0.3)
        fault.times_out(0.3, lease.check, lease, 0.3)
        fault.times_out(0.3, held.queue, held, 0.3)
        fault.times_out(0.3, lease.release, lease, { wait = 0.3 })
        assert.is_true(rig.takes(0, 10, session.close, session))
        assert.equal("closed", session:state())
    end)

    for name, ending in pairs(ENDINGS) do
        it(("a process that ends by %s is delayed by 1 s at most #clock"):format(name), function()
            local child = program.start(own.hosts, ([[
                local session = assert(zklock.connect(HOSTS, { timeout = 20 }))
                local lease = assert(session:mutex(%q):acquire(20))
                say("holds")
                while lease:check(0.2) do end
                say("ends")
                %s
            ]]):format(rig.path(), ending))
            child:says("holds")
            own:pause()
            child:says("ends")
            rig.takes(0, 4 + AT_EXIT, child.ends, child) -- less than the 5 s of a close
        end)
    end
end)


describe("the end of a process #session:close", function()
    local LONG = 60 -- seconds, so that the session does not expire
    local TIMEOUT, TICK, SLACK = 3, 0.2, 10 -- because a busy server looks for dead sessions late

    -- Holds two locks, keeps one and waits for another, in two sessions.
    local HOLDS = [[
        local PATH = %q
        local session = assert(zklock.connect(HOSTS, { timeout = %g }))
        local other = assert(zklock.connect(HOSTS, { timeout = %g }))
        local lease = assert(session:mutex(PATH .. "/a"):acquire(20))
        local second = assert(other:mutex(PATH .. "/b"):acquire(20))
        assert(session:mutex(PATH .. "/c", { keep = 60 }):acquire(20)):release()
        local waiting = coroutine.create(function() session:mutex(PATH .. "/b"):acquire() end)
        zklock.driver{ wait = function() coroutine.yield() end }
        coroutine.resume(waiting)
        zklock.driver(nil)
        say("holds")
    ]]

    local function start(path, timeout, ending)
        local source = HOLDS:format(path, timeout, timeout) .. ending
        local child = program.start(server.hosts, source)
        child:says("holds")
        return child
    end

    local function test_release(name, ending, status)
        it(("a process that ends by %s releases all locks at once #server"):format(name), function()
            local path = rig.path()
            local child = start(path, LONG, "io.read()\n" .. ending)
            server:wait_for_nodes(path, 0)
            assert.equal(status, (select(3, child:finish())))
        end)
    end

    for name, ending in pairs(ENDINGS) do test_release(name, ending, 0) end
    test_release("error()", "error('an end')", 1)
    test_release("session:close()", "session:close() other:close()", 0)
    test_release("forgetting everything", [[
        session, other, lease, second, waiting = nil, nil, nil, nil, nil
        collectgarbage() collectgarbage() zklock.sleep(0.8) require("os").exit(0)]], 0)

    for _, signal in ipairs{ "TERM", "KILL" } do
        it(("SIG%s releases all locks within timeout and tick #clock (DEMO-15, Q-04) #server")
            :format(signal), function()
            local path = rig.path()
            local child = start(path, TIMEOUT, "zklock.sleep(60)")
            server:wait_for_nodes(path, 4)
            child:signal(signal)
            rig.takes(0, TIMEOUT + TICK + SLACK, server.wait_for_nodes, server, path, 0)
            assert.equal(128 + (signal == "KILL" and 9 or 15), (select(3, child:finish())))
        end)
    end

    it("a finalizer that runs after those of zklock may sleep, and open a session", function()
        local path = rig.path()
        local child = program.start(server.hosts, ([[
            local PATH = %q
            local function finalize()
                say(zklock.sleep(0.01))
                local own = assert(zklock.connect(HOSTS))
                say(assert(own:mutex(PATH):acquire(20)):state())
                say(own:close())
            end
            if newproxy then
                last = newproxy(true)
                getmetatable(last).__gc = finalize
            else
                last = setmetatable({}, { __gc = finalize })
            end
            session = assert(zklock.connect(HOSTS))
            lease = assert(session:mutex(PATH):acquire(20))
            os.exit(0, true)]]):format(path))
        child:says("true", "held", "true")
        child:ends()
        server:wait_for_nodes(path, 0)
    end)

    -- Threads run and requests are out, and the library must outlive its Lua state.
    local MAYHEM = [[
        local session = assert(zklock.connect(HOSTS, { timeout = 10 }))
        local lease = assert(session:mutex("/spec/mayhem/" .. KEY):acquire(20))
        zklock.driver{ wait = function() coroutine.yield() end }
        for i = 1, 20 do
            local lock = session:mutex("/spec/mayhem/" .. KEY .. i % 5)
            coroutine.wrap(function() lock:acquire() end)()
        end
        for _ = 1, 20 do coroutine.wrap(function() lease:check(1) end)() end
        session, lease = nil, nil
        if MODE == "exit" then os.exit(0, true) elseif MODE == "collect" then collectgarbage() end
    ]]

    local function survives(count, modes, options)
        for i = 1, count do
            local mode = modes[i % #modes + 1]
            local head = ("local KEY, MODE = '%d-%d', %q\n"):format(rig.pid, i, mode)
            program.start(server.hosts, head .. MAYHEM, options):ends()
        end
        server:wait_for_nodes("/spec/mayhem", 0)
    end

    it("thirty programs survive their end with everything under way #slow", function()
        survives(30, { "exit", "collect", "end" })
    end)

    it("valgrind finds nothing wrong at the end #slow", function()
        if program.sanitizer or jit then return end -- luacheck: globals jit
        survives(2, { "exit", "end" }, {
            prefix = "valgrind -q --error-exitcode=99 --suppressions=spec/valgrind.supp" })
    end)
end)
