--- [lua luajit] The defaults of the reference, in virtual time.
local zklock = require "zklock"


-- Runs fn(world) in the process "p" of a world.
local function run_in_world(fn)
    local world = assert(zklock.world(function(world)
        world:process("p", function() fn(world) end)
    end))
    assert(world:run())
end


describe("defaults #zklock.connect", function()
    it("a session asks for 10 s, of which a heartbeat counts for half", function()
        run_in_world(function()
            local session = assert(zklock.connect "memory:d")
            assert.equal(10, session:timeout())
            local lease = assert(session:mutex("/a"):acquire())
            local most = 0
            for _ = 1, 1000 do
                zklock.sleep(0.01)
                most = math.max(most, lease:remaining())
            end
            assert.is_true(most > 4.9 and most <= 5, most)
        end)
    end)

    it("connect waits 5 s", function()
        run_in_world(function(world)
            world:cut "p"
            local begun = world:now()
            assert.equal("connection", select(3, zklock.connect "memory:d"))
            assert.near(5, world:now() - begun, 0.02)
        end)
    end)

    local calls = {
        check = function(objects) return objects.lease:check() end,
        guard = function(objects) return objects.lease:guard{ { "check", "/" } } end,
        downgrade = function(objects) return objects.lease:downgrade() end,
        queue = function(objects) return objects.lock:queue() end,
        revoke = function(objects) return objects.lock:revoke() end,
        get = function(objects) return objects.session:get "/" end,
        leader = function(objects) return objects.session:election("/e"):leader() end,
        join = function(objects) return objects.session:join("/m", { name = "b" }) end,
        set = function(objects) return objects.member:set "x" end,
    }
    for name, call in pairs(calls) do
        it("a call without a connection waits at most a session timeout: " .. name, function()
            run_in_world(function(world)
                local session = assert(zklock.connect("memory:d", { timeout = 60 }))
                local lock = session:rwlock("/rw"):write()
                local objects = { session = session, lock = lock, lease = assert(lock:acquire()),
                                  member = assert(session:join("/m", { name = "a" })) }
                zklock.sleep(1)
                world:cut "p"
                zklock.sleep(1)
                local begun, own = world:now(), session:timeout()
                assert.is_nil((call(objects)))
                local took = world:now() - begun
                assert.is_true(took <= own + 0.1, took)
            end)
        end)
    end
end)
