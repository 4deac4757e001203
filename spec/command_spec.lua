--- [lua luajit asan tsan] The command line on a real server, with each promise of docs/command.md.

local commands = require "spec.commands"
local files = require "spec.files"
local rig = require "spec.rig"
local zklock = require "zklock"

local LUA, SLEEP, IMMORTAL = commands.LUA, commands.SLEEP, commands.IMMORTAL
local fresh_path, start = commands.fresh_path, commands.start
local launch, ends = commands.launch, commands.ends
local expect, first_line = commands.expect, commands.first_line
local run, elect, join = commands.verb "run", commands.verb "elect", commands.verb "join"

local ENDS_BY_TERM = [[sh -c 'trap "echo TERM; exit 0" TERM; echo in
    while :; do sleep 0.02; done']]

local IS_ROOT = rig.shell("id -u") == "0\n"
local NOBODY = "setpriv --reuid 65534 --regid 65534 --clear-groups"
local AS_ROOT = "--reuid 0 --regid 0 --clear-groups"

describe("zklock #server", function()
    local server, path, session

    before_each(function() server, path, session = rig.begin(1) end)
    after_each(commands.end_all)

    local function remove_node()
        server:wait_for_nodes(path, 1)
        rig.delete_node(server, path)
    end


    describe("the exit status of zklock run", function()
        it("run ends with the command's status, or a shell's for one missing, not executable, " ..
           "or killed", function()
            for status, command in pairs{
                [0] = "true", [3] = "sh -c 'exit 3'", [126] = "/etc/passwd",
                [127] = "no-such-command", [137] = "sh -c 'kill -9 $$'",
            } do
                ends(status, run("%s %s", path, command))
                ends(status, join("%s a %s", path, command))
            end
            server:wait_for_nodes(path, 0)
        end)

        it("run returns the status although its standard descriptors are closed", function()
            assert.equal("127\n", rig.shell("(%s bin/zklock %s <&- >&- 2>&-); echo $?", LUA,
                                            run("%s no-such-command", path)))
        end)

        it("run ends silently with 75, or -E's status, if the lock stays taken", function()
            rig.hold(session:mutex(path))
            for _, option in ipairs{ "-n", "--nonblock", "--nb", "-w 0", "-w0", "--wait=0" } do
                assert.equal("", ends(75, run("%s %s true", option, path)))
            end
            assert.equal("", ends(9, run("-E 9 -n %s true", path)))
            assert.equal("", ends(0, run("-nE0 %s false", path)))
        end)

        it("run ends with 69 if no server answers #slow", function()
            expect(ends(69, "--hosts 127.0.0.1:1 run -n %s true", path),
                "no ZooKeeper server answered")
        end)

        it("run ends with 69 for a try without an answer, and with 75 for a wait #slow", function()
            local link = rig.fragile(server, { timeout = 60 })
            rig.hold(link.session:mutex(path, { keep = 60 }))
            assert.equal("", ends(75, run("-n %s true", path)))
            path = rig.path()
            rig.hold(link.session:mutex(path, { keep = 60 }))
            link.cut()
            for _, option in ipairs{ "-n -E 9", "-w 0" } do
                expect(ends(69, run("%s %s true", option, path)), "nobody said whether it is taken")
            end
            assert.equal("", ends(75, run("-q -w 5 %s true", path)))
            link.heal()
            link.stop()
        end)

        it("run ends with 77 without the credentials for a lock with an --acl", function()
            for acl, shown in pairs{ creator = 77, read = 0 } do
                ends(0, run("--auth digest:a:b --acl %s %s/%s true", acl, path, acl))
                ends(77, run("%s/%s true", path, acl))
                ends(shown, "show %s/%s", path, acl)
            end
        end)

        it("run takes its credentials from --auth, else from ZK_AUTH", function()
            ends(0, run("--auth digest:a:b --acl creator %s/x true", path))
            for auth, status in pairs{ [""] = "0", ["--auth digest:a:c"] = "77" } do
                assert.matches(status .. "\n$", rig.shell(
                    "ZK_AUTH=digest:a:b %s bin/zklock %s 2>&1; echo $?", LUA,
                    run("%s %s/x true", auth, path)))
            end
        end)

        it("run ends with 64, and the reason, for a line that it does not understand", function()
            for line, text in pairs{
                [""] = "a command is required",
                ["run"] = "missing argument 'PATH'",
                ["run " .. path] = "no command",
                ["run a true"] = "must start with /",
                ["run --frob " .. path .. " true"] = "--frob",
                ["run -n -w 1 " .. path .. " true"] = "-n",
                ["run --acl all " .. path .. " true"] = "'open', 'creator', 'read'",
                ["run --acl read " .. path .. " true"] = "--auth SCHEME:TEXT or ZK_AUTH",
                ["repl --acl creator"] = "--auth SCHEME:TEXT or ZK_AUTH",
                ["run -s -x " .. path .. " true"] = "-x",
                ["run -w soon " .. path .. " true"] = "number of seconds",
                ["run -w 1e999 " .. path .. " true"] = "number of seconds",
                ["run -E 256 " .. path .. " true"] = "exit status",
                ["run --permits 3/2 " .. path .. " true"] = "K/N",
                ["run -c true " .. path .. " true"] = "twice",
                ["run " .. path .. " -c"] = "one argument",
                ["run " .. path .. " -c true false"] = "one argument",
                ["--timeout 0.01 run " .. path .. " true"] = "at least 0.1",
                ["--hosts , run " .. path .. " true"] = "bad hosts",
                ["frob"] = "frob",
                ["completion"] = "'SHELL'",
            } do
                expect(ends(64, line), text)
            end
            ends(0, "run %s true; ", path)
            assert.matches("no servers", rig.shell("ZK_HOSTS= %s bin/zklock run /a true 2>&1", LUA))
        end)

        it("run and the other verbs but repl end with 64 for a server in memory", function()
            for _, line in ipairs{ "run /a true", "elect /a true", "join /a b true", "ls",
                                   "show /a", "break -y /a", "doctor", "seckill --only DEMO-04" } do
                assert.equal("zklock: memory:x is a server inside one process; only repl can use "
                             .. "it", ends(64, "--hosts memory:x %s", line), line)
            end
        end)

        it("zklock ends with 78 if argparse is not installed, and tells how to install it",
           function()
            local output = rig.shell("LUA_PATH='lua/?.lua;lua/?/init.lua' %s bin/zklock run 2>&1; "
                .. "echo $?", LUA)
            assert.matches("luarocks install argparse.*\n78\n$", output)
        end)
    end)


    describe("the command of zklock run", function()
        it("the command has the token, the path and the session in its environment", function()
            local process = start(run("%s sh -c 'echo $ZKLOCK_TOKEN $ZKLOCK_PATH $ZKLOCK_SESSION; "
                .. "read x'", path) .. " </dev/zero")
            local token, told, id = process:line():match("^(%d+) (%S+) (%x+)$")
            local holder = assert(session:mutex(path):queue())[1]
            assert.equal(("%d"):format(holder.token), token)
            assert.equal(path, told)
            assert.equal(holder.session, id)
        end)

        it("the command is all words behind the path, untouched, or -c's text for a shell",
           function()
            for line, text in pairs{
                ["-w 20 %s echo -n --help -s '' 'a  b' -- --hosts"] = "--help -s  a  b -- --hosts",
                ["-- %s echo --timeout"] = "--timeout",
                ["%s -- echo --timeout"] = "--timeout",
                ["%s -c 'echo $((6*7))'"] = "42",
                ["-c 'echo $((6*7))' %s"] = "42",
                ["%s --command 'echo $((6*7))'"] = "42",
            } do
                assert.equal(text, ends(0, run(line, path)), line)
                assert.equal(text, ends(0, join(line, path .. " a")), line)
            end
        end)

        it("the options may stand before the verb and behind it", function()
            ends(0, "run --hosts=%s --timeout 20 %s true", server.hosts, path)
            ends(0, "--timeout=20 run --hosts %s %s true", server.hosts, path)
        end)

        it("the command runs in a process group of its own, with zklock's standard input and " ..
           "output", function()
            local text = rig.shell("echo in | %s bin/zklock %s", LUA,
                run("%s sh -c 'cat; echo $$ $(ps -o pgid= -p $$)'", path))
            local pid, group = text:match("^in\n(%d+) (%d+)\n$")
            assert.equal(pid, group)
        end)

        if rig.shell("unshare --pid --fork --mount-proc true 2>&1") == "" then
            it("zklock as the first process of a container collects orphans", function()
                commands.prefix = "unshare --pid --fork --mount-proc"
                local process = launch(run([[%s sh -c '
                    pid=$(sh -c "sleep 0 >&- & echo \$!")
                    while kill -0 $pid 2>&-; do sleep 0.01; done
                    echo in; exec sleep 600']], path))
                rig.shell("kill -TERM $(pgrep -P %d)", process.pid)
                process:ends(143)
            end)

            it("zklock as the first process of a container ends with 130 after INT", function()
                commands.prefix = "unshare --pid --fork --mount-proc"
                local process = launch(run("%s %s", path, SLEEP))
                rig.shell("kill -INT $(pgrep -P %d)", process.pid)
                process:ends(130)
            end)

            it("zklock leaves no process to the first of a container, which may collect none",
               function()
                for line, status in pairs{
                    [run("%s true", path)] = 0,
                    [join("%s a true", path)] = 0,
                    [("--hosts 127.0.0.1:1 run -w 0.1 %s true"):format(path)] = 69,
                } do
                    local script = files.write(fresh_path(), ([[
                        system "%s bin/zklock %s 2>/dev/null";
                        print $? >> 8, "\n";
                        exec "ps", "-o", "stat=,args=", "--ppid", "1"]]):format(LUA, line))
                    assert.equal(status .. "\n", rig.shell("unshare --pid --fork --mount-proc "
                        .. "perl %s", script))
                end
            end)
        end

        -- With the /proc of another PID namespace, the number of the command's orphan is another
        -- process's, the bystander.
        if rig.shell("unshare --pid --fork sh -c '>>/proc/sys/kernel/ns_last_pid' 2>&1") == "" then
            it("the command's end ends no other process of a PID namespace without a /proc " ..
               "of its own", function()
                local out, again = fresh_path(), fresh_path()
                local orphan = files.write(fresh_path(), [[
                    setpgrp;
                    open my $stat, "/proc/self/stat";
                    print <$stat> =~ /^(\d+)/, "\n";
                    close STDOUT;
                    sleep 600;]])
                local script = files.write(fresh_path(), ([[
                    %s bin/zklock %s sh -c 'perl %s >%s; true' 2>&1 & zklock=$!
                    while ! [ -s %s ]; do sleep 0.02; done
                    echo $(($(cat %s) - 1)) >/proc/sys/kernel/ns_last_pid
                    perl -e 'setpgrp; open F, ">", $ARGV[0]; print F "in"; close F; sleep 600' %s &
                    while ! [ -s %s ]; do sleep 0.02; done
                    kill -TERM $zklock; wait $zklock
                    kill -0 $! && echo $(($! - $(cat %s)))]]):format(LUA, run("%s", path), orphan,
                    out, out, out, again, again, out))
                assert.equal("0\n", rig.shell("unshare --pid --fork sh %s", script))
            end)
        end

        it("the command may have 20 000 words", function()
            local output = rig.shell("seq 20000 | xargs -n 20000 %s bin/zklock %s | wc -w", LUA,
                                     run("%s echo", path))
            assert.equal(20000, tonumber(output))
        end)

        it("the command runs in the foreground of its terminal, and gives it back", function()
            local out = fresh_path()
            local script = files.write(fresh_path(), ([[
                show() { echo "$1 $(ps -o pgid=,tpgid= -p $$)" >>%s; }
                if [ "$1" = inner ]; then show inner; exit 0; fi
                %s bin/zklock %s sh "$0" inner
                show after
            ]]):format(out, LUA, run("%s", path)))
            rig.shell("script -qec 'sh %s' /dev/null </dev/null", script)
            local text = files.read(out)
            for _, who in ipairs{ "inner", "after" } do
                local group, terminal = text:match(who .. "%s+(%d+)%s+(%d+)")
                assert.equal(group, terminal, text)
            end
        end)

        it("zklock tells of a loss on a terminal that stops writers in the background " ..
           "#slow", function()
            local out = fresh_path()
            local script = files.write(fresh_path(), ([[
                stty tostop
                %s bin/zklock %s sh -c 'echo in >%s; exec sleep 600'
                echo status $?]]):format(LUA, run("--grace 0 %s", path), out))
            local terminal = io.popen(("timeout 30 script -qec 'sh %s' /dev/null </dev/null")
                :format(script))
            first_line(out)
            remove_node()
            local text = terminal:read "*a"
            terminal:close()
            expect(text, "the lease is lost", "status 76")
        end)

        it("the command gets the terminal once it reads it, in a pipeline", function()
            local script = files.write(fresh_path(), ("%s bin/zklock %s sh -c 'read x; echo got $x'"
                .. " | cat\n"):format(LUA, run("%s", path)))
            local text = rig.shell("echo word | timeout 60 script -qec 'sh %s' /dev/null", script)
            assert.matches("got word", text)
        end)

        it("fg continues zklock, also if its command was continued, and stopped again, before",
           function()
            local mark = fresh_path()
            local script = files.write(fresh_path(), ([[
                state() { ps -o state= -p $1; }
                %s bin/zklock %s perl -e '$SIG{CONT} = sub { open my $file, ">", "%s" };
                    print "got ", scalar <STDIN>' &
                until [ "$(state $!)" = T ]; do sleep 0.02; done
                command=$(pgrep -P $(pgrep -P $!))
                kill -CONT $command
                until [ -e %s ] && [ "$(state $command)" = T ]; do sleep 0.02; done
                fg]]):format(LUA, run("%s", path), mark, mark))
            local text = rig.shell("echo word | timeout 60 script -qec 'bash -m %s' /dev/null",
                script)
            assert.matches("got word", text)
        end)

        it("timeout ends a zklock whose command reads the terminal #slow", function()
            local script = files.write(fresh_path(), ("timeout 3 %s bin/zklock %s sh -c 'read x'\n"
                .. "echo status $?\n"):format(LUA, run("%s", path)))
            expect(rig.shell("timeout 30 script -qec 'sh %s' /dev/null </dev/null", script),
                "status 124")
        end)

        it("the command runs while zklock holds the lock, which is released at its end", function()
            local process, lock = launch(run("%s %s", path, SLEEP)), session:mutex(path)
            assert.equal("busy", (rig.code_of(lock, 0)))
            process:ends(143, "TERM")
            rig.hold(lock)
        end)

        it("the command runs as a reader, a writer, or with permits of a semaphore", function()
            launch(run("-s %s %s", path, SLEEP))
            ends(0, run("-n --shared %s true", path))
            ends(75, run("-n -x %s true", path))
            ends(75, run("-n %s true", path))
            path = rig.path()
            launch(run("--permits 2/3 %s %s", path, SLEEP))
            ends(75, run("-n --permits 2/3 %s true", path))
            ends(0, run("-n --permits 1/3 %s true", path))
            ends(70, run("-n --permits 1/4 %s true", path))
        end)
    end)


    describe("signals to zklock run", function()
        it("a signal reaches the command's group, and run ends as the command does", function()
            local process = launch(run([[%s sh -c '
                trap "echo USR1" USR1; trap "exit 5" TERM; echo in
                while :; do sleep 0.02; done']], path))
            process:signal_through("USR1")
            process:ends(5, "TERM")
        end)

        it("a signal that kills the command makes run end with 128 and its number", function()
            for name, value in pairs{ HUP = 1, INT = 2, TERM = 15 } do
                launch(run("%s %s", path, SLEEP)):ends(128 + value, name)
            end
        end)

        for _, name in ipairs{ "HUP", "INT" } do
            it("an ignored signal reaches nobody, as with nohup or in the background of a script: "
                .. name, function()
                commands.ignore(name)
                local process = launch(run("%s %s", path, SLEEP))
                process:signal(name)
                process:ends(143, "TERM")
            end)
        end

        for verb, line in pairs{ run = run, elect = elect } do
            it("a signal ends the wait, and frees the place in line: " .. verb, function()
                rig.hold(session:mutex(path))
                local process = start(line("%s echo never", path))
                server:wait_for_nodes(path, 2)
                assert.equal("", process:ends(130, "INT"))
                server:wait_for_nodes(path, 1)
            end)
        end

        it("a signal ends zklock while it loads a module", function()
            local folder = fresh_path()
            rig.shell("mkdir -p %s/zklock", folder)
            for _, name in ipairs{ "zklock/core", "zklock/command", "argparse", "zklock/child" } do
                local module = files.write(("%s/%s.lua"):format(folder, name),
                    "io.popen 'kill -INT $PPID':close() return {}")
                commands.prefix = ("env LUA_PATH='%s/?.lua;'\"$LUA_PATH\""):format(folder)
                assert.equal("", start(run("%s true", path)):ends(130))
                os.remove(module)
            end
        end)

        it("an ignored signal does not end zklock while it loads a module", function()
            local folder = fresh_path()
            rig.shell("mkdir -p %s/zklock", folder)
            local module = folder .. "/zklock/core.lua"
            files.write(module, ("os.remove '%s' io.popen 'kill -INT $PPID':close() return {}")
                :format(module))
            commands.ignore "INT"
            commands.prefix = ("env LUA_PATH='%s/?.lua;'\"$LUA_PATH\" %s"):format(folder,
                commands.prefix)
            assert.equal("in\n", start(run("%s echo in", path)):ends(0))
        end)

        -- execvp() looks for the command in 40 000 folders.
        it("a signal ends a command that is not executed yet", function()
            commands.prefix = ("env PATH=%s$PATH"):format(("/x:"):rep(40000))
            local process = start(run("%s sleep 30", path))
            rig.shell([[{ while kill -0 %d && ! kill -INT $(pgrep -P "$(pgrep -P %d)"); do :; done
                } 2>/dev/null]], process.pid, process.pid)
            process:ends(130)
        end)

        -- Runs the line, and `echo after`, in a script of that shell at a terminal. Types the keys
        -- once ready() returns, and returns what the terminal shows.
        local function type_at(shell, line, keys, ready)
            local out = fresh_path()
            local script = files.write(fresh_path(), ("%s bin/zklock %s\necho after\n"):format(LUA,
                line))
            local terminal = io.popen(("timeout 60 script -qec '%s %s' /dev/null >%s"):format(shell,
                script, out), "w")
            ready()
            terminal:write(keys)
            terminal:close()
            return files.read(out)
        end

        for _, shell in ipairs{ "sh", "bash" } do
            it("Ctrl-C ends the script that runs zklock, as it does without zklock: " .. shell,
               function()
                local out = fresh_path()
                local line = run("%s sh -c 'echo in >%s; exec sleep 600'", path, out)
                local text = type_at(shell, line, "\3", function() first_line(out) end)
                assert.is_nil(text:find("after", 1, true))
                rig.hold(session:mutex(path))
                text = type_at(shell, line, "\3", function() server:wait_for_nodes(path, 2) end)
                assert.is_nil(text:find("after", 1, true))
            end)

            it("a signal for zklock, not its process group, does not end the script: " .. shell,
               function()
                local out = fresh_path()
                local line = run("%s sh -c 'echo $PPID >%s; exec sleep 600'", path, out)
                expect(type_at(shell, line, "", function()
                    rig.shell("kill -INT $(ps -o ppid= -p %s)", first_line(out))
                end), "after")
            end)
        end

        it("a signal of --suspect does not end the script", function()
            local proxy, out = rig.proxy_for_test(server.hosts), fresh_path()
            local line = ("--hosts %s --timeout 4 "):format(proxy.hosts)
                .. run("--suspect INT %s sh -c 'echo $$ >%s; exec sleep 600'", path, out)
            expect(type_at("bash", line, "", function()
                local command = first_line(out)
                proxy:shut()
                rig.wait_for("the command's end", function()
                    return rig.shell("kill -0 %s 2>&1", command) ~= ""
                end)
                proxy:pass()
            end), "after")
        end)

        -- A handler in an unloaded module would crash. A shell's background ignores INT, perl's
        -- children do not.
        it("Ctrl-C at the end of a verb does no harm", function()
            local try = [[for (1 .. 150) {
                my $p = open(my $f, "-|", @ARGV);
                sysread($f, my $c, 1);
                select(undef, undef, undef, rand 0.003);
                kill "INT", $p;
                1 while sysread($f, $c, 65536);
                close $f;
                print "signal ", $? & 127, "\n" if ($? & 127) != 0 && ($? & 127) != 2
            }]]
            assert.equal("", rig.shell("perl -e '%s' %s bin/zklock completion bash", try, LUA))
        end)

        it("a signal that needs no handler, such as WINCH, does not end the wait", function()
            local lease = rig.hold(session:mutex(path))
            local process = start(run("%s sh -c 'trap \"echo WINCH\" WINCH; echo in; "
                .. "while :; do sleep 0.02; done'", path))
            server:wait_for_nodes(path, 2)
            process:signal("WINCH")
            rig.release(lease)
            assert.equal("in", process:line())
            process:signal_through("WINCH")
            process:ends(143, "TERM")
        end)

        -- A session that is not open yet keeps the process for up to a second at its end.
        it("signals while zklock ends do no harm", function()
            local fake = rig.servant("perl spec/fault/fake.pl")
            finally(function() fake:stop() end)
            local port = fake:greet()
            fake:command("deaf")
            local process = start("--hosts 127.0.0.1:%s " .. run("%s true", path), port)
            rig.wait_for("a session", function() return fake:command("sessions") == "1" end)
            rig.shell("while kill -INT %d 2>&-; do sleep 0.02; done", process.pid)
            process:ends(130)
        end)

        -- TSTP stops a process group only if a parent outside the group is of its terminal session.
        it("TSTP and CONT stop and continue zklock with its command at once, however long the " ..
           "session timeout is #slow", function()
            local patient = rig.server()
            patient:kill()
            rig.shell("sed -i s/^maxSession.*/maxSessionTimeout=4000000/ %s/1/zoo.cfg", patient.dir)
            patient:restart()
            commands.prefix = "perl -e 'setpgrp; exec @ARGV'"
            local process = start("--hosts %s --timeout 4000 run %s sh -c 'echo $$; "
                .. "exec sleep 600'", patient.hosts, path)
            local pid = tonumber(process:line())
            process:signal("TSTP")
            commands.wait_for_state("T", pid, process.pid)
            process:signal("CONT")
            commands.wait_for_state("S", pid)
            process:ends(143, "TERM")
            patient:stop()
        end)

        -- Starts a run whose command waits, stopped, for a suspect lease. Returns zklock's process,
        -- the command's pid, and the proxy.
        local function start_waiting()
            local proxy = rig.proxy_for_test(server.hosts)
            commands.prefix = "perl -e 'setpgrp; exec @ARGV'"
            local process = start("--hosts %s " .. run("%s sh -c 'echo $$; exec sleep 600'", path),
                                  proxy.hosts)
            local pid = tonumber(process:line())
            rig.signal("STOP", pid)
            commands.wait_for_state("T", pid)
            for i = 1, 2 do
                process:signal("TSTP")
                commands.wait_for_state("T", process.pid)
                if i == 1 then proxy:shut() end
                process:signal("CONT")
                if i == 1 then process:find("suspect") end
            end
            assert.equal("T", commands.state(pid))
            return process, pid, proxy
        end

        it("TSTP stops zklock, too, if its command is stopped, or waits for a suspect lease #slow",
           function()
            local process, pid, proxy = start_waiting()
            proxy:pass()
            commands.wait_for_state("S", pid)
            process:ends(143, "TERM")
        end)

        it("a command stays stopped if TSTP comes just before its suspect lease is certain " ..
           "again #slow", function()
            local process, pid, proxy = start_waiting()
            local minder = tonumber(rig.shell("ps -o ppid= -p %d", pid))
            rig.signal("STOP", minder)
            process:signal("TSTP")
            proxy:pass()
            process:find("certain again")
            rig.signal("CONT", minder)
            commands.wait_for_state("T", process.pid)
            assert.equal("T", commands.state(pid))
            process:signal("CONT")
            commands.wait_for_state("S", pid)
            process:ends(143, "TERM")
        end)

        it("TERM ends a command that waits, stopped, for a suspect lease #slow", function()
            local process, pid, proxy = start_waiting()
            process:signal("TERM")
            commands.wait_for_state(nil, pid)
            proxy:pass()
            process:ends(143)
        end)

        it("zklock goes on after CONT, even if its command stops for TSTP only later", function()
            local out = fresh_path()
            commands.prefix = "perl -e 'setpgrp; exec @ARGV'"
            local process = start(run([[%s sh -c 'trap "echo USR1 >%s" USR1; echo $PPID
                while :; do sleep 0.02; done']], path, out))
            local minder = tonumber(process:line())
            rig.signal("STOP", minder)
            process:signal("TSTP")
            rig.wait_for("zklock's handler", function()
                return rig.shell("grep ShdPnd /proc/%d/status", process.pid):find "\t0+\n"
            end)
            process:signal("CONT")
            rig.signal("CONT", minder)
            process:signal("USR1")
            assert.equal("USR1", first_line(out))
        end)
    end)


    describe("the lease of zklock run", function()
        for what, options in pairs{
            ["the command gets SIGTERM, and run ends with 76"] = "",
            ["the command gets even a very long grace"] = "--grace 9999999999",
        } do
            it(("a lost lease: %s #slow"):format(what), function()
                local process = launch(run("%s %s %s", options, path, ENDS_BY_TERM))
                remove_node()
                process:find("the lease is lost")
                process:find("TERM")
                process:ends(76)
            end)
        end

        it("a lost lease ends all of the command's group with SIGKILL after the grace #slow",
           function()
            local out = fresh_path()
            local process = launch(run([[--grace 0.2 %s sh -c '
                trap "" TERM; sh -c "echo \$\$ >%s; while :; do sleep 0.02; done" &
                echo in; while :; do sleep 0.02; done']], path, out))
            local pid = tonumber(first_line(out))
            remove_node()
            process:ends(76)
            assert.is_nil(commands.state(pid))
        end)

        it("a lease is reported as suspect without a server, and then as certain again", function()
            local proxy = rig.proxy_for_test(server.hosts)
            local process = launch("--hosts %s " .. run("%s %s", path, SLEEP), proxy.hosts)
            proxy:shut()
            assert.matches("unless a server confirms it, it may be lost in 1?%d s$",
                           process:find("suspect"))
            proxy:pass()
            process:find("certain again")
            process:ends(143, "TERM")
        end)
    end)


    describe("zklock run --suspect", function()
        for name, verb in pairs{ run = run, elect = elect } do
            it("a suspect lease signals the command each time: " .. name, function()
                local proxy = rig.proxy_for_test(server.hosts)
                local process = launch("--hosts %s " .. verb("--suspect USR2 %s %s", path,
                                                              IMMORTAL), proxy.hosts)
                for _ = 1, 2 do
                    proxy:shut()
                    process:find("USR2")
                    proxy:pass()
                    process:find("certain again")
                end
                process:ends(0, "USR1")
            end)
        end

        it("--suspect takes the names of signals", function()
            expect(ends(64, run("--suspect WINCH %s true", path)),
                "WINCH is none of the signals HUP,")
            ends(0, run("--suspect sigterm %s true", path))
        end)
    end)


    describe("zklock elect", function()
        it("elect runs the command while it leads, shows the leader, and ends with the command",
           function()
            local first = start(elect("%s sh -c 'echo $ZKLOCK_TOKEN; exit 3'", path))
            assert.is_true(tonumber(first:line()) > 0)
            first:ends(3)
            local second = launch(elect("--data two:2 %s %s", path, SLEEP))
            local third = start(elect("%s echo third", path))
            server:wait_for_nodes(path, 2)
            local identity, data = session:election(path):leader(20)
            assert.matches(":%d+$", identity)
            assert.equal("two:2", data)
            second:ends(143, "TERM")
            assert.equal("third\n", third:ends(0))
        end)

        it("elect contends again, at the end of the line, when it loses the lead #slow", function()
            local process, first = launch(elect("%s sh -c 'echo in $ZKLOCK_TOKEN $ZKLOCK_SESSION; "
                .. "exec sleep 60'", path))
            remove_node()
            process:find("it queues again")
            local token, id = first:match("(%d+) (%x+)")
            local again, same = process:wait_until_in():match("(%d+) (%x+)")
            assert.is_true(tonumber(again) > tonumber(token))
            assert.equal(id, same)
            assert.equal("busy", (rig.code_of(session:mutex(path), 0)))
            process:ends(143, "TERM")
        end)

        it("elect contends again also if the command survived HUP, INT and TERM #slow", function()
            local process = launch(elect("--grace 0.1 %s %s", path, IMMORTAL))
            for _, name in ipairs{ "HUP", "INT", "TERM" } do process:signal_through(name) end
            remove_node()
            process:find("it queues again")
            process:wait_until_in()
        end)

        it("a signal while the command is being ended makes elect end with 76 #slow", function()
            local process = launch(elect("--grace 600 %s %s", path, IMMORTAL))
            remove_node()
            process:find("TERM")
            process:signal_through("INT")
            process:ends(76, "USR1")
        end)

        it("a signal ends elect while it contends again without a server #slow", function()
            local proxy = rig.proxy_for_test(server.hosts)
            local process = launch("--hosts %s " .. elect("--grace 0.1 %s %s", path, IMMORTAL),
                                    proxy.hosts)
            remove_node()
            process:find("the lease is lost")
            proxy:command("blackhole")
            process:find("it queues again")
            rig.check_refused("connection", nil,
                zklock.connect(proxy.hosts, { connect_timeout = 1 }))
            process:ends(143, "TERM")
        end)
    end)


    describe("the end of zklock's command", function()
        -- Starts a run whose command survives SIGTERM. Returns zklock's process, the command's pid,
        -- and the file to which the command writes.
        local function start_stubborn()
            local out = fresh_path()
            local process = start([[--timeout 8 run %s sh -c 'trap "echo term >%s" TERM; echo $$
                while :; do sleep 0.02; done']], path, out)
            return process, tonumber(process:line()), out
        end

        it("a killed zklock's command gets SIGTERM, and SIGKILL before the lock is granted " ..
           "again #slow", function()
            local process, pid, out = start_stubborn()
            process:signal("KILL")
            assert.equal("term", first_line(out))
            rig.hold(session:mutex(path), 60)
            assert.is_nil(commands.state(pid))
        end)

        -- The inner zklock could give its command 10 s more.
        for verb, line in pairs{ run = run("%%s-inner"), join = join("--grace 600 %%s-inner a") } do
            -- Starts a zklock under another, around a command that survives SIGTERM. Returns the
            -- outer process, and the command's pid.
            local function start_nested(outer)
                local out = fresh_path()
                local process = launch("%s %s %s bin/zklock --hosts %s " .. line
                    .. [[ sh -c 'trap "" TERM; echo $$ >%s; echo in
                        exec sleep 600 >&- 2>&-']],
                    outer, path, LUA, server.hosts, path, out)
                local pid = tonumber(first_line(out))
                finally(function() rig.signal("KILL", pid) end)
                return process, pid
            end

            it("a nested zklock's command ends before a killed one's lock is granted again: "
               .. verb .. " #slow", function()
                local process, pid = start_nested "--timeout 4 run"
                process:signal("KILL")
                rig.hold(session:mutex(path), 60)
                assert.is_nil(commands.state(pid))
            end)

            it("a nested zklock's command ends before a lost lock's zklock: " .. verb .. " #slow",
               function()
                local process, pid = start_nested "--timeout 20 run --grace 0.2"
                remove_node()
                process:find "status 76"
                assert.is_nil(commands.state(pid))
            end)

            it("a killed nested zklock's command ends before the outer zklock: " .. verb ..
               " #slow", function()
                local process, pid = start_nested "--timeout 20 run"
                rig.shell("kill -9 $(ps -o ppid= -p $(ps -o ppid= -p %d))", pid)
                process:find "status 137"
                assert.is_nil(commands.state(pid))
            end)
        end

        it("a stopped zklock's command is ended before the lock is granted again; status 76 " ..
           "later #slow", function()
            local process, pid, out = start_stubborn()
            process:signal("STOP")
            rig.hold(session:mutex(path), 60)
            assert.is_nil(commands.state(pid))
            assert.equal("term", first_line(out))
            process:ends(76, "CONT")
        end)

        for verb, line in pairs{ run = run("%%s"), join = join("%%s a") } do
            it("zklock and its command end when the minder is killed: " .. verb, function()
                local process = start(line .. " sh -c 'echo $$ $PPID; sleep 60 & wait'", path)
                local pid, minder = process:line():match("^(%d+) (%d+)$")
                rig.shell("kill -9 %s", minder)
                process:ends(137)
                commands.wait_for_state(nil, tonumber(pid))
                server:wait_for_nodes(path, 0)
            end)
        end

        if IS_ROOT then
            -- A command of the user nobody that starts a process of root. Returns the command and
            -- that pid.
            local function start_as_root(line, before, after)
                local helper = fresh_path()
                rig.shell("cp $(command -v setpriv) %s; chmod 4755 %s; chmod 711 $(dirname %s)",
                          helper, helper, helper)
                commands.prefix = NOBODY
                local process = start("--timeout 20 %s sh -c '%s %s %s sh -c \"echo \\$\\$; exec "
                    .. "sleep 600\" %s'", line, before, helper, AS_ROOT, after)
                return process, process:line()
            end

            for when, each in pairs{
                ["after a loss"] = { "run --grace 0 %s", "exec", "", break_it = true, status = 76 },
                ["after a loss, beside one of the command's user"] = {
                    "run --grace 0 %s", "", "; true", break_it = true, status = 76 },
                ["after a signal"] = { "join %s a", "exec", "", signal = "TERM", status = 137 },
                ["after a signal, beside one of the command's user"] = {
                    "run %s", "", "; true", signal = "TERM", status = 143 },
                ["after the minder's end"] = { "run %s", "exec", "", minder = true, status = 70 },
            } do
                it("another user's process is awaited and reported " .. when .. " #slow",
                   function()
                    local process, pid = start_as_root(each[1]:format(path), each[2], each[3])
                    if each.break_it then ends(0, "break --yes --grace 0 %s", path) end
                    if each.signal then process:signal(each.signal) end
                    if each.minder then rig.shell("kill -9 $(pgrep -P %d)", process.pid) end
                    process:find("runs as another user")
                    assert.is_truthy(commands.state(pid))
                    assert.is_truthy(commands.state(process.pid))
                    rig.shell("kill -9 %d", pid)
                    local text = process:ends(each.status)
                    assert.is_nil(text:find("is killed", 1, true) or text:find("is ended", 1, true))
                end)
            end

            -- zklock continues the minder when it cannot kill the command.
            it("a leader queues again, too, if another user's command outlives the loss #slow",
               function()
                local process, pid = start_as_root("elect --grace 0 " .. path, "exec", "")
                local minder = tonumber(rig.shell("ps -o ppid= -p %s", pid))
                ends(0, "break --yes --grace 0 %s", path)
                rig.signal("STOP", minder)
                commands.wait_for_state("S", minder)
                rig.shell("kill -9 %d", pid)
                process:find("it queues again")
                rig.shell("kill -9 %d", process:line())
                process:ends(137)
            end)
        end

        -- The shell of a list dies at once of a signal, while its child still works; timeout's is
        -- in a group of its own.
        for name, each in pairs{
            HUP = { join("%%s a"), "members", "a ", status = 129 },
            TERM = { run("%%s"), "show", "1 holds", status = 143 },
        } do
            for what, prefix in pairs{ children = "", ["timeout's children"] = "timeout 20" } do
                it(("the node stays until a signalled command's %s have ended: %s"):format(what,
                    name), function()
                    local process = launch(each[1] .. [[ sh -c '%s sh -c "
                        trap \"sleep 1; %s bin/zklock --hosts %s %s %s; exit\" %s
                        echo in; while :; do sleep 0.02; done"; true']], path, prefix, LUA,
                        server.hosts, each[2], path, name)
                    process:signal(name)
                    process:find(each[3])
                    process:ends(each.status)
                    server:wait_for_nodes(path, 0)
                end)
            end
        end

        it("timeout's children end before the lock is granted again, after a loss #slow", function()
            local out = fresh_path()
            local process = launch(run([[--grace 20 %s sh -c 'echo in
                timeout 600 sh -c "trap \"echo TERM; exit\" TERM; echo \$\$
                    while :; do sleep 0.02; done" >%s 2>&-; true']], path, out))
            local pid = tonumber(first_line(out))
            finally(function() rig.signal("KILL", pid) end)
            remove_node()
            process:ends(76)
            assert.is_nil(commands.state(pid))
            assert.equal(pid .. "\nTERM\n", files.read(out))
        end)

        it("each of a hundred groups of a signalled command's children gets the signal", function()
            local script = files.write(fresh_path(), [[
                for (1 .. 100) {
                    next if fork // die;
                    setpgrp;
                    syswrite STDOUT, "group\n";
                    exec "exec sleep 600 >&- 2>&-" or die;
                }
                exec "sleep 600";]])
            local process = start(run("%s sh -c 'perl %s; true'", path, script))
            for _ = 1, 100 do assert.equal("group", process:line()) end
            assert.is_nil(process:ends(143, "TERM"):find("still run", 1, true))
        end)

        it("a stopped group of a signalled command's children ends, too", function()
            local script = files.write(fresh_path(), [[
                setpgrp;
                print "$$\n";
                close STDOUT;
                close STDERR;
                kill "STOP", $$;]])
            local process = start(run("%s sh -c 'perl %s; true'", path, script))
            commands.wait_for_state("T", tonumber(process:line()))
            assert.is_nil(process:ends(143, "TERM"):find("still run", 1, true))
        end)

        it("a group of the command's children gets one SIGTERM at a loss #slow", function()
            local out = fresh_path()
            local script = files.write(fresh_path(), [[
                $SIG{TERM} = sub { syswrite STDOUT, "TERM\n" };
                setpgrp;
                syswrite STDOUT, "group\n";
                sleep 1 while 1;]])
            local process = launch(run([[--grace 3 %s sh -c '(perl %s >%s 2>&1 &)
                trap "sleep 1; trap - TERM; kill -TERM \$\$" TERM
                while ! [ -s %s ]; do sleep 0.02; done; echo in
                while :; do sleep 0.02; done']], path, script, out, out))
            remove_node()
            process:ends(76)
            assert.equal("group\nTERM\n", files.read(out))
        end)

        it("a daemon of a signalled command goes on, and keeps no lock", function()
            local out = fresh_path()
            local process = launch(run([[%s sh -c 'setsid sh -c "echo \$\$ >%s; echo in
                exec sleep 600 >&- 2>&-" & exec sleep 600']], path, out))
            local pid = tonumber(first_line(out))
            finally(function() rig.signal("KILL", pid) end)
            assert.is_nil(process:ends(143, "TERM"):find("still run", 1, true))
            assert.is_truthy(commands.state(pid))
        end)

        it("children that outlive a signal by the grace are reported", function()
            local out = fresh_path()
            local process = launch(run([[--grace 0.1 %s sh -c '
                sh -c "trap \"\" TERM; echo \$\$ >%s; echo in; exec sleep 600 >&- 2>&-"
                true']], path, out))
            finally(function() rig.signal("KILL", tonumber(first_line(out))) end)
            process:signal("TERM")
            process:find("the command has ended, but some of its processes still run")
            server:wait_for_nodes(path, 0)
            process:ends(143)
        end)

        it("background processes of a command that ends by itself go on", function()
            local out = fresh_path()
            ends(0, run("%s sh -c 'sleep 60 >&- 2>&- & echo $! >%s'", path, out))
            local pid = tonumber(first_line(out))
            assert.is_truthy(commands.state(pid))
            rig.shell("kill %d", pid)
        end)
    end)


    describe("zklock ls", function()
        it("ls lists the locks below a path with holder, token, since, waiters, kind and client",
           function()
            session = rig.session(server.hosts, { identity = "somebody" })
            local lease = rig.hold(session:mutex(path .. "/deep/a"))
            rig.hold(session:rwlock(path .. "/b"):read())
            rig.hold(session:semaphore(path .. "/c", 3), { permits = 2 })
            rig.hold(session:mutex(path .. "/d", { order = "none" }))
            server:foreign("create '%s/junk' x", path)
            local waiter = rig.session(server.hosts):mutex(path .. "/deep/a")
            rig.wait_while(waiter, { timeout = 20 }, function()
                local rows = commands.rows(ends(0, "ls %s", path))
                assert.equal(5, #rows)
                assert.matches("^LOCK +KIND +HOLDER +TOKEN +SINCE +WAIT +BY$", rows[1])
                assert.matches("b +read +somebody +%d+ +%d+ s +0 Lua$", rows[2])
                assert.matches("c +permit +somebody +%d+ +%d+ s +0 Lua$", rows[3])
                assert.matches("d +mutex +somebody +%d+ +%d+ s +0 Lua$", rows[4])
                assert.matches("/a +mutex +somebody +" .. lease:token_string()
                    .. " +%d+ s +1 Lua$", rows[5])
                rig.release(lease)
            end)
        end)

        it("ls tells the other clients' languages by their nodes' names", function()
            rig.use(session:mutex(path .. "/x"))
            local hex = ("0123456789abcdef"):rep(2)
            for name, language in pairs{
                ["_c_6c0f1c5e-0c4e-4b0e-8f0e-0123456789ab-lock-"] = "Java",
                ["_c_" .. hex .. "-lock-"] = "Go",
                [hex .. "__lock__"] = "Python",
                ["lock-"] = "-",
            } do
                local lock = path .. "/" .. language
                server:foreign("create '%s' '' numbered '%s/%s' ''", lock, lock, name)
                assert.matches(language .. "$", ends(0, "ls %s", lock))
            end
        end)

        it("ls --json lists the locks, or none, in JSON", function()
            session = rig.session(server.hosts, { identity = 'a "b"\\' })
            rig.hold(session:mutex(path, { data = "x" }))
            local text = ends(0, "ls %s --json", path)
            expect(text, '"identity":"a \\u0022b\\u0022\\u005c"', '"path":"' .. path .. '"')
            assert.matches('"since":%d+%.?%d*', text)
            assert.equal("[]", ends(0, "ls /zookeeper --json"))
        end)

        it("ls --watch repeats the list until an interrupt #slow", function()
            local process = start("ls --watch /zookeeper")
            for _ = 1, 2 do process:find("no locks") end
            process:ends(0, "INT")
            ends(64, "ls %s/", path)
        end)

        it("ls --watch ends with 69 when the server does not answer any more #slow", function()
            local proxy = rig.proxy_for_test(server.hosts)
            rig.use(session:mutex(path))
            local process = start("--hosts %s --timeout 2 ls --watch %s", proxy.hosts, path)
            process:find("no locks")
            proxy:command("blackhole")
            expect(process:ends(69), "not done in time")
        end)

        it("ls names the locks that it may not read, lists the rest, and ends with 77", function()
            local own = rig.session(server.hosts, { auth = "digest:a:b", acl = "creator" })
            rig.use(session:mutex(path .. "/free"))
            for i = 1, 5 do rig.hold(own:mutex(("%s/own%d"):format(path, i))) end
            rig.hold(session:mutex(path .. "/free"))
            local text = ends(77, "ls %s", path)
            expect(text, "/free ", "/own1, ", " and 2 more: the server refuses: ", "--auth ",
                "ZK_AUTH")
            assert.matches("^%[.-%]\nzklock: auth: ", ends(77, "ls --json %s", path))
            assert.equal(7, #commands.rows(ends(0, "--auth digest:a:b ls %s", path)))
            expect(ends(77, "graph %s", path), "/own1, ", " and 2 more: the server refuses: ")
        end)

        it("ls lists locks whose names end in ten digits", function()
            for _, name in ipairs{ "order-1700000000", "a_0000000001", "lock-0000000002" } do
                rig.hold(session:mutex(path .. "/x/" .. name))
                expect(ends(0, "ls %s/x", path), name .. " ")
            end
        end)

        it("ls and graph find no locks at a missing path, also if it goes meanwhile #slow",
           function()
            assert.equal("no locks (there is no such node)", ends(0, "ls %s", path))
            assert.equal("[]", ends(0, "ls --json %s", path))
            assert.equal("nobody waits", ends(0, "graph %s", path))
            rig.use(session:mutex(path))
            local process = start("ls --watch %s", path)
            assert.equal("no locks", process:find "no locks")
            server:foreign("delete '%s'", path)
            process:find "there is no such node"
            process:ends(0, "INT")
        end)
    end)


    describe("zklock show", function()
        it("show prints the holder and the waiters of a lock, or that it is free", function()
            session = rig.session(server.hosts, { identity = "first" })
            assert.equal("free (there is no such node)", ends(0, "show %s", path))
            rig.use(session:mutex(path .. "/x"))
            assert.equal("free", ends(0, "show %s", path))
            local lease = rig.hold(session:mutex(path, { data = "why" }))
            local other = rig.session(server.hosts, { identity = "second" })
            rig.wait_while(other:mutex(path), { timeout = 20 }, function()
                assert.matches("1 holds mutex +first .-\n +why\n +2 waits mutex +second ",
                               ends(0, "show %s", path))
                rig.release(lease)
            end)
        end)

        it("show prints a lock without an order, and permits", function()
            rig.hold(session:mutex(path .. "/n", { order = "none" }))
            rig.hold(session:semaphore(path .. "/s", 3), { permits = 2 })
            expect(ends(0, "show %s/n", path), "1 holds mutex")
            expect(ends(0, "show %s/s", path), "1 holds 2/3")
        end)

        it("show prints a kept lock whose session does not answer another contender", function()
            local link = rig.fragile(server, { timeout = 60 })
            rig.hold(link.session:mutex(path, { keep = 600 }))
            link.cut()
            rig.wait_while(session:mutex(path), { timeout = 60 }, function()
                assert.matches("1 kept%? mutex.-\n +it does not answer a new waiter",
                               ends(0, "show %s", path))
                link.heal()
                link.session:close()
            end)
            link.stop()
        end)

        it("show and break print nothing that a terminal would obey", function()
            local evil = "a\27[2Jb\194\155c\226\128\174d\ne"
            rig.hold(session:mutex(path .. "/a", { data = evil }))
            for _, verb in ipairs{ "show", "break --yes --grace 0" } do
                local text = ends(0, "%s %s/a", verb, path)
                expect(text, "a?[2Jb?c?d e")
                assert.is_nil(text:find("\27", 1, true))
            end
            rig.hold(session:mutex(path .. "/a", { data = evil }), { owner = "again" })
            expect(ends(0, "show %s/a --json", path), "a\\u001b[2Jb\\u009bc\\u202ed\\u000ae")
            rig.hold(session:mutex(path .. "/\226\128\174x"))
            expect(ends(0, "ls %s", path), "/?x ")
        end)

        it("show marks a lock that may be only kept, and break removes it #slow", function()
            rig.release(rig.hold(session:mutex(path, { keep = 600 })))
            assert.matches("1 kept%? mutex", ends(0, "show %s", path))
            ends(0, "break --yes %s", path)
            assert.matches("^free", ends(0, "show %s", path))
        end)
    end)


    describe("zklock break", function()
        it("break asks the holder to give way, and names it", function()
            session = rig.session(server.hosts, { identity = "polite" })
            local lease = rig.hold(session:mutex(path))
            lease:on_revoke(function() lease:release() end)
            local process = start("break --yes --grace 60 %s", path)
            rig.becomes(lease, "released")
            assert.matches("polite.-\nthe holder gave way\n$", process:ends(0))
        end)

        it("break removes the holder's node after the grace, and a waiter gets the lock #slow",
           function()
            local stubborn = rig.hold_elsewhere(server, path)
            local lease = rig.wait_while(session:mutex(path), { timeout = 60 }, function()
                local text = ends(0, "break --yes --grace 0.1 %s", path)
                assert.matches("broken; the next in the queue holds the lock now%.", text)
                assert.matches("did not give way%. .- for up to run's %-%-grace", text)
            end)
            assert.equal("held", lease:state())
            rig.becomes(stubborn, "lost")
        end)

        it("break removes a holder that told another contender meanwhile that it holds", function()
            session = rig.session(server.hosts, { timeout = 2 })
            local lease = rig.hold(session:mutex(path, { keep = 600 }))
            local node = server:nodes(path)[1]
            local process = start("break --yes --grace 60 %s", path)
            rig.wait_for("the request to give way",
                         function() return session:get(node) == "__REVOKE__" end)
            process:signal("TERM")
            local other = rig.session(server.hosts):mutex(path, { token = "turns" })
            rig.wait_while(other, { timeout = 60 }, function()
                rig.wait_for("the word held",
                             function() return session:get(node) == "__REVOKE__\31held" end)
                expect(ends(0, "break --yes --grace 0 %s", path), "did not give way")
            end)
            rig.becomes(lease, "lost")
        end)

        it("break removes all readers, and the node of a lock without an order", function()
            for _ = 1, 2 do rig.hold(rig.session(server.hosts):rwlock(path .. "/r"):read()) end
            rig.hold(session:mutex(path .. "/n", { order = "none" }))
            for _, name in ipairs{ "r", "n" } do
                ends(0, "break -y --grace 0 %s/%s", path, name)
                server:wait_for_nodes(path .. "/" .. name, 0)
            end
        end)

        it("break --token removes only the holder with that token, or ends with 1", function()
            local leases = {}
            for i = 1, 3 do
                local other = rig.session(server.hosts, { identity = "reader " .. i })
                leases[i] = rig.hold(other:rwlock(path):read())
            end
            local function break_token(status, token)
                return ends(status, "break --yes --grace 0 --token %s %s", token, path)
            end
            local token = leases[2]:token_string()
            assert.is_nil(break_token(0, token):find("reader [13]"))
            rig.becomes(leases[2], "lost")
            for _, each in ipairs{ token, "1" } do
                expect(break_token(1, each), "no holder has the token " .. each)
            end
            expect(break_token(64, "x"), "no token")
            for i = 1, 3, 2 do
                assert.is_true(leases[i]:check())
                assert.is_false((leases[i].handle:revoked()))
            end
        end)

        it("break --token takes tokens of turns and of a kept lock, but none without an order",
           function()
            for name, options in pairs{ turns = { order = "turns" }, kept = { keep = 600 },
                                        none = { order = "none" } } do
                local lock = session:mutex(path .. "/" .. name, options)
                rig.hold(lock):release()
                local lease = rig.hold(lock)
                local token = ends(0, "show --json %s", lock.path):match '"token":(%d+)'
                local text = ends(name == "none" and 70 or 0, "break -y --grace 0 --token %s %s",
                                  token, lock.path)
                if name == "none" then
                    expect(text, "unsupported: ")
                    assert.is_true(lease:check())
                else rig.becomes(lease, "lost") end
            end
        end)

        it("break asks first, and changes nothing without a yes", function()
            local lease = rig.hold(session:mutex(path))
            local function answer_with(answer)
                return rig.shell("%s | %s bin/zklock break --grace 0 %s 2>&1; echo $?", answer, LUA,
                                 path)
            end
            for answer, words in pairs{
                ["echo n"] = "zklock: not broken\n",
                ["true"] = "\nzklock: not broken, because nobody answered; --yes does not ask\n",
            } do
                assert.equal("Break it? [y/N] " .. words .. "1\n",
                             answer_with(answer):match("Break it.*"))
            end
            assert.is_true(lease:check())
            assert.is_false((lease.handle:revoked()))
            assert.matches("broken.*\n0\n$", answer_with("echo y"))
        end)

        it("break removes only nodes of contenders", function()
            rig.use(session:mutex(path .. "/a"))
            rig.use(session:mutex(path .. "/b"))
            local nodes = { "a/lock", "b/config", "b/lock-1" }
            for _, node in ipairs(nodes) do server:foreign("create '%s/%s' x", path, node) end
            for _, name in ipairs{ "a", "b", "none" } do
                local text = ends(0, "break -y --grace 0 %s/%s", path, name)
                expect(text, ("nobody holds %s/%s"):format(path, name))
                assert.equal(name == "none", text:find("(there is no such node)", 1, true) ~= nil)
            end
            for _, node in ipairs(nodes) do
                assert.equal("x", (session:get(path .. "/" .. node)))
            end
        end)
    end)


    describe("zklock doctor", function()
        local plain

        before_each(function() plain = path:gsub("%-", "%%-") end)

        it("doctor, which needs no other program, says ok for each server, a lock and the clocks",
           function()
            local text = rig.shell("echo; PATH=/none $(command -v %s) bin/zklock doctor "
                .. "--timeout 20 %s 2>&1", LUA, path)
            assert.matches("\nok +library +built for libzookeeper [%d.]+\n", text)
            assert.matches("\nok +127%.0%.0%.1:%d+ +[%d.]+, standalone, [%d.]+ ms, "
                .. "session timeout 20 s\n", text)
            assert.matches("\nok +lock +" .. plain .. " was taken in ", text)
            assert.matches("\nok +clock ", text)
        end)

        it("doctor names the holder of a held lock, at once and with the status 0", function()
            local lock = rig.session(server.hosts, { identity = "somebody:1" }):mutex(path)
            local lease = rig.hold(lock)
            rig.wait_while(session:mutex(path), { timeout = 60 }, function()
                local text = ends(0, "doctor %s", path)
                assert.matches("\nok +lock +" .. plain .. " is held by somebody:1 "
                    .. "%(in the queue for %d+ s%), so neither", text)
                assert.is_nil(text:find("NTP", 1, true))
                assert.is_true(lease:check())
                rig.release(lease)
            end)
        end)

        it("doctor names by its session a holder that was asked to give way", function()
            local lock = session:mutex(path)
            rig.hold(lock)
            assert(lock:revoke())
            expect(ends(0, "doctor %s", path), "held by session 0x" .. session:id())
        end)

        it("doctor lists the operations that servers know, and what an unknown one means",
           function()
            local proxy = rig.proxy_for_test(server.hosts)
            local text = ends(0, "doctor %s", path)
            assert.matches("\ncreateContainer +all +%- +%-\n", text)
            assert.is_nil(text:find("unknown to some", 1, true))
            proxy:command("lack createContainer")
            text = ends(0, "--hosts %s --timeout 4 doctor %s", proxy.hosts, path)
            assert.matches("\ncreate2 +all +%- +%-\n", text)
            assert.matches("\ncreateContainer +%- +all +%-\n", text)
            assert.matches("\nnote +servers +createContainer is unknown to some: ", text)
            proxy:command("lack create2")
            assert.matches("\nFAIL +servers +create2 is unknown to some: no lock can be",
                           ends(1, "--hosts %s --timeout 4 doctor %s", proxy.hosts, path))
        end)

        it("doctor does not count a delayed answer as a difference of clocks #slow", function()
            local proxy = rig.proxy_for_test(server.hosts)
            rig.use(session:mutex(path))
            proxy:command("delay 1000")
            assert.matches("\nok +clock ",
                           ends(0, "--hosts %s --timeout 40 doctor %s", proxy.hosts, path))
        end)

        it("doctor gives advice for each other failure, and ends with 1 #slow", function()
            local text = ends(1, "--hosts %s,127.0.0.1:1 doctor %s", server.hosts, path)
            assert.matches("\nFAIL +127%.0%.0%.1:1 .-is it running", text)
            assert.matches("\nnote +servers +two", text)
            assert.matches("\nFAIL +session .-make the chroot's node",
                           ends(1, "--hosts %s/no-such-chroot doctor", server.hosts))
            assert.matches("1000 s were asked for; see .-maxSessionTimeout",
                           ends(0, "doctor --timeout 1000"))
        end)

        it("doctor finds a session timeout of less than two ticks #slow", function()
            local short = rig.server{ tick = 1000 }
            short:kill()
            rig.shell("sed -i s/^minSession.*/minSessionTimeout=500/ %s/1/zoo.cfg", short.dir)
            short:restart()
            ends(0, "--hosts %s --timeout 2 doctor %s", short.hosts, path)
            assert.matches("\nFAIL +127%.0%.0%.1:%d+ +1%.9 s are less than two ticks of 1 s: ",
                           ends(1, "--hosts %s --timeout 1.9 doctor %s", short.hosts, path))
        end)

        it("doctor names the servers of an ensemble that can lose writes #slow", function()
            local ensemble = rig.server{ n = 3 }
            local _, text = commands.outcome("--hosts %s doctor %s", ensemble.hosts, path)
            local old = select(2, text:gsub(" 3%.[5-8]%.%d+, %a+er,", ""))
            local told = select(2, text:gsub("\nnote +%S+ +servers before 3.9.4", ""))
            assert.equal(old, told, text)
            assert.is_nil(ends(0, "doctor %s", path):find("before 3.9.4", 1, true))
            ensemble:stop()
        end)

        it("doctor reports that an ACL refuses", function()
            local own = rig.session(server.hosts, { auth = "digest:a:b", acl = "creator" })
            rig.use(own:mutex(path .. "/x"))
            assert.matches("\nFAIL +lock +auth: .-give %-%-auth", ends(1, "doctor %s/x", path))
            ends(0, "doctor --auth digest:a:b %s/x", path)
        end)
    end)


    it("each verb ends with 70 if its output is full or closed, and break breaks nothing then",
       function()
        local lease = rig.hold(session:mutex(path))
        for _, each in ipairs{ "ls " .. path, "ls --json " .. path, "show " .. path,
                               "members " .. path, "members --json " .. path, "doctor " .. path,
                               "break --yes --grace 0 " .. path, "completion bash", "--version",
                               "--help", "run --help", "seckill --list" } do
            assert.equal("zklock: the output cannot be written: No space left on device\n70\n",
                rig.shell("%s bin/zklock %s 2>&1 >/dev/full; echo $?", LUA, each), each)
        end
        assert.matches("cannot be written: Bad file descriptor\n70\n$",
                       rig.shell("%s bin/zklock ls %s 2>&1 >&-; echo $?", LUA, path))
        assert.is_true(lease:check())
        assert.is_false((lease.handle:revoked()))
    end)

    it("zklock ls loads only the laboratory's verb, and zklock does not load zklock.child",
       function()
        local script = files.write(fresh_path(), [[
            io.stdout:setvbuf "no" -- keeps the order of both streams
            require "zklock"
            print(package.loaded["zklock.child"], require("zklock.core").child)
            arg, os.exit = { "--hosts", arg[1], "ls", "/none" }, function() end
            dofile "bin/zklock"
            for name in pairs(package.loaded) do
                local room = name:match "^zklock%.(%l+)%."
                if room == "seckill" or room == "throwaway" then print(name) end
            end]])
        assert.matches("^nil\tnil\nno locks [^\n]+\nzklock.seckill.verb\n$",
                       rig.shell("%s %s %s 2>&1", LUA, script, server.hosts))
    end)

    it("each verb has help with an example, and completion knows all verbs and options", function()
        local bash, zsh = ends(0, "completion bash"), ends(0, "completion zsh")
        local script = files.write(fresh_path(), bash .. "\n")
        assert.equal("", rig.shell("bash -n %s 2>&1", script))
        local guide = files.read("docs/command.md")
        for _, verb in ipairs{ "run", "elect", "join", "ls", "show", "members", "break", "doctor",
                               "repl", "seckill", "completion" } do
            local text = ends(0, "%s --help", verb)
            assert.matches("^Usage: zklock " .. verb, text)
            assert.matches("\nExample: .*zklock " .. verb, text)
            for _, document in ipairs{ bash, zsh, guide } do expect(document, verb) end
            for option in text:gsub("\nExample: .*", ""):gmatch("%f[%-]%-%-%l[%l%-]+") do
                expect(bash, option)
                if verb ~= "seckill" then expect(guide, option) end
            end
        end
        for verb, statuses in pairs{ run = "64 69 70 75 76 77 78 126 127 128",
                                     join = "64 69 70 75 77 78 126 127 128" } do
            local text = ends(0, "%s --help", verb)
            for status in statuses:gmatch("%d+") do
                assert.matches("%f[%d]" .. status .. "%f[%D]", text)
            end
        end
        assert.equal("bash zsh fish\n", rig.shell("bash -c '. %s; COMP_WORDS=(zklock completion "
            .. "\"\") COMP_CWORD=2; _zklock; echo ${COMPREPLY[*]}'", script))
        assert.matches("^zklock %d", ends(0, "--version"))
    end)
end)
