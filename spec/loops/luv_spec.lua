--- [lua luajit memory] Waits inside luv.
local Request = require "zklock.waiting.request"
local driver = require "zklock.waiting.driver.luv"
local loop = require "spec.loops.loop" "luv"
local program = require "spec.fault.program"
local promises = require "spec.loops.promises"
local rig = require "spec.rig"
local uv = require "luv"
local zklock = require "zklock"

local server = rig.shared()

loop.start = "coroutine.wrap("
describe("luv #zklock.driver", function() promises(loop, it, before_each, after_each) end)


describe("in luv #zklock.driver", function()
    local session, path, lock, holder
    before_each(function()
        lock, session, path = rig.mutex()
        holder = rig.hold_elsewhere(server, path)
    end)
    after_each(function() zklock.driver(nil) end)
    after_each(rig.close_sessions)

    local function wait_for_nodes(count)
        loop:wait_for(count .. " nodes", function() return #server:nodes(path) == count end)
    end

    it("a wait in a callback without a coroutine is refused with context", function()
        local message, code
        local timer = uv.new_timer()
        timer:start(0, 0, function()
            timer:close()
            message, code = select(2, lock:acquire(20))
        end)
        uv.run()
        assert.equal("context", code)
        assert.is_truthy(message:find("coroutine.wrap(", 1, true), message)
    end)

    it("a coroutine that is started before the loop runs waits for it, if luv is named", function()
        local lease
        zklock.driver("luv")
        coroutine.wrap(function() lease = lock:acquire(20) end)()
        holder:release()
        uv.run()
        assert.equal("held", lease:state())
    end)

    if coroutine.close then
        it("a coroutine that is closed while it waits leaves nothing", function()
            local thread = coroutine.create(function() lock:acquire() end)
            loop.run(function()
                coroutine.resume(thread)
                wait_for_nodes(2)
                coroutine.close(thread)
                wait_for_nodes(1)
                loop:wait_for("no claim", function() return session:stats().claims == 0 end)
            end)
        end)
    end

    it("a session whose poll handle was closed is polled again by its next wait", function()
        local other = session:mutex(rig.path())
        loop.run(function()
            coroutine.wrap(function() lock:acquire() end)()
            wait_for_nodes(2)
            uv.walk(function(handle)
                if not handle:is_closing() then handle:close() end
            end)
        end)
        loop.run(function()
            rig.use(other)
            holder:release() -- ends the first wait, too
        end)
    end)

    it("a wait is not forgotten when it ends while another wait begins", function()
        local first, ended = Request.new(session, session.handle:pause(0.1)), {}
        local function wait(request)
            driver.wait(session, request)
            request:close()
            ended[request] = true
        end
        loop.run(function()
            coroutine.wrap(wait)(first)
            coroutine.wrap(function()
                local second = Request.new(session, session.handle:pause(0.2))
                local on_done = second.on_done
                rawset(second, "on_done", function(...) -- as a finalizer may run there
                    rig.wait_apart("the first", function()
                        session:dispatch()
                        return first.told
                    end)
                    return on_done(...)
                end)
                wait(second)
                assert.is_true(ended[first])
            end)()
        end)
        assert.is_true(ended[first])
    end)

    it("closing all handles forgets the waits", function()
        local ended = false
        local function wait()
            lock:acquire()
            ended = true
        end
        loop.run(function()
            coroutine.wrap(wait)()
            wait_for_nodes(2)
            uv.walk(function(handle)
                if not handle:is_closing() then handle:close() end
            end)
        end)
        rig.wait_for("nothing left", function()
            loop.collect()
            return #server:nodes(path) == 1
        end)
        assert.is_false(ended)
        holder:release{ wait = 20 }
        loop.run(function() rig.use(lock) end)
    end)

    it("a descriptor that the user also polls is polled once", function()
        local lease
        local poll = uv.new_poll(session:fd())
        poll:start("r", function() session:dispatch() end)
        loop.run(function()
            coroutine.wrap(function()
                lease = lock:acquire(20)
                poll:close()
            end)()
            wait_for_nodes(2)
            loop.collect() -- nothing but the wait refers to the coroutine
            loop.collect()
            holder:release()
        end)
        assert.equal("held", lease:state())
    end)

    it("a wait ends though the user stops polling the descriptor before", function()
        local lease
        local poll = uv.new_poll(session:fd())
        poll:start("r", function() session:dispatch() end)
        loop.run(function()
            coroutine.wrap(function() lease = lock:acquire(20) end)()
            poll:close()
            wait_for_nodes(2)
            holder:release()
        end)
        assert.equal("held", lease:state())
    end)

    it("a coroutine that is resumed by mistake goes on waiting", function()
        local lease
        loop.run(function()
            local thread = coroutine.create(function() lease = lock:acquire(20) end)
            coroutine.resume(thread)
            assert(coroutine.resume(thread, "not this"))
            wait_for_nodes(2)
            holder:release()
        end)
        assert.equal("held", lease:state())
    end)

    it("an error after a wait ends the program like an error of a callback", function()
        local child = program.start(server.hosts, ([[
            local uv = require "luv"
            local lock = assert(zklock.connect(HOSTS, { timeout = 8 })):mutex(%q)
            local timer = uv.new_timer()
            timer:start(0, 0, function()
                coroutine.wrap(function()
                    lock:acquire(0.01)
                    error("told to luv")
                end)()
            end)
            uv.run()
        ]]):format(path))
        local _, errors, status = child:finish()
        assert.is_truthy(errors:find("told to luv", 1, true), errors)
        assert.equal(255, status)
    end)

    it("a session that waits in another loop is refused with context", function()
        local cqueues = require "cqueues"
        local controller, code = cqueues.new(), nil
        controller:wrap(function() lock:acquire() end)
        rig.wait_for("the wait", function()
            assert(controller:step(0))
            return #server:nodes(path) == 2
        end)
        loop.run(function() code = select(3, lock:acquire{ timeout = 5, owner = 2 }) end)
        assert.equal("context", code)
        holder:release()
        assert(controller:loop())
    end)
end)
