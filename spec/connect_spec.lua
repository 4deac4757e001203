--- [lua luajit asan tsan tls] connect(): its sessions, its refusals, and its time.
local core = require "zklock.core"
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()
local hosts = server.hosts


local function foreign(...)
    return rig.foreign(hosts, ...)
end


local function fail_to_connect(address, options)
    local seconds, session, message, code = rig.timed(zklock.connect, address, options)
    if session then session:close() end
    assert.is_nil(session)
    return message, code, seconds
end


local function check_unauthorised(address, auth)
    local message, code, seconds = fail_to_connect(address, { auth = auth })
    assert.equal("auth", code)
    assert.is_true(seconds < 10, seconds)
    return message
end


describe("connect without a server #zklock.connect", function()
    after_each(rig.close_sessions)

    for name, row in pairs{
        ["a port where nobody listens, and says so"] = { "127.0.0.1:1", "refused" },
        ["several ports where nobody listens"] = { "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3" },
        ["an address of IPv6 where nobody listens"] = { "[::1]:1" },
        ["an address with numbers above 255"] = { "256.256.256.256:2181" },
        ["a name that does not resolve"] = { "no-such-host.invalid:2181" },
        ["a name much too long, and says why"] = { ("x"):rep(3000) .. ":2181", "[Nn]ame" },
    } do
        it('connect fails with "connection" after connect_timeout for ' .. name, function()
            local message, code, seconds = fail_to_connect(row[1], { connect_timeout = 0.3 })
            assert.equal("connection", code)
            assert.is_truthy(message:find(row[1], 1, true), message)
            assert.is_truthy(message:find(row[2] or ""), message)
            assert.is_true(seconds >= 0.25 and seconds < 10, seconds)
        end)
    end

    it("connect gives up in time on a server that accepts and is silent", function()
        local proxy = rig.proxy_for_test(hosts)
        proxy:command("blackhole")
        local _, code, seconds = fail_to_connect(proxy.hosts, { connect_timeout = 0.3 })
        assert.equal("connection", code)
        assert.is_true(seconds < 10, seconds)
    end)

    it("connect returns a session when the server comes in time (PIT-03)", function()
        local proxy = rig.proxy_for_test(hosts)
        proxy:command("refuse")
        zklock.run(
            function() rig.session(proxy.hosts, { connect_timeout = 60 }) end,
            function() zklock.sleep(0.2) proxy:command("accept") end)
    end)
end)


describe("connect #zklock.connect", function()
    after_each(rig.close_sessions)

    local longest = "the server's longest timeout, if asked for "
    for name, row in pairs{
        ["the timeout asked for, if the server allows it"] = { 3, 3 },
        ["the server's shortest timeout, if a shorter one is asked for"] = { 0.1, 0.4 },
        [longest .. "an hour"] = { 3600, 60 },
        [longest .. "a month"] = { 2592000, 60 },
        [longest .. "a century"] = { 3.2e9, 60 },
        [longest .. "the largest number"] = { 1e300, 60 },
    } do
        it("connect returns a connected session with an id and " .. name, function()
            local session = rig.session(hosts, { timeout = row[1], connect_timeout = 30 })
            assert.equal("connected", session:state())
            assert.is_truthy(session:id():find("^%x+$"))
            assert.equal(row[2], session:timeout())
        end)
    end

    local function make_chroot()
        local chroot = rig.path()
        foreign("create /spec '' create %s ''", chroot)
        return chroot
    end

    it("a chroot of / is no chroot", function()
        local path = rig.path()
        local lease = rig.hold(rig.session(hosts .. "/"):mutex(path))
        assert.equal(1, #server:nodes(path))
        rig.release(lease)
    end)

    it("a session below a chroot has paths without it", function()
        local chroot = make_chroot()
        local lock = rig.session(hosts .. chroot):mutex("/a/lock")
        local lease = rig.hold(lock)
        assert.equal("/a/lock", lease.path)
        local inside, outside = lock:queue(), server:nodes(chroot .. "/a/lock")
        assert.equal(1, #inside)
        assert.same({ chroot .. "/a/lock/" .. inside[1].name }, outside)
        local waiting = rig.session(hosts):mutex(chroot .. "/a/lock")
        assert.equal("busy", (rig.code_of(waiting, 0)))
        rig.release(lease)
        rig.hold(waiting)
    end)

    it('connect returns "no_node" for a chroot that does not exist', function()
        local message = rig.check_refused("no_node", "chroot does not exist",
                                       zklock.connect(hosts .. "/no/such/chroot"))
        assert.is_truthy(message:find("/no/such/chroot", 1, true), message)
    end)

    it('an acquire below a deleted chroot returns "no_node" with the reason', function()
        local chroot = make_chroot()
        local session = rig.session(hosts .. chroot)
        local gate, rwlock = session:semaphore("/gate", 2), session:rwlock("/rwlock")
        foreign("delete %s", chroot)
        for _, lock in ipairs{ session:mutex("/a/lock"), session:mutex("/b", { order = "none" }),
                               session:mutex("/c", { order = "turns" }), gate, rwlock:read(),
                               session:multi{ rwlock:write(), session:mutex("/d") } } do
            rig.check_refused("no_node", "the chroot does not exist", lock:acquire(20))
        end
        assert.equal("connected", session:state())
        foreign("create %s ''", chroot)
        rig.use(session:mutex("/a/lock"))
    end)

    it('connect returns "auth" for a scheme that the server does not know', function()
        for _ = 1, 60 do
            check_unauthorised(hosts, "nosuch:thing")
        end
    end)

    it('connect returns "auth" also if the server refuses before connect asks anything', function()
        local open = core.session
        finally(function() core.session = open end)
        core.session = function(options)
            local handle = open(options)
            rig.wait_apart("the refusal", function() return handle:state() == "expired" end)
            return handle
        end
        check_unauthorised(hosts, "nosuch:thing")
    end)

    it("messages and tostring contain no credentials", function()
        local session = rig.session(hosts, { auth = "digest:ann:secret" })
        local message = fail_to_connect(hosts .. "/no", { auth = "digest:ann:secret" })
        assert.is_nil(message:find("secret", 1, true))
        assert.is_nil(tostring(session):find("secret", 1, true))
    end)
end)


describe("credentials #zklock.connect", function()
    local ann, chroot
    setup(function()
        -- Persistent, because a container would be removed when the chroot is empty.
        ann = rig.session(hosts, { auth = "digest:ann:a", acl = "creator", parents = "persistent" })
        chroot = ("/ann-%d"):format(rig.pid)
        rig.use(ann:mutex(chroot .. "/lock"))
    end)
    after_each(rig.close_sessions)

    it('wrong or missing credentials for the chroot return "auth"', function()
        for _, auth in ipairs{ "digest:bob:b", "digest:ann:b" } do
            local message = check_unauthorised(hosts .. chroot, auth)
            assert.is_truthy(message:find("not authorised", 1, true), message)
        end
        check_unauthorised(hosts .. chroot)
    end)

    -- zoo_add_auth fails between two attempts to connect, and calls its completion only once.
    it("credentials reach a server that stands in the list behind servers that are down", function()
        for _ = 1, 20 do
            local several = "127.0.0.1:1,127.0.0.1:2," .. hosts .. chroot
            local session = rig.session(several, { auth = "digest:ann:a", acl = "creator" })
            rig.use(session:mutex("/lock"))
            session:close()
            check_unauthorised(several, "digest:bob:b")
        end
    end)

    for _, fault in ipairs{ "drop-request", "cut-after", "drop-reply" } do
        it(("credentials are given again after a lost connection (%s)"):format(fault), function()
            local proxy = rig.proxy_for_test(hosts)
            proxy:command("%s auth 1", fault)
            local session = rig.session(proxy.hosts .. chroot, { auth = "digest:ann:a" })
            assert.equal(1, session:stats().reconnects)
            rig.use(session:mutex("/lock"))
            proxy:command("%s auth 1", fault)
            check_unauthorised(proxy.hosts, "nosuch:thing")
        end)
    end

    it("credentials are given to the session that is opened after an expiry #slow", function()
        local proxy = rig.proxy_for_test(hosts)
        local several = "127.0.0.1:1,127.0.0.1:2," .. proxy.hosts .. chroot
        local session = rig.session(several, { auth = "digest:ann:a", acl = "creator",
                                               timeout = 0.6 })
        for _ = 1, 4 do
            local lease = rig.wait_for("the lock", function()
                return session:mutex("/lock"):acquire(5)
            end)
            local expiries = session:stats().expiries
            proxy:command("blackhole")
            rig.becomes(lease, "lost")
            server:wait_for_nodes(chroot .. "/lock", 0)
            proxy:command("flow")
            rig.wait_for("another session", function()
                return session:stats().expiries > expiries and session:state() == "connected"
            end)
            rig.use(session:mutex("/lock"))
        end
    end)

    it("right credentials open the chroot, every time", function()
        for _ = 1, 100 do
            local each = assert(zklock.connect(hosts .. chroot, { auth = "digest:ann:a" }))
            each:close()
        end
    end)

    it('credentials that an ACL refuses return "auth" from every call at once',
       function()
        local bob = rig.session(hosts, { auth = "digest:bob:b" })
        local lock = bob:mutex(chroot .. "/lock")
        for _, timeout in ipairs{ 0, 60 } do
            assert.equal("auth", (rig.takes(0, 30, rig.code_of, lock, timeout)))
        end
        assert.equal("auth", select(3, lock:queue()))
        assert.equal("auth", select(3, lock:with(5, error)))
        rig.wait_for_stats(bob, { claims = 0 })
        assert.equal("connected", bob:state())
    end)

    it('credentials that the parents of a new lock refuse return "auth"', function()
        local bob = rig.session(hosts, { auth = "digest:bob:b" })
        assert.equal("auth", (rig.code_of(bob:mutex(chroot .. "/new/lock"))))
    end)

    it('acl = "read" lets other sessions list the lock, and not acquire it', function()
        local path = ("/read-%d"):format(rig.pid)
        local owner = rig.session(hosts, { auth = "digest:ann:a", acl = "read" })
        local lease = rig.hold(owner:mutex(path))
        local other = rig.session(hosts):mutex(path)
        assert.equal(1, #assert(other:queue()))
        assert.equal("auth", (rig.code_of(other, 2)))
        assert.equal("held", lease:state())
    end)

    it('an acquire returns "auth" on a path that became read-only after its creation', function()
        local path = ("/protected-%d"):format(rig.pid)
        foreign("create %s '' protect %s", path, path)
        local lock = rig.session(hosts):mutex(path)
        assert.equal("auth", (rig.code_of(lock, 2)))
        assert.same({}, lock:queue())
    end)
end)


describe("a path that cannot hold a lock #session:mutex", function()
    local session, path
    before_each(function()
        session = rig.session(hosts)
        path = rig.path() .. "-ephemeral"
        foreign("create /spec ''")
        foreign("ephemeral %s '' vanish", path)
    end)
    after_each(rig.close_sessions)

    for name, below in pairs{ ["it is an ephemeral node itself"] = "",
                              ["it is below an ephemeral node"] = "/a/b" } do
        it(('an acquire returns "conflict" if %s (BUG-10)'):format(name), function()
            rig.check_refused("conflict", path, session:mutex(path .. below):acquire(20))
        end)
    end
end)


-- A server that enforces quotas answers with a code for which libzookeeper 3.8.0 has no words.
describe("a hard quota of the path #session:mutex", function()
    local quoted, session
    local refusal = "the server refuses: a hard quota of the path is exceeded (-125)"

    setup(function()
        quoted = rig.server{ environment = "JVMFLAGS=-Dzookeeper.enforceQuota=true" }
        quoted:foreign("create /quota '' create /zookeeper/quota/quota '' " ..
                       "create /zookeeper/quota/quota/zookeeper_stats 'count=1,bytes=0' " ..
                       "create /zookeeper/quota/quota/zookeeper_limits " ..
                       "'count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=3'")
        session = rig.session(quoted.hosts)
    end)
    teardown(function()
        rig.close_sessions()
        quoted:stop()
    end)

    it('an acquire over the quota returns "unsupported" with the reason', function()
        local lease = rig.hold(session:mutex("/quota/lock"))
        local lock = rig.session(quoted.hosts):mutex("/quota/lock")
        rig.check_refused("unsupported", refusal, lock:acquire(20))
        rig.release(lease)
        rig.use(lock)
    end)

    it('a downgrade over the quota returns "unsupported" with the reason, and keeps readers out ' ..
       "#lease:downgrade", function()
        local rw = session:rwlock("/quota/lock")
        local lease = rig.hold(rw:write())
        rig.check_refused("unsupported", refusal, lease:downgrade())
        assert.equal("held", lease:state())
        assert.equal("busy", rig.code_of(rig.session(quoted.hosts):rwlock("/quota/lock"):read(), 0))
        rig.check_refused("not_owner", nil, rw:write():condition("c"):signal(lease))
        rig.release(lease)
    end)

    it('a guard over the quota returns "unsupported", and its message names the write', function()
        local lease = rig.hold(session:mutex("/quota/lock"))
        rig.check_refused("unsupported", 'write 1, create "/quota/more": ' .. refusal,
                       lease:guard{ { "create", "/quota/more", "" } })
        rig.release(lease)
    end)
end)
