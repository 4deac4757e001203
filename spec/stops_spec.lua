--- [lua luajit asan tsan] Processes that are stopped again and again, as by a container's CPU
-- quota, and processes that start soon after their machine.

local files = require "spec.files"
local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"

local TIMEOUT = 10


-- Runs fn(session) in a process that is stopped for `stopped` seconds, runs for `runs`, and so on,
-- for a minute. Checks that no schedule goes wrong.
local function in_bursts(stopped, runs, fn)
    local result = assert(zklock.simulate(function(world)
        for at = 1, 60, stopped + runs do
            world:at(at, function() world:stop("throttled", stopped) end)
        end
        world:process("throttled", function()
            local session = assert(zklock.connect("memory:stops", { timeout = TIMEOUT }))
            zklock.sleep(2)
            fn(session)
        end)
    end, { seeds = 20 }))
    assert.equal(0, result.wrong, result.first and result.first.story)
end


describe("a process that is stopped 1 s of every 3 s, with a session timeout of 10 s" ..
         " #after_a_pause", function()
    for kind, make in pairs(rig.kinds) do
        for _, timeout in ipairs{ 0, 5 } do
            it(("the process gets %s by acquire(%d)"):format(kind, timeout), function()
                in_bursts(1, 2, function(session)
                    local lock = make(session, "/a")
                    for _ = 1, 5 do
                        assert(assert(lock:acquire(timeout)):release{ wait = 10 })
                        zklock.sleep(3.7)
                    end
                end)
            end)
        end
    end
end)


describe("a process that is stopped 3 s of every 5 s, with a session timeout of 10 s" ..
         " #after_a_pause", function()
    it("the process gets no lock, and the message of a try names the stops", function()
        in_bursts(3, 2, function(session)
            local lease, message, code = session:mutex("/a"):acquire(0)
            assert.is_nil(lease)
            assert.equal("timeout", code)
            assert.matches("nobody said whether it is taken; this process was stopped %d times, "
                .. "and gets no lock soon after a stop", message)
        end)
    end)

    it("the message of a wait names the stops, too", function()
        in_bursts(3, 2, function(session)
            local _, message, code = session:mutex("/a"):acquire(9)
            assert.equal("timeout", code)
            assert.matches("waited 9 s; this process was stopped %d times", message)
        end)
    end)
end)


describe("a process that was stopped once #after_a_pause", function()
    it("the process gets a free lock by its first try", function()
        in_bursts(5, 100, function(session)
            local lease = assert(session:mutex("/a"):acquire(0))
            assert.equal("held", lease:state())
        end)
    end)
end)


describe("a process that starts soon after its machine #after_a_pause", function()
    it("the process gets a free lock at once, however long its session timeout is #real", function()
        local uptime = files.read("/proc/uptime"):match("%S+")
        local timeout = math.min(uptime * 4.5, 2e6)
        local session = assert(zklock.connect("memory:booted", { timeout = timeout }))
        finally(function() session:close() end)
        assert(session:mutex("/a"):acquire(0)):release()
        assert(session:mutex("/a"):acquire(5)):release()
    end)

    it("the process gets a free lock at once in a world as well", function()
        assert.equal(0, zklock.simulate(function(world)
            world:process("booted", function()
                local session = assert(zklock.connect("memory:booted", { timeout = 7200 }))
                assert(session:mutex("/a"):acquire(0)):release()
                assert(session:mutex("/a"):acquire(5)):release()
            end)
        end, { seeds = 20 }).wrong)
    end)
end)


describe("a process that SIGSTOP and SIGCONT hit again and again #after_a_pause", function()
    it("the process gets a free lock by a try #server #real #slow", function()
        local child = program.start(rig.shared().hosts, [[
            local session = assert(zklock.connect(HOSTS, { timeout = 1 }))
            local lock, lease, message, code = session:mutex("/stops")
            say("ready")
            zklock.sleep(1)
            for _ = 1, 100 do
                lease, message, code = lock:acquire(0)
                if lease or code ~= "timeout" then break end
            end
            say(lease and "granted" or message)
        ]])
        child:says("ready")
        local stops = rig.shell([[
            (while kill -STOP %d && sleep 0.095 && kill -CONT %d; do sleep 0.2; done) \
            >/dev/null 2>&1 & echo $!]], child.pid, child.pid)
        finally(function() rig.shell("kill %d 2>/dev/null; kill -CONT %d 2>/dev/null; true",
                                     tonumber(stops), child.pid) end)
        child:says("granted")
        child:ends()
    end)
end)
