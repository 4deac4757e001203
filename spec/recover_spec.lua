--- [lua luajit asan tsan] connect with `recover`: a crash does not cost a session timeout. No
-- session here expires in less than forty seconds, and no test waits so long, so a grant after a
-- crash shows that the dead process's session was ended.

local database = require "zklock.seckill.database"
local program = require "spec.fault.program"
local rig = require "spec.rig"
local throwaway = require "zklock.seckill.throwaway"
local zklock = require "zklock"

local SESSION = 40

local HOLDER = [[
    local FOLDER, PATH = %q, %q
    local session = assert(zklock.connect(HOSTS, {
        recover = FOLDER, timeout = tonumber(os.getenv("SESSION") or 40),
        auth = os.getenv("AUTH") }))
    local lease = assert(session:mutex(PATH):acquire(20))
    %s
    say("holds")
    io.read()
    say(lease:state())
]]

describe("a session that is kept in a folder #server #a_crash_that_costs_no_session_timeout",
         function()
    local server, folder, path, holders

    setup(function() server = rig.server{ tick = 2000 } end)
    teardown(function() server:stop() end)
    before_each(function()
        folder = rig.shell("mktemp -d /dev/shm/zklock-XXXXXX"):match("%S+")
        path, holders = rig.path(), {}
    end)
    after_each(function()
        for _, each in ipairs(holders) do
            each:signal("KILL")
            each:finish()
        end
        rig.close_sessions()
        rig.shell("rm -rf %s %s-copy", folder, folder)
    end)

    local function start_holder(lock_path, more, options)
        options = options or {}
        options.input = true
        local holder = program.start(options.hosts or server.hosts,
                                     HOLDER:format(folder, lock_path or path, more or ""), options)
        holders[#holders + 1] = holder
        holder:says("holds")
        return holder
    end

    local function kill_holder(...)
        local holder = start_holder(...)
        holder:signal("KILL")
        holder:finish()
        table.remove(holders)
    end

    local function check_still_held(holder)
        holder:tell("go on")
        holder:says("held")
    end

    local function connect(options)
        options = options or {}
        options.timeout = options.timeout or SESSION
        options.recover = options.recover or folder
        local hosts = options.hosts or server.hosts
        options.hosts = nil
        return rig.session(hosts, options)
    end

    local function list(given_folder)
        local names = {}
        for name in rig.shell("ls %s", given_folder or folder):gmatch("%S+") do
            names[#names + 1] = name
        end
        return names
    end

    local function wait_for_recovered(session, count)
        rig.wait_for_stats(session, { recovered = count })
    end

    local function wait_for_expiry(given_server, id)
        rig.wait_for("the session's end", function()
            return not given_server:ask("dump"):find("0x" .. id, 1, true)
        end)
    end

    -- Also shows that a session was counted, because its file goes after that.
    local function wait_for_files(count, given_folder)
        rig.wait_for(count .. " files", function() return #list(given_folder) == count end)
    end

    local function check_left_alone(session, given_folder)
        wait_for_files(1, given_folder)
        assert.equal(0, session:stats().recovered)
        assert.equal(1, #server:nodes(path))
    end

    it("a dead process's session is ended by the next connect with its folder", function()
        kill_holder()
        assert.equal(1, #list())
        local session = connect()
        local lease = rig.hold(session:mutex(path))
        wait_for_recovered(session, 1)
        wait_for_files(1)
        assert.equal("held", lease:state())
    end)

    it("the session is ended where the server enforces authentication", function()
        local strict = rig.server{ tick = 2000, environment = "JVMFLAGS='" ..
            "-Dzookeeper.enforce.auth.enabled=true -Dzookeeper.enforce.auth.schemes=digest'" }
        finally(function() strict:stop() end)
        kill_holder(nil, nil, { hosts = strict.hosts, environment = "AUTH=digest:a:b" })
        local session = connect{ hosts = strict.hosts, auth = "digest:a:b" }
        rig.hold(session:mutex(path))
        wait_for_recovered(session, 1)
        wait_for_files(1)
    end)

    it("a session that had expired already is not counted", function()
        local quick = rig.shared()
        kill_holder(nil, nil, { hosts = quick.hosts, environment = "SESSION=0.4" })
        wait_for_expiry(quick, list()[1]:match("^0*(%x+)-"))
        local session = connect{ hosts = quick.hosts, timeout = 0.4 }
        wait_for_files(1)
        assert.equal(0, session:stats().recovered)
    end)

    it("a session's file is readable only by its user, and is gone after close", function()
        local made = folder .. "/made"
        local session = connect{ recover = made }
        assert.equal("700\n600\n", rig.shell("stat -c %%a %s %s/*", made, made))
        assert.is_truthy(list(made)[1]:find("^%x+%-%d+%.session$"))
        session:close()
        assert.same({}, list(made))
    end)

    it("the session of a stopped process lives on", function()
        local stopped, other = start_holder(), rig.path()
        stopped:signal("STOP")
        kill_holder(other)
        local session = connect()
        wait_for_recovered(session, 1)
        wait_for_files(2)
        stopped:signal("CONT")
        check_still_held(stopped)
    end)

    -- Starts a holder whose `source` can use the module `system`.
    local function start_forker(source)
        return start_holder(nil, [[
            local system = require "spec.fault.program".system()
            ]] .. source)
    end

    it("the session is ended though a forked child, or a command, of its process lives", function()
        local holder = start_forker[[
            os.execute("sleep 60 >/dev/null 2>&1 &")
            if system.fork(60) == 0 then
                os.execute("touch " .. FOLDER .. "/forked")
                while true do os.execute("sleep 60") end
            end
            repeat zklock.sleep(0.01) until os.rename(FOLDER .. "/forked", FOLDER .. "/gone")]]
        holder:signal("KILL") -- its child has its descriptors of input and output, too
        holders = {}
        rig.hold(connect():mutex(path))
    end)

    it("the session lives on when a forked child of its process ends", function()
        local holder = start_forker[[
            local child = system.fork(60)
            if child == 0 then system.exit(0) end
            system.wait(child)
            child = system.fork(60)
            if child == 0 then os.exit(0, true) end
            system.wait(child)]]
        kill_holder(rig.path())
        wait_for_recovered(connect(), 1)
        check_still_held(holder)
    end)

    it("the session of a copied folder is left alone", function()
        local holder = start_holder()
        rig.shell("cp -a %s %s-copy", folder, folder)
        check_left_alone(connect{ recover = folder .. "-copy" }, folder .. "-copy")
        check_still_held(holder)
    end)

    for name, change in pairs{
        ["was cut short"] = "truncate -s -5 %s/*",
        ["is empty"] = "truncate -s 0 %s/*",
        ["is longer than it was"] = "echo >>$(echo %s/*)",
        ["is of another boot"] = "sed -i.old 's/^boot ./boot x/' %s/*; rm %s/*.old",
        ["names another inode"] = "perl -0pi -e 's/inode /inode 1/' %s/*",
    } do
        it("the session is left to its timeout, and its file removed, when the file " .. name,
           function()
            kill_holder()
            rig.shell(change:gsub("%%s", folder):gsub("%%", "%%%%"))
            assert.equal(1, #list())
            check_left_alone(connect())
        end)
    end

    it("the session is left to its timeout under other hosts, or another chroot", function()
        server:foreign("create /other x")
        for _, hosts in ipairs{ server.hosts .. "/other", server.hosts .. ",127.0.0.1:1" } do
            kill_holder()
            local session = connect{ hosts = hosts }
            check_left_alone(session)
            session:close()
            path = rig.path()
        end
    end)

    it("the session of a process that moved is ended under its new hosts #session:set_hosts",
       function()
        local proxy = rig.proxy_for_test(server.hosts)
        kill_holder(nil, ("assert(session:set_hosts(%q, 20))"):format(proxy.hosts))
        rig.hold(connect{ hosts = proxy.hosts }:mutex(path))
    end)

    it("a session whose file cannot be written works, and tells that", function()
        local holder = start_holder(nil, [[
            assert(session:stats().recover_error == "No space left on device")]],
            { prefix = "prlimit --fsize=100" })
        assert.same({}, list())
        check_still_held(holder)
    end)

    -- Where this user may mount.
    local small = "/tmp/zklock-small-" .. rig.pid
    if rig.shell("mkdir %s && mount -t tmpfs -o size=4k zklock %s 2>/dev/null && echo yes",
                 small, small) == "yes\n" then
        it("a session on a full disk works, and is kept when there is room again", function()
            local proxy = rig.proxy_for_test(server.hosts)
            rig.shell("head -c 4096 /dev/zero >%s/full", small)
            local session = connect{ hosts = proxy.hosts, recover = small }
            rig.hold(session:mutex(path))
            assert.equal("No space left on device", session:stats().recover_error)
            rig.shell("rm %s/full", small)
            proxy:command("cut")
            rig.wait_for("the session's file", function() return #list(small) == 1 end)
            rig.wait_for("no error", function() return not session:stats().recover_error end)
            session:close()
        end)
    end
    teardown(function() rig.shell("umount %s 2>&1; rmdir %s", small, small) end)

    it("many connects at once end each dead session once, and no living session", function()
        local sessions = {}
        for _ = 1, 5 do
            kill_holder()
            rig.run(4, function()
                local session = connect()
                sessions[#sessions + 1] = session
            end)
            rig.use(sessions[1]:mutex(path))
        end
        wait_for_files(20)
        for _, session in ipairs(sessions) do
            assert.equal(0, session:stats().expiries)
            assert.equal("connected", session:state())
        end
        rig.wait_for("five ended sessions", function()
            local recovered = 0
            for _, each in ipairs(sessions) do recovered = recovered + each:stats().recovered end
            return recovered == 5
        end)
    end)

    it("the session is ended only after `grace`", function()
        kill_holder()
        local seconds = rig.timed(function() rig.hold(connect{ grace = 0.5 }:mutex(path)) end)
        assert.is_true(seconds >= 0.5, seconds)
    end)

    it("the session is ended when a server answers again after an outage", function()
        local proxy = rig.proxy_for_test(server.hosts)
        kill_holder(nil, nil, { hosts = proxy.hosts })
        local session = connect{ hosts = proxy.hosts, grace = 1 }
        proxy:shut()
        rig.becomes(session, "suspended")
        zklock.sleep(1.5)
        proxy:pass()
        wait_for_recovered(session, 1)
        wait_for_files(1)
    end)

    -- Connects, does `more`, says how many sessions it has ended, and is told to end.
    local function start_ender(more, options)
        options.input = true
        holders[#holders + 1] = program.start(options.hosts or server.hosts, ([[
            local session, files = assert(zklock.connect(HOSTS, { recover = %q, grace = %g })), {}
            %s
            io.read()
            say(session:stats().recovered)
            io.read()
        ]]):format(folder, options.grace or 0, more), options)
        return holders[#holders]
    end

    local function check_ended(ender, count)
        ender:tell("say it")
        ender:says(tostring(count))
    end

    it("many dead sessions are ended by a process with few descriptors", function()
        kill_holder(nil, [[
            local sessions = {}
            for i = 1, 30 do
                sessions[i] = assert(zklock.connect(HOSTS, { recover = FOLDER, timeout = 40 }))
            end]])
        local ender = start_ender("", { prefix = "prlimit --nofile=32" })
        wait_for_files(1)
        check_ended(ender, 31)
    end)

    it("a dead session that cannot be looked at for lack of descriptors is left to the next " ..
       "connect", function()
        kill_holder()
        local usual = program.sanitizer == "tsan" and 5 or 4
        -- A thread that looks for sockets has a descriptor, so at most the recovery may be left.
        local ender = start_ender(([[
            local function count_threads()
                local pipe = io.popen("ls /proc/$PPID/task | wc -l")
                local count = pipe:read("*n")
                pipe:close()
                return count
            end
            while count_threads() > %d do zklock.sleep(0.001) end
            repeat
                local file = io.open("/dev/null")
                files[#files + 1] = file
            until not file
            files[#files]:close()
            say("one is free")
        ]]):format(usual + 1), { prefix = "prlimit --nofile=32", grace = 0.5 })
        ender:says("one is free")
        rig.wait_for("the end of recovery", function()
            return #list("/proc/" .. ender.pid .. "/task") == usual
        end)
        check_ended(ender, 0)
        rig.hold(connect():mutex(path))
    end)

    it("a dead session is ended after a reconnect if no thread was free before", function()
        local library, limit = program.library("threads"), os.tmpname()
        finally(function() os.remove(limit) end)
        os.remove(limit)
        local proxy = rig.proxy_for_test(server.hosts)
        kill_holder(nil, nil, { hosts = proxy.hosts })
        proxy:reset()
        proxy:command("halfopen")
        local ender = start_ender([[say("connected")]], {
            hosts = proxy.hosts, preload = library, environment = "THREADS=" .. limit })
        rig.wait_for("the session's request", function() return proxy:counts().connect == 1 end)
        program.write(limit, "0")
        proxy:command("flow")
        ender:says("connected")
        os.remove(limit)
        proxy:command("cut")
        wait_for_files(1)
        check_ended(ender, 1)
    end)

    it("a dead session is left to the next connect if the session that would end it is closed",
    function()
        kill_holder()
        local patient = connect{ grace = 60 }
        assert.is_nil((patient:mutex(path):acquire(0.1)))
        patient:close()
        rig.wait_for("the dead session's file unlocked", function()
            return rig.shell("flock -n %s/* echo free", folder) == "free\n"
        end)
        rig.hold(connect():mutex(path))
    end)

    for how, fall_silent in pairs{
        ["without a connection"] = function(proxy, session) proxy:break_off(session) end,
        ["towards a silent server"] = function(proxy) proxy:command("blackhole") end,
    } do
        it(("a session that was closed %s is left to the next process #slow"):format(how),
           function()
            local proxy = rig.proxy_for_test(server.hosts)
            local session = connect{ hosts = proxy.hosts }
            rig.hold(session:mutex(path))
            fall_silent(proxy, session)
            session:close()
            proxy:command("cut")
            assert.equal(1, #list())
            proxy:pass()
            rig.hold(connect{ hosts = proxy.hosts }:mutex(path))
        end)
    end

    it("a new session's file replaces the old after an expiry #slow", function()
        local quick = rig.shared()
        local proxy = rig.proxy_for_test(quick.hosts)
        local session = connect{ hosts = proxy.hosts, timeout = 0.4 }
        local first = list()[1]
        proxy:command("blackhole")
        wait_for_expiry(quick, session:id())
        proxy:command("flow")
        rig.wait_for("another session", function() return session:stats().expiries > 0 end)
        rig.wait_for("the session's file", function()
            local names = list()
            return #names == 1 and names[1] ~= first
        end)
    end)
end)


describe("a holder that is killed between its statement and COMMIT on MariaDB #server" ..
         " #a_crash_that_costs_no_session_timeout", function()
    local server, stores, url, folder

    setup(function()
        server, stores = rig.server{ tick = 2000 }, throwaway.open()
        url = stores:mysql():gsub("/%?", "/recover?")
        database.create(url)
        folder = rig.shell("mktemp -d /dev/shm/zklock-XXXXXX"):match("%S+")
    end)
    teardown(function()
        rig.close_sessions()
        stores:close()
        server:stop()
        rig.shell("rm -rf %s", folder)
    end)

    local SELL = "UPDATE stock SET left_over = left_over - 1, token = %s WHERE token <= %s"

    it("the holder has sold nothing, and the next holder sells at once", function()
        local store, path = database.open(url), rig.path()
        store:execute_all{ "CREATE TABLE stock (left_over INT, token BIGINT) ENGINE = InnoDB",
                           "INSERT INTO stock VALUES (10, 0)" }
        local holder = program.start(server.hosts, (HOLDER:format(folder, path, [[
            local store = require("zklock.seckill.database").open(%q)
            store:execute("BEGIN")
            store:execute((%q):gsub("%%%%s", lease:token_string()))
        ]])):format(url, SELL), { input = true })
        holder:says("holds")
        holder:signal("KILL")
        holder:finish()
        local session = rig.session(server.hosts, { timeout = SESSION, recover = folder })
        local lease = rig.hold(session:mutex(path))
        assert.equal(1, store:execute((SELL:gsub("%%s", lease:token_string()))))
        assert.equal(9, store:number "SELECT left_over FROM stock")
        store:close()
    end)
end)


describe("connect with recover #a_crash_that_costs_no_session_timeout", function()
    after_each(rig.close_sessions)

    it("connect refuses a folder whose file locks are not known to work", function()
        for folder, why in pairs{ ["/proc/zklock"] = "/proc/zklock", ["/dev/null"] = "/dev/null",
                                  ["/proc"] = "not on tmpfs, ext4, xfs or btrfs" } do
            rig.check_refused("unsupported", why,
                zklock.connect("127.0.0.1:1", { recover = folder }))
        end
    end)

    it("recover means nothing to a server in memory, because its sessions end with the process",
       function()
        local session = assert(zklock.connect("memory:recover", { recover = "/proc" }))
        assert.equal(0, session:stats().recovered)
        session:close()
    end)
end)
