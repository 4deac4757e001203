--- [lua luajit asan tsan] zklock hold, check and release on a real server.

local commands = require "spec.commands"
local files = require "spec.files"
local rig = require "spec.rig"

local LUA = commands.LUA
local fresh_path, start, ends = commands.fresh_path, commands.start, commands.ends
local expect = commands.expect
local hold = commands.verb "hold"

describe("zklock hold #server", function()
    local server, path, session
    local handles = {}

    before_each(function() server, path, session = rig.begin(1) end)
    after_each(function()
        for _, handle in ipairs(handles) do commands.outcome("release %s", handle) end
        handles = {}
        commands.end_all()
    end)

    -- Runs a line by a shell, with zklock for %s. Returns its output.
    local function script(text)
        return rig.shell("%s", (text:gsub("%%s", LUA .. " bin/zklock")))
    end

    local function remember(handle)
        assert.matches("^[^:]+:/%S+/zklock%-%w+$", handle)
        handles[#handles + 1] = handle
        return handle
    end

    local function hold_and_remember(text, ...) return remember(ends(0, text, ...)) end

    local function pid_of_holder()
        return session:mutex(path):queue()[1].identity:match("%d+$")
    end

    local function check_lost(handle, why)
        for _, verb in ipairs{ "check", "check", "release" } do
            expect(ends(1, "%s %s", verb, handle), why)
        end
    end


    it("check and release take the handle, and nobody else gets the lock meanwhile", function()
        local token = fresh_path()
        local handle = hold_and_remember(hold("%s --for 5m --token-file %s", path, token))
        assert.equal(session:mutex(path):queue()[1].token, tonumber(files.read(token)))
        for _ = 1, 2 do assert.equal("", ends(0, "check %s", handle)) end
        assert.equal("", ends(75, hold("-n %s --for 5m", path)))
        assert.equal("", ends(0, "release %s", handle))
        server:wait_for_nodes(path, 0)
        check_lost(handle, "was released")
        hold_and_remember(hold("-n %s --for 1m", path))
    end)

    it("a hold outlives the process group that started it, and keeps none of its descriptors",
       function()
        local handle = remember(script(([[exec 2>&1; setsid --wait sh -c '%%s %s 3>&1; kill -9 0']])
            :format(hold("%s --for 1m", path))):match "%S+")
        ends(0, "check %s", handle)
    end)

    it("check and release work from another network namespace and with another TMPDIR", function()
        local handle = hold_and_remember(hold("%s --for 5m", path))
        local apart = script("unshare -rn true && echo yes") ~= "" and "unshare -rn" or ""
        for _, verb in ipairs{ "check", "release" } do
            assert.equal("0\n", script(("TMPDIR=/ %s %%s %s %s; echo $?")
                :format(apart, verb, handle)))
        end
    end)

    it("the handle is in /tmp if no socket can be made in TMPDIR", function()
        for _, folder in ipairs{ "/" .. ("x"):rep(100), "/no/such/folder", "relative" } do
            local lock_path = path .. #folder
            local handle = remember(script(("TMPDIR=%s %%s %s 2>&1"):format(folder,
                hold("%s --for 5m", lock_path))):match "%S+")
            assert.matches(":/tmp/zklock%-%w+$", handle)
            assert.equal("", ends(0, "check %s", handle))
        end
    end)

    it("a hold makes its folder again if somebody removes it, or its socket", function()
        local handle = hold_and_remember(hold("%s --for 5m", path))
        local folder = handle:match ":(.*)"
        for _, gone in ipairs{ folder, folder .. "/hold" } do
            rig.shell("rm -r %s", gone)
            rig.wait_for("the socket", function()
                return rig.shell("ls %s 2>&-", folder) == "hold\n"
            end)
            ends(0, "check %s", handle)
        end
        ends(0, "release %s", handle)
        server:wait_for_nodes(path, 0)
        check_lost(handle, "was released")
    end)

    it("check and release work at once after somebody removed the hold's folder, or its " ..
       "socket #slow", function()
        for _, socket in ipairs{ "", "/hold" } do
            local handle = hold_and_remember(hold("%s --for 5m", path))
            local gone = handle:match ":(.*)" .. socket
            for _, verb in ipairs{ "check", "release" } do
                rig.shell("rm -r %s", gone)
                ends(0, "%s %s", verb, handle)
            end
            server:wait_for_nodes(path, 0)
        end
    end)

    -- Returns the handle, and its TMPDIR.
    local function hold_in_folder()
        local top = rig.shell("mktemp -d"):match "%S+"
        local handle = script(("TMPDIR=%s %%s %s"):format(top, hold("%s --for 5m", path)))
            :match "%S+"
        expect(handle, top)
        return remember(handle), top
    end

    local function hold_without_folder()
        local handle, top = hold_in_folder()
        rig.shell("rm -r %s", top)
        return handle, top
    end

    -- Waits until the hold has looked at its folder.
    local function await_looks()
        local function looks()
            return tonumber(rig.shell("grep ^voluntary_ctxt_switches /proc/%d/status",
                                      pid_of_holder()):match "%d+")
        end
        local before = looks()
        rig.wait_for("looks of the hold", function() return looks() > before + 2 end)
    end

    it("a hold goes on if its TMPDIR is removed, and made again soon #slow", function()
        local handle, top = hold_without_folder()
        finally(function() rig.shell("rm -rf %s", top) end)
        await_looks()
        rig.shell("mkdir %s", top)
        ends(0, "check %s", handle)
        ends(0, "release %s", handle)
        server:wait_for_nodes(path, 0)
    end)

    it("a hold goes on if its TMPDIR is moved for a moment, also later again #slow", function()
        local handle, top = hold_in_folder()
        finally(function() rig.shell("rm -rf %s", top) end)
        local function move()
            rig.shell("mv %s %s-moved", top, top)
            await_looks()
            rig.shell("mv %s-moved %s", top, top)
        end
        move()
        rig.sleep_apart(6) -- longer than a hold goes on without its folder
        move()
        ends(0, "check %s", handle)
        ends(0, "release %s", handle)
    end)

    it("a hold ends if its folder cannot be made again #slow", function()
        local handle = hold_without_folder()
        local process = start("release %s", handle)
        server:wait_for_nodes(path, 0)
        expect(process:ends(1), "no process holds a lock")
        check_lost(handle, "no process holds a lock")
    end)

    it("hold takes the kinds of lock that run takes", function()
        for _, option in ipairs{ "-s", "--permits 1/2" } do
            local lock_path = path .. option:gsub("%W", "")
            hold_and_remember(hold("%s %s --for 5m", option, lock_path))
            hold_and_remember(hold("-n %s %s --for 5m", option, lock_path))
        end
        ends(75, hold("-n -x %ss --for 5m", path))
        for _, each in ipairs{ 9, 200 } do
            assert.equal("", ends(each, hold("-E %d -n --permits 1/2 %spermits12 --for 5m", each,
                                             path)))
        end
    end)

    it("a hold ends when its time is over", function()
        local handle = hold_and_remember(hold("%s --for 0.5s", path))
        server:wait_for_nodes(path, 0)
        rig.wait_for("the end of the process", function()
            return commands.outcome("check %s", handle) == 1
        end)
        check_lost(handle, "its time is over")
    end)


    describe("a lost hold", function()
        it("check and release end with 1 after the lock was broken", function()
            local handle = hold_and_remember(hold("%s --for 5m", path))
            rig.delete_node(server, path)
            rig.wait_for("the loss", function()
                return commands.outcome("check %s", handle) == 1
            end)
            check_lost(handle, path .. ": the lease was lost")
            check_lost(handle, "was released")
        end)

        it("check and release end with 1 after the hold's process was killed",
           function()
            local handle = hold_and_remember(hold("%s --for 5m", path))
            rig.signal("KILL", pid_of_holder())
            check_lost(handle, "has ended, so the lock is lost")
            check_lost(handle, "was released")
        end)

        it("check ends with 69 while no server answers, and with 1 after the session timeout " ..
           "#slow", function()
            local proxy = rig.proxy_for_test(server.hosts)
            local handle = hold_and_remember("--hosts %s --timeout 8 hold %s --for 5m", proxy.hosts,
                                             path)
            proxy:shut()
            expect(ends(69, "check %s", handle), "no server says", path)
            rig.wait_for("the loss", function()
                return commands.outcome("check %s", handle) == 1
            end)
            proxy:pass()
            check_lost(handle, path)
        end)
    end)


    describe("the end of a hold", function()
        it("the hold ends if its handle cannot be printed", function()
            expect(script(("%%s %s 2>&1 >/dev/full; echo $?"):format(hold("%s --for 5m", path))),
                "the handle cannot be printed", "\n70\n")
            server:wait_for_nodes(path, 0)
        end)

        it("TERM ends a hold", function()
            local handle = hold_and_remember(hold("%s --for 5m", path))
            rig.signal("TERM", pid_of_holder())
            server:wait_for_nodes(path, 0)
            check_lost(handle, "has ended")
        end)

        it("check ends with 1 while TERM ends a hold whose server does not answer", function()
            local proxy = rig.proxy_for_test(server.hosts)
            local handle = hold_and_remember("--hosts %s --timeout 20 hold %s --for 5m",
                                             proxy.hosts, path)
            proxy:command "blackhole"
            rig.signal("TERM", pid_of_holder())
            expect(ends(1, "check %s", handle), "has ended")
            proxy:pass()
        end)

        it("a signal to the waiting command ends its wait", function()
            for signal, status in pairs{ TERM = 143, INT = 130, KILL = 137 } do
                local lease = rig.hold(session:mutex(path))
                local process = start(hold("%s --for 5m", path))
                server:wait_for_nodes(path, 2)
                process:ends(status, signal)
                server:wait_for_nodes(path, 1)
                lease:release()
            end
        end)

        it("an ignored signal does not end the wait", function()
            local lease = rig.hold(session:mutex(path))
            commands.ignore "INT"
            local process = start(hold("%s --for 5m", path))
            server:wait_for_nodes(path, 2)
            process:signal("INT")
            lease:release()
            remember(process:ends(0):match "%S+")
        end)
    end)


    describe("an error of zklock hold", function()
        it("a line that hold, check or release does not understand ends with 64", function()
            for line, text in pairs{
                ["hold " .. path] = "missing option '--for'",
                ["hold --for 5m"] = "missing argument 'PATH'",
                ["hold " .. path .. " --for 0"] = "no duration, such as",
                ["hold " .. path .. " --for 1.2.3h"] = "no duration",
                ["hold " .. path .. " --for 2w"] = "no duration",
                ["hold x --for 5m"] = "must start with /",
                ["check x"] = "x is no handle; zklock hold prints one, such as",
                ["release x:y"] = "is no handle",
                ["check elsewhere:/tmp/zklock-aB3dE9"] = "is of the host elsewhere, and this is",
            } do
                expect(ends(64, "%s", line), text)
            end
        end)

        it("hold ends with 69 without a server, also if SIGCHLD is ignored #slow", function()
            commands.prefix = "env --ignore-signal=CHLD"
            local line = "--hosts 127.0.0.1:1 hold -n %s --for 5m"
            expect(start(line, path):ends(69), "no ZooKeeper server answered")
        end)

        it("a token file that cannot be written ends with 70, without the lock", function()
            expect(ends(70, hold("%s --for 5m --token-file %s/no/file", path, fresh_path())),
                "no/file")
            server:wait_for_nodes(path, 0)
        end)
    end)

    -- A hold hangs up on a client that was stopped before it asked.
    it("check and release ask again after a hang-up, and leave the hold's folder alone", function()
        local folder = rig.shell("mktemp -d"):match "%S+"
        finally(function() rig.shell("rm -rf %s", folder) end)
        local hangs_up = io.popen(([[exec perl -MSocket -e '
            alarm 60; socket my $door, AF_UNIX, SOCK_SEQPACKET, 0;
            bind $door, pack_sockaddr_un("%s/hold") and listen $door, 9 or die;
            $| = print "listens\n";
            accept my $first, $door; close $first;
            accept my $second, $door; recv $second, my $word, 99, 0; send $second, "held", 0;
            close $second;
            for (1, 2) { accept my $other, $door }']]):format(folder))
        assert.equal("listens", hangs_up:read "*l")
        local handle = require("zklock.core").identity():gsub("%d+$", "") .. folder
        ends(0, "check %s", handle)
        expect(ends(70, "release %s", handle), "hung up twice")
        hangs_up:close()
        assert.equal("hold\n", rig.shell("ls %s", folder))
        expect(ends(1, "release %s", handle), "has ended, so the lock is lost")
        assert.equal("", rig.shell("ls -d %s 2>&-", folder))
    end)

    it("release ends with 69 if the holder is stopped, and works once it continues #slow",
       function()
        local handle = hold_and_remember(hold("%s --for 5m", path))
        local pid = pid_of_holder()
        rig.signal("STOP", pid)
        expect(ends(69, "release %s", handle), "process " .. pid, "has not answered")
        server:wait_for_nodes(path, 1)
        rig.signal("CONT", pid)
        server:wait_for_nodes(path, 0)
        ends(1, "check %s", handle)
    end)

    it("release ends with 69 if the holder is stopped, and its folder was removed #slow",
       function()
        local handle = hold_and_remember(hold("%s --for 5m", path))
        local pid = pid_of_holder()
        rig.signal("STOP", pid)
        finally(function() rig.signal("CONT", pid) end)
        rig.shell("rm -r %s", handle:match ":(.*)")
        expect(ends(69, "release %s", handle), "a process holds the lock, but", "stopped?")
    end)

    if rig.shell("unshare -m true 2>&1") == "" then
        it("check ends with 69 if the hold's folder is in another mount namespace #slow", function()
            local handle, top = hold_in_folder()
            finally(function()
                ends(0, "release %s", handle)
                rig.shell("rm -r %s", top)
            end)
            local output = script(("unshare -m sh -c 'mount -t tmpfs none %s; %%s check %s' 2>&1; "
                .. "echo $?"):format(top, handle))
            expect(output, "mount namespace", "\n69\n")
        end)
    end
end)
