--- [lua luajit asan tsan worlds] session:close{ drain = … } ends a session after its holders and
-- waiters.

local rig = require "spec.rig"
local zklock = require "zklock"

local server, path, session

before_each(function() server, path, session = rig.begin(1) end)
after_each(rig.close_sessions)


local function start_close(options)
    local self = {}
    coroutine.wrap(function() self.result = { session:close(options) } end)()
    return self
end

local function check_closed(close)
    rig.wait_for("the end of the session", function() return close.result end)
    assert.same({ true }, close.result)
    assert.equal("closed", session:state())
end


describe("a session that drains #session:close", function()
    for kind in pairs(rig.kinds) do
        it("a drain grants the waiters, and refuses new ones, for " .. kind, function()
            local held, lock = rig.excluding(kind, session, session, path)
            local lease = rig.hold(held)
            local order = rig.line_up({ lock, lock }, function()
                local close = start_close{ drain = 60 }
                assert.equal("closed", (rig.code_of(lock, { owner = "late" })))
                assert.equal("closed", (rig.code_of(session:mutex(path .. "-b"), 0)))
                assert.is_nil(close.result)
                assert.equal("held", lease:state())
                assert.equal("connected", session:state())
                assert(lease:release())
                check_closed(close)
            end)
            table.sort(order) -- readers are granted together
            assert.same({ 1, 2 }, order)
            server:wait_for_nodes(path, 0)
        end)
    end

    it("an owner may enter again, check and write during the drain", function()
        zklock.run(function()
            local lock = session:mutex(path)
            local lease = rig.hold(lock)
            local close = start_close{ drain = 60 }
            local again = assert(lock:acquire())
            assert(again:check(20))
            assert(again:guard{ { "create", path .. "/x", "" }, { "delete", path .. "/x" } })
            assert(again:release())
            assert.is_nil(close.result)
            assert(lease:release())
            check_closed(close)
        end)
    end)

    it("holders and waiters end when the drain's time is over", function()
        local lock = session:mutex(path)
        local lease = rig.hold(lock)
        assert.same({ "closed" }, rig.line_up({ lock }, function()
            check_closed(start_close{ drain = 0.2 })
        end))
        assert.equal("released", lease:state())
        server:wait_for_nodes(path, 0)
    end)

    it("drain_waiters = false ends the waits at once, and lets holders go on", function()
        local lock, gate = session:mutex(path), session:mutex(path .. "-t", { order = "turns" })
        local lease, turn = rig.hold(lock), rig.hold(gate)
        local order = rig.line_up({ lock, gate, gate }, function(order)
            local close = start_close{ drain = 60, drain_waiters = false }
            rig.wait_for("the waiters", function() return #order == 3 end)
            assert.equal("held", lease:state())
            assert(turn:release())
            assert.is_nil(close.result)
            assert(lease:release())
            check_closed(close)
        end)
        assert.same({ "closed", "closed", "closed" }, order)
    end)

    it("drain_waiters = false ends waits in a condition at once, also those that begin later",
       function()
        local lock = session:mutex(path)
        local condition, held = lock:condition("c"), rig.hold(session:mutex(path .. "-2"))
        local before, after
        zklock.run(function()
            before = select(3, condition:wait(rig.hold(lock), 60))
        end, function()
            server:wait_for_nodes(path .. "-condition-c", 1)
            local lease = rig.hold(lock)
            local close = start_close{ drain = 60, drain_waiters = false }
            rig.wait_for("the wait from before", function() return before end)
            after = select(3, condition:wait(lease, 60))
            assert.equal("released", lease:state())
            assert.equal("connected", session:state())
            assert(held:release())
            check_closed(close)
        end)
        assert.same({ "closed", "closed" }, { before, after })
        server:wait_for_nodes(path, 0)
        server:wait_for_nodes(path .. "-condition-c", 0)
    end)

    for how, cut_off in pairs{
        ["an interrupt"] = function(closer) assert.equal(1, session:interrupt(closer)) end,
        ["the end of its coroutine"] = coroutine.close, -- since Lua 5.4
    } do
        it("a session goes on if its close is cut off during the drain by " .. how, function()
            zklock.run(function()
                local lease, other = rig.hold(session:mutex(path)), session:mutex(path .. "-b")
                local closer = coroutine.create(function() session:close{ drain = 60 } end)
                assert(coroutine.resume(closer))
                assert.equal("closed", (rig.code_of(other, 0)))
                cut_off(closer)
                rig.wait_for("the end of the close", function()
                    return coroutine.status(closer) == "dead"
                end)
                rig.use(other)
                rig.release(lease)
            end)
        end)
    end

    it("a drain without holders and waiters closes at once, also with a kept lock", function()
        rig.release(rig.hold(session:mutex(path, { keep = 60 })))
        assert.is_true(session:close{ drain = 60 })
        assert.is_true(session:close{ drain = 60 })
        server:wait_for_nodes(path, 0)
    end)
end)
