--- [lua asan tsan] Misbehaving servers, which grant a session timeout that is too short to live
-- by, or end each session as soon as it is used. No real server does so on purpose, but a proxy,
-- another implementation or a wrong configuration may.

local core = require "zklock.core"
local fault = require "spec.fault.fault"
local rig = require "spec.rig"
local zklock = require "zklock"


describe("a misbehaving server #session:state", function()
    local fake

    before_each(function()
        fake = rig.servant("perl spec/fault/fake.pl")
        fake.hosts = "127.0.0.1:" .. fake:greet()
    end)
    after_each(function()
        rig.close_sessions()
        fake:stop()
    end)

    local function connects()
        local new, known = fake:command("connects"):match("(%d+) (%d+)")
        return tonumber(new), tonumber(known)
    end

    -- The most sessions since `begin`, if a pause follows each session.
    local function most_sessions(begin) return 2 + 1.5 * (core.now() - begin) end

    it("a server that behaves well serves a session", function()
        fake:command("grant 4000")
        local session = rig.session(fake.hosts)
        assert.equal(4, session:timeout())
        session:close()
        assert.equal("0", fake:command("sessions"))
    end)

    local function check_refused(text)
        rig.check_refused("connection", text,
                       rig.takes(0, 10, zklock.connect, fake.hosts, { connect_timeout = 2 }))
    end

    for _, granted in ipairs{ 0, -1, 1, 99 } do
        it(("a server that grants %d ms makes connect return connection and the " ..
            "number"):format(granted),
           function()
            fake:command("grant %d", granted)
            check_refused(("session timeout of %g s"):format(granted / 1000))
        end)
    end

    it("a server that grants the session id 0 makes connect return connection and the reason",
       function()
        fake:command("name 0")
        check_refused("session id 0")
    end)

    it("a server that grants 100 ms serves a session", function()
        fake:command("grant 100")
        assert.equal(0.1, rig.session(fake.hosts):timeout())
    end)

    it("a server that grants 0 ms to an expired session is asked only now and then, and used " ..
    "later #slow", function()
        local session = rig.session(fake.hosts)
        fake:command("grant 0")
        fake:command("cut")
        rig.wait_for("expired", function() return session:stats().expiries == 1 end)
        local before, begin, worked = connects(), core.now(), os.clock()
        zklock.sleep(2.5)
        assert.is_true(os.clock() - worked < 1, "the client spins")
        assert.is_true(connects() - before <= most_sessions(begin), "the client does not pause")
        local nothing, message, code = session:get("/", 0.3)
        if code ~= "expired" then fault.fails("timeout", nothing, message, code) end
        fake:command("grant 10000")
        rig.becomes(session, "connected")
        assert.equal("", (assert(session:get("/", 5))))
    end)

    local function refuse(session, how)
        fake:command(how)
        fake:command("cut")
        rig.becomes(session, "suspended")
    end

    local function wait_until_taken_again(session, id)
        rig.becomes(session, "connected")
        assert.equal(id, session:id())
        assert.equal(0, session:stats().expiries)
        rig.wait_for("one session", function() return fake:command("sessions") == "1" end)
        assert.equal("", (assert(session:get("/", 5))))
    end

    it("a server that refuses a session is probed, and believed a session timeout later #slow",
       function()
        fake:command("grant 2000")
        local session = rig.session(fake.hosts)
        local id, begin = session:id(), core.now()
        refuse(session, "forget")
        local last_unprobed_at
        rig.wait_for("a probe", function()
            local now = core.now()
            if connects() >= 2 then return true end
            last_unprobed_at = now
        end)
        assert.is_true(core.now() - begin >= 1.9, "tried too early")
        rig.wait_for("expired", function() return session:stats().expiries == 1 end)
        assert.is_true(core.now() - last_unprobed_at >= 1.9, "believed too early")
        rig.becomes(session, "connected")
        assert.are_not.equal(id, session:id())
    end)

    it("a session lives on when the server takes it again after a refusal #slow", function()
        fake:command("grant 6000")
        local session = rig.session(fake.hosts)
        local id = session:id()
        refuse(session, "forget")
        rig.wait_for("a probe", function() return connects() >= 2 end)
        fake:command("remember")
        wait_until_taken_again(session, id)
    end)

    it("a server that hangs up on all is asked once in a tenth of the session timeout, also by " ..
    "probes #slow", function()
        fake:command("grant 4000")
        local session = rig.session(fake.hosts)
        refuse(session, "spurn")
        rig.wait_for("a probe", function() return connects() >= 2 end)
        local new, known = connects()
        local before, begin = new + known, core.now()
        zklock.sleep(8)
        new, known = connects()
        local limit = before + 2 + (core.now() - begin) / (session:timeout() / 10)
        assert.is_true(new + known <= limit, new + known - before)
    end)

    it("a session outlives a server's silence, however long #slow", function()
        fake:command("grant 1000")
        local session = rig.session(fake.hosts, { timeout = 4 })
        local id = session:id()
        refuse(session, "mute")
        rig.wait_for("the time of three probes", function() return connects() >= 4 end, 60)
        fake:command("speak")
        wait_until_taken_again(session, id)
    end)

    it("a server that refuses a session is not believed while it answers no probe #slow", function()
        fake:command("grant 1000")
        local session = rig.session(fake.hosts, { timeout = 4 })
        fake:command("deaf")
        refuse(session, "forget")
        rig.wait_for("four probes", function() return connects() >= 5 end, 60)
        assert.equal(0, session:stats().expiries)
        fake:command("speak")
        rig.wait_for("expired", function() return session:stats().expiries == 1 end)
    end)

    it('a server that refuses credentials makes connect return "auth", also when its first ' ..
       "answer is lost #slow", function()
        fake:command("distrust 0.2")
        local proxy = rig.proxy_for_test(fake.hosts)
        proxy:command("drop-reply auth 1")
        fault.fails("auth", zklock.connect(proxy.hosts, { auth = "digest:ann:a",
                                                          connect_timeout = 20 }))
    end)

    it("a server older than 3.5 makes an acquire name the version that it needs", function()
        local session = rig.session(fake.hosts)
        fake:command("error -6")
        rig.check_refused("unsupported", "needs ZooKeeper 3.5 or later",
                       session:mutex("/old"):acquire(20))
        fake:command("error 0")
    end)

    it("a server that ends every session at once makes connect return connection within " ..
       "connect_timeout", function()
        fake:command("error -112")
        check_refused()
    end)

    it("a server that ends every session at once is asked for a new one only now and then #slow",
       function()
        local session = rig.session(fake.hosts)
        fake:command("error -112")
        fault.fails("expired", session:get("/", 5))
        local before, begin, count = connects(), core.now(), nil
        rig.wait_for("a new session", function()
            session:get("/", 0.1)
            count = connects() - before
            return core.now() > begin + 2.5 and count >= 1
        end)
        assert.is_true(count <= most_sessions(begin), count .. " sessions")
        fake:command("error 0")
        rig.wait_for("an answer", function() return session:get("/", 1) end)
    end)
end)
