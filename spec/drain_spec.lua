-- session:close{ drain = … }: a session ends without sending anybody away who holds or waits.

local rig = require "spec.rig"
local zklock = require "zklock"

local server, path, session
local wait_for = rig.wait_for

before_each(function()
    server, path = rig.shared(), rig.path()
    session = rig.session(server.hosts)
end)

after_each(rig.close_sessions)


-- Waits in a coroutine of the run, and gives the lease back; `code` is what it came to.
local function waiter(lock, options)
    local self = {}
    coroutine.wrap(function()
        local lease, _, code = lock:acquire(options)
        self.code = lease and "held" or code
        if lease then assert(lease:release()) end
    end)()
    return self
end

local function waiting(count)
    wait_for(count .. " that wait", function()
        session:dispatch()
        return session:stats().waits == count
    end)
end

-- Closes in a coroutine of the run.
local function closing(options)
    local self = {}
    coroutine.wrap(function() self.result = { session:close(options) } end)()
    return self
end

local function has_closed(close)
    wait_for("the end of the session", function() return close.result end)
    assert.same({ true }, close.result)
    assert.equal("closed", session:state())
end


describe("a session that drains", function()
    for _, options in ipairs{ {}, { order = "turns" }, { order = "none" }, { keep = 60 } } do
        local name = options.keep and "keep" or options.order or "fifo"
        it("has its waiters granted, and takes no more: " .. name, function()
            zklock.run(function()
                local lock = session:mutex(path, options)
                local lease = rig.hold(lock)
                local one, two = waiter(lock), waiter(lock)
                waiting(2)
                local close = closing{ drain = 60 }
                assert.equal("closed", (rig.code_of(lock, { owner = "late" })))
                assert.equal("closed", (rig.code_of(session:mutex(path .. "-b"), 0)))
                assert.is_nil(close.result)
                assert.equal("held", lease:state())
                assert.equal("connected", session:state())
                assert(lease:release())
                has_closed(close)
                assert.same({ "held", "held" }, { one.code, two.code })
            end)
            server:wait_for_nodes(path, 0)
        end)
    end

    it("lets an owner enter again, check and write", function()
        zklock.run(function()
            local lock = session:mutex(path)
            local lease = rig.hold(lock)
            local close = closing{ drain = 60 }
            local again = assert(lock:acquire())
            assert(again:check(20))
            assert(again:guard{ { "create", path .. "/x", "" }, { "delete", path .. "/x" } })
            assert(again:release())
            assert.is_nil(close.result)
            assert(lease:release())
            has_closed(close)
        end)
    end)

    it("ends holders and waiters when its time is over", function()
        zklock.run(function()
            local lock = session:mutex(path)
            local lease = rig.hold(lock)
            local one = waiter(lock)
            waiting(1)
            has_closed(closing{ drain = 0.2 })
            wait_for("the waiter", function() return one.code end)
            assert.equal("closed", one.code)
            assert.equal("released", lease:state())
        end)
        server:wait_for_nodes(path, 0)
    end)

    it("sends waiters away with drain_waiters = false; holders have their time", function()
        zklock.run(function()
            local lock, gate = session:mutex(path), session:mutex(path .. "-t", { order = "turns" })
            local lease, turn = rig.hold(lock), rig.hold(gate)
            local one, two, three = waiter(lock), waiter(gate), waiter(gate)
            waiting(3)
            local close = closing{ drain = 60, drain_waiters = false }
            wait_for("the waiters", function() return one.code and two.code and three.code end)
            assert.same({ "closed", "closed", "closed" }, { one.code, two.code, three.code })
            assert.equal("held", lease:state())
            assert(turn:release())
            assert.is_nil(close.result)
            assert(lease:release())
            has_closed(close)
        end)
    end)

    it("closes at once if nobody holds or waits, also what is kept", function()
        rig.released(rig.hold(session:mutex(path, { keep = 60 })))
        assert.is_true(session:close{ drain = 60 })
        assert.is_true(session:close{ drain = 60 }) -- and once more
        server:wait_for_nodes(path, 0)
    end)
end)
