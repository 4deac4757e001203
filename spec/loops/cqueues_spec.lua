--- [lua luajit memory] Waits inside cqueues.
local cqueues = require "cqueues"
local loop = require "spec.loops.loop" "cqueues"
local promises = require "spec.loops.promises"
local rig = require "spec.rig"

local server = rig.shared()

loop.start = "controller:wrap("
describe("cqueues #zklock.driver", function() promises(loop, it, before_each, after_each) end)


describe("in cqueues #zklock.driver", function()
    local session, path, lock, holder
    before_each(function()
        lock, session, path = rig.mutex()
        holder = rig.hold_elsewhere(server, path)
    end)
    after_each(rig.close_sessions)

    local function start_waits(count, results)
        local controller = cqueues.new()
        for n = 1, count do
            controller:wrap(function()
                local lease, _, code = lock:acquire()
                results[n] = lease or code
            end)
        end
        rig.wait_for("all wait", function()
            assert(controller:step(0))
            return #server:nodes(path) == count + 1
        end)
        return controller
    end

    local function check_nothing_left()
        rig.wait_for("nothing left", function()
            loop.collect()
            session:dispatch()
            return #server:nodes(path) == 1 and session:stats().claims == 0
        end)
        assert.is_true(holder:release{ wait = 20 })
        rig.use(lock)
        loop.run(function() rig.use(lock) end)
    end

    for how, drop in pairs{ dropped = function() end,
                            closed = function(controller) controller:close() end } do
        it("a controller that is " .. how .. " leaves nothing of its waits", function()
            local results = {}
            coroutine.wrap(function() drop(start_waits(10, results)) end)()
            check_nothing_left()
            assert.same({}, results)
        end)
    end

    it("a session that waits in one controller is refused with context in another, until the " ..
       "wait ends", function()
        local results, message, code = {}, nil, nil
        local first = start_waits(1, results)
        loop.run(function() message, code = select(2, lock:acquire{ timeout = 5, owner = 2 }) end)
        assert.equal("context", code)
        assert.is_truthy(message:find("open one session for each loop", 1, true), message)
        holder:release()
        assert(first:loop())
        results[1]:release{ wait = 20 }
        loop.run(function() rig.use(lock) end)
    end)

    it("a wait of the top level runs between the steps of a controller", function()
        local results = {}
        local controller = start_waits(1, results)
        assert.equal("timeout", rig.code_of(lock, 0.05))
        holder:release()
        assert(controller:loop())
        assert.equal("held", results[1]:state())
    end)

    it("a wait where the coroutine cannot yield returns context", function()
        loop.run(function()
            local code
            string.gsub("a", "a", function() code = rig.code_of(lock, 20) end)
            assert.equal("context", code)
        end)
    end)

    it("a coroutine inside a coroutine waits, too, if started with cqueues's wrap", function()
        local wrap, lease = require("cqueues.auxlib").wrap, nil
        loop.run(function()
            lease = wrap(function() return lock:acquire(20) end)()
        end, function()
            loop:wait_for("the wait", function() return #server:nodes(path) == 2 end)
            holder:release()
        end)
        assert.equal("held", lease:state())
    end)

    it("the number of a closed session's descriptor is free for other uses", function()
        local socket = require "cqueues.socket"
        loop.run(function()
            local number
            do
                local own = rig.session(server.hosts)
                number = own:fd()
                assert(rig.code_of(own:mutex(path), 0.05) == "timeout")
            end
            rig.close_sessions()
            local pairs_of_sockets, reused = {}, nil
            loop:wait_for("the number", function()
                loop.collect()
                local here, there = socket.pair()
                table.insert(pairs_of_sockets, { here, there })
                reused = (here:pollfd() == number or there:pollfd() == number) and { here, there }
                return reused
            end)
            cqueues.running():wrap(function()
                cqueues.sleep(0.01)
                reused[1]:write("a\n")
                reused[2]:write("b\n")
            end)
            assert(reused[2]:read("*l") == "a" and reused[1]:read("*l") == "b")
        end)
    end)
end)
