--- zklock join, on a real server.

local commands = require "spec.commands"
local rig = require "spec.rig"

local LUA, Process = commands.LUA, commands.Process
local fresh, start, outcome = commands.fresh, commands.start, commands.outcome
local gone, lives, said, state = commands.gone, commands.lives, commands.said, commands.state

describe("zklock #server", function()
    local server, session, folder
    setup(function()
        server = rig.shared()
        commands.open()
    end)
    teardown(commands.close)
    before_each(function()
        folder, session = rig.path(), rig.session(server.hosts)
    end)
    after_each(function()
        commands.end_all()
        rig.close_sessions()
    end)

    local function joined(by, name, data)
        return assert(by:join(folder, { name = name, data = data, timeout = 20 }))
    end

    -- Waits until the folder has that: "name=data ..."; gives the list.
    local function wait_for_members(text)
        local list
        local stop = assert(session:members(folder, function(told) list = told end))
        rig.wait_for(text, function()
            local words = {}
            for i, each in ipairs(list or {}) do words[i] = each.name .. "=" .. each.data end
            return list and table.concat(words, " ") == text
        end, 60)
        stop()
        return list
    end

    local function end_session(id) commands.end_session(server, id) end

    -- The session that has the node a, another one than before.
    local function wait_for_owner(before)
        local owner
        local stop = assert(session:members(folder, function(list)
            owner = list and list[1] and list[1].session
        end))
        rig.wait_for("another node", function() return owner and owner ~= before end, 60)
        stop()
        return owner
    end

    -- A session timeout that the load of a machine does not end.
    local function join(text, ...)
        return ("--hosts %s --timeout 20 join "):format(server.hosts) .. text:format(...)
    end

    local SLEEP = "sh -c 'echo in; exec sleep 600'"

    -- Says which signals it gets, and ends by USR1 alone.
    local IMMORTAL = [[sh -c '
        for each in HUP INT QUIT TERM USR2; do trap "echo $each" $each; done
        trap "exit 0" USR1; echo in $ZKLOCK_SESSION
        while :; do sleep 0.02; done']]


    describe("join runs the command", function()
        it("as a member, with its path and session in the environment, and no token", function()
            Process.prefix = "env ZKLOCK_TOKEN=1"
            local process = start(join("--data weight=3 %s a -- sh -c 'env | sort | "
                .. "grep -E \"^ZKLOCK_(PATH|SESSION|TOKEN)=\"; echo end; read x' </dev/zero",
                folder))
            Process.prefix = nil
            assert.equal("ZKLOCK_PATH=" .. folder .. "/a", process:line())
            local id = process:line():match("^ZKLOCK_SESSION=(%x+)$")
            assert.equal("end", process:line())
            assert.equal(id, wait_for_members("a=weight=3")[1].session)
            process:signal("KILL")
        end)

        it("and leaves when it has ended: the status is the command's", function()
            assert.equal(0, (outcome(join("%s a true", folder))))
            assert.equal(3, (outcome(join("%s a sh -c 'exit 3'", folder))))
            assert.equal(137, (outcome(join("%s a sh -c 'kill -9 $$'", folder))))
            assert.equal(127, (outcome(join("%s a no-such-command", folder))))
            wait_for_members("")
        end)

        it("untouched, behind the name and --; and by a shell", function()
            for line, text in pairs{
                ["%s a echo -n --help -- --hosts"] = "--help -- --hosts",
                ["%s a -- echo --timeout"] = "--timeout",
                ["-- %s a echo -w"] = "-w",
                ["-- %s -a echo -w"] = "-w",
                ["%s --data x -n a echo -w"] = "-w",
                ["%s a -c 'echo $((6*7))'"] = "42",
                ["-c 'echo $((6*7))' %s a"] = "42",
            } do
                assert.same({ 0, text }, { outcome(join(line, folder)) }, line)
            end
        end)

        it("not for a line that it does not understand: 64", function()
            for line, text in pairs{
                [""] = "missing argument 'PATH'",
                [folder] = "missing argument 'NAME'",
                [folder .. " a"] = "no command to run behind a",
                [folder .. " a/b true"] = "must not contain /",
                [folder .. " .. true"] = "must not contain the segment",
                ["/a/ a true"] = "must not end with /",
                ["-n -w 1 " .. folder .. " a true"] = "-n",
                ["-E 1 " .. folder .. " a true"] = "-E",
                ["--data " .. ("x"):rep(5000) .. " " .. folder .. " a true"] = "data",
            } do
                local status, output = outcome(join("%s", line))
                assert.equal(64, status, line)
                assert.truthy(output:find(text, 1, true), output)
            end
            assert.equal(64, (outcome("--hosts memory:x join %s a true", folder)))
        end)

        it("not where the server refuses, or none answers: 77, 69 #slow", function()
            local own = rig.session(server.hosts, { auth = "digest:a:b", acl = "creator" })
            joined(own, "b")
            assert.equal(77, (outcome(join("%s a true", folder))))
            assert.equal(69, (outcome("--hosts 127.0.0.1:1 join -n %s a true", folder)))
            local proxy = rig.proxy_for_test(server.hosts)
            proxy:command("hold create2 1")
            assert.equal(69, (outcome("--hosts %s join -n %s a true", proxy.hosts, rig.path())))
        end)
    end)


    describe("join whose name is taken", function()
        it("gives up with -n and with -w 0: 75", function()
            local member = joined(session, "a")
            assert.same({ 75, "" }, { outcome(join("-n %s a true", folder)) })
            assert.same({ 75, "" }, { outcome(join("-w 0 %s a true", folder)) })
            member:leave()
            assert.equal(0, (outcome(join("-n %s a true", folder))))
        end)

        it("gives up when its time is over: 75 #slow", function()
            joined(session, "a")
            assert.equal(75, (outcome(join("-w 5 %s a true", folder))))
        end)

        it("waits until the name is free, and asks once more then", function()
            local proxy = rig.proxy_for_test(server.hosts)
            local member = joined(session, "a", "theirs")
            local process = start("--hosts %s join --data ours %s a %s", proxy.hosts, folder, SLEEP)
            process:find("the name is taken")
            server:foreign("set %s/a other", folder)
            wait_for_members("a=other")
            member:leave()
            process:find("in")
            wait_for_members("a=ours")
            assert.equal(2, proxy:counts().create2 + proxy:counts().create)
            process:signal("TERM")
            assert.equal(143, (process:finish()))
        end)

        it("by the former process, which was killed, waits until its session ends #slow",
           function()
            local line = ("--hosts %s --timeout 3 join %s a %s"):format(server.hosts, folder, SLEEP)
            local first = start("%s", line)
            first:find("in")
            first:signal("KILL")
            local second = start("%s", line)
            second:find("the name is taken")
            second:find("in")
        end)

        it("by a node that lasts waits until somebody removes it #slow", function()
            server:foreign("create %s '' create %s/a lasting hide %s/a", folder, folder, folder)
            local process = start(join("%s a %s", folder, SLEEP))
            process:find("the name is taken")
            server:foreign("delete %s/a", folder)
            process:find("in")
        end)

        it("ends by a signal: 128 + its number", function()
            joined(session, "a", "x")
            local process = start(join("%s a true", folder))
            process:find("the name is taken")
            process:signal("INT")
            assert.same({ 130, "" }, { process:finish() })
            wait_for_members("a=x")
        end)
    end)


    describe("a member that is lost", function()
        it("by an expiry is made anew, and the command goes on", function()
            local process = start(join("--data x %s a %s", folder, IMMORTAL))
            local id = process:find("in "):match("%x+$")
            end_session(id)
            wait_for_owner(id)
            wait_for_members("a=x")
            process:signal("USR2")
            process:find("USR2")
            process:signal("USR1")
            assert.equal(0, (process:finish()))
            wait_for_members("")
        end)

        it("as somebody removed its node is made anew", function()
            local process = start(join("--data x %s a %s", folder, IMMORTAL))
            process:find("in ")
            server:foreign("delete %s/a create %s/mark ''", folder, folder)
            wait_for_members("a=x mark=")
            process:signal("USR1")
            assert.equal(0, (process:finish()))
        end)

        it("with its connection says nothing", function()
            local proxy = rig.proxy_for_test(server.hosts)
            local process = start("--hosts %s --timeout 20 join %s a %s", proxy.hosts, folder,
                                  IMMORTAL)
            process:find("in ")
            proxy:command("cut")
            process:signal("USR2")
            process:find("USR2")
            process:signal("USR1")
            local status, text = process:finish()
            assert.equal(0, status)
            assert.is_nil(text:find("zklock", 1, true), text)
        end)

        -- Cuts it off, ends its session, and joins in its place. Gives the process, the proxy, the
        -- former session, and the other member.
        local function robbed(data)
            local proxy = rig.proxy_for_test(server.hosts)
            local process = start("--hosts %s --timeout 60 join --data ours %s a %s", proxy.hosts,
                                  folder, IMMORTAL)
            local id = process:find("in "):match("%x+$")
            proxy:command("refuse")
            proxy:command("cut")
            end_session(id)
            wait_for_members("")
            local other = joined(session, "a", data)
            proxy:pass()
            process:find("the name is another's: the command goes on")
            return process, proxy, id, other
        end

        it("to another's node goes on, and joins again when that is gone #slow", function()
            local process, _, id, other = robbed("theirs")
            process:signal("USR2")
            process:find("USR2")
            wait_for_members("a=theirs")
            other:leave()
            process:find("joined again")
            assert.not_equal(id, wait_for_members("a=ours")[1].session)
            process:signal("TERM")
            process:find("TERM")
            wait_for_members("")
            process:signal("USR1")
            assert.equal(0, (process:finish()))
        end)

        it("to another's node passes TERM on, and wants the name no more #slow", function()
            local process, _, _, other = robbed("theirs")
            process:signal("TERM")
            process:find("TERM")
            other:leave()
            server:foreign("create %s/mark ''", folder)
            wait_for_members("mark=")
            process:signal("USR2")
            process:find("USR2")
            process:signal("USR1")
            local status, text = process:finish()
            assert.equal(0, status)
            assert.is_nil(text:find("zklock", 1, true), text)
            wait_for_members("mark=")
        end)

        it("for an ACL says so, goes on, and tries it again #slow", function()
            local process = start("--hosts %s --timeout 2 join %s a %s", server.hosts, folder,
                                  IMMORTAL)
            local id = process:find("in "):match("%x+$")
            server:foreign("hide %s", folder)
            end_session(id)
            assert.matches("not authorised.*: the command goes on", process:find("auth: "))
            server:foreign("show %s", folder)
            process:find("joined again")
            process:signal("USR1")
            assert.equal(0, (process:finish()))
        end)

        it("passes TERM on while it joins again, and no node is left #slow", function()
            local process, proxy, _, other = robbed("theirs")
            proxy:command("hold create2 1")
            other:leave()
            wait_for_members("")
            process:signal("TERM")
            process:find("TERM")
            proxy:pass()
            process:signal("USR2")
            process:find("USR2")
            wait_for_members("")
            process:signal("USR1")
            local status, text = process:finish()
            assert.equal(0, status)
            assert.is_nil(text:find("zklock", 1, true), text)
        end)

        it("ends with the command while it joins again, and no node is left #slow", function()
            local process, proxy, _, other = robbed("theirs")
            proxy:reset()
            proxy:command("hold create2 1")
            other:leave()
            wait_for_members("")
            process:signal("USR1")
            local seconds, status, text = rig.timed(process.finish, process)
            assert.equal(0, status)
            assert.is_nil(text:find("zklock", 1, true), text)
            assert.is_true(seconds < 40, "it waited for the server")
            proxy:pass()
            wait_for_members("")
        end)
    end)


    describe("join leaves before the command gets", function()
        for _, name in ipairs{ "INT", "QUIT", "TERM" } do
            it(name .. ": another client, which is quicker, sees no member", function()
                local proxy = rig.proxy_for_test(server.hosts)
                local process = start([[--hosts %s --timeout 20 join %s a sh -c 'trap "
                    %s bin/zklock --hosts %s members %s; exit 5" %s; echo in
                    while :; do sleep 0.02; done']], proxy.hosts, folder, LUA, server.hosts, folder,
                    name)
                process:find("in")
                proxy:command("delay 500")
                process:signal(name)
                process:find("no members")
                assert.equal(5, (process:finish()))
            end)
        end

        it("one of these, and is no member any more if it goes on", function()
            local process = start(join("--data x %s a %s", folder, IMMORTAL))
            process:find("in ")
            process:signal("TERM")
            process:find("TERM")
            process:signal("TERM")
            process:find("TERM")
            server:foreign("create %s/mark ''", folder)
            wait_for_members("mark=")
            process:signal("USR1")
            assert.equal(0, (process:finish()))
        end)

        it("one, also if no server answers #slow", function()
            local proxy = rig.proxy_for_test(server.hosts)
            local process = start("--hosts %s --timeout 60 join %s a %s", proxy.hosts, folder,
                                  IMMORTAL)
            process:find("in ")
            proxy:command("blackhole")
            process:signal("TERM")
            process:find("TERM")
            process:signal("INT")
            process:find("INT")
        end)

        it("no other: HUP, USR1, USR2 and WINCH are for the command alone", function()
            local process = start(join([[--data x %s a sh -c '
                for each in HUP USR1 USR2 WINCH; do trap "echo $each" $each; done
                echo in; while :; do sleep 0.02; done']], folder))
            process:find("in")
            for _, name in ipairs{ "HUP", "USR1", "USR2", "WINCH" } do
                process:signal(name)
                process:find(name)
            end
            wait_for_members("a=x")
            process:signal("TERM")
            assert.equal(143, (process:finish()))
        end)
    end)


    describe("a command of join is ended", function()
        it("when zklock is killed: SIGTERM, and SIGKILL after the grace #slow", function()
            local out = fresh()
            local process = start(join([[--grace 0.2 %s a sh -c '
                trap "echo term >%s" TERM; echo $$; while :; do sleep 0.02; done']], folder, out))
            local pid = tonumber(process:line())
            process:signal("KILL")
            assert.equal("term", said(out))
            gone(pid)
        end)

        it("when the process between is killed, and the member has left", function()
            local process = start(join("%s a sh -c 'echo $$ $PPID; sleep 600 & wait'", folder))
            local pid, minder = process:line():match("^(%d+) (%d+)$")
            rig.shell("kill -9 %s", minder)
            assert.equal(137, (process:finish()))
            gone(tonumber(pid))
            wait_for_members("")
        end)

        -- No signal of a terminal stops a group of which nobody's parent is of the same session.
        it("not when it is stopped for longer than its session lasts #slow", function()
            Process.prefix = "perl -e 'setpgrp; exec @ARGV'"
            local process = start("--hosts %s --timeout 2 join --data x %s a "
                .. "sh -c 'echo $$; exec sleep 600'", server.hosts, folder)
            Process.prefix = nil
            local pid = tonumber(process:line())
            local id = wait_for_members("a=x")[1].session
            process:signal("TSTP")
            rig.wait_for("the stop", function()
                return state(pid) == "T" and state(process.pid) == "T"
            end)
            wait_for_members("")
            process:signal("CONT")
            assert.not_equal(id, wait_for_members("a=x")[1].session)
            rig.wait_for("the command going on", function() return state(pid) == "S" end)
            process:signal("TERM")
            assert.equal(143, (process:finish()))
            assert.is_false(lives(pid))
        end)
    end)
end)
