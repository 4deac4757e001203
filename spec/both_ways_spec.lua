--- [lua luajit asan tsan] Each small program runs by processes on a real server behind proxies, and
-- in a world of virtual time, and must print the same lines both ways.
--
-- A program is the source of a process, or of two. It has zklock, HOSTS, say(...), which prints a
-- line, and inflict(fault), which strikes the process itself: "kill", "cut" or "heal".

local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"

local load_text = loadstring or load -- luacheck: globals loadstring


-- --- in reality --------------------------------------------------------------------------

local OWN_WORDS = [[
io.stdout:setvbuf "line"
local function inflict(fault)
    if fault == "kill" then
        local stat = io.open "/proc/self/stat"
        os.execute("kill -KILL " .. stat:read "*n")
    end
    print("!" .. fault)
    io.read()
end
]]

local FAULTS = { ["!cut"] = { "refuse", "cut" }, ["!heal"] = { "accept" } }

local function listen(process, proxy)
    local lines = {}
    for line in function() return process:line() end do
        for _, command in ipairs(FAULTS[line] or {}) do proxy:command(command) end
        if FAULTS[line] then process:tell("done") else lines[#lines + 1] = line end
    end
    local _, errors = process:finish()
    assert.equal("", errors)
    return lines
end


local function start(sources)
    local started, root = {}, rig.path()
    rig.shared():foreign("create %s ''", root)
    for i, source in ipairs(sources) do
        local proxy = rig.proxy_for_test(rig.shared().hosts)
        local process = program.start(proxy.hosts .. root, OWN_WORDS .. source, { input = true })
        started[i] = { process = process, proxy = proxy }
    end
    return started
end


local function lines_in_reality(started)
    local said = {}
    for i, each in ipairs(started) do said[i] = listen(each.process, each.proxy) end
    return said
end


-- --- in a world --------------------------------------------------------------------------

local function lines_in_world(sources, seed)
    local said = {}
    local world = assert(zklock.world(function(world)
        for i, source in ipairs(sources) do
            local name, lines = "process " .. i, {}
            said[i] = lines
            local fn = assert(load_text(
                "local zklock, HOSTS, say, inflict = ...\n" .. source, "=" .. name))
            local function say(...)
                local texts = { ... }
                for n = 1, select("#", ...) do texts[n] = tostring((select(n, ...))) end
                lines[#lines + 1] = table.concat(texts, "\t")
            end
            local function inflict(fault) world[fault](world, name) end
            world:process(name, function() fn(zklock, "memory:shop", say, inflict) end)
        end
    end, { seed = seed }))
    local ok, problem = world:run()
    assert.is_true(ok, problem)
    return said
end


-- --- the programs ------------------------------------------------------------------------

local PROGRAMS = {
    { "a process that kills itself does nothing more, and its lock is free later", [[
        local lease = zklock.connect(HOSTS, { timeout = 1 }):mutex("/x"):acquire()
        say(lease:state())
        inflict "kill"
        say "goes on"
    ]], [[
        zklock.sleep(0.5)
        say(zklock.connect(HOSTS, { timeout = 1 }):mutex("/x"):acquire(20):state())
    ]] },

    { "a deadlock lasts until the max_hold of a lease is over", [[
        local session = zklock.connect(HOSTS, { timeout = 0.5 })
        while #session:mutex("/y"):queue() == 0 do zklock.sleep(0.1) end
        local lease = session:mutex("/x"):acquire{ max_hold = 3 }
        say(session:mutex("/y"):acquire():state(), lease:state())
    ]], [[
        local session = zklock.connect(HOSTS, { timeout = 0.5 })
        local lease = session:mutex("/y"):acquire()
        while #session:mutex("/x"):queue() == 0 do zklock.sleep(0.1) end
        say(session:mutex("/x"):acquire():state())
        say(lease:release())
    ]] },

    { "a wait for an unfair lock lasts until the jitter is over", [[
        local lock = zklock.connect(HOSTS, { timeout = 0.5 }):mutex("/x", { order = "none" })
        local lease = lock:acquire()
        zklock.sleep(1)
        say(lease:release())
        zklock.sleep(4)
    ]], [[
        zklock.sleep(0.5)
        local session = zklock.connect(HOSTS, { timeout = 0.5 })
        say(session:mutex("/x", { order = "none", jitter = 3 }):acquire():state())
    ]] },

    { "a process that is cut off cannot open another session", [[
        local first = zklock.connect(HOSTS, { timeout = 2 })
        inflict "cut"
        local second, _, code = zklock.connect(HOSTS, { connect_timeout = 0.5 })
        say(second, code)
        inflict "heal"
        say(zklock.connect(HOSTS):state())
        say(first:mutex("/x"):acquire(20):state())
    ]] },

    { "a process can be cut off before it connects", [[
        inflict "cut"
        local session, _, code = zklock.connect(HOSTS, { connect_timeout = 0.5 })
        say(session, code)
        inflict "heal"
        say(zklock.connect(HOSTS):mutex("/x"):acquire(20):state())
    ]] },

    { "a process that stays cut off loses its lease, and another process gets the lock", [[
        local lease = zklock.connect(HOSTS, { timeout = 1 }):mutex("/x"):acquire()
        lease:on_lost(function(_, state) say(state) end)
        inflict "cut"
        zklock.sleep(3)
        inflict "heal"
        zklock.sleep(0.5)
        say(lease:state(), select(3, lease:check()))
    ]], [[
        zklock.sleep(0.5)
        say(zklock.connect(HOSTS, { timeout = 1 }):mutex("/x"):acquire(20):state())
    ]] },

    { "two coroutines may close one session", [[
        local session = zklock.connect(HOSTS)
        zklock.run(function() say(session:close()) end, function() say(session:close()) end)
        say(session:state())
    ]] },

    { "a task may poll by yielding, and by sleeping for no time", [[
        local session, done = zklock.connect(HOSTS), false
        zklock.run(
            function() while not done do coroutine.yield() end say "yields" end,
            function()
                local lease = session:mutex("/x"):acquire()
                zklock.sleep(0.2)
                done = lease:release()
            end,
            function() while not done do zklock.sleep(0) end end)
    ]] },

    { "a wait ends when another coroutine closes its session", [[
        local session = zklock.connect(HOSTS)
        session:mutex("/x"):acquire{ owner = "another" }
        zklock.run(
            function() say(select(3, session:mutex("/x"):acquire())) end,
            function() zklock.sleep(0.2) session:close() end)
    ]] },

    { "a try of a taken lock is busy, a wait for it ends at its deadline", [[
        zklock.connect(HOSTS):mutex("/x"):acquire()
        zklock.sleep(2)
    ]], [[
        zklock.sleep(0.5)
        local lock = zklock.connect(HOSTS):mutex("/x")
        say(select(3, lock:acquire(0)))
        say(select(3, lock:acquire(0.2)))
        say(lock:acquire(20):state())
    ]] },
}


describe("a program both ways", function()
    local started = {}

    -- Programs without faults start together, because they mostly wait.
    setup(function()
        for i, each in ipairs(PROGRAMS) do
            if not each[2]:find "inflict" then started[i] = start{ each[2], each[3] } end
        end
    end)
    teardown(rig.close_sessions)

    for i, each in ipairs(PROGRAMS) do
        it(each[1], function()
            local said = lines_in_reality(started[i] or start{ each[2], each[3] })
            assert.is_truthy(said[#said][1])
            for seed = 1, 20 do assert.same(said, lines_in_world({ each[2], each[3] }, seed)) end
        end)
    end
end)
