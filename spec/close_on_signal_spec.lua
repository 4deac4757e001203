--- [lua luajit asan tsan] zklock.close_on_signal() closes sessions, and then the signal has its
-- usual effect. No session here expires in less than forty seconds, and no test waits so long.

local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"

local TERM, INT = 15, 2

local HOLDER = [[
    local session = assert(zklock.connect(HOSTS, { timeout = 40 }))
    local lease = assert(session:mutex(%q):acquire(20))
    %s
    say("holds")
    zklock.sleep(60)
]]


describe("a signal that closes sessions #server #zklock.close_on_signal", function()
    local server, path

    setup(function() server = rig.server{ tick = 2000 } end)
    teardown(function() server:stop() end)
    before_each(function() path = rig.path() end)
    after_each(rig.close_sessions)

    local function start(more, options, hosts)
        local holder = program.start(hosts or server.hosts, HOLDER:format(path, more), options)
        holder:says("holds")
        return holder
    end

    -- Without the close the lock would be free after forty seconds.
    local function check_free()
        rig.hold(rig.session(server.hosts):mutex(path))
    end

    local function end_by(holder, name, status)
        holder:signal(name)
        holder:ends(status)
    end

    it("the signal closes two sessions and ends the process", function()
        local holder = start[[
            assert(zklock.close_on_signal("TERM") == true)
            assert(zklock.close_on_signal("TERM", "HUP") == true)
            assert(zklock.connect(HOSTS, { timeout = 40 }))]]
        end_by(holder, "TERM", 128 + TERM)
        check_free()
    end)

    it("the signal ends the process within a second though no server answers #slow", function()
        local proxy = rig.proxy_for_test(server.hosts)
        local holder = start([[assert(zklock.close_on_signal("TERM"))]], nil, proxy.hosts)
        proxy:command("blackhole")
        rig.takes(0, 20, end_by, holder, "TERM", 128 + TERM)
    end)

    it("the status is the signal's, even if an interrupted wait raises an error", function()
        local busy = rig.path()
        rig.hold(rig.session(server.hosts):mutex(busy))
        local holder = start(([[
            assert(zklock.close_on_signal("TERM"))
            say("holds")
            assert(session:mutex(%q):acquire(60))]]):format(busy))
        server:wait_for_nodes(busy, 2)
        holder:signal("TERM")
        local _, errors, status = holder:finish()
        assert.equal(128 + TERM, status, errors)
        check_free()
    end)

    it("INT raises the interpreter's error after the sessions are closed", function()
        local holder = start[[assert(zklock.close_on_signal("INT"))]]
        holder:signal("INT")
        local _, errors, status = holder:finish()
        if jit then assert.is_true(status == 1 or status == 128 + INT) -- luacheck: globals jit
        else assert.is_truthy(status == 1 and errors:find("interrupted!", 1, true), errors) end
        check_free()
    end)

    local AGAIN = [[
        local session, lease
        local function hold()
            session = assert(zklock.connect(HOSTS, { timeout = 40 }))
            lease = assert(session:mutex(%q):acquire(20))
            say("holds")
        end
        assert(zklock.close_on_signal("INT"))
        hold()
    ]]

    it("each signal reaches luv's handler, which was set earlier", function()
        local holder = program.start(server.hosts, [[
            local uv, hear, times = require "luv", nil, 0
            uv.new_signal():start("sigint", function() coroutine.wrap(hear)() end)
        ]] .. AGAIN:format(path) .. [[
            function hear()
                times = times + 1
                say("luv: " .. session:state())
                if times == 3 then os.exit(3) end
                hold()
            end
            uv.run()
        ]])
        for _ = 1, 3 do
            holder:says("holds")
            holder:signal("INT")
            holder:says("luv: closed")
        end
        holder:ends(3)
        check_free()
    end)

    -- The interpreter's handler lets the next Ctrl-C end the process.
    it("a second INT closes sessions, too, although the interpreter removed its handler", function()
        local holder = program.start(server.hosts, AGAIN:format(path) .. [[
            say(pcall(zklock.sleep, 60) and "slept" or session:state())
            hold()
            zklock.sleep(60)
        ]])
        holder:says("holds")
        holder:signal("INT")
        holder:says("closed", "holds")
        end_by(holder, "INT", 128 + INT)
        check_free()
    end)

    it("an ignored signal stays ignored", function()
        local holder = start([[
            assert(zklock.close_on_signal("HUP", "TERM"))
            os.execute("kill -HUP " .. io.open("/proc/self/stat"):read("*n"))
            assert(lease:check(20))]], { prefix = "env --ignore-signal=HUP" })
        end_by(holder, "TERM", 128 + TERM)
    end)

    it("a forked child ends by the signal, and its parent's sessions stay", function()
        if program.sanitizer == "tsan" then return end -- no handler runs in such a child
        local holder = start[[
            local system = require "spec.fault.program".system()
            assert(zklock.close_on_signal("TERM"))
            local child = system.fork(60)
            while child == 0 do os.execute("sleep 0.1") end
            os.execute("kill -TERM " .. child)
            assert(system.wait(child) == 143)
            assert(lease:check(20))]]
        end_by(holder, "TERM", 128 + TERM)
        check_free()
    end)

    -- For process 1 of a container, signals have no default action.
    if rig.shell("unshare --pid --fork echo yes 2>/dev/null") == "yes\n" then
        it("the first process of a container ends by the signal", function()
            local holder = start([[assert(zklock.close_on_signal("TERM"))]],
                                 { prefix = "unshare --pid --fork" })
            rig.shell("pkill -TERM -P %d", holder.pid)
            holder:ends(128 + TERM)
            check_free()
        end)
    end
end)


describe("close_on_signal #zklock.close_on_signal", function()
    it("another signal, or a number, raises", function()
        rig.blames("a signal must be HUP, INT, QUIT, TERM, USR1, USR2, not \"KILL\"", function()
            zklock.close_on_signal("KILL")
        end)
        rig.blames("a signal must be", function() zklock.close_on_signal(15) end)
        rig.blames("no signal", function() zklock.close_on_signal() end)
    end)
end)
