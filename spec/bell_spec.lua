--- [lua luajit asan tsan memory] nginx waits only for sockets that it connected itself, so a unix
-- socket, the bell, wakes it. This process plays nginx; spec/nginx starts a real one. Other hosts
-- wait for the session's descriptor.

local files = require "spec.files"
local program = require "spec.fault.program"
local rig = require "spec.rig"

local server = rig.shared()
local system = program.system()


local function make_news(session)
    local request = session.handle:get("/", 5)
    rig.wait_apart("an answer", function() return request:done() end)
    return request
end


describe("a session's bell #session:dispatch", function()
    local session, handle, folder
    before_each(function()
        folder = rig.shell("mktemp -d"):match("[^\n]+")
        system.setenv("TMPDIR", folder)
        session = rig.session(server.hosts)
        session:dispatch()
        handle = session.handle
    end)
    after_each(function()
        rig.close_sessions()
        system.setenv("TMPDIR", "/tmp")
        assert.equal("", rig.shell("ls -A %s", folder))
        os.remove(folder)
    end)

    local function connect()
        local fd = system.connect(assert(handle:listen()))
        assert.is_true(fd >= 0)
        assert.is_true(handle:accept())
        return fd
    end

    local function news() return make_news(session) end

    it("the bell's socket is in a folder of the user alone, and is removed once connected",
    function()
        local path = assert(handle:listen())
        assert.equal(folder, path:sub(1, #folder))
        local parent = path:match("^(.*)/")
        assert.equal("700\n", rig.shell("stat -c %%a %s", parent))
        local fd = system.connect(path)
        assert.is_true(handle:accept())
        assert.equal("", rig.shell("ls -A %s", folder))
        assert.equal(-1, system.connect(path))
        system.close(fd)
    end)

    it("the bell's socket is in /tmp when $TMPDIR is too long, or does not exist", function()
        for _, name in ipairs{ ("/long"):rep(22), "/there/is/none" } do
            system.setenv("TMPDIR", name)
            local path = assert(handle:listen())
            assert.equal("/tmp/zklock-", path:sub(1, 12))
            assert.is_false(handle:accept())
            assert.equal(-1, system.connect(path))
        end
    end)

    it("the bell rings once for all news until heard() is called", function()
        local fd, kept = connect(), {}
        assert.equal(-1, system.read(fd))
        for i = 1, 5 do kept[i] = news() end
        assert.equal(1, system.read(fd))
        kept[6] = news()
        assert.equal(-1, system.read(fd))
        handle:heard()
        kept[7] = news()
        assert.equal(1, system.read(fd))
        handle:heard()
        handle:poke()
        assert.equal(1, system.read(fd))
        assert.equal(7, #kept)
        system.close(fd)
    end)

    it("the bell hangs up on another process, even on one that connected first", function()
        local path = assert(handle:listen())
        local stranger = rig.servant(([[perl -MIO::Socket::UNIX -e '
            $s = IO::Socket::UNIX->new(Peer => "%s") or exit 1; $| = 1; print "here\n";
            <STDIN>; print "ok ", sysread($s, $_, 9), "\n"; <STDIN>; print "ok\n"']])
            :format(path))
        stranger:greet()
        local fd = system.connect(path)
        assert.is_true(handle:accept())
        local kept = news()
        assert.equal(1, system.read(fd))
        assert.equal("0", stranger:command("read"))
        stranger:stop()
        system.close(fd)
        assert.is_true(kept:done())
    end)

    it("a new listener hears the bell after the former one closed, with or without a ring",
    function()
        local kept, first = {}, connect()
        kept[1] = news()
        system.close(first) -- after a ring that was not heard
        local second = connect()
        kept[2] = news()
        assert.equal(1, system.read(second))
        system.close(second)
        handle:heard()
        kept[3] = news()
        local third = connect()
        kept[4] = news()
        assert.equal(1, system.read(third))
        system.close(third)
        assert.equal(4, #kept)
    end)

    it("the bell hangs up, and its socket is removed, when the session is collected", function()
        local own = require("zklock").connect(server.hosts)
        local fd = system.connect(assert(own.handle:listen()))
        assert.is_true(own.handle:accept())
        assert(own.handle:listen())
        own:close()
        own = nil -- luacheck: ignore
        collectgarbage()
        collectgarbage()
        rig.wait_for("the hang-up", function() return system.read(fd) == 0 end)
        assert.equal("", rig.shell("ls -A %s", folder))
        system.close(fd)
    end)
end)


describe("a session's descriptor #session:fd", function()
    local session
    before_each(function()
        session = rig.session(server.hosts)
        session:dispatch()
    end)
    after_each(rig.close_sessions)

    it("the descriptor shows news from before fd()", function()
        local kept = make_news(session)
        assert.equal(1, system.read(session:fd()))
        assert.is_true(kept:done())
    end)

    it("the descriptor shows news after fd()", function()
        local fd = session:fd()
        assert.equal(-1, system.read(fd))
        local kept = make_news(session)
        assert.equal(1, system.read(fd))
        assert.is_true(kept:done())
    end)

    it("hand-overs do not write to a descriptor that nobody reads", function()
        local lock = session:mutex(rig.path(), { order = "turns" })
        local function writes()
            local text = files.read("/proc/self/io")
            return tonumber(text:match("syscw: (%d+)"))
        end
        local before
        rig.run(4, function(n)
            for i = 1, 500 do
                assert(lock:acquire(30)):release()
                if n == 1 and i == 100 then before = writes() end
            end
        end)
        local count = writes() - before
        assert.is_true(count < 400, count .. " writes in some 1600 hand-overs")
    end)
end)
