--- [lua asan tsan] Servers that misbehave: they grant a session timeout that nobody can live by, or
-- end each session as soon as it is used. No real server does so on purpose; a proxy, another
-- implementation or a wrong configuration may.

local core = require "zklock.core"
local fault = require "spec.fault.fault"
local rig = require "spec.rig"
local zklock = require "zklock"


describe("a server that #session:state", function()
    local fake

    before_each(function()
        fake = rig.servant("perl spec/fault/fake.pl")
        fake.hosts = "127.0.0.1:" .. fake:greet()
    end)
    after_each(function()
        rig.close_sessions()
        fake:stop()
    end)

    -- New sessions, and reconnects, so far.
    local function connects()
        local new, known = fake:command("connects"):match("(%d+) (%d+)")
        return tonumber(new), tonumber(known)
    end

    -- So many sessions it may have asked for since then: one at a time, with a pause.
    local function most(begin) return 2 + 1.5 * (core.now() - begin) end

    it("behaves well is taken for one", function()
        fake:command("grant 4000")
        local session = rig.session(fake.hosts)
        assert.equal(4, session:timeout())
        session:close()
        assert.equal("0", fake:command("sessions"))
    end)

    local function is_refused(text)
        rig.is_refused("connection", text,
                       rig.takes(0, 10, zklock.connect, fake.hosts, { connect_timeout = 2 }))
    end

    for _, granted in ipairs{ 0, -1, 1, 99 } do
        it(("grants %d ms is told as connection, with the number"):format(granted), function()
            fake:command("grant %d", granted)
            is_refused(("session timeout of %g s"):format(granted / 1000))
        end)
    end

    it("grants the session id 0 is told as connection, with the reason", function()
        fake:command("name 0")
        is_refused("session id 0")
    end)

    it("grants 100 ms is lived with", function()
        fake:command("grant 100")
        assert.equal(0.1, rig.session(fake.hosts):timeout())
    end)

    it("grants 0 ms to a session that it gave up is tried at times, and lived with later #slow",
       function()
        local session = rig.session(fake.hosts)
        fake:command("grant 0")
        fake:command("cut")
        rig.wait_for("expired", function() return session:stats().expiries == 1 end)
        local before, begin, worked = connects(), core.now(), os.clock()
        zklock.sleep(2.5)
        assert.is_true(os.clock() - worked < 1, "it spins")
        assert.is_true(connects() - before <= most(begin), "it does not pause")
        local nothing, message, code = session:get("/", 0.3)
        if code ~= "expired" then fault.fails("timeout", nothing, message, code) end
        fake:command("grant 10000")
        rig.becomes(session, "connected")
        assert.equal("", (assert(session:get("/", 5))))
    end)

    -- Suspended, with a server that is there.
    local function refuse(session, how)
        fake:command(how)
        fake:command("cut")
        rig.becomes(session, "suspended")
    end

    local function is_taken_again(session, id)
        rig.becomes(session, "connected")
        assert.equal(id, session:id())
        assert.equal(0, session:stats().expiries)
        rig.wait_for("one session", function() return fake:command("sessions") == "1" end)
        assert.equal("", (assert(session:get("/", 5))))
    end

    it("refuses a session is tried with another, and believed a session timeout later #slow",
       function()
        fake:command("grant 2000")
        local session = rig.session(fake.hosts)
        local id, begin = session:id(), core.now()
        refuse(session, "forget")
        local unprobed -- when there was no probe yet
        rig.wait_for("a probe", function()
            local now = core.now()
            if connects() >= 2 then return true end
            unprobed = now
        end)
        assert.is_true(core.now() - begin >= 1.9, "tried too early")
        rig.wait_for("expired", function() return session:stats().expiries == 1 end)
        assert.is_true(core.now() - unprobed >= 1.9, "believed too early")
        rig.becomes(session, "connected")
        assert.are_not.equal(id, session:id())
    end)

    it("takes a session again that it refused keeps it, and nothing else #slow", function()
        fake:command("grant 6000")
        local session = rig.session(fake.hosts)
        local id = session:id()
        refuse(session, "forget")
        rig.wait_for("a probe", function() return connects() >= 2 end)
        fake:command("remember")
        is_taken_again(session, id)
    end)

    it("hangs up on all is tried once in a tenth of the session timeout, with the probe too #slow",
       function()
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

    it("says nothing to anybody keeps the session, however long #slow", function()
        fake:command("grant 1000")
        local session = rig.session(fake.hosts, { timeout = 4 })
        local id = session:id()
        refuse(session, "mute")
        rig.wait_for("three probes' time", function() return connects() >= 4 end, 60)
        fake:command("speak")
        is_taken_again(session, id)
    end)

    it("refuses a session is not believed while it answers nobody #slow", function()
        fake:command("grant 1000")
        local session = rig.session(fake.hosts, { timeout = 4 })
        fake:command("deaf")
        refuse(session, "forget")
        rig.wait_for("four probes", function() return connects() >= 5 end, 60)
        assert.equal(0, session:stats().expiries)
        fake:command("speak")
        rig.wait_for("expired", function() return session:stats().expiries == 1 end)
    end)

    it('refuses credentials is told as "auth", also when its first answer was lost #slow',
       function()
        fake:command("distrust 0.2")
        local proxy = rig.proxy_for_test(fake.hosts)
        proxy:command("drop-reply auth 1")
        fault.fails("auth", zklock.connect(proxy.hosts, { auth = "digest:ann:a",
                                                          connect_timeout = 20 }))
    end)

    it("is older than 3.5: a lock says which version it needs", function()
        local session = rig.session(fake.hosts)
        fake:command("error -6") -- as such a server answers the create of a lock's node
        rig.is_refused("unsupported", "needs ZooKeeper 3.5 or later",
                       session:mutex("/old"):acquire(20))
        fake:command("error 0")
    end)

    it("ends every session at once is told as connection, in connect_timeout", function()
        fake:command("error -112")
        is_refused()
    end)

    it("ends every session at once is asked for a new one at times only #slow", function()
        local session = rig.session(fake.hosts)
        fake:command("error -112")
        fault.fails("expired", session:get("/", 5))
        local before, begin, count = connects(), core.now(), nil
        rig.wait_for("a new one", function()
            session:get("/", 0.1)
            count = connects() - before
            return core.now() > begin + 2.5 and count >= 1
        end)
        assert.is_true(count <= most(begin), count .. " sessions")
        fake:command("error 0")
        rig.wait_for("an answer", function() return session:get("/", 1) end)
    end)
end)
