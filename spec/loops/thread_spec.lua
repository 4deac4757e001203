--- [lua luajit memory] A second thread of the operating system.
local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"


describe("a session in a second thread #context", function()
    it("dispatch() and waits are refused with context, and go on in the session's own thread",
       function()
        local system = program.system()
        local lock, session = rig.mutex()
        local holder = rig.hold(rig.session(session.hosts):mutex(lock.path))
        for _, call in ipairs{ function() session:dispatch() end,
                               function() lock:acquire(20) end,
                               function() zklock.run(function() lock:acquire(20) end) end } do
            local ok, problem = system.call(call)
            assert.is_false(ok)
            assert.is_truthy(problem:find("in a second thread; open", 1, true), problem)
        end
        holder:release()
        assert.is_true(assert(lock:acquire(20)):release{ wait = 20 })
        rig.close_sessions()
    end)
end)
