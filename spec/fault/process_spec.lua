-- The process that a session lives in: signals, forks, descriptors, output, and
-- every way to end. Seeds REQ-08, DEMO-15, BUG-06, PIT-13.

local core = require "zklock.core"
local pause = require "spec.fault.pause"
local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"


-- ThreadSanitizer sleeps before a process ends.
local AT_EXIT = program.sanitizer == "tsan" and 1 or 0 -- seconds


local function lines_of(command)
    local lines = {}
    for line in rig.shell("%s", command):gmatch("[^\n]+") do lines[#lines + 1] = line end
    return lines
end

local function read(path)
    local file = io.open(path)
    if not file then return "" end
    local text = file:read("*a") or ""
    file:close()
    return text
end

local function no_node(server, path, seconds)
    rig.wait_for("no node under " .. path, function() return #server:nodes(path) == 0 end, seconds)
end


describe("signals", function()
    local server
    before_each(function() server = rig.shared() end)
    after_each(rig.close_sessions)

    local function threads()
        local set = {}
        for _, id in ipairs(lines_of(("ls /proc/%d/task"):format(rig.pid))) do set[id] = true end
        return set
    end

    it("are blocked in every thread of the library", function()
        local before = threads()
        local session = rig.session(server.hosts)
        assert(session:mutex(rig.path()):acquire(20))
        local count = 0
        for id in pairs(threads()) do
            local status = read(("/proc/%d/task/%s/status"):format(rig.pid, id))
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
        ["a check against a server that does not answer"] =
            "local l = session:mutex(PATH .. '-own'):acquire() HANG() l:check(60)",
    }

    for name, wait in pairs(WAITS) do
        it(("interrupt %s at once, and no node is left (BUG-06) #server"):format(name), function()
            local proxy = rig.proxy(server.hosts)
            local holder, path = rig.session(server.hosts), rig.path()
            local lease = assert(holder:mutex(path):acquire(20))
            local child = program.start(proxy.hosts, ([[
                local PATH = %q
                local session = assert(zklock.connect(HOSTS, { timeout = 60 }))
                local lock = session:mutex(PATH)
                local function HANG() say("hang") io.read() end
                say("waits")
                %s
                say("came back")
            ]]):format(path, wait), { input = true })
            assert.equal("waits", child:line())
            if wait:find("HANG") then
                assert.equal("hang", child:line())
                proxy:command("blackhole")
                child:tell("go on")
            elseif wait:find("acquire") then
                rig.wait_for("its node", function() return #server:nodes(path) == 2 end)
            end
            zklock.sleep(0.15) -- let it go to sleep
            child:signal("INT")
            local seconds, rest, _, status = rig.timed(child.finish, child)
            assert.equal("", rest)
            assert.are_not.equal(0, status)
            -- Less than its wait, or its session, would last.
            assert.is_true(seconds < 30, ("%.2f s"):format(seconds))
            proxy:command("flow")
            if not wait:find("HANG") then
                rig.wait_for("its node gone", function() return #server:nodes(path) == 1 end)
            end
            assert.equal("held", lease:state())
            proxy:stop()
        end)
    end
end)


describe("in a forked child", function()
    local server, forker, library
    local TSAN = program.sanitizer == "tsan" -- allows no thread after a fork

    setup(function()
        server = rig.shared()
        library = program.library("forker")
        forker = assert(package.loadlib(library, "luaopen_forker"))()
    end)
    teardown(function() os.remove(library) end)
    after_each(rig.close_sessions)

    -- Runs fn in a forked child and gives what it writes with say().
    local function in_child(fn)
        local report = os.tmpname()
        io.stdout:flush()
        io.stderr:flush()
        local pid = forker.fork(60)
        if pid == 0 then
            local file = io.open(report, "w")
            local ok, problem = pcall(fn, function(...) file:write(table.concat{ ... }, "\n") end)
            if not ok then file:write("error: ", tostring(problem), "\n") end
            file:close()
            forker.exit(ok and 0 or 1)
        end
        local status = forker.wait(pid)
        local lines = {}
        for line in io.lines(report) do lines[#lines + 1] = line end
        os.remove(report)
        return lines, status
    end

    -- The code that came third, what came, or what was raised: of a fork, at this file's line.
    local function outcome(fn, ...)
        local function describe_it(ok, first, _, code)
            local blames_us = not ok and tostring(first):find("^[^:]*process_spec%.lua:%d+: forked")
            if blames_us then return "forked" end
            if not ok then return "raised: " .. tostring(first) end
            if first == nil and code then return code end
            return "gave " .. tostring(first)
        end
        return describe_it(pcall(fn, ...))
    end

    it("every call says forked, none hangs, and the parent goes on (kazoo-519)", function()
        local session = rig.session(server.hosts)
        local lock = session:mutex(rig.path())
        local lease = assert(lock:acquire(20))
        local changes, config = 0, rig.path()
        local stop = assert(session:watch(config, function() changes = changes + 1 end))
        lease:on_lost(function() end)
        session:fd()
        local calls = {
            { "state", session.state, session }, { "id", session.id, session },
            { "timeout", session.timeout, session }, { "stats", session.stats, session },
            { "fd", session.fd, session }, { "dispatch", session.dispatch, session },
            { "interrupt", session.interrupt, session },
            { "release_all", session.release_all, session },
            { "close", session.close, session },
            { "watch", function() return session:watch("/", print) end },
            { "try", lock.acquire, lock, 0 }, { "acquire", lock.acquire, lock, 5 },
            { "acquire for ever", lock.acquire, lock },
            { "acquire another", session:mutex(rig.path()).acquire, lock, 1 },
            { "with", lock.with, lock, function() end }, { "queue", lock.queue, lock, 1 },
            { "lease state", lease.state, lease }, { "held", lease.held, lease },
            { "remaining", lease.remaining, lease }, { "check", lease.check, lease, 1 },
            { "release", lease.release, lease },
            { "release and wait", lease.release, lease, { wait = 1 } },
            { "token", function() return lease.token end },
            { "token_string", lease.token_string, lease },
            { "on_lost", lease.on_lost, lease, function() end },
        }
        local lines, status = in_child(function(say)
            for _, call in ipairs(calls) do
                say(call[1], ": ", outcome(call[2], call[3], call[4]))
            end
            stop()
            say("run: ", outcome(zklock.run, function() return lock:acquire(1) end))
        end)
        assert.equal(0, status)
        assert.equal(#calls + 1, #lines)
        for _, line in ipairs(lines) do assert.matches(": forked$", line) end
        assert.equal("held", lease:state())
        assert.is_true(lease:check(20))
        assert.is_true(lease:release{ wait = 20 })
        assert.is_true(assert(lock:acquire(20)):release{ wait = 20 })
        rig.wait_for("the first look", function() return changes == 1 end)
        server:foreign("create %s ''", config)
        rig.wait_for("what the child stopped for itself alone", function() return changes == 2 end)
    end)

    it("making a lock, printing and collecting do no harm", function()
        local session = rig.session(server.hosts)
        local lock = session:mutex(rig.path())
        local lease = assert(lock:acquire(20))
        local lines, status = in_child(function(say)
            say(tostring(session):match("forked") or tostring(session))
            say(tostring(lease):match("forked") or tostring(lease))
            say(tostring(lock))
            session, lock, lease = nil, nil, nil -- luacheck: ignore 331
            rig.close_sessions = nil
            for _ = 1, 3 do collectgarbage() end
            say("collected")
        end)
        assert.equal(0, status)
        assert.equal("collected", lines[#lines])
        assert.equal("held", lease:state())
        assert.is_true(lease:check(20))
    end)

    it("a session of its own works beside the parent's #server", function()
        if TSAN then return end
        local session = rig.session(server.hosts)
        local lock = session:mutex(rig.path())
        local lease = assert(lock:acquire(20))
        local own_path = rig.path()
        local lines, status = in_child(function(say)
            local own = assert(zklock.connect(server.hosts, { timeout = 8 }))
            local mine = assert(own:mutex(own_path):acquire(20))
            say(mine:state())
            say((select(3, own:mutex(lock.path):acquire(0))))
            say(outcome(session.state, session))
            own:close()
        end)
        assert.same({ "held", "timeout", "forked" }, lines)
        assert.equal(0, status)
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

        it("is not there, and what is opened there is the child's own", function()
            if TSAN then return end
            local lines, status = in_child(function(say)
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
            assert.equal(0, status)
            assert.same({ "forked", "forked", "forked", "0", "held", "suspect", "true", "forked" },
                        lines)
            assert.is_true(lease:check(5))
            assert.equal("timeout", rig.code_of(rig.session(HOSTS):mutex("/sale"), 0))
        end)

        -- A sanitizer's allocator keeps the locks that another thread had at the fork.
        it("may be opened by each of many children while the parent's is at work", function()
            if program.sanitizer then return end
            for _ = 1, 20 do
                local leases = {}
                for n = 1, 100 do leases[n] = assert(session:mutex("/work/" .. n):acquire(5)) end
                for n = 1, 100 do leases[n]:release() end -- its thread has much to tell now
                local lines, status = in_child(function(say)
                    local own = assert(zklock.connect(HOSTS))
                    say(assert(own:mutex("/sale"):acquire(5)):state())
                    assert(own:close())
                end)
                assert.same({ "held" }, lines)
                assert.equal(0, status)
            end
            assert.is_true(lease:check(5))
        end)
    end)

    -- In a process that nothing else lives in: busted need not survive its own child's end.
    for name, ending in pairs{
        ["os.exit(0)"] = "os.exit(0)",
        ["os.exit(0, true), which closes the state"] = "os.exit(0, true)",
        ["falling off the end"] = "",
        ["an error"] = "error('an end', 0)",
    } do
        it(("ending by %s does no harm to the parent"):format(name), function()
            local path = rig.path()
            local parent = program.start(server.hosts, ([[
                local PATH, LIBRARY = %q, %q
                local forker = assert(package.loadlib(LIBRARY, "luaopen_forker"))()
                local session = assert(zklock.connect(HOSTS, { timeout = 8 }))
                local lease = assert(session:mutex(PATH):acquire(20))
                local pid = forker.fork(5)
                if pid == 0 then
                    io.stderr:close()
                    %s
                else
                    say(forker.wait(pid))
                    say(tostring(lease:check(20)))
                    say(lease:state())
                    say(tostring(lease:release{ wait = 20 }))
                    say(tostring(session:close()))
                    forker.exit(0)
                end
            ]]):format(path, library, ending))
            assert.equal(name == "an error" and "1" or "0", parent:line())
            assert.equal("true", parent:line())
            assert.equal("held", parent:line())
            assert.equal("true", parent:line())
            assert.equal("true", parent:line())
            local rest, _, status = parent:finish()
            assert.equal("", rest)
            assert.equal(0, status)
        end)
    end

    it("calls say forked while the parent's threads are busy, forked again and again", function()
        local session = rig.session(server.hosts)
        local lock = session:mutex(rig.path())
        zklock.run(function()
            for _ = 1, 200 do assert(lock:acquire(20)):release() end
        end, function()
            for _ = 1, 20 do
                local _, status = in_child(function()
                    assert(outcome(lock.acquire, lock, 1) == "forked")
                    assert(outcome(session.close, session) == "forked")
                    collectgarbage()
                end)
                assert.equal(0, status)
                zklock.sleep(0.002)
            end
        end)
        assert.equal("connected", session:state())
    end)
end)


describe("descriptors", function()
    after_each(rig.close_sessions)

    -- The sockets and pipes that a command started now inherits. Its own output is one.
    local function inherited()
        local pipe = io.popen("exec ls -l /proc/self/fd")
        local text, set, count = pipe:read("*a"), {}, 0
        pipe:close()
        for kind, number in text:gmatch("%-> (%a+):%[(%d+)%]") do
            set[kind .. " " .. number] = true
            count = count + 1
        end
        return set, count
    end

    local function assert_no_more_than(count)
        local _, now = inherited()
        assert.equal(count, now)
    end

    it("do not leak into programs that are started #server", function()
        local server = rig.shared()
        local proxy = rig.proxy(server.hosts)
        local _, before = inherited()
        local session = rig.session(proxy.hosts)
        assert_no_more_than(before)
        session:fd()
        assert(session:mutex(rig.path()):acquire(20))
        assert_no_more_than(before)
        proxy:command("cut")
        rig.wait_for("a reconnect", function() return session:stats().reconnects >= 1 end)
        assert_no_more_than(before)
        session:close()
        assert_no_more_than(before)
        proxy:stop()
    end)

    it("do not leak while a handle is being made by a slow thread", function()
        local server, library = rig.shared(), program.library("init")
        local child = program.start(server.hosts, [[
            local function inherited()
                local pipe = io.popen("exec ls -l /proc/self/fd")
                local _, count = pipe:read("*a"):gsub("pipe:%[", "")
                pipe:close()
                return count
            end
            local before = inherited()
            local session = assert(zklock.connect(HOSTS))
            say(inherited() - before)
            session:close()
        ]], { preload = library })
        assert.equal("0", child:line())
        local _, errors, status = child:finish()
        os.remove(library)
        assert.equal("", errors)
        assert.equal(0, status)
    end)

    -- libzookeeper connects without close-on-exec: the keeper looks for such sockets.
    it("do not leak while a connection is being made #server", function()
        local server = rig.shared()
        local proxy = rig.proxy(server.hosts)
        local session = rig.session(proxy.hosts, { timeout = 8 })
        local _, before = inherited()
        proxy:command("blackhole")
        proxy:command("cut")
        rig.wait_for("suspended", function() return session:state() == "suspended" end)
        zklock.sleep(0.2) -- libzookeeper connects again, and gets no answer
        rig.wait_for("no socket inherited", function()
            return select(2, inherited()) == before
        end)
        proxy:command("flow")
        proxy:stop()
    end)

    it("are all given back when sessions close", function()
        local server = rig.shared()
        local function open() return #lines_of(("ls /proc/%d/fd"):format(rig.pid)) end
        local before = open()
        for _ = 1, 20 do
            local session = assert(zklock.connect(server.hosts, { timeout = 2 }))
            session:fd()
            session:close()
            session = nil -- luacheck: ignore 311
        end
        collectgarbage()
        collectgarbage()
        rig.wait_for("descriptors closed", function() return open() <= before end)
    end)

    it("and threads are all given back when a session expires and reopens #server", function()
        local server = rig.shared()
        local proxy = rig.proxy(server.hosts)
        local session = rig.session(proxy.hosts, { timeout = 0.6 })
        local function count(what) return #lines_of(("ls /proc/%d/%s"):format(rig.pid, what)) end
        local lock = session:mutex(rig.path())
        session:fd() -- a sleep opens it, too
        local fds, tasks = count("fd"), count("task")
        for _ = 1, 3 do
            local lease = rig.wait_for("the lock", function() return lock:acquire(20) end)
            local expiries = session:stats().expiries
            proxy:command("blackhole")
            no_node(server, lock.path)
            assert.are_not.equal("held", lease:state())
            proxy:command("flow")
            rig.wait_for("a new session", function()
                return session:stats().expiries > expiries and session:state() == "connected"
            end)
        end
        rig.wait_for("as many descriptors", function() return count("fd") <= fds end)
        rig.wait_for("as many threads", function() return count("task") <= tasks end)
        proxy:stop()
    end)
end)


describe("output", function()
    it("is silent in use, outage, expiry, refusal and close #server", function()
        local server = rig.shared()
        local proxy, path = rig.proxy(server.hosts), rig.path()
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
        assert.equal("in use", child:line())
        proxy:command("refuse")
        proxy:command("cut")
        zklock.sleep(0.1)
        proxy:command("accept")
        assert.equal("outage over", child:line())
        proxy:command("blackhole")
        no_node(server, path)
        proxy:command("flow")
        assert.equal("expired", child:line())
        assert.equal("closed", child:line())
        local rest, errors, status = child:finish()
        assert.equal("", rest)
        assert.equal("", errors)
        assert.equal(0, status)
        proxy:stop()
    end)
end)


describe("a server that is stopped #server", function()
    local server

    setup(function() server = rig.server() end)
    teardown(function() server:stop() end)
    after_each(function()
        server:resume()
        rig.close_sessions()
    end)

    it("delays close by 5 s at most, and no wait beyond its deadline", function()
        local session = rig.session(server.hosts, { timeout = 20 })
        local held, other = session:mutex(rig.path()), session:mutex(rig.path())
        local lease = assert(held:acquire(20))
        pause(server)
        for name, call in pairs{
            acquire = function() return other:acquire(0.3) end,
            check = function() return lease:check(0.3) end,
            queue = function() return held:queue(0.3) end,
            release = function() return lease:release{ wait = 0.3 } end,
        } do
            local seconds, result, _, code = rig.timed(call)
            assert.is_nil(result)
            -- The release may have been called before the check.
            assert.is_true(code == "timeout" or code == "released", name .. ": " .. tostring(code))
            assert.is_true(seconds < 5, ("%s took %.2f s"):format(name, seconds))
        end
        local seconds, ok = rig.timed(session.close, session)
        assert.is_true(ok)
        assert.is_true(seconds < 10, ("close took %.2f s"):format(seconds))
        assert.equal("closed", session:state())
    end)

    it("does not keep waiters from being woken by close, at once", function()
        local session = rig.session(server.hosts, { timeout = 20 })
        local path = rig.path()
        local lease = assert(session:mutex(path):acquire(20))
        local woken, codes = {}, {}
        local tasks, begin = {}, nil
        for i = 1, 5 do
            tasks[i] = function()
                local _, _, code = session:mutex(path):acquire{ owner = i }
                codes[i], woken[i] = code, core.now() - begin
            end
        end
        tasks[6] = function()
            rig.wait_for("six in line", function() return #server:nodes(path) == 6 end)
            pause(server)
            begin = core.now()
            session:close()
        end
        zklock.run((table.unpack or unpack)(tasks)) -- luacheck: globals unpack
        assert.same({ "closed", "closed", "closed", "closed", "closed" }, codes)
        for i = 1, 5 do assert.is_true(woken[i] < 10, ("%.2f s"):format(woken[i])) end
        assert.are_not.equal("held", lease:state())
    end)

    for name, ending in pairs{
        ["os.exit(0)"] = "os.exit(0)",
        ["os.exit(0, true)"] = "os.exit(0, true)",
        ["falling off the end"] = "",
    } do
        it(("delays the end of a process by %s by about 1 s at most"):format(name), function()
            local child = program.start(server.hosts, ([[
                local session = assert(zklock.connect(HOSTS, { timeout = 20 }))
                local lease = assert(session:mutex(%q):acquire(20))
                say("holds")
                while lease:check(0.2) do end -- the server is stopped now
                say("ends")
                %s
            ]]):format(rig.path(), ending))
            assert.equal("holds", child:line())
            pause(server)
            assert.equal("ends", child:line())
            local seconds, rest, errors, status = rig.timed(child.finish, child)
            assert.equal("", rest .. errors)
            assert.equal(0, status)
            -- Less than the 5 s of a close.
            assert.is_true(seconds < 4 + AT_EXIT, ("took %.2f s"):format(seconds))
        end)
    end
end)


describe("the end of a process", function()
    local server
    local LONG = 60 -- seconds, of a session that does not end by itself
    local TIMEOUT, TICK, SLACK = 3, 0.2, 10 -- a busy server looks for dead sessions late

    before_each(function() server = rig.shared() end)

    -- A program that holds two locks and waits for a third, in two sessions.
    local HOLDS = [[
        local PATH = %q
        local session = assert(zklock.connect(HOSTS, { timeout = %g }))
        local other = assert(zklock.connect(HOSTS, { timeout = %g }))
        local lease = assert(session:mutex(PATH .. "/a"):acquire(20))
        local second = assert(other:mutex(PATH .. "/b"):acquire(20))
        local waiting = coroutine.create(function() session:mutex(PATH .. "/b"):acquire() end)
        zklock.driver{ wait = function() coroutine.yield() end }
        coroutine.resume(waiting)
        zklock.driver(nil)
        say("holds")
    ]]

    local function start(path, timeout, ending)
        local source = HOLDS:format(path, timeout, timeout) .. ending
        local child = program.start(server.hosts, source)
        assert.equal("holds", child:line())
        return child
    end

    for name, ending in pairs{
        ["os.exit(0)"] = "os.exit(0)",
        ["os.exit(0, true)"] = "os.exit(0, true)",
        ["error()"] = "error('an end')",
        ["falling off the end"] = "",
        ["session:close()"] = "session:close() other:close()",
        ["forgetting everything"] = [[
            session, other, lease, second, waiting = nil, nil, nil, nil, nil
            collectgarbage() collectgarbage() zklock.sleep(0.8) require("os").exit(0)]],
    } do
        it(("by %s releases all locks at once #server"):format(name), function()
            local path = rig.path()
            local child = start(path, LONG, "io.read()\n" .. ending) -- at the end of its input: now
            no_node(server, path)
            local _, _, status = child:finish()
            assert.equal(name == "error()" and 1 or 0, status)
        end)
    end

    for _, signal in ipairs{ "TERM", "KILL" } do
        local name = "by SIG%s releases all locks within the session timeout and a tick #server"
        it(name:format(signal), function()
            local path = rig.path()
            local child = start(path, TIMEOUT, "zklock.sleep(60)")
            server:wait_for_nodes(path, 3)
            child:signal(signal)
            local begin = core.now()
            no_node(server, path)
            local seconds = core.now() - begin
            assert.is_true(seconds < TIMEOUT + TICK + SLACK, ("took %.2f s"):format(seconds))
            assert.equal(128 + (signal == "KILL" and 9 or 15), (select(3, child:finish())))
        end)
    end

    -- While threads run and requests are out; the library must outlive its Lua state.
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

    it("is survived with everything under way, thirty times over", function()
        for i = 1, 30 do
            local mode = ({ "exit", "collect", "end" })[i % 3 + 1]
            local head = ("local KEY, MODE = '%d-%d', %q\n"):format(rig.pid, i, mode)
            local child = program.start(server.hosts, head .. MAYHEM)
            local rest, errors, status = child:finish()
            assert.equal("", rest .. errors)
            assert.equal(0, status)
        end
        rig.wait_for("no node", function() return #server:nodes("/spec/mayhem") == 0 end)
    end)

    it("is clean in valgrind's eyes", function()
        if program.sanitizer or jit then return end -- luacheck: globals jit
        for i = 1, 2 do
            local child = program.start(server.hosts,
                ("local KEY, MODE = '%d-v%d', %q\n"):format(rig.pid, i, ({ "exit", "end" })[i])
                .. MAYHEM,
                { prefix = "valgrind -q --error-exitcode=99 --suppressions=spec/valgrind.supp" })
            local rest, errors, status = child:finish()
            assert.equal("", rest .. errors)
            assert.equal(0, status)
        end
    end)
end)
