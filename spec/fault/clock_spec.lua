--- [lua] A client's or a server's wall clock jumps by an hour while it runs, as when it is set by
-- hand, by a time server, or after a virtual machine's sleep. Nothing may depend on it.

local core = require "zklock.core"
local fault = require "spec.fault.fault"
local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: globals unpack

local library, clock

local server, proxy = rig.shared(), nil

local function jump(direction)
    local file = assert(io.open(clock, "r+"))
    file:write(direction)
    file:close()
end

setup(function()
    library = program.library("clock")
    clock = program.write(os.tmpname(), "0")
    proxy = rig.proxy(server.hosts)
end)
teardown(function()
    proxy:stop()
    os.remove(clock)
end)
before_each(function() jump("0") end)
after_each(function()
    fault.heal(proxy)
    rig.close_sessions()
end)

local JUMPS = { ["forward"] = "+", ["back"] = "-" }
local HOURS = { ["+"] = 1, ["-"] = -1, ["0"] = 0 }


describe("a client whose wall clock jumps #times", function()
    -- Runs the verbs that it reads, and prints their results; times are of the monotonic clock.
    local CLIENT = [[
        local core = require "zklock.core"
        local session = assert(zklock.connect(HOSTS, { timeout = TIMEOUT }))
        local lock, lease, wall = session:mutex(PATH), nil, os.time()
        local function timed(fn, ...)
            local begin = core.now()
            local result, _, code = fn(...)
            return ("%.3f"):format(core.now() - begin), result and "ok" or tostring(code)
        end
        local verbs = {}
        function verbs.jumped() return ("%.0f"):format((os.time() - wall) / 3600) end
        function verbs.acquire()
            lease = assert(lock:acquire(20))
            return lease:token_string()
        end
        function verbs.state() return lease:state(), lease:remaining() <= TIMEOUT / 2 end
        function verbs.syncs() return session:stats().syncs, session:stats().reconnects end
        function verbs.try()
            return timed(lock.acquire, lock, { timeout = 0.5, owner = "other" })
        end
        function verbs.sleep() return timed(zklock.sleep, 0.5) end
        function verbs.connect()
            return timed(zklock.connect, SILENT, { connect_timeout = 0.5 })
        end
        function verbs.check() return timed(lease.check, lease, 0.5) end
        function verbs.fades()
            local begin, seen = core.now(), {}
            repeat
                local state = lease:state()
                seen[state] = seen[state] or core.now() - begin
            until seen.lost or core.now() > begin + 30
            return ("%.3f"):format(seen.suspect), ("%.3f"):format(seen.lost)
        end
        function verbs.release() return timed(lease.release, lease, { wait = 20 }) end
        for verb in io.lines() do
            say("do")
            say(verbs[verb]())
        end
    ]]

    local child, path, silent

    before_each(function()
        path, silent = rig.path(), rig.proxy(server.hosts)
        silent:command("blackhole")
    end)

    local function start(timeout)
        child = program.start(proxy.hosts, ("local PATH, SILENT, TIMEOUT = %q, %q, %g\n"):format(
            path, silent.hosts, timeout) .. CLIENT,
            { preload = library, input = true, environment = "WALL_CLOCK=" .. clock })
    end

    after_each(function()
        child:tell(nil)
        child:ends()
        silent:stop()
    end)

    local function ask(verb, meanwhile)
        child:tell(verb)
        child:says("do")
        if meanwhile then meanwhile() end
        local answer = {}
        for word in assert(child:line()):gmatch("[^\t]+") do answer[#answer + 1] = word end
        return unpack(answer)
    end

    -- The verb ends at its deadline of half a second, though the clock jumps by an hour meanwhile.
    local function ends_on_time(verb, direction, code)
        local seconds, result = ask(verb, function() jump(direction) end)
        seconds = tonumber(seconds)
        assert.is_true(seconds >= 0.499 and seconds < 15,
                       ("%s took %.3f s"):format(verb, seconds))
        assert.equal(code, result)
    end

    for name, direction in pairs(JUMPS) do
        it(("leases, heartbeats and deadlines survive a jump %s and back #slow"):format(name),
           function()
            start(8)
            local token = ask("acquire")
            for _, to in ipairs{ direction, "0" } do
                jump(to)
                assert.equal(HOURS[to], tonumber((ask("jumped"))))
                local begin = core.now()
                local syncs, reconnects = ask("syncs")
                rig.wait_for("three heartbeats", function()
                    local state, is_bounded = ask("state")
                    assert.are_not.equal("lost", state)
                    assert.equal("true", is_bounded)
                    return ask("syncs") - syncs >= 3
                end)
                local beats = ask("syncs") - syncs
                local expected = (core.now() - begin) / 8 * 6
                assert.is_true(beats <= expected + 2, beats .. " heartbeats")
                assert.equal(reconnects, (select(2, ask("syncs"))))
            end
            rig.wait_for("held", function() return ask("state") == "held" end)
            ends_on_time("try", direction, "timeout")
            ends_on_time("sleep", "0", "ok")
            ends_on_time("connect", direction, "connection")
            ends_on_time("try", "0", "timeout")
            local node = rig.wait_for("only the holder's node", function()
                local nodes = server:nodes(path)
                return #nodes == 1 and nodes[1]
            end)
            assert.equal(token, fault.czxid(server, node))
            assert.equal("ok", (select(2, ask("release"))))
            server:wait_for_nodes(path, 0)
        end)

        it(("a lease in an outage is suspect, then lost, in time after a jump %s " ..
            "#slow"):format(name),
           function()
            start(3)
            ask("acquire")
            local before = tonumber((ask("syncs")))
            rig.wait_for("heartbeats", function() return ask("syncs") - before >= 3 end)
            proxy:command("blackhole")
            local suspect, lost = ask("fades", function() jump(direction) end)
            -- A jump is an hour; a machine may stand still for some seconds.
            assert.is_true(suspect + 0 <= 1.5 + 10, "suspect after " .. suspect)
            assert.is_true(lost + 0 > 1 and lost + 0 <= 3 + 10, "lost after " .. lost)
            assert.equal("lost", (select(2, ask("check"))))
        end)
    end
end)


describe("a server whose wall clock jumps #times", function()
    local own

    setup(function()
        own = rig.server{ environment = ("LD_PRELOAD=%s WALL_CLOCK=%s"):format(library, clock) }
    end)
    teardown(function() own:stop() end)

    local function server_time()
        local path = "/now" .. rig.path():gsub("/", "-")
        local answer = fault.foreign(own, "ephemeral %s '' stat %s", path, path)
        return tonumber(answer:match("ctime=(%d+)")) / 1000
    end

    for name, direction in pairs(JUMPS) do
        it(("only dead sessions expire after a jump %s and back #slow"):format(name),
       function()
            local TIMEOUT = 4
            local holder, waiter = rig.child(own.hosts, [[
                local session = assert(zklock.connect(HOSTS, { timeout = 4 }))
                local lease = assert(session:mutex("/dies"):acquire(20))
                say("held")
                while lease:state() ~= "lost" do zklock.sleep(0.01) end
                say("lost")
            ]]), rig.session(own.hosts, { timeout = TIMEOUT })
            assert.equal("held", holder:line())
            local lock = waiter:mutex(rig.path())
            local lease = assert(lock:acquire(20))
            for _, to in ipairs{ direction, "0" } do
                jump(to)
                assert.is_true(math.abs(server_time() - os.time() - 3600 * HOURS[to]) < 60)
                local begin = core.now()
                repeat
                    assert.are_not.equal("lost", lease:state())
                    zklock.sleep(0.01)
                until core.now() > begin + TIMEOUT + 0.3
            end
            assert.equal(0, waiter:stats().expiries)
            assert.is_true(lease:check(20))
            jump(direction)
            holder:signal("KILL")
            jump("0")
            local mine = assert(waiter:mutex("/dies"):acquire(60))
            assert.equal("", (holder:finish()))
            mine:release{ wait = 20 }
        end)
    end
end)
