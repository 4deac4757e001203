--- [lua luajit asan tsan] zklock join on a real server.

local commands = require "spec.commands"
local files = require "spec.files"
local rig = require "spec.rig"

local LUA, SLEEP, IMMORTAL = commands.LUA, commands.SLEEP, commands.IMMORTAL
local fresh_path, start = commands.fresh_path, commands.start
local launch, ends = commands.launch, commands.ends
local join = commands.verb "join"

describe("zklock #server", function()
    local server, folder, session

    before_each(function() server, folder, session = rig.begin(1) end)
    after_each(commands.end_all)

    local function change(text)
        server:foreign((text:gsub("%%s", folder)))
    end

    -- Waits until the folder has the members "name=data ...". Returns the first member's session.
    local function wait_for_members(text)
        local told, stop, newest = rig.follow(session, folder)
        rig.hears(told, text)
        stop()
        return text ~= "" and newest()[1].session
    end

    -- Adds a node, and waits until it is the only node.
    local function wait_for_only_mark()
        change("create %s/mark ''")
        wait_for_members("mark=")
    end

    local function end_silently(process)
        assert.is_nil(process:ends(0, "USR1"):find("zklock", 1, true))
    end


    describe("zklock join's command", function()
        it("the command runs as a member, with path and session in the environment, and no token",
           function()
            commands.prefix = "env ZKLOCK_TOKEN=1"
            local process = start(join("--data weight=3 %s a -- sh -c 'env | sort | "
                .. "grep -E \"^ZKLOCK_(PATH|SESSION|TOKEN)=\"; echo end; read x' </dev/zero",
                folder))
            assert.equal("ZKLOCK_PATH=" .. folder .. "/a", process:line())
            local id = process:line():match("^ZKLOCK_SESSION=(%x+)$")
            assert.equal("end", process:line())
            assert.equal(id, wait_for_members("a=weight=3"))
        end)

        it("a name may look like an option, or stand behind options", function()
            for _, line in ipairs{ "-- %s -a echo -w", "%s --data x -n a echo -w" } do
                assert.equal("-w", ends(0, join(line, folder)), line)
            end
        end)

        it("a line that join does not understand ends with 64", function()
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
                commands.expect(ends(64, join("%s", line)), text)
            end
        end)

        it("join ends with 77 if the server refuses, and with 69 if none answers #slow", function()
            local own = rig.session(server.hosts, { auth = "digest:a:b", acl = "creator" })
            rig.join(own, folder, "b")
            ends(77, join("%s a true", folder))
            ends(69, "--hosts 127.0.0.1:1 join -n %s a true", folder)
            local proxy = rig.proxy_for_test(server.hosts)
            proxy:command("hold create2 1")
            ends(69, "--hosts %s join -n %s a true", proxy.hosts, rig.path())
        end)
    end)


    describe("zklock join of a name that is taken", function()
        it("join gives up at once, with status 75, with -n and with -w 0", function()
            local member = rig.join(session, folder, "a")
            assert.equal("", ends(75, join("-n %s a true", folder)))
            assert.equal("", ends(75, join("-w 0 %s a true", folder)))
            member:leave()
            ends(0, join("-n %s a true", folder))
        end)

        it("join gives up, with status 75, when its time is over #slow", function()
            rig.join(session, folder, "a")
            ends(75, join("-w 5 %s a true", folder))
        end)

        it("join waits until the name is free, and asks only once more", function()
            local proxy = rig.proxy_for_test(server.hosts)
            local member = rig.join(session, folder, "a", "theirs")
            local process = start("--hosts %s join --data ours %s a %s", proxy.hosts, folder, SLEEP)
            process:find("the name is taken")
            change("set %s/a other")
            wait_for_members("a=other")
            member:leave()
            process:wait_until_in()
            wait_for_members("a=ours")
            assert.equal(2, proxy:counts().create2 + proxy:counts().create)
            process:ends(143, "TERM")
        end)

        it("join tells after five seconds the session that holds the name #slow", function()
            rig.join(session, folder, "a", "weight=3")
            local process = start(join("%s a true", folder))
            local line = process:find("session 0x" .. session:id() .. " has the name")
            assert.matches("/a: .*, for %d+ s, with the data 'weight=3'; zklock waits$", line)
        end)

        it("join waits for the session of the former process, which was killed #slow", function()
            local line = ("--timeout 3 join %s a %s"):format(folder, SLEEP)
            local former, second = launch(line), start(line)
            second:find("the name is taken")
            former:signal("KILL")
            second:wait_until_in()
        end)

        it("join waits until a persistent node of the name is removed #slow", function()
            change("create %s '' create %s/a lasting hide %s/a")
            local process = start(join("%s a %s", folder, SLEEP))
            process:find("no session has the name")
            change("delete %s/a")
            process:wait_until_in()
        end)

        it("a signal ends the wait, with the status 128 + its number", function()
            rig.join(session, folder, "a", "x")
            local process = start(join("%s a true", folder))
            process:find("the name is taken")
            assert.equal("", process:ends(130, "INT"))
            wait_for_members("a=x")
        end)
    end)


    describe("a member of zklock join that is lost", function()
        it("a member that expired or was removed is made anew, and the command goes on", function()
            local process, said = launch(join("--data x %s a %s", folder, IMMORTAL))
            change("delete %s/a create %s/mark ''")
            wait_for_members("a=x mark=")
            change("delete %s/mark")
            local id = said:match("%x+$")
            commands.end_session(server, id)
            rig.wait_for("another node", function() return wait_for_members("a=x") ~= id end)
            process:signal_through("USR2")
            process:ends(0, "USR1")
            wait_for_members("")
        end)

        it("a lost connection makes join print nothing", function()
            local proxy = rig.proxy_for_test(server.hosts)
            local process = launch("--hosts %s " .. join("%s a %s", folder, IMMORTAL), proxy.hosts)
            proxy:command("cut")
            process:signal_through("USR2")
            end_silently(process)
        end)

        -- Starts a member, cuts it off, ends its session, and joins with its name. Returns the
        -- process, the other member, the proxy, and the ended session.
        local function start_and_rob()
            local proxy = rig.proxy_for_test(server.hosts)
            local process, said = launch("--hosts %s --timeout 60 join --data ours %s a %s",
                                          proxy.hosts, folder, IMMORTAL)
            local id = said:match("%x+$")
            proxy:shut()
            commands.end_session(server, id)
            wait_for_members("")
            local other = rig.join(session, folder, "a", "theirs")
            proxy:pass()
            process:find("another session has the name; the command goes on")
            return process, other, proxy, id
        end

        it("the command goes on while another node holds the name, and join takes it afterwards " ..
           "#slow", function()
            local process, other, _, id = start_and_rob()
            process:signal_through("USR2")
            wait_for_members("a=theirs")
            other:leave()
            process:find("joined again")
            assert.not_equal(id, wait_for_members("a=ours"))
            process:signal_through("TERM")
            wait_for_members("")
            process:ends(0, "USR1")
        end)

        it("join passes TERM on while another node holds the name, and gives up the name #slow",
           function()
            local process, other = start_and_rob()
            process:signal_through("TERM")
            other:leave()
            wait_for_only_mark()
            process:signal_through("USR2")
            end_silently(process)
            wait_for_members("mark=")
        end)

        it("join reports a refusal by an ACL, and tries again #slow", function()
            local process, said = launch("--timeout 2 join %s a %s", folder, IMMORTAL)
            change("hide %s")
            commands.end_session(server, said:match("%x+$"))
            assert.matches("not authorised.*: the command goes on", process:find("auth: "))
            change("show %s")
            process:find("joined again")
            process:ends(0, "USR1")
        end)

        it("join passes TERM on while it joins again, and leaves no node #slow", function()
            local process, other, proxy = start_and_rob()
            proxy:command("hold create2 1")
            other:leave()
            wait_for_members("")
            process:signal_through("TERM")
            proxy:pass()
            process:signal_through("USR2")
            wait_for_members("")
            end_silently(process)
        end)

        it("join ends with the command while it joins again, and leaves no node #slow", function()
            local process, other, proxy = start_and_rob()
            proxy:reset()
            proxy:command("hold create2 1")
            other:leave()
            wait_for_members("")
            rig.takes(0, 40, end_silently, process)
            proxy:pass()
            wait_for_members("")
        end)
    end)


    describe("zklock join that gets a signal", function()
        for _, name in ipairs{ "INT", "QUIT", "TERM" } do
            it("the member is gone for every client before the command gets " .. name, function()
                local proxy = rig.proxy_for_test(server.hosts)
                local process = launch([[--hosts %s --timeout 20 join %s a sh -c 'trap "
                    %s bin/zklock --hosts %s members %s; exit 5" %s; echo in
                    while :; do sleep 0.02; done']], proxy.hosts, folder, LUA, server.hosts, folder,
                    name)
                proxy:command("delay 500")
                process:signal(name)
                process:find("no members")
                process:ends(5)
            end)
        end

        it("Ctrl-C on a terminal reaches the command first, which is a member until it ends",
           function()
            local mark = fresh_path()
            local command = files.write(fresh_path(), ([[
                trap '%s bin/zklock members %s; exit 5' INT
                : >%s
                while :; do sleep 0.02; done]]):format(LUA, folder, mark))
            local line = ("%s bin/zklock %s"):format(LUA, join("%s a sh %s", folder, command))
            local text = rig.shell([[(until [ -e %s ]; do sleep 0.01; done; printf '\003') |
                timeout 60 script -qec '%s; echo status $?' /dev/null]], mark, line)
            assert.matches("\na  .*status 5", text)
            wait_for_members("")
        end)

        it("a member is gone after TERM, also if the command goes on", function()
            local process = launch(join("--data x %s a %s", folder, IMMORTAL))
            for _ = 1, 2 do process:signal_through("TERM") end
            wait_for_only_mark()
            process:ends(0, "USR1")
        end)

        it("a signal reaches the command although no server answers #slow", function()
            local proxy = rig.proxy_for_test(server.hosts)
            local process = launch("--hosts %s --timeout 60 join %s a %s", proxy.hosts, folder,
                                    IMMORTAL)
            proxy:command("blackhole")
            process:signal_through("TERM")
            process:signal_through("INT")
        end)

        it("HUP, USR1, USR2 and WINCH are passed on, and the member stays", function()
            local process = launch(join([[--data x %s a sh -c '
                for each in HUP USR1 USR2 WINCH; do trap "echo $each" $each; done
                echo in; while :; do sleep 0.02; done']], folder))
            for _, name in ipairs{ "HUP", "USR1", "USR2", "WINCH" } do
                process:signal_through(name)
            end
            wait_for_members("a=x")
            process:ends(143, "TERM")
        end)
    end)


    describe("the end of zklock join's command", function()
        it("SIGTERM, and SIGKILL after the grace, end the command when zklock is killed #slow",
           function()
            local out = fresh_path()
            local process = start(join([[--grace 0.2 %s a sh -c '
                trap "echo term >%s" TERM; echo $$; while :; do sleep 0.02; done']], folder, out))
            local pid = tonumber(process:line())
            process:signal("KILL")
            assert.equal("term", commands.first_line(out))
            commands.wait_for_state(nil, pid)
        end)

        -- TSTP stops a process group only if a parent outside the group is of its terminal session.
        it("the command goes on after a stop that outlasts the session #slow", function()
            commands.prefix = "perl -e 'setpgrp; exec @ARGV'"
            local process = start("--timeout 2 join --data x %s a sh -c 'echo $$; exec sleep 600'",
                                  folder)
            local pid = tonumber(process:line())
            local id = wait_for_members("a=x")
            process:signal("TSTP")
            commands.wait_for_state("T", pid, process.pid)
            wait_for_members("")
            process:signal("CONT")
            assert.not_equal(id, wait_for_members("a=x"))
            commands.wait_for_state("S", pid)
            process:ends(143, "TERM")
            assert.is_nil(commands.state(pid))
        end)
    end)
end)
