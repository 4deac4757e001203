--- The command line on a real server: each promise of docs/command.md.

local commands = require "spec.commands"
local files = require "spec.files"
local rig = require "spec.rig"
local zklock = require "zklock"

local LUA, Process = commands.LUA, commands.Process
local fresh, start, outcome = commands.fresh, commands.start, commands.outcome
local gone, lives, said, state = commands.gone, commands.lives, commands.said, commands.state

describe("zklock #server", function()
    local server
    setup(function()
        server = rig.shared()
        commands.open()
    end)
    teardown(commands.close)
    after_each(function()
        commands.end_all()
        rig.close_sessions()
    end)

    -- A session timeout that the load of a machine does not end.
    local function run(text, ...)
        return ("--hosts %s --timeout 20 run "):format(server.hosts) .. text:format(...)
    end

    -- A contender of the lock is waited for.
    local function contends(path, count)
        server:wait_for_nodes(path, count or 1)
        return server:nodes(path)[1]
    end

    local function removed(path)
        server:foreign("delete '%s'", contends(path))
    end


    describe("run ends with the status", function()
        it("of the command", function()
            assert.equal(0, (outcome(run("%s true", rig.path()))))
            assert.equal(3, (outcome(run("%s sh -c 'exit 3'", rig.path()))))
        end)

        it("of a shell for what is not there, and for what cannot be executed", function()
            assert.equal(127, (outcome(run("%s no-such-command", rig.path()))))
            assert.equal(126, (outcome(run("%s /etc/passwd", rig.path()))))
        end)

        it("also where its standard descriptors are closed", function()
            assert.equal("127\n", rig.shell("(%s bin/zklock %s <&- >&- 2>&-); echo $?", LUA,
                                            run("%s no-such-command", rig.path())))
        end)

        it("128 and the number of the signal that killed the command", function()
            assert.equal(137, (outcome(run("%s sh -c 'kill -9 $$'", rig.path()))))
        end)

        it("75 if the lock is not had in time, or another one, and not a word", function()
            local path = rig.path()
            rig.hold(rig.session(server.hosts):mutex(path))
            for _, option in ipairs{ "-n", "--nonblock", "--nb", "-w 0", "-w0", "--wait=0" } do
                assert.same({ 75, "" }, { outcome(run("%s %s true", option, path)) }, option)
            end
            assert.same({ 9, "" }, { outcome(run("-E 9 -n %s true", path)) })
            assert.same({ 0, "" }, { outcome(run("-nE0 %s false", path)) })
        end)

        it("69 if no server answers #slow", function()
            local status, text = outcome("--hosts 127.0.0.1:1 run -n %s true", rig.path())
            assert.equal(69, status)
            assert.matches("no ZooKeeper server answered", text)
        end)

        it("69 for a try that nobody tells whether the lock is taken; 75 for a wait #slow",
           function()
            local link, path = rig.fragile(server, { timeout = 60 }), rig.path()
            rig.hold(link.session:mutex(path, { keep = 60 }))
            assert.same({ 75, "" }, { outcome(run("-n %s true", path)) })
            path = rig.path()
            rig.hold(link.session:mutex(path, { keep = 60 }))
            link.cut()
            for _, option in ipairs{ "-n -E 9", "-w 0" } do
                local status, text = outcome(run("%s %s true", option, path))
                assert.equal(69, status)
                assert.matches("nobody said whether it is taken", text)
            end
            assert.same({ 75, "" }, { outcome(run("-w 5 %s true", path)) })
            link.heal()
            link.stop()
        end)

        it("77 if the server refuses", function()
            local path = rig.path()
            local own = rig.session(server.hosts, { auth = "digest:a:b", acl = "creator" })
            rig.used(own:mutex(path .. "/x"))
            assert.equal(77, (outcome(run("%s/x true", path))))
        end)

        it("77 to strangers of a lock that an --acl protects", function()
            local path = rig.path()
            for _, acl in ipairs{ "creator", "read" } do
                assert.equal(0, (outcome(run("--auth digest:a:b --acl %s %s/%s true", acl, path,
                                             acl))))
                assert.equal(77, (outcome(run("%s/%s true", path, acl))))
                assert.equal(acl == "read" and 0 or 77,
                             (outcome("--hosts %s show %s/%s", server.hosts, path, acl)))
            end
        end)

        it("0 with the credentials of ZK_AUTH, before which --auth goes", function()
            local path = rig.path()
            assert.equal(0, (outcome(run("--auth digest:a:b --acl creator %s/x true", path))))
            for auth, status in pairs{ [""] = "0", ["--auth digest:a:c"] = "77" } do
                assert.matches(status .. "\n$", rig.shell(
                    "ZK_AUTH=digest:a:b %s bin/zklock %s 2>&1; echo $?", LUA,
                    run("%s %s/x true", auth, path)))
            end
        end)

        it("64 for a line that it does not understand, and says why", function()
            local path = rig.path()
            for line, text in pairs{
                [""] = "a command is required",
                ["run"] = "path",
                ["run " .. path] = "no command",
                ["run a true"] = "must start with /",
                ["run --frob " .. path .. " true"] = "--frob",
                ["run -n -w 1 " .. path .. " true"] = "-n",
                ["run --acl all " .. path .. " true"] = "'open', 'creator', 'read'",
                ["run --acl read " .. path .. " true"] = "needs auth",
                ["run -s -x " .. path .. " true"] = "-x",
                ["run -w soon " .. path .. " true"] = "number of seconds",
                ["run -w 1e999 " .. path .. " true"] = "number of seconds",
                ["run -E 256 " .. path .. " true"] = "exit status",
                ["run --permits 3/2 " .. path .. " true"] = "k/n",
                ["run -c true " .. path .. " true"] = "twice",
                ["run " .. path .. " -c"] = "one argument",
                ["run " .. path .. " -c true false"] = "one argument",
                ["--timeout 0.01 run " .. path .. " true"] = "at least 0.1",
                ["--hosts , run " .. path .. " true"] = "bad hosts",
                ["frob"] = "frob",
                ["completion"] = "'shell'",
            } do
                local status, output = outcome(line)
                assert.equal(64, status, line)
                assert.truthy(output:lower():find(text, 1, true), line .. ": " .. output)
            end
            assert.matches("missing argument 'PATH'", select(2, outcome("run")))
            local status, output = outcome("run %s true; ", path)
            assert.equal(0, status, output)
            assert.matches("no servers", rig.shell("ZK_HOSTS= %s bin/zklock run /a true 2>&1", LUA))
        end)

        it("64 for a server in memory, which no other process sees, as the other verbs", function()
            for _, line in ipairs{ "run /a true", "elect /a true", "ls", "show /a", "break -y /a",
                                   "doctor", "seckill --only DEMO-04" } do
                local status, output = outcome("--hosts memory:x %s", line)
                assert.same({ 64, "zklock: memory:x is a server inside one process: only repl can "
                    .. "use it" }, { status, output }, line)
            end
        end)

        it("78 if argparse is not installed, and says how to install it", function()
            local output = rig.shell("LUA_PATH='lua/?.lua;lua/?/init.lua' %s bin/zklock run 2>&1; "
                .. "echo $?", LUA)
            assert.matches("luarocks install argparse.*\n78\n$", output)
        end)
    end)


    describe("run starts the command", function()
        it("with the token, the path and the session in its environment", function()
            local path = rig.path()
            local process = start(run("%s sh -c 'echo $ZKLOCK_TOKEN $ZKLOCK_PATH $ZKLOCK_SESSION; "
                .. "read x'", path) .. " </dev/zero")
            local token, told, session = process:line():match("^(%d+) (%S+) (%x+)$")
            local holder = assert(rig.session(server.hosts):mutex(path):queue())[1]
            assert.equal(("%d"):format(holder.token), token)
            assert.equal(path, told)
            assert.equal(holder.session, session)
            process:signal("TERM")
            process:finish()
        end)

        it("with all that stands behind the path, untouched", function()
            local path = rig.path()
            local _, text = outcome(run("-w 20 %s echo -n --help -s '' 'a  b' -- --hosts", path))
            assert.equal("--help -s  a  b -- --hosts", text)
            _, text = outcome(run("-- %s echo --timeout", path))
            assert.equal("--timeout", text)
            _, text = outcome(run("%s -- echo --timeout", path))
            assert.equal("--timeout", text)
        end)

        it("by a shell with -c, before the path and behind it", function()
            for _, line in ipairs{ "%s -c 'echo $((6*7))'", "-c 'echo $((6*7))' %s",
                                   "%s --command 'echo $((6*7))'" } do
                local _, text = outcome(run(line, rig.path()))
                assert.equal("42", text)
            end
        end)

        it("with options before the verb and behind it", function()
            local path, hosts = rig.path(), server.hosts
            assert.equal(0, (outcome("run --hosts=%s --timeout 20 %s true", hosts, path)))
            assert.equal(0, (outcome("--timeout=20 run --hosts %s %s true", hosts, path)))
        end)

        it("in a process group of its own, with its standard input and output", function()
            local text = rig.shell("echo in | %s bin/zklock %s", LUA,
                run("%s sh -c 'cat; echo $$ $(ps -o pgid= -p $$)'", rig.path()))
            local pid, group = text:match("^in\n(%d+) (%d+)\n$")
            assert.equal(pid, group)
        end)

        it("with more words than a stack of Lua has room for", function()
            local output = rig.shell("seq 20000 | xargs -n 20000 %s bin/zklock %s | wc -w", LUA,
                                     run("%s echo", rig.path()))
            assert.equal(20000, tonumber(output))
        end)

        it("in the foreground of its terminal, which it gives back", function()
            local out, path = fresh(), rig.path()
            local script = files.write(fresh(), ([[
                show() { echo "$1 $(ps -o pgid=,tpgid= -p $$)" >>%s; }
                if [ "$1" = inner ]; then show inner; exit 0; fi
                %s bin/zklock %s sh "$0" inner
                show after
            ]]):format(out, LUA, run("%s", path)))
            rig.shell("script -qec 'sh %s' /dev/null </dev/null", script)
            local text = files.read(out)
            local group, terminal = text:match("inner%s+(%d+)%s+(%d+)")
            assert.equal(group, terminal, text)
            group, terminal = text:match("after%s+(%d+)%s+(%d+)")
            assert.equal(group, terminal, text)
        end)

        it("with the terminal once it reads it, in a pipeline", function()
            local script = files.write(fresh(), ("%s bin/zklock %s sh -c 'read x; echo got $x' "
                .. "| cat\n"):format(LUA, run("%s", rig.path())))
            local text = rig.shell("echo word | timeout 60 script -qec 'sh %s' /dev/null", script)
            assert.matches("got word", text)
        end)

        it("while it holds the lock, and gives it up at the end", function()
            local path = rig.path()
            local lock = rig.session(server.hosts):mutex(path)
            local process = start(run("%s sh -c 'echo in; exec sleep 60'", path))
            process:line()
            assert.equal("busy", (rig.code_of(lock, 0)))
            process:signal("TERM")
            process:finish()
            rig.hold(lock)
        end)

        it("as a reader, a writer, or with permits of a semaphore", function()
            local path, other = rig.path(), rig.path() .. "s"
            local reader = start(run("-s %s sh -c 'echo in; exec sleep 60'", path))
            reader:line()
            assert.equal(0, (outcome(run("-n --shared %s true", path))))
            assert.equal(75, (outcome(run("-n -x %s true", path))))
            assert.equal(75, (outcome(run("-n %s true", path))))
            local two = start(run("--permits 2/3 %s sh -c 'echo in; exec sleep 60'", other))
            two:line()
            assert.equal(75, (outcome(run("-n --permits 2/3 %s true", other))))
            assert.equal(0, (outcome(run("-n --permits 1/3 %s true", other))))
            assert.equal(70, (outcome(run("-n --permits 1/4 %s true", other))))
            for _, each in ipairs{ reader, two } do
                each:signal("TERM")
                each:finish()
            end
        end)
    end)


    describe("run passes signals on", function()
        it("to the group of the command, and ends as the command does", function()
            local process = start(run([[%s sh -c '
                trap "echo usr1" USR1; trap "exit 5" TERM; echo ready
                while :; do sleep 0.02; done']], rig.path()))
            assert.equal("ready", process:line())
            process:signal("USR1")
            process:find("usr1")
            process:signal("TERM")
            assert.equal(5, (process:finish()))
        end)

        it("and ends with 128 and its number for one that killed the command", function()
            for name, value in pairs{ HUP = 1, INT = 2, TERM = 15 } do
                local process = start(run("%s sh -c 'echo ready; exec sleep 60'", rig.path()))
                process:line()
                process:signal(name)
                assert.equal(128 + value, (process:finish()))
            end
        end)

        it("but for one that is ignored: nohup", function()
            local path = rig.path()
            Process.prefix = "env --ignore-signal=HUP"
            local process = start(run("%s sh -c 'echo ready; exec sleep 60'", path))
            Process.prefix = nil
            process:line()
            process:signal("HUP")
            process:signal("TERM")
            assert.equal(143, (process:finish()))
        end)

        it("and ends by one while it waits: its place in line is free", function()
            local path = rig.path()
            local session = rig.session(server.hosts)
            local lease = rig.hold(session:mutex(path))
            local process = start(run("%s true", path))
            contends(path, 2)
            process:signal("TERM")
            assert.equal(143, (process:finish()))
            contends(path, 1)
            rig.released(lease)
        end)

        it("and waits on after one that nobody has to catch: a terminal was resized", function()
            local path = rig.path()
            local lease = rig.hold(rig.session(server.hosts):mutex(path))
            local process = start(run("%s sh -c 'trap \"echo resized\" WINCH; echo in; "
                .. "while :; do sleep 0.02; done'", path))
            contends(path, 2)
            process:signal("WINCH")
            rig.released(lease)
            assert.equal("in", process:line())
            process:signal("WINCH")
            process:find("resized")
            process:signal("TERM")
            assert.equal(143, (process:finish()))
        end)

        -- No signal of a terminal stops a group of which nobody's parent is of the same session.
        it("and stops with a command that is stopped #slow", function()
            Process.prefix = "perl -e 'setpgrp; exec @ARGV'"
            local process = start(run("%s sh -c 'echo $$; exec sleep 60'", rig.path()))
            Process.prefix = nil
            local pid = tonumber(process:line())
            process:signal("TSTP")
            rig.wait_for("the stop", function()
                return state(pid) == "T" and state(process.pid) == "T"
            end)
            process:signal("CONT")
            rig.wait_for("the command going on", function() return state(pid) == "S" end)
            process:signal("TERM")
            assert.equal(143, (process:finish()))
        end)
    end)


    describe("the lease of run", function()
        it("is lost: the command gets SIGTERM, and the status is 76 #slow", function()
            local path, out = rig.path(), fresh()
            local process = start(run(
                "%s sh -c 'trap \"echo term >%s; exit 0\" TERM; echo in; while :; do sleep 0.02; "
                .. "done'", path, out))
            process:line()
            removed(path)
            process:find("the lease is lost")
            assert.equal(76, (process:finish()))
            assert.equal("term", said(out))
        end)

        it("is lost: however long the grace is, the command has it #slow", function()
            local path = rig.path()
            local process = start(run([[--grace 9999999999 %s sh -c '
                trap "echo term; exit 0" TERM; echo in; while :; do sleep 0.02; done']], path))
            process:line()
            removed(path)
            process:find("term")
            assert.equal(76, (process:finish()))
        end)

        it("is lost: SIGKILL to all of the group after the grace #slow", function()
            local path, out = rig.path(), fresh()
            local process = start(run([[--grace 0.2 %s sh -c '
                trap "" TERM; sh -c "echo \$\$ >%s; while :; do sleep 0.02; done" &
                echo in; while :; do sleep 0.02; done']], path, out))
            process:line()
            local pid = tonumber(said(out))
            removed(path)
            assert.equal(76, (process:finish()))
            assert.is_false(lives(pid))
        end)

        it("is suspect while no server is heard, and certain again", function()
            local path = rig.path()
            local proxy = rig.proxy_for_test(server.hosts)
            local process = start("--hosts %s --timeout 20 run %s sh -c 'echo in; exec sleep 60'",
                                  proxy.hosts, path)
            process:line()
            proxy:command("refuse")
            proxy:command("cut")
            local since, left = process:find("suspect"):match(
                "confirmed it for (%d+) s; unless one does, it is lost in (%d+) s$")
            assert.is_true(math.abs(since + left - 20) <= 1)
            proxy:pass()
            process:find("certain again")
            process:signal("TERM")
            assert.equal(143, (process:finish()))
        end)
    end)


    describe("elect", function()
        local function elect(text, ...)
            return ("--hosts %s --timeout 20 elect "):format(server.hosts) .. text:format(...)
        end

        it("runs the command while it leads, shows who does, and ends with it", function()
            local path = rig.path()
            local first = start(elect("%s sh -c 'echo $ZKLOCK_TOKEN; exit 3'", path))
            local token = tonumber(first:line())
            assert.is_true(token > 0)
            assert.equal(3, (first:finish()))
            local second = start(elect("--data two:2 %s sh -c 'echo in; exec sleep 60'", path))
            second:find("in")
            local third = start(elect("%s echo third", path))
            contends(path, 2)
            local identity, data = rig.session(server.hosts):election(path):leader(20)
            assert.matches(":%d+$", identity)
            assert.equal("two:2", data)
            second:signal("TERM")
            assert.equal(143, (second:finish()))
            assert.equal("third", third:line())
            assert.equal(0, (third:finish()))
        end)

        it("contends again, at the end of the line, when the lead is lost #slow", function()
            local path = rig.path()
            local process = start(elect("%s sh -c 'echo in $ZKLOCK_TOKEN $ZKLOCK_SESSION; "
                .. "exec sleep 60'", path))
            local token, session = process:find("in "):match("(%d+) (%x+)")
            local waiting = rig.session(server.hosts):mutex(path)
            removed(path)
            process:find("it queues again")
            local again, same = process:find("in "):match("(%d+) (%x+)")
            assert.is_true(tonumber(again) > tonumber(token))
            assert.equal(session, same)
            assert.equal("busy", (rig.code_of(waiting, 0)))
            process:signal("TERM")
            assert.equal(143, (process:finish()))
        end)

        -- Says which signals it gets, and ends by USR1 alone.
        local IMMORTAL = [[sh -c '
            trap "echo hup" HUP; trap "echo int" INT; trap "echo term" TERM
            trap "exit 0" USR1; echo in
            while :; do sleep 0.02; done']]

        it("contends again also after the command went on after HUP, INT and TERM #slow", function()
            local path = rig.path()
            local process = start(elect("--grace 0.1 %s %s", path, IMMORTAL))
            process:find("in")
            for _, name in ipairs{ "HUP", "INT", "TERM" } do
                process:signal(name)
                process:find(name:lower())
            end
            removed(path)
            process:find("it queues again")
            process:find("in")
        end)

        it("ends with 76 by a signal that comes while the command is ended #slow", function()
            local path = rig.path()
            local process = start(elect("--grace 600 %s %s", path, IMMORTAL))
            process:find("in")
            removed(path)
            process:find("term")
            process:signal("INT")
            process:find("int")
            process:signal("USR1")
            assert.equal(76, (process:finish()))
        end)

        it("ends by a signal that comes while it contends again, and no server answers #slow",
           function()
            local path, proxy = rig.path(), rig.proxy_for_test(server.hosts)
            local process = start("--hosts %s --timeout 20 elect --grace 0.1 %s %s", proxy.hosts,
                                  path, IMMORTAL)
            process:find("in")
            removed(path)
            process:find("the lease is lost")
            proxy:command("blackhole")
            process:find("it queues again")
            rig.is_refused("connection", nil, zklock.connect(proxy.hosts, { connect_timeout = 1 }))
            process:signal("TERM")
            assert.equal(143, (process:finish()))
        end)

        it("ends by a signal while it waits", function()
            local path = rig.path()
            local lease = rig.hold(rig.session(server.hosts):mutex(path))
            local process = start(elect("%s echo never", path))
            contends(path, 2)
            process:signal("INT")
            assert.same({ 130, "" }, { process:finish() })
            server:wait_for_nodes(path, 1)
            rig.released(lease)
        end)
    end)


    describe("a command is ended", function()
        local STUBBORN = [[sh -c 'trap "echo term >%s" TERM; echo $$
            while :; do sleep 0.02; done']]

        it("when zklock is killed: SIGTERM, and SIGKILL before the lock is another's #slow",
           function()
            local path, out = rig.path(), fresh()
            local process = start("--hosts %s --timeout 8 run %s " .. STUBBORN, server.hosts, path,
                                  out)
            local pid = tonumber(process:line())
            process:signal("KILL")
            assert.equal("term", said(out))
            rig.hold(rig.session(server.hosts):mutex(path), 60)
            assert.is_false(lives(pid))
        end)

        it("when zklock is stopped, before the lock is another's; status 76 later #slow", function()
            local path, out = rig.path(), fresh()
            local process = start("--hosts %s --timeout 8 run %s " .. STUBBORN, server.hosts, path,
                                  out)
            local pid = tonumber(process:line())
            process:signal("STOP")
            rig.hold(rig.session(server.hosts):mutex(path), 60)
            assert.is_false(lives(pid))
            assert.equal("term", said(out))
            process:signal("CONT")
            assert.equal(76, (process:finish()))
        end)

        it("when the process between is killed", function()
            local path = rig.path()
            local process = start(run("%s sh -c 'echo $$ $PPID; sleep 60 & wait'", path))
            local pid, minder = process:line():match("^(%d+) (%d+)$")
            rig.shell("kill -9 %s", minder)
            assert.equal(137, (process:finish()))
            gone(tonumber(pid))
            rig.hold(rig.session(server.hosts):mutex(path))
        end)

        it("and one that ends by itself keeps what it left in the background", function()
            local out = fresh()
            assert.equal(0, (outcome(run("%s sh -c 'sleep 60 >&- 2>&- & echo $! >%s'", rig.path(),
                                         out))))
            local pid = tonumber(said(out))
            assert.is_true(lives(pid))
            rig.shell("kill %d", pid)
        end)
    end)


    -- The same of a verb with the rig's server.
    local function of_server(verb, text, ...)
        return outcome("--hosts %s %s " .. text, server.hosts, verb, ...)
    end


    describe("ls", function()
        it("lists the locks below a path: holder, token, since, waiters, kind, client", function()
            local path, session = rig.path(), rig.session(server.hosts, { identity = "somebody" })
            local lease = rig.hold(session:mutex(path .. "/deep/a"))
            rig.hold(session:rwlock(path .. "/b"):read())
            rig.hold(session:semaphore(path .. "/c", 3), { permits = 2 })
            rig.hold(session:mutex(path .. "/d", { order = "none" }))
            server:foreign("create '%s/junk' x", path)
            rig.wait_while(rig.session(server.hosts):mutex(path .. "/deep/a"), { timeout = 20 },
                function()
                    local _, text = of_server("ls", "%s", path)
                    local rows = {}
                    for row in text:gmatch("[^\n]+") do
                        assert.is_true(#row:gsub("[\128-\191]", "") <= 80, row)
                        rows[#rows + 1] = row
                    end
                    assert.equal(5, #rows)
                    assert.matches("^LOCK +KIND +HOLDER +TOKEN +SINCE +WAIT +BY$", rows[1])
                    assert.matches("b +read +somebody +%d+ +%d+ s +0 Lua$", rows[2])
                    assert.matches("c +permit +somebody +%d+ +%d+ s +0 Lua$", rows[3])
                    assert.matches("d +mutex +somebody +%d+ +%d+ s +0 Lua$", rows[4])
                    assert.matches("/a +mutex +somebody +" .. lease:token_string()
                        .. " +%d+ s +1 Lua$", rows[5])
                    rig.released(lease)
                end)
        end)

        it("tells the languages of the other clients by their nodes' names", function()
            local path = rig.path()
            rig.used(rig.session(server.hosts):mutex(path .. "/x"))
            local hex = ("0123456789abcdef"):rep(2)
            for name, language in pairs{
                ["_c_6c0f1c5e-0c4e-4b0e-8f0e-0123456789ab-lock-"] = "Java",
                ["_c_" .. hex .. "-lock-"] = "Go",
                [hex .. "__lock__"] = "Python",
                ["lock-"] = "-",
            } do
                server:foreign("create '%s/%s' '' numbered '%s/%s/%s' ''", path, language, path,
                               language, name)
                local _, text = of_server("ls", "%s/%s", path, language)
                assert.matches(language .. "$", text)
            end
        end)

        it("says it in JSON, and that there is none", function()
            local path = rig.path()
            local session = rig.session(server.hosts, { identity = 'a "b"\\' })
            rig.hold(session:mutex(path, { data = "x" }))
            local status, text = of_server("ls", "%s --json", path)
            assert.equal(0, status)
            assert.truthy(text:find('"identity":"a \\u0022b\\u0022\\u005c"', 1, true), text)
            assert.truthy(text:find('"path":"' .. path .. '"', 1, true), text)
            assert.matches('"since":%d+%.?%d*', text)
            assert.equal("[]", select(2, of_server("ls", "/zookeeper --json")))
        end)

        it("repeats it with --watch, until it is interrupted #slow", function()
            local path = rig.path()
            local process = start("--hosts %s ls --watch %s", server.hosts, "/zookeeper")
            process:find("no locks")
            process:find("no locks")
            process:signal("INT")
            assert.equal(0, (process:finish()))
            assert.equal(64, (of_server("ls", "%s/", path)))
        end)

        it("ends with 69 when the server does not answer any more #slow", function()
            local path, proxy = rig.path(), rig.proxy_for_test(server.hosts)
            rig.used(rig.session(server.hosts):mutex(path))
            local process = start("--hosts %s --timeout 2 ls --watch %s", proxy.hosts, path)
            process:find("no locks")
            proxy:command("blackhole")
            local status, text = process:finish()
            assert.equal(69, status, text)
            assert.matches("not done in time", text)
        end)

        it("of a path that is not there ends with 70, and says so", function()
            local status, text = of_server("ls", "%s", rig.path())
            assert.equal(70, status)
            assert.matches("there is no such node", text)
        end)
    end)


    describe("show", function()
        it("shows the line of a lock, and that it is free", function()
            local path = rig.path()
            local session = rig.session(server.hosts, { identity = "first" })
            local lock = session:mutex(path, { data = "why" })
            assert.equal("free (there is no such node)", select(2, of_server("show", path)))
            rig.used(session:mutex(path .. "/x"))
            assert.equal("free", select(2, of_server("show", path)))
            local lease = rig.hold(lock)
            local other = rig.session(server.hosts, { identity = "second" })
            rig.wait_while(other:mutex(path), { timeout = 20 }, function()
                local _, text = of_server("show", path)
                assert.matches("1 holds mutex +first .-\n +why\n +2 waits mutex +second ", text)
                rig.released(lease)
            end)
        end)

        it("shows a lock without an order, and permits", function()
            local path, session = rig.path(), rig.session(server.hosts)
            rig.hold(session:mutex(path .. "/n", { order = "none" }))
            rig.hold(session:semaphore(path .. "/s", 3), { permits = 2 })
            assert.matches("1 holds mutex", select(2, of_server("show", "%s/n", path)))
            assert.matches("1 holds 2/3", select(2, of_server("show", "%s/s", path)))
        end)

        it("shows a kept lock whose session does not answer another contender", function()
            local path, link = rig.path(), rig.fragile(server, { timeout = 60 })
            rig.hold(link.session:mutex(path, { keep = 600 }))
            link.cut()
            rig.wait_while(rig.session(server.hosts):mutex(path), { timeout = 60 }, function()
                assert.matches("1 kept%? mutex.-\n +it does not answer a new waiter", select(2,
                    of_server("show", path)))
                link.heal()
                link.session:close()
            end)
            link.stop()
        end)

        it("prints nothing that a terminal would obey", function()
            local path = rig.path()
            local session = rig.session(server.hosts)
            local evil = "a\27[2Jb\194\155c\226\128\174d\ne"
            rig.hold(session:mutex(path .. "/a", { data = evil }))
            for _, verb in ipairs{ "show", "break --yes --grace 0" } do
                local _, text = of_server(verb, "%s/a", path)
                assert.truthy(text:find("a?[2Jb?c?d e", 1, true), text)
                assert.is_nil(text:find("\27", 1, true))
            end
            rig.hold(session:mutex(path .. "/a", { data = evil }), { owner = "again" })
            local _, text = of_server("show", "%s/a --json", path)
            assert.truthy(text:find("a\\u001b[2Jb\\u009bc\\u202ed\\u000ae", 1, true), text)
            rig.hold(session:mutex(path .. "/\226\128\174x"))
            assert.truthy(select(2, of_server("ls", path)):find("/?x ", 1, true))
        end)

        it("shows a lock that may be only kept, and breaks it #slow", function()
            local path, session = rig.path(), rig.session(server.hosts)
            rig.released(rig.hold(session:mutex(path, { keep = 600 })))
            assert.matches("1 kept%? mutex", select(2, of_server("show", path)))
            local status, text = of_server("break", "--yes %s", path)
            assert.equal(0, status, text)
            assert.matches("^free", select(2, of_server("show", path)))
        end)
    end)


    describe("break", function()
        it("asks the holder to give way, and says whose the lock was", function()
            local path = rig.path()
            local lock = rig.session(server.hosts, { identity = "polite" }):mutex(path)
            local lease = rig.hold(lock)
            lease:on_revoke(function() lease:release() end)
            local process = start("--hosts %s break --yes --grace 60 %s", server.hosts, path)
            rig.wait_for("the release", function() return lease:state() == "released" end)
            local status, text = process:finish()
            assert.equal(0, status)
            assert.matches("polite.-\nthe holder gave way\n$", text)
        end)

        it("removes the holder's node after the grace: a waiter has the lock #slow", function()
            local path = rig.path()
            local stubborn = rig.hold(rig.session(server.hosts):mutex(path))
            local other = rig.session(server.hosts):mutex(path)
            local lease = rig.wait_while(other, { timeout = 60 }, function()
                local text = select(2, of_server("break", "--yes --grace 0.1 %s", path))
                assert.matches("broken: the next in the queue has the lock now%.", text)
                assert.matches("did not give way: .- for up to run's %-%-grace", text)
            end)
            assert.equal("held", lease:state())
            rig.wait_for("the loss", function() return stubborn:state() == "lost" end)
        end)

        it("removes a holder that says meanwhile that it holds, for another one came", function()
            local path = rig.path()
            local session = rig.session(server.hosts, { timeout = 2 })
            local lease = rig.hold(session:mutex(path, { keep = 600 }))
            local node = server:nodes(path)[1]
            local process = start("--hosts %s break --yes --grace 60 %s", server.hosts, path)
            rig.wait_for("the wish", function() return session:get(node) == "__REVOKE__" end)
            process:signal("TERM")
            local other = rig.session(server.hosts):mutex(path, { token = "turns" })
            rig.wait_while(other, { timeout = 60 }, function()
                rig.wait_for("the word",
                             function() return session:get(node) == "__REVOKE__\31held" end)
                local status, text = of_server("break", "--yes --grace 0 %s", path)
                assert.equal(0, status, text)
                assert.matches("did not give way", text)
            end)
            rig.wait_for("the loss", function() return lease:state() == "lost" end)
        end)

        it("removes all readers, and the node of a lock without an order", function()
            local path = rig.path()
            for _, lock in ipairs{ rig.session(server.hosts):rwlock(path .. "/r"):read(),
                                   rig.session(server.hosts):rwlock(path .. "/r"):read(),
                                   rig.session(server.hosts):mutex(path .. "/n",
                                                                   { order = "none" }) } do
                rig.hold(lock)
            end
            for _, name in ipairs{ "r", "n" } do
                assert.equal(0, (of_server("break", "-y --grace 0 %s/%s", path, name)))
                server:wait_for_nodes(path .. "/" .. name, 0)
            end
        end)

        it("asks before, and leaves all as it is without a yes", function()
            local path = rig.path()
            local lease = rig.hold(rig.session(server.hosts):mutex(path))
            for answer, words in pairs{
                ["echo n"] = "zklock: not broken\n",
                ["true"] = "\nzklock: not broken: nobody answered; --yes asks nobody\n",
            } do
                local output = rig.shell("%s | %s bin/zklock --hosts %s break %s 2>&1; echo $?",
                                         answer, LUA, server.hosts, path)
                assert.equal("Break it? [y/N] " .. words .. "1\n", output:match("Break it.*"))
            end
            assert.is_true(lease:check())
            assert.is_false((lease.handle:revoked()))
            assert.matches("broken", rig.shell("echo y | %s bin/zklock --hosts %s break "
                .. "--grace 0 %s 2>&1", LUA, server.hosts, path))
        end)

        it("touches no node that is no contender", function()
            local path = rig.path()
            rig.used(rig.session(server.hosts):mutex(path .. "/a"))
            rig.used(rig.session(server.hosts):mutex(path .. "/b"))
            server:foreign("create '%s/a/lock' x", path)
            server:foreign("create '%s/b/config' x", path)
            server:foreign("create '%s/b/lock-1' x", path)
            for _, name in ipairs{ "a", "b", "none" } do
                local status, text = of_server("break", "-y --grace 0 %s/%s", path, name)
                assert.equal(0, status)
                assert.truthy(text:find(("nobody holds %s/%s"):format(path, name), 1, true), text)
                assert.equal(name == "none", text:find("(there is no such node)", 1, true) ~= nil)
            end
            local session = rig.session(server.hosts)
            for _, node in ipairs{ "a/lock", "b/config", "b/lock-1" } do
                assert.equal("x", (session:get(path .. "/" .. node)))
            end
        end)
    end)


    describe("doctor", function()
        it("says that all is well: each server, a lock, the clocks", function()
            local path = rig.path()
            local status, text = of_server("doctor", "--timeout 20 %s", path)
            assert.equal(0, status, text)
            assert.matches("\nok +library +built for libzookeeper [%d.]+\n", "\n" .. text)
            assert.matches("\nok +127%.0%.0%.1:%d+ +[%d.]+, standalone, [%d.]+ ms, "
                .. "session timeout 20 s\n", text)
            assert.matches("\nok +lock +" .. path:gsub("%-", "%%-") .. " was taken in ", text)
            assert.matches("\nok +clock ", text)
        end)

        it("names the holder of a lock, and neither waits for it nor calls that a failure",
           function()
            local path = rig.path()
            local lock = rig.session(server.hosts, { identity = "somebody:1" }):mutex(path)
            local lease = rig.hold(lock)
            rig.wait_while(rig.session(server.hosts):mutex(path), { timeout = 60 }, function()
                local status, text = of_server("doctor", "%s", path)
                assert.equal(0, status, text)
                assert.matches("\nok +lock +" .. path:gsub("%-", "%%-") .. " is held by somebody:1 "
                    .. "%(in the queue for %d+ s%): so neither", text)
                assert.is_nil(text:find("NTP", 1, true))
                assert.is_true(lease:check())
                rig.released(lease)
            end)
        end)

        it("names the holder that was asked to give way by its session", function()
            local path, session = rig.path(), rig.session(server.hosts)
            local lock = session:mutex(path)
            rig.hold(lock)
            assert(lock:revoke())
            assert.matches("held by session 0x" .. session:id(),
                           select(2, of_server("doctor", "%s", path)))
        end)

        it("has a table of operations that servers know, and the consequences of a gap", function()
            local path, proxy = rig.path(), rig.proxy_for_test(server.hosts)
            local status, text = of_server("doctor", "%s", path)
            assert.equal(0, status, text)
            assert.matches("\ncreateContainer +all +%- +%-\n", text)
            assert.is_nil(text:find("unknown to some", 1, true))
            proxy:command("lack createContainer")
            status, text = outcome("--hosts %s --timeout 4 doctor %s", proxy.hosts, path)
            assert.equal(0, status, text)
            assert.matches("\ncreate2 +all +%- +%-\n", text)
            assert.matches("\ncreateContainer +%- +all +%-\n", text)
            assert.matches("\nnote +servers +createContainer is unknown to some: ", text)
            proxy:command("lack create2")
            status, text = outcome("--hosts %s --timeout 4 doctor %s", proxy.hosts, path)
            assert.equal(1, status, text)
            assert.matches("\nFAIL +servers +create2 is unknown to some: no lock can be", text)
        end)

        it("counts no delay of an answer as a difference of clocks #slow", function()
            local path, proxy = rig.path(), rig.proxy_for_test(server.hosts)
            rig.used(rig.session(server.hosts):mutex(path)) -- no parents are made
            proxy:command("delay 1000")
            local status, text = outcome("--hosts %s --timeout 40 doctor %s", proxy.hosts, path)
            assert.equal(0, status, text)
            assert.matches("\nok +clock ", text)
        end)

        it("says what to do about the rest, and ends with 1 #slow", function()
            local status, text = outcome("--hosts %s,127.0.0.1:1 doctor %s", server.hosts,
                                         rig.path())
            assert.equal(1, status)
            assert.matches("\nFAIL +127%.0%.0%.1:1 .-is it running", text)
            assert.matches("\nnote +servers +two", text)
            status, text = outcome("--hosts %s/no-such-chroot doctor", server.hosts)
            assert.equal(1, status)
            assert.matches("\nFAIL +session .-make the chroot's node", text)
            status, text = of_server("doctor", "--timeout 1000")
            assert.equal(0, status)
            assert.matches("1000 s were asked for: see .-maxSessionTimeout", text)
        end)

        it("finds a session timeout of less than two ticks #slow", function()
            local short = rig.server{ tick = 1000 }
            short:kill()
            rig.shell("sed -i s/^minSession.*/minSessionTimeout=500/ %s/1/zoo.cfg", short.dir)
            short:restart()
            local path = rig.path()
            local status, text = outcome("--hosts %s --timeout 2 doctor %s", short.hosts, path)
            assert.equal(0, status, text)
            status, text = outcome("--hosts %s --timeout 1.9 doctor %s", short.hosts, path)
            assert.equal(1, status, text)
            assert.matches("\nFAIL +127%.0%.0%.1:%d+ +1%.9 s are less than two ticks of 1 s: ",
                           text)
        end)

        it("names the servers of an ensemble that can lose writes #slow", function()
            local ensemble = rig.server{ n = 3 }
            local _, text = outcome("--hosts %s doctor %s", ensemble.hosts, rig.path())
            local old = select(2, text:gsub(" 3%.[5-8]%.%d+, %a+er,", ""))
            local told = select(2, text:gsub("\nnote +%S+ +before 3.9.4 servers", ""))
            assert.equal(old, told, text)
            _, text = of_server("doctor", "%s", rig.path())
            assert.is_nil(text:find("before 3.9.4", 1, true))
            ensemble:stop()
        end)

        it("says that an ACL refuses", function()
            local path = rig.path()
            local own = rig.session(server.hosts, { auth = "digest:a:b", acl = "creator" })
            rig.used(own:mutex(path .. "/x"))
            local status, text = of_server("doctor", "%s/x", path)
            assert.equal(1, status)
            assert.matches("\nFAIL +lock +auth: .-give %-%-auth", text)
            assert.equal(0, (of_server("doctor", "--auth digest:a:b %s/x", path)))
        end)
    end)


    it("loads no laboratory and no engine for other verbs, the library no starter of commands",
       function()
        local script = files.write(fresh(), [[
            io.stdout:setvbuf "no" -- in the order of what is written to stderr
            require "zklock"
            print(package.loaded["zklock.child"], require("zklock.core").child)
            arg, os.exit = { "--hosts", arg[1], "ls", "/none" }, function() end
            dofile "bin/zklock"
            for name in pairs(package.loaded) do
                local room = name:match "^zklock%.(%l+)%."
                if room == "seckill" or room == "engine" or room == "throwaway" then print(name) end
            end]])
        assert.matches("^nil\tnil\n[^\n]+ no such node [^\n]+\nzklock.seckill.verb\n$",
                       rig.shell("%s %s %s 2>&1", LUA, script, server.hosts))
    end)

    it("has help with an example for each verb, and completion of all verbs and options", function()
        local _, bash = outcome("completion bash")
        local _, zsh = outcome("completion zsh")
        local script = files.write(fresh(), bash .. "\n")
        assert.equal("", rig.shell("bash -n %s 2>&1", script))
        local page = files.read("docs/zklock.1"):gsub("\\%-", "-")
        local guide = files.read("docs/command.md")
        for _, verb in ipairs{ "run", "elect", "join", "ls", "show", "members", "break", "doctor",
                               "repl", "seckill", "completion" } do
            local status, text = outcome("%s --help", verb)
            assert.equal(0, status)
            assert.matches("^Usage: zklock " .. verb, text)
            assert.matches("\nExample: .*zklock " .. verb, text)
            for _, document in ipairs{ bash, zsh, page, guide } do
                assert.truthy(document:find(verb, 1, true), verb)
            end
            for option in text:gsub("\nExample: .*", ""):gmatch("%f[%-]%-%-%l[%l%-]+") do
                assert.truthy(bash:find(option, 1, true), option)
                assert.truthy(verb == "seckill" or page:find(option, 1, true), option)
            end
        end
        for verb, statuses in pairs{ run = "64 69 70 75 76 77 78 126 127 128",
                                     join = "64 69 70 75 77 78 126 127 128" } do
            local text = select(2, outcome("%s --help", verb))
            for status in statuses:gmatch("%d+") do
                assert.matches("%f[%d]" .. status .. "%f[%D]", text)
            end
        end
        assert.equal("bash zsh fish\n", rig.shell("bash -c '. %s; COMP_WORDS=(zklock completion "
            .. "\"\") COMP_CWORD=2; _zklock; echo ${COMPREPLY[*]}'", script))
        assert.matches("^zklock %d", select(2, outcome("--version")))
    end)
end)
