--- [lua luajit] Waits without a free descriptor return a code, and work when one is free again.
local program = require "spec.fault.program"
local rig = require "spec.rig"

local server = rig.shared()

-- A limit below the open descriptors leaves none, whatever zklock's threads close meanwhile. A
-- program that begins with no descriptor cannot raise it, so the raiser begins before.
local PRELUDE = [[
    local raiser = io.popen("read _; prlimit --nofile=64: --pid $PPID", "w")
    local function take_all() os.execute "prlimit --nofile=3: --pid $PPID" end
    local function give_back() raiser:close() end
    local PATH = %q
]]

local function run(source)
    local child = program.start(server.hosts, PRELUDE:format(rig.path()) .. source)
    local rest, errors, status = child:finish()
    assert.equal(0, status, errors)
    return rest
end


describe("without a free descriptor #zklock.connect", function()
    it('connect, the first wait of all, returns "connection", and works later #slow', function()
        assert.equal("connection\nconnected\nheld\n", run[[
            take_all()
            local _, _, code = zklock.connect(HOSTS, { connect_timeout = 1 })
            say(code)
            give_back()
            local session = assert(zklock.connect(HOSTS))
            say(session:state())
            say(assert(session:mutex(PATH):acquire(20)):state())
        ]])
    end)

    it("waits, sleeps and runs of an open session go on #slow", function()
        assert.equal("held\ntimeout\nlost\nreleased\ntrue\n", run[[
            local session = assert(zklock.connect(HOSTS))
            local other = assert(zklock.connect(HOSTS)):mutex(PATH)
            local lock, state = session:mutex(PATH), nil
            take_all()
            local lease = assert(lock:acquire(20))
            say(lease:state())
            lease:on_lost(function(_, news) state = news end)
            zklock.run(function() say(select(3, other:acquire(0.3))) end,
                       function() zklock.sleep(0.1) end)
            assert(session:mutex(PATH .. "-2"):with(5, function(mine)
                assert(mine:guard{ { "delete", PATH .. "/" .. lock:queue()[1].name } })
            end))
            while not state do zklock.sleep(0.01) end
            say(state)
            lock:acquire(20):release()
            lock:acquire(20):release{ wait = 20 }
            local mine = assert(other:acquire(20))
            mine:release{ wait = 20 }
            say(mine:state())
            say(session:close())
        ]])
    end)

    it('session:fd() returns "too_many" with the reason, and works later', function()
        local said = run[[
            local session = assert(zklock.connect(HOSTS))
            take_all()
            local fd, message, code = session:fd()
            say(fd, code)
            say(message)
            give_back()
            say(type(session:fd()))
        ]]
        assert.is_truthy(said:find("^nil\ttoo_many\ntoo_many: .*Too many open files"), said)
        assert.is_truthy(said:find("\nnumber\n$"), said)
    end)

    for _, each in ipairs{
        { name = "cqueues", run = [[
            local controller = loop.new()
            local function in_loop(fn) controller:wrap(fn) assert(controller:loop()) end]] },
        { name = "luv", run = [[
            local function in_loop(fn)
                local timer = loop.new_timer()
                timer:start(0, 0, function() timer:close() coroutine.wrap(fn)() end)
                loop.run()
            end]] },
    } do
        for driver, code in pairs{ loaded = "too_many", ["not loaded"] = "unsupported" } do
            it(("a wait in %s with its driver %s returns %q, and works later")
               :format(each.name, driver, code), function()
                local said = run(([[
                    local loop = require %q
                    %s
                    in_loop(function() end)
                    local session = assert(zklock.connect(HOSTS)) -- this loads the driver
                    local driver = "zklock.waiting.driver." .. %q
                    if %q == "not loaded" then package.loaded[driver] = nil end
                    take_all()
                    in_loop(function() say(select(3, session:mutex(PATH):acquire(20))) end)
                    give_back()
                    in_loop(function()
                        say(assert(session:mutex(PATH):acquire(20)):release{ wait = 20 })
                    end)
                    say(session:close())
                ]]):format(each.name, each.run, each.name, driver))
                assert.equal(code .. "\ntrue\ntrue\n", said)
            end)
        end
    end
end)
