--- [lua luajit asan tsan memory worlds older] Guarded writes happen in ZooKeeper only while the
-- lease's node exists. Promise 3 of DESIGN; DEMO-17, BUG-07.

local rig = require "spec.rig"
local zklock = require "zklock"

local server, path, store

local function hold(session, arg) return rig.hold(session:mutex(path), arg) end

local check_refused = rig.check_refused

before_each(function()
    server, path = rig.begin(0)
    store = "/stock" .. path:match("[^/]*$")
    server:foreign("create %s 10", store)
end)

after_each(rig.close_sessions)


describe("a guard #lease:guard", function()
    local session, lease

    before_each(function()
        session = rig.session(server.hosts)
        lease = hold(session)
    end)

    it("a guard writes, and returns the new versions", function()
        assert.same({ true, { 1 } }, { lease:guard{ { "set", store, "9", 0 } } })
        assert.same({ true, { 2, 0, false, false } }, { lease:guard{
            { "set", store, "8" },
            { "create", store .. "/order", "a\0b" },
            { "check", store, 2 },
            { "delete", store .. "/order" },
            timeout = 5,
        } })
        assert.same({ "8", 2 }, { session:get(store) })
        assert.equal("held", lease:state())
    end)

    it("a guard keeps data with NUL, long data and empty data", function()
        for _, data in ipairs{ "", "a\0b\0", ("x"):rep(500000) } do
            assert.is_true(lease:guard{ { "set", store, data } })
            assert.equal(data, (session:get(store)))
        end
    end)

    it("a guard writes all or nothing, and names the refused write", function()
        check_refused("conflict", 'write 2, set "' .. store .. '": bad version', lease:guard{
            { "create", store .. "/order", "" }, { "set", store, "9", 7 } })
        check_refused("no_node", nil, session:get(store .. "/order"))

        for code, writes in pairs{
            no_node = { { "set", store .. "/none", "" }, { "create", store .. "/none/below", "" },
                        { "check", store .. "/none" }, { "delete", store .. "/none" } },
            conflict = { { "create", store, "" }, { "check", store, 1 }, { "delete", store, 1 } },
            unsupported = { { "delete", "/" } },
        } do
            for _, write in ipairs(writes) do check_refused(code, nil, lease:guard{ write }) end
        end
        assert.is_true(lease:guard{ { "create", store .. "/order", "" } })
        check_refused("conflict", nil, lease:guard{ { "delete", store } })
        assert.same({ "10", 0 }, { session:get(store) })
        assert.equal("held", lease:state())
    end)

    it("a stale holder's guard returns lost, and writes nothing", function()
        rig.delete_node(server, path)
        check_refused("lost", nil, lease:guard{ { "set", store, "0" } })
        assert.same({ "10", 0 }, { session:get(store) })
        assert.equal("lost", lease:state())
    end)

    it("a released lease's guard returns released", function()
        local again = hold(session)
        lease:release()
        check_refused("released", nil, lease:guard{ { "set", store, "0" } })
        assert.is_true(again:guard{ { "set", store, "1" } })
        again:release()
        check_refused("released", nil, again:guard{ { "set", store, "0" } })
        assert.same({ "1", 1 }, { session:get(store) })
    end)

    it("a guard works during a downgrade and after it #server", function()
        local far, proxy = rig.behind_proxy(server.hosts)
        local writer = rig.hold(far:rwlock(rig.path()):write())
        proxy:command("delay 100")
        zklock.run(function()
            assert.is_true(writer:downgrade(5))
        end, function()
            assert.is_true(writer:guard{ { "set", store, "during" } })
            assert.is_true(writer:check(20))
        end)
        assert.is_true(writer:guard{ { "set", store, "after" } })
        assert.equal("held", writer:state())
    end)

    it("four sellers with guards sell the stock exactly", function()
        local sellers, sold = { session, rig.session(server.hosts) }, 0
        server:foreign("set %s 20", store)
        rig.run(4, function(n)
            local seller = sellers[n % 2 + 1]
            for _ = 1, 10 do
                local held = assert(seller:mutex(path .. "-sale"):acquire{ owner = n })
                local stock, version = assert(seller:get(store))
                if tonumber(stock) > 0 then
                    assert(held:guard{ { "set", store, ("%d"):format(stock - 1), version } })
                    sold = sold + 1
                end
                held:release()
            end
        end)
        assert.equal(20, sold)
        assert.same({ "0", 21 }, { session:get(store) })
    end)
end)


describe("a guard whose session is in trouble #server #lease:guard", function()
    local proxy, session, lease

    before_each(function()
        session, proxy = rig.behind_proxy(server.hosts, { timeout = 6 })
        lease = hold(session)
    end)

    local function stock() return (rig.session(server.hosts):get(store)) end

    it("a guard waits for the connection, and writes once", function()
        proxy:break_off(session)
        zklock.run(function()
            assert.same({ true, { 1 } }, { lease:guard{ { "set", store, "9" }, timeout = 20 } })
        end, function() proxy:command("accept") end)
        assert.same({ "9", 1 }, { session:get(store) })
    end)

    it("a guard that was not sent in time returns timeout, and writes nothing", function()
        proxy:break_off(session)
        check_refused("timeout", nil, lease:guard{ { "set", store, "9" }, timeout = 0.1 })
        proxy:command("accept")
        rig.wait_for("held", function() return lease:check(20) end)
        assert.equal("10", stock())
    end)

    for fault, expected in pairs{ ["drop-request"] = "10", ["drop-reply"] = "9" } do
        it("a guard without an answer is not sent again (" .. fault .. ")", function()
            proxy:command("%s multi 1", fault)
            check_refused("unknown", "connection loss",
                    lease:guard{ { "set", store, "9" }, timeout = 20 })
            assert.is_true(lease:check(20))
            assert.equal(expected, stock())
        end)
    end

    it("a guard without an answer in time returns unknown", function()
        proxy:command("hold multi 1")
        check_refused("unknown", "it may have been carried out",
                lease:guard{ { "set", store, "9" }, timeout = 0.2 })
        proxy:command("flow")
    end)

    it("a guard that was not sent before the expiry returns lost #slow", function()
        local short = rig.session(proxy.hosts, { timeout = 3 })
        local held = assert(short:mutex(path .. "-short"):acquire(20))
        proxy:break_off(short)
        check_refused("lost", nil, held:guard{ { "set", store, "0" }, timeout = 20 })
        proxy:command("accept")
        assert.equal("10", stock())
    end)

    for stopped, stop in pairs{
        close = function() session:close() end,
        interrupt = function(writer) assert.equal(1, session:interrupt(writer)) end,
    } do
        it("a guard that was sent returns unknown after " .. stopped .. " #slow", function()
            local writer
            proxy:command("hold multi 1")
            zklock.run(function()
                writer = coroutine.running()
                check_refused("unknown", nil, lease:guard{ { "set", store, "9" }, timeout = 20 })
            end, function()
                rig.wait_for("the request", function() return session:stats().in_flight > 0 end)
                stop(writer)
            end)
        end)
    end
end)


describe("the arguments of a guard #lease:guard", function()
    local lease

    before_each(function() lease = hold(rig.session(server.hosts)) end)

    local function raises(text, writes)
        rig.blames(text, function() lease:guard(writes) end)
    end

    it("a value that is no list of set, create, delete and check raises", function()
        raises("a list of one write or more", nil)
        for _, none in ipairs{ "set", {}, { timeout = 1 } } do
            raises("a list of one write or more", none)
        end
        raises('must begin with "set", "create", "delete" or "check", not "get"',
               { { "get", "/a" } })
        raises("write 2 of guard must be a table", { { "check", "/a" }, 5 })
        raises("unknown option \"wait\"", { { "check", "/a" }, wait = 1 })
        raises("timeout must be seconds", { { "check", "/a" }, timeout = -1 })
    end)

    it("an unknown field, or a bad path, data or version raises", function()
        raises('{ "set", path, data [, version] }', { { "set", "/a", "b", 1, 2 } })
        raises('{ "create", path, data }', { { "create", "/a", "b", 1 } })
        raises("unknown field \"ephemeral\"", { { "create", "/a", "b", ephemeral = true } })
        raises("path must be a string, not nil", { { "delete" } })
        raises("must start with /", { { "delete", "a" } })
        raises("must not end with /", { { "delete", "/a/" } })
        raises("data must be a string, not 5", { { "set", "/a", 5 } })
        raises("a whole number from 0, not -1", { { "check", "/a", -1 } })
        raises("a whole number from 0, not 1.5", { { "delete", "/a", 1.5 } })
    end)

    it("a guard larger than a packet raises", function()
        raises("at most 524288 bytes at once, not", { { "set", store, ("x"):rep(524288) } })
        assert.is_true(lease:guard{ { "set", store, ("x"):rep(500 * 1024) } })
    end)
end)


describe("session:get #session:get", function()
    it("get returns a node's data and version", function()
        local session = rig.session(server.hosts)
        assert.same({ "10", 0 }, { session:get(store) })
        assert.equal("", (session:get("/")))
        check_refused("no_node", nil, session:get(store .. "/none"))
        session:close()
        check_refused("closed", nil, session:get(store))
    end)

    it("get and guard return auth when an ACL refuses #server", function()
        local owner = rig.session(server.hosts, { auth = "digest:one:pw", acl = "creator" })
        local lease = assert(owner:mutex(path):acquire(20))
        assert.is_true(lease:guard{ { "create", store .. "/private", "x" } })
        local other = rig.session(server.hosts)
        check_refused("auth", nil, other:get(store .. "/private"))
        local public = assert(other:mutex(path .. "-other"):acquire(20))
        check_refused("auth", nil, public:guard{ { "set", store .. "/private", "y" } })
        assert.equal("x", (owner:get(store .. "/private")))
        public:release()
        lease:release()
    end)
end)
