--- [lua luajit memory] Waits inside copas, which Debian has for Lua 5.1.
local program = require "spec.fault.program"
local promises = require "spec.loops.promises"
local rig = require "spec.rig"
local zklock = require "zklock"

local found, copas = pcall(require, "copas")
local server = rig.shared()

if not found then
    describe("the driver of a library that is not installed", function()
        it("the driver is refused with the reason, and nothing changes", function()
            local ok, message, code = zklock.driver("copas")
            assert.is_nil(ok)
            assert.equal("unsupported", code)
            assert.is_truthy(message:find("module 'copas' not found", 1, true), message)
        end)
    end)
    return
end

local loop = require "spec.loops.loop" "copas"

loop.start = "copas.addthread("
describe("copas #zklock.driver", function() promises(loop, it, before_each, after_each) end)


describe("in copas #zklock.driver", function()
    after_each(rig.close_sessions)

    it("a descriptor that select() cannot take is refused with context", function()
        local child = program.start(server.hosts, ([[
            local copas = require "copas"
            local files = {}
            local session = assert(zklock.connect(HOSTS, { timeout = 8 }))
            for n = 1, 1024 do files[n] = assert(io.open("/dev/null")) end
            copas.addthread(function()
                local _, message, code = session:mutex(%q):acquire(20)
                say(code)
                say(message)
            end)
        ]]):format(rig.path()), { prefix = "prlimit --nofile=2048" })
        assert.equal("context", child:line())
        local rest, _, status = child:finish()
        assert.is_truthy(rest:find("below 1024", 1, true), rest)
        assert.equal(0, status)
    end)

    it("1200 waits, more than select() takes descriptors, end together", function()
        local session, path, closed = rig.session(server.hosts), rig.path(), 0
        rig.hold(rig.session(server.hosts):mutex(path))
        local waits = {}
        for n = 1, 1200 do
            waits[n] = function()
                assert(rig.code_of(session:mutex(path)) == "closed")
                closed = closed + 1
            end
        end
        waits[1201] = function()
            loop:wait_for("all wait", function() return session:stats().claims == 1200 end)
            session:close()
        end
        loop.run(unpack(waits))
        assert.equal(1200, closed)
    end)

    it("the main program can wait after an error has ended copas.loop()", function()
        copas.running = true -- as copas 4 leaves it
        finally(function() copas.running = nil end)
        assert(rig.session(server.hosts):mutex(rig.path()):acquire(20)):release()
    end)

    it("an error after a wait goes to copas's error handler", function()
        local told
        local lock = rig.session(server.hosts):mutex(rig.path())
        loop.run(function()
            copas.addthread(function()
                copas.setErrorHandler(function(message) told = message end)
                assert(lock:acquire(20)):release{ wait = 20 }
                error("told to copas", 0)
            end)
            loop:wait_for("the error", function() return told end)
        end)
        assert.equal("told to copas", told)
    end)
end)
