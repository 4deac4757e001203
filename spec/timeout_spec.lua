--- [lua luajit asan tsan memory worlds] A timeout is seconds or { timeout = seconds } in each call.
-- A driver notes the deadline of each wait and ends the wait at once. A world of virtual time uses
-- no driver, so there all calls wait.
local current = require "zklock.world.current"
local rig = require "spec.rig"
local runtime = require "zklock.waiting.runtime"
local zklock = require "zklock"

local PATH = "/locks/a"

local calls = {
    acquire = function(objects, timeout) return objects.lock:acquire(timeout) end,
    with = function(objects, timeout) return objects.lock:with(timeout, error) end,
    submit = function(objects, timeout) return objects.submit("item", timeout) end,
    wait = function(objects, timeout) return objects.condition:wait(objects.lease, timeout) end,
    signal = function(objects, timeout) return objects.condition:signal(objects.lease, timeout) end,
    broadcast = function(objects, timeout)
        return objects.condition:broadcast(objects.lease, timeout)
    end,
    check = function(objects, timeout) return objects.lease:check(timeout) end,
    downgrade = function(objects, timeout) return objects.lease:downgrade(timeout) end,
    queue = function(objects, timeout) return objects.lock:queue(timeout) end,
    ["queue of a multi-lock"] = function(objects, timeout) return objects.multi:queue(timeout) end,
    revoke = function(objects, timeout) return objects.lock:revoke(timeout) end,
    ["revoke of a multi-lock"] = function(objects, timeout)
        return objects.multi:revoke(timeout)
    end,
    get = function(objects, timeout) return objects.session:get(PATH, timeout) end,
    leader = function(objects, timeout) return objects.session:election(PATH):leader(timeout) end,
}


for name, call in pairs(calls) do
    describe("the timeout of " .. name .. " #times", function()
        local memory = zklock.memory("timeouts")
        local objects, deadline

        -- Returns the time at which the call gives up, or would give up, and its code.
        local function wait_of(timeout)
            local _, _, code = call(objects, timeout)
            return current.world() and runtime.now() or deadline, code
        end

        before_each(function()
            local session = assert(zklock.connect("memory:timeouts"))
            local writers = session:rwlock("/locks/held"):write()
            local lock = session:mutex(PATH)
            objects = {
                session = session,
                lock = lock,
                multi = session:multi{ lock, session:mutex("/locks/b") },
                submit = lock:combine(error),
                condition = writers:condition("changed"),
                lease = assert(writers:acquire(20)),
            }
            memory:delay(60)
            zklock.driver{ wait = function(_, _, by) deadline = by end }
        end)
        after_each(function()
            zklock.driver(nil)
            memory:reset()
            memory:delay(0)
            objects.session:close()
        end)

        for form, timeout in pairs{ ["a number"] = 7, ["in a table"] = { timeout = 7 } } do
            it("a timeout may be " .. form, function()
                local before = runtime.now()
                local due, code = wait_of(timeout)
                local latest = current.world() and before or runtime.now()
                assert.equal(current.world() and "timeout" or "interrupted", code)
                assert.is_true(due - before >= 7 - rig.ROUNDED, due - before)
                assert.is_true(due - latest <= 7 + rig.ROUNDED, due - latest)
            end)
        end

        it("an empty table is the same as no timeout #real", function()
            call(objects, nil)
            local left_out = deadline
            call(objects, {})
            assert.equal(left_out == nil, deadline == nil)
        end)

        for wrong, case in pairs{
            ["a negative number"] = { -1, "timeout must be seconds, 0 or more, not -1" },
            ["a negative number in a table"] = { { timeout = -1 },
                                                 "timeout must be seconds, 0 or more, not -1" },
            ["text in a table"] = { { timeout = "1" }, 'timeout must be a number, not "1"' },
            ["another option"] = { { wait = 1 }, 'unknown option "wait"', "timeout" },
            ["text"] = { "1", "seconds", "table" },
        } do
            it("a timeout is refused as " .. wrong, function()
                local message = rig.blames(nil, function() call(objects, case[1]) local _ = 1 end)
                for i = 2, #case do
                    assert.is_truthy(message:find(case[i], 1, true), message)
                end
            end)
        end
    end)
end
