--- [lua asan tsan] A process with a limit of threads, as in a container. libzookeeper starts two
-- threads for each handle, and aborts when it cannot.

local program = require "spec.fault.program"
local rig = require "spec.rig"

-- ThreadSanitizer starts a thread of its own with our first.
local OWN = program.sanitizer == "tsan" and 1 or 0

local WHY = "Resource temporarily unavailable"


describe("a process with a limit of threads #zklock.connect", function()
    local library, limit

    setup(function() library = program.library("threads") end)
    before_each(function()
        limit = os.tmpname()
        os.remove(limit)
    end)
    after_each(function()
        rig.close_sessions()
        os.remove(limit)
    end)

    local PRELUDE = [[
        local function allow(count)
            if not count then return os.remove(os.getenv("THREADS")) end
            local file = assert(io.open(os.getenv("THREADS"), "w"))
            file:write(count)
            file:close()
        end
    ]]

    local function start(hosts, source)
        return program.start(hosts, PRELUDE .. source,
                             { preload = library, environment = "THREADS=" .. limit })
    end

    -- A session needs four threads: the timer's, the worker's, and libzookeeper's two.
    for count = 0, 3 do
        it(("connect with %d threads returns connection and the reason, and works later " ..
            "#slow"):format(count),
           function()
            local child = start(rig.shared().hosts, ([[
                allow(%d)
                local session, message, code = zklock.connect(HOSTS, { connect_timeout = 0.5 })
                say(tostring(session), code)
                say(message)
                allow(nil)
                session = assert(zklock.connect(HOSTS))
                local lease = assert(session:mutex("/threads"):acquire(20))
                say(lease:state())
                session:close()
            ]]):format(count + OWN))
            child:says("nil\tconnection")
            assert.is_truthy((child:line() or ""):find(WHY, 1, true))
            child:says("held")
            child:ends()
        end)
    end

    it("a session whose connect fails for lack of a thread is not among the sessions", function()
        local child = start(rig.shared().hosts, ([[
            allow(%d)
            say(select(3, zklock.connect(HOSTS)))
            say(zklock.metrics():match 'zklock_sessions{state="connecting"} (%%d+)')
        ]]):format(OWN))
        child:says("connection", "0")
        child:ends()
    end)

    it("connect with 4 threads works", function()
        local child = start(rig.shared().hosts, ([[
            allow(%d)
            local session = assert(zklock.connect(HOSTS))
            say(session:state())
            allow(nil)
            session:close()
        ]]):format(4 + OWN))
        child:says("connected")
        child:ends()
    end)

    it("set_hosts and close_on_signal without a thread say so, and work later #session:set_hosts",
       function()
        local child = start(rig.shared().hosts, [[
            local session = assert(zklock.connect(HOSTS))
            allow(0)
            say(select(2, session:set_hosts(HOSTS)))
            say(select(2, zklock.close_on_signal("TERM")))
            allow(nil)
            say(session:set_hosts(HOSTS), zklock.close_on_signal("TERM"))
            session:close()
        ]])
        child:says("too_many: " .. rig.shared().hosts .. ": no thread is free\ttoo_many")
        child:says("too_many: zklock.close_on_signal: no thread or descriptor is free (" .. WHY ..
                   ")\ttoo_many")
        child:says("true\ttrue")
        child:ends()
    end)

    it("a signal may close a session whose connect fails for lack of a thread", function()
        local child = start(rig.shared().hosts, [[
            assert(zklock.close_on_signal("TERM"))
            allow("0 15")
            zklock.connect(HOSTS)
            zklock.sleep(20)
        ]])
        child:ends(128 + 15)
    end)

    for count = 0, 2 do
        it(("an expired session with %d threads is opened anew when there are more " ..
            "#slow"):format(count),
           function()
            local fake = rig.servant("perl spec/fault/fake.pl")
            finally(function() fake:stop() end)
            local child = start("127.0.0.1:" .. fake:greet(), ([[
                local session = assert(zklock.connect(HOSTS))
                allow(%d)
                say("connected")
                while session:stats().expiries == 0 do session:get("/", 0.1) end
                say("expired")
                local data, message, code = session:get("/", 1.5)
                say(tostring(data), code)
                allow(nil)
                say(tostring(session:get("/", 20)))
                say(session:state())
                session:close()
            ]]):format(count))
            child:says("connected")
            fake:command("error -112")
            child:says("expired")
            fake:command("error 0")
            child:says("nil\ttimeout", "", "connected")
            child:ends()
        end)
    end
end)
