--- [lua asan tsan] A session goes on when its servers get other addresses under their names, and
-- when set_hosts() gives it other names.

local core = require "zklock.core"
local fault = require "spec.fault.fault"
local files = require "spec.files"
local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: globals unpack

local library, names, pods
local server = rig.shared()

-- Gives a name the addresses of these pods; without any it does not resolve.
local function set_addresses(name, ...)
    local addresses = {}
    for i, pod in ipairs{ ... } do addresses[i] = pod.hosts .. "\n" end
    local path = names .. "/" .. name
    if #addresses == 0 then return os.remove(path) end
    files.replace(path, table.concat(addresses))
end

-- Returns another address of the server, a proxy. Make it before the program, whose input it would
-- otherwise keep open.
local function new_pod()
    pods[#pods + 1] = rig.proxy(server.hosts)
    return pods[#pods]
end

-- Returns two pods, which have the names old.test and new.test.
local function name_two_pods()
    local old, new = new_pod(), new_pod()
    set_addresses("old", old)
    set_addresses("new", new)
    return old, new
end

local function hosts_of(list)
    local hosts = {}
    for i, pod in ipairs(list) do hosts[i] = pod.hosts end
    return table.concat(hosts, ",")
end

setup(function()
    library = program.library("names")
    names = rig.shell("mktemp -d"):match("%S+")
end)
teardown(function() rig.shell("rm -r %s", names) end)
before_each(function() pods = {} end)
after_each(function()
    for _, each in ipairs(pods) do each:stop() end
    rig.close_sessions()
    rig.shell("rm -f %s/*", names)
end)

local HOLDER = [[
    local core = require "zklock.core"
    local session = assert(zklock.connect(HOSTS, { timeout = TIMEOUT }))
    local lease = assert(session:mutex(PATH):acquire(5))
    local id, verbs = session:id(), {}
    function verbs.held()
        local ok, message = lease:check(20)
        return ok and lease:held() and session:id() == id and "held" or message or lease:state()
    end
    function verbs.suspended()
        while session:state() ~= "suspended" do zklock.sleep(0.01) end
        return "suspended"
    end
    function verbs.wait()
        local begin, other = core.now(), session:mutex(PATH .. "-other")
        local got, _, code = other:acquire(0.3)
        return code or tostring(got), core.now() - begin < 5 and "in time" or "late"
    end
    function verbs.hosts(text)
        local ok, message, code = session:set_hosts(text, 5)
        return ok and "true" or code or message
    end
    function verbs.close() return tostring(session:close()) end
    say("ready")
    for line in io.lines() do
        local verb, argument = line:match("^(%l+) ?(.*)$")
        say(verbs[verb](argument))
    end
]]

local function hold(hosts, timeout, options)
    options = options or { preload = library, environment = "NAMES=" .. names }
    options.input = true
    local child = program.start(hosts, ("local PATH, TIMEOUT = %q, %g\n"):format(
        rig.path(), timeout) .. HOLDER, options)
    child:says("ready")
    return child
end

-- Options of hold(), see without.c.
local function without(what)
    return { preload = program.library("without"), environment = "WITHOUT=" .. what }
end

local function ask(child, verb, ...)
    child:tell(verb)
    child:says(...)
end

local function end_program(child)
    child:tell(nil)
    child:ends()
end

local function end_held(child)
    ask(child, "held", "held")
    end_program(child)
end

local function hold_while_resolver_hangs()
    local old, new = new_pod(), new_pod()
    set_addresses("zk", old)
    local child = hold("zk.test", 20)
    files.write(names .. "/hangs", "")
    set_addresses("zk", new)
    old:shut()
    ask(child, "suspended", "suspended")
    return child
end


describe("a session whose servers move #server #real #session:set_hosts", function()
    it("a session goes on when its only server gets another address", function()
        local old, new = new_pod(), new_pod()
        set_addresses("zk", old)
        local child = hold("zk.test", 6)
        set_addresses("zk", new)
        old:shut()
        end_held(child)
    end)

    it("a session goes on when a name resolves to nothing for a while, then to other servers",
       function()
        local old, new = { new_pod(), new_pod() }, { new_pod(), new_pod(), new_pod() }
        set_addresses("zk", old[1], old[2])
        local child = hold("zk.test", 10)
        set_addresses("zk")
        old[1]:shut()
        old[2]:shut()
        ask(child, "suspended", "suspended")
        set_addresses("zk", new[1], new[2], new[3])
        end_held(child)
    end)

    it("a session goes on when one server after the other moves #slow", function()
        local old, new, list = {}, {}, {}
        for i = 1, 3 do
            old[i], new[i] = new_pod(), new_pod()
            set_addresses("zk" .. i, old[i])
            list[i] = "zk" .. i .. ".test"
        end
        local child = hold(table.concat(list, ","), 6)
        for i = 1, 3 do
            set_addresses("zk" .. i, new[i])
            old[i]:shut()
            ask(child, "held", "held")
        end
        end_program(child)
    end)

    it("waits and close end in time while the resolver hangs", function()
        local child = hold_while_resolver_hangs()
        ask(child, "wait", "timeout\tin time")
        ask(child, "close", "true")
        os.remove(names .. "/hangs")
        end_program(child)
    end)

    -- As in a process with many thousand descriptors.
    it("waits and close end in time while a search for sockets hangs", function()
        local slow, hangs, own = program.library("without"), names .. "/hangs", new_pod()
        local child = hold(own.hosts, 20, { preload = slow, environment = "HANGS=" .. hangs })
        files.write(hangs, "")
        own:shut()
        ask(child, "suspended", "suspended")
        ask(child, "wait", "timeout\tin time")
        ask(child, "close", "true")
        os.remove(hangs)
        end_program(child)
    end)

    it("a session goes on when a resolver answers after a while", function()
        local child = hold_while_resolver_hangs()
        os.remove(names .. "/hangs")
        end_held(child)
    end)

    it("a session goes on with the new names of set_hosts()", function()
        local old = name_two_pods()
        local child = hold("old.test", 6)
        ask(child, "hosts new.test", "true")
        old:shut()
        end_held(child)
    end)

    it("a suspended session goes on with the new names of set_hosts()", function()
        local old = name_two_pods()
        local child = hold("old.test", 6)
        old:shut()
        ask(child, "suspended", "suspended")
        ask(child, "hosts new.test", "true")
        end_held(child)
    end)

    it("a session keeps its servers if the new ones do not answer", function()
        local _, new = name_two_pods()
        new:shut()
        local child = hold("old.test", 6)
        ask(child, "hosts new.test", "timeout")
        end_held(child)
    end)

    it("a session keeps its servers if the call is interrupted before a new one answers", function()
        local old, new = new_pod(), new_pod()
        local session = rig.session(old.hosts, { timeout = 6 })
        local lease = rig.hold(session:mutex(rig.path()))
        new:command("delay 600")
        local mover
        zklock.run(function()
            mover = coroutine.running()
            local _, _, code = session:set_hosts(new.hosts, 5)
            assert.equal("interrupted", code)
        end, function()
            rig.wait_for("a greeting", function() return new:counts().connect == 1 end)
            assert.equal(1, session:interrupt(mover))
        end)
        local over_at = core.now() + 2 -- a greeting waits one second for its answer
        rig.wait_for("the end of the greeting", function()
            return core.now() > over_at or not new:command("bytes"):find("down=0")
        end)
        assert.is_true(lease:check(20))
        new:shut()
        old:command("cut")
        fault.wait_for_reconnects(session, 2) -- a greeting ended the first connection
        assert.is_true(lease:check(20))
    end)

    it("a session goes to another server, also by set_hosts(), where IPv4 has loopback alone",
       function()
        for _ = 1, 3 do new_pod() end
        pods[2]:command("refuse")
        local child = hold(pods[1].hosts .. "," .. pods[2].hosts, 6, without("ipv4"))
        pods[2]:command("accept")
        pods[1]:shut()
        ask(child, "held", "held")
        ask(child, "hosts " .. pods[3].hosts, "true")
        pods[2]:shut()
        end_held(child)
    end)

    it("connect tells that an address of IPv6 refuses #zklock.connect", function()
        local child = program.start("127.0.0.1:1", [[
            say((select(2, zklock.connect(HOSTS, { connect_timeout = 0.5 }))))
        ]], without("ipv4"))
        child:says("connection: 127.0.0.1:1: no ZooKeeper server answered " ..
                   "(the connection was refused)")
        child:ends()
    end)

    it("a session keeps its servers, and tells that, if libzookeeper cannot change them", function()
        local old, new = new_pod(), new_pod()
        local child = hold(old.hosts, 6, without("gate"))
        ask(child, "hosts " .. new.hosts, "unsupported")
        new:shut()
        end_held(child)
    end)

    it("a session goes to each server of an even number where libzookeeper cannot wait", function()
        for i = 1, 4 do
            new_pod()
            if i > 1 then pods[i]:command("refuse") end
        end
        local child = hold(hosts_of(pods), 6, without("gate"))
        for i = 2, 4 do
            pods[i - 1]:shut()
            pods[i]:command("accept")
            ask(child, "held", "held")
        end
        end_program(child)
    end)

    it("a session keeps its servers if a new one does not know it", function()
        local strangers = rig.server()
        finally(function() strangers:stop() end)
        local old = new_pod()
        set_addresses("old", old)
        local child = hold("old.test", 6)
        ask(child, "hosts " .. strangers.hosts, "conflict")
        end_held(child)
    end)

    -- A session whose old servers are gone, and whose end the new one knows.
    local function expire_unnoticed(reopen)
        local old, new = new_pod(), new_pod()
        local session = rig.session(old.hosts, { timeout = 0.4, reopen = reopen })
        old:shut()
        rig.becomes(session, "suspended")
        rig.wait_for("the session's end", function()
            return not server:ask("dump"):find("0x" .. session:id(), 1, true)
        end)
        return session, new.hosts
    end

    it("a session that expired while its old servers were gone is replaced on the new ones",
       function()
        local session, hosts = expire_unnoticed(true)
        local id = session:id()
        rig.wait_for("the move, a session timeout after the loss of the connection", function()
            local moved, message, code = session:set_hosts(hosts, 5)
            if not moved then fault.fails("conflict", moved, message, code) end
            return moved
        end)
        rig.becomes(session, "connected")
        assert.are_not.equal(id, session:id())
        rig.use(session:mutex(rig.path()))
    end)

    it("a session that expired, and does not reopen, is told to connect anew", function()
        local session, hosts = expire_unnoticed(false)
        rig.check_refused("conflict", "which has expired, or belongs to another ensemble; close it",
                          session:set_hosts(hosts, 5))
    end)

    it("a session whose old servers open no other after an expiry is opened on the new ones",
       function()
        local fake, new = rig.servant("perl spec/fault/fake.pl"), new_pod()
        finally(function() fake:stop() end)
        local session = rig.session("127.0.0.1:" .. fake:greet())
        fake:command("spurn")
        fake:command("error -112")
        fault.fails("expired", session:get("/", 5))
        assert.is_true(session:set_hosts(new.hosts, 5))
        rig.becomes(session, "connected")
        rig.use(session:mutex(rig.path()))
    end)
end)


-- A server that is cut off, or stands still, accepts connections, or not even those.
describe("a list with servers that do not answer #server #real", function()
    local function pods_after(command, count)
        local list = {}
        for i = 1, count do
            list[i] = new_pod()
            list[i]:command(command)
        end
        return list
    end

    local function silent_pods(count)
        return pods_after("blackhole", count)
    end

    -- Libzookeeper would stay at a silent server for 6.7 s.
    it("connect goes past a silent server #zklock.connect", function()
        local hosts = hosts_of{ silent_pods(1)[1], new_pod() }
        for _ = 1, 5 do rig.session(hosts, { timeout = 10, connect_timeout = 5 }) end
    end)

    it("a session that loses its server is held while most others are silent #lease:held",
       function()
        for _ = 1, 2 do
            local own, living, silent = new_pod(), new_pod(), silent_pods(5)
            set_addresses("zk", own)
            local child = hold("zk.test", 8)
            set_addresses("zk", own, living, unpack(silent))
            own:shut()
            end_held(child)
        end
    end)

    it("a session is held if it finds its server again while another is silent #lease:held",
       function()
        local silent, own = silent_pods(1)[1], new_pod()
        set_addresses("zk", own)
        local child = hold("zk.test", 6)
        set_addresses("zk", silent, own)
        own:shut()
        ask(child, "suspended", "suspended")
        rig.sleep_apart(1.5) -- so that each server was tried more than once
        own:command("accept")
        end_held(child)
    end)

    it("a session is held if its server falls silent, and the other server comes back #lease:held",
       function()
        local own, other = new_pod(), new_pod()
        other:command("refuse")
        local child = hold(hosts_of{ own, other }, 6, {})
        own:command("blackhole")
        own:command("cut")
        ask(child, "suspended", "suspended")
        rig.sleep_apart(2.4) -- more than a third of the session timeout
        other:command("accept")
        end_held(child)
    end)

    it("a session is held if its server falls silent for a while, and others for good #lease:held",
       function()
        local own, silent = new_pod(), silent_pods(2)
        local child = hold(hosts_of{ own, unpack(silent) }, 6, {})
        own:command("blackhole")
        own:command("cut")
        ask(child, "suspended", "suspended")
        rig.sleep_apart(2) -- so that each server was asked
        own:command("flow")
        end_held(child)
    end)

    it("a session without leases lives on if its server comes back late, and the other stays " ..
       "silent #session:id #slow", function()
        local own, silent = new_pod(), silent_pods(1)[1]
        local session = rig.session(hosts_of{ own, silent }, { timeout = 20 })
        local id = session:id()
        own:command("refuse")
        own:command("cut")
        rig.becomes(session, "suspended")
        zklock.sleep(14) -- more than two thirds of the session timeout
        own:command("accept")
        rig.becomes(session, "connected")
        assert.equal(id, session:id())
    end)

    it("a session does not go to a silent server that has left the list #lease:held", function()
        local own, silent = new_pod(), silent_pods(1)[1]
        set_addresses("zk", own)
        local child = hold("zk.test", 8)
        set_addresses("zk", own, silent)
        own:shut()
        ask(child, "suspended", "suspended")
        rig.sleep_apart(1)
        set_addresses("zk", own)
        rig.sleep_apart(4.8) -- more than two thirds of the session timeout since the question
        own:command("accept")
        end_held(child)
    end)

    it("servers that hang up cost no time #zklock.connect", function()
        local list = {}
        for i = 1, 11 do list[i] = rig.proxy_for_test("127.0.0.1:1") end
        list[#list + 1] = new_pod()
        local hosts = hosts_of(list)
        for _ = 1, 4 do rig.session(hosts, { timeout = 10, connect_timeout = 5 }) end
    end)

    it("servers that take a second for each answer are reached, too #zklock.connect", function()
        local hosts = hosts_of(pods_after("delay 2100", 5))
        rig.session(hosts, { timeout = 10, connect_timeout = 8.5 })
    end)

    it("servers behind proxies that know requests alone are reached, and found again #lease:held",
       function()
        local list = pods_after("deaf", 2)
        local child = hold(hosts_of(list), 10, {})
        list[2]:command("refuse")
        list[1]:command("cut")
        list[2]:command("cut")
        end_held(child)
    end)

    it("a silent server among such proxies is passed over, too #session:state", function()
        local list = pods_after("deaf", 2)
        local session = rig.session(hosts_of(list), { timeout = 2 })
        local is_first = list[1]:counts().connect > 0
        local own, other = list[is_first and 1 or 2], list[is_first and 2 or 1]
        other:command("blackhole")
        own:command("cut")
        rig.becomes(session, "suspended")
        rig.becomes(session, "connected")
    end)

    it("a server behind such a proxy is reached where others refuse #zklock.connect", function()
        local refusing, deaf = new_pod(), pods_after("deaf", 1)[1]
        refusing:command("refuse")
        rig.session(hosts_of{ refusing, deaf }, { timeout = 40, connect_timeout = 5 })
    end)

    -- Connects three times at once, meanwhile awaits the time, and gives the command.
    local function connect_beside(hosts, timeout, time, pod, command)
        local function connect()
            rig.session(hosts, { timeout = timeout, connect_timeout = 5 })
        end
        zklock.run(connect, connect, connect, function()
            zklock.sleep(time)
            pod:command(command)
        end)
    end

    -- By then libzookeeper waits at one of the six.
    it("a server that answers late is reached while the others stay silent #zklock.connect",
       function()
        local list = silent_pods(6)
        connect_beside(hosts_of(list), 10, 2.5, list[6], "flow")
    end)

    it("a server that comes up is reached soon if the timeout is long #zklock.connect", function()
        local pod = new_pod()
        pod:command("refuse")
        connect_beside(pod.hosts, 60, 0.5, pod, "accept")
    end)

    it("connect tells that nothing came from the servers #zklock.connect", function()
        local hosts = hosts_of(silent_pods(2))
        rig.check_refused("connection", "nothing came from the server",
                          zklock.connect(hosts, { timeout = 3, connect_timeout = 2.5 }))
    end)

    it("connect goes past a silent server also where libzookeeper cannot wait #zklock.connect",
       function()
        local hosts = hosts_of{ silent_pods(1)[1], new_pod() }
        for _ = 1, 2 do
            end_program(hold(hosts, 20, without("gate")))
        end
    end)
end)
