--- [lua luajit asan tsan] zklock.waiting.caller calls a user's function, one call at a time.
local Caller = require "zklock.waiting.caller"

local session = {
    protect = function(_, fn, ...) pcall(fn, ...) end,
    call = function(_, _, fn, ...) fn(...) end,
}

describe("a caller #callbacks", function()
    it("all calls that fn asks for during a call become one call after it", function()
        local caller, story = Caller.new(), {}
        local function tell()
            story[#story + 1] = "begin"
            if #story < 4 then
                caller:call(tell)
                caller:call(tell)
            end
            story[#story + 1] = "end"
        end
        caller:call(tell)
        assert.same({ "begin", "end", "begin", "end", "begin", "end" }, story)
    end)

    it("an error of fn reaches the caller, and later calls run", function()
        local caller, calls = Caller.new(), 0
        local function tell()
            calls = calls + 1
            if calls == 1 then error("problem", 0) end
        end
        local ok, problem = pcall(caller.call, caller, tell)
        assert.is_false(ok)
        assert.equal("problem", problem)
        caller:call(tell)
        assert.equal(2, calls)
    end)

    it("no call runs while a coroutine is suspended in fn, until the coroutine is collected",
    function()
        local caller, calls = Caller.new(), 0
        local function tell()
            calls = calls + 1
            if calls == 1 then coroutine.yield() end
        end
        local thread = coroutine.create(function() caller:call(tell) end)
        coroutine.resume(thread)
        caller:call(tell)
        assert.equal(1, calls)
        thread = nil -- luacheck: ignore
        collectgarbage()
        collectgarbage()
        caller:call(tell)
        assert.equal(2, calls)
    end)

    it("items of tell_next are passed in order, each once, also items added during a call",
    function()
        local caller, told = Caller.new(), {}
        local function fn(item)
            told[#told + 1] = item
            if item == 1 then
                for next_item = 2, 4 do caller:tell_next(session, fn, 16, next_item) end
                assert.same({ 1 }, told)
            end
        end
        caller:tell_next(session, fn, 16, 1)
        assert.same({ 1, 2, 3, 4 }, told)
    end)

    it("the oldest waiting items of tell_next are dropped when too many wait", function()
        local caller, told, kept = Caller.new(), {}, {}
        local function fn(item)
            told[#told + 1] = item
            if item > 1 then return end
            for next_item = 2, 5 do
                kept[#kept + 1] = caller:tell_next(session, fn, 2, next_item)
            end
        end
        caller:tell_next(session, fn, 2, 1)
        assert.same({ true, true, false, false }, kept)
        assert.same({ 1, 4, 5 }, told)
    end)
end)
