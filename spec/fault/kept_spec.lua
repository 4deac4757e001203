--- [lua asan tsan] A kept lock when its process, its node or the server fails. (spec/kept_spec.lua
-- has lost connections, process_spec.lua forks and ends.)

local fault = require "spec.fault.fault"
local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"

local LONG = 60
local TIMEOUT = 1
local BUSY = 5

local hold, release, settle, wait_for = rig.hold, rig.release, rig.settle, rig.wait_for

local server, path, other


local function leave_kept(session)
    local lock = session:mutex(path, { keep = LONG })
    local lease = hold(lock)
    assert(lease:release())
    settle(session)
    server:wait_for_nodes(path, 1)
    return lock, lease.token
end


local function get_within(seconds)
    return rig.takes(0, seconds + BUSY, hold, other, seconds + BUSY)
end


-- Starts a process that keeps the lock, and then runs `code`, in which KEPT is the lock's token.
local function keeper(timeout, code)
    local child = program.start(server.hosts, ([[
        local session = assert(zklock.connect(HOSTS, { timeout = %d }))
        local lock = session:mutex(%q, { keep = 60 })
        local lease = assert(lock:acquire(20))
        local KEPT = lease.token
        assert(lease:release())
        while session:stats().in_flight > 0 do zklock.sleep(0.01) end
        say("keeps")
        %s
    ]]):format(timeout, path, code), { input = true })
    child:says("keeps")
    return child
end


before_each(function()
    server, path = rig.shared(), rig.path()
    other = rig.session(server.hosts):mutex(path, { token = "turns" })
end)

after_each(rig.close_sessions)


describe("a process that keeps a lock #a_lock_that_is_kept", function()
    it("a process stopped for longer than its session lives has lost the kept lock #slow",
       function()
        local child = keeper(TIMEOUT, [[
            io.read()
            local got, _, code = lock:acquire(0)
            say(got == nil and (code == "busy" or code == "timeout" or code == "expired"))
            io.read()
            repeat lease, _, code = lock:acquire(20) until lease or code ~= "expired"
            say(lease.token > KEPT)
            io.read()
        ]])
        child:signal("STOP")
        local lease = get_within(TIMEOUT)
        child:signal("CONT")
        child:tell("try")
        child:says("true")
        assert.equal("held", lease:state())
        assert.is_true(lease:check(20))
        release(lease)
        child:tell("acquire")
        child:says("true")
        assert.equal("busy", (rig.code_of(other, 0)))
        child:tell("end")
        child:ends()
    end)

    it("a process stopped for less gets the kept lock again, also after a wait that timed out",
       function()
        local child = keeper(LONG, [[
            io.read()
            lease = assert(lock:acquire(20))
            say(lease.token > KEPT)
            say(tostring(lease:check(20)))
        ]])
        child:signal("STOP")
        assert.equal("timeout", (rig.code_of(other, 0.2)))
        server:wait_for_nodes(path, 1)
        child:signal("CONT")
        child:tell("acquire")
        child:says("true", "true")
        child:ends()
        server:wait_for_nodes(path, 0)
    end)

    it("an interrupt of a sleeping keeper delays nobody", function()
        local child = keeper(LONG, "say('sleeps') zklock.sleep(60)")
        child:says("sleeps")
        child:signal("INT")
        release(get_within(0))
        child:finish()
    end)
end)


describe("the node of a kept lock #a_lock_that_is_kept", function()
    local session, proxy

    before_each(function() session, proxy = rig.behind_proxy(server.hosts, { timeout = LONG }) end)

    for what, rest in pairs{ [""] = "", [", with its path,"] = " delete %s" } do
        it(("a node deleted by a stranger%s is made anew"):format(what), function()
            local lock, token = leave_kept(session)
            server:foreign("delete %s" .. rest, server:nodes(path)[1], path)
            wait_for("the news", function() return session:stats().claims == 0 end)
            local lease = hold(lock)
            assert.is_true(lease.token >= token + 1024)
            assert.is_true(lease:check(20))
            assert.equal("busy", (rig.code_of(other, 0)))
            release(lease)
        end)
    end

    it("a node deleted during an outage does not keep the lock #slow", function()
        local lock, token = leave_kept(session)
        proxy:break_off(session)
        rig.delete_node(server, path)
        local theirs = hold(other)
        proxy:pass()
        local lease
        zklock.run(function() lease = hold(lock, 30) end, function()
            rig.becomes(session, "connected")
            server:wait_for_nodes(path, 2)
            assert.is_nil(lease)
            assert.is_true(theirs:check(20))
            release(theirs)
        end)
        assert.is_true(lease.token > theirs.token and theirs.token > token)
    end)

    it("a node overwritten by a stranger stays kept", function()
        local lock, token = leave_kept(session)
        server:foreign("set %s nonsense", server:nodes(path)[1])
        settle(session)
        assert.equal("nonsense", (assert(session:get(server:nodes(path)[1]))))
        local lease = hold(lock)
        assert.equal(token + 1, lease.token)
        assert(lease:release())
        assert.is_true(hold(other, 0).token > token)
    end)

    it("a node overwritten while held still tells a try that it is held", function()
        local lease = hold((leave_kept(session)))
        server:foreign("set %s nonsense", server:nodes(path)[1])
        settle(session)
        local code, message = rig.code_of(other, 0)
        assert.equal("busy", code, message)
        assert.is_true(lease:check(20))
        release(lease)
        release(hold(other, 0))
    end)

    it("the node is given up for another session though the reply that told of it was lost",
       function()
        rig.use(other)
        proxy:command("drop-reply getChildren 2") -- because the first came with the create
        assert(hold(session:mutex(path, { keep = LONG })):release())
        fault.wait_for_reconnects(session, 1)
        settle(session)
        release(get_within(0))
    end)

    it("the node is forgotten with its session, and the lock is granted in the next session #slow",
       function()
        local quick, cut = rig.behind_proxy(server.hosts, { timeout = TIMEOUT })
        local lock, token = leave_kept(quick)
        fault.expire(cut, quick)
        local lease = rig.wait_for("the lock", function() return lock:acquire(20) end)
        assert.is_true(lease.token >= token + 1024)
        assert.is_true(lease:check(20))
    end)

    it("the node outlives the server's restart, and its keeper hears of contenders #slow",
       function()
        server = rig.server_for_test()
        session = rig.session(server.hosts)
        local lock, token = leave_kept(session)
        server:kill()
        rig.becomes(session, "suspended")
        server:restart()
        fault.wait_for_reconnects(session, 1)
        local lease = hold(lock, 30)
        assert.equal(token + 1, lease.token)
        assert(lease:release())
        settle(session)
        other = rig.session(server.hosts):mutex(path, { token = "turns" })
        assert.is_true(get_within(0).token > token)
    end)
end)
