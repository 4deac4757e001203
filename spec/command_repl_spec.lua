--- [lua luajit] zklock repl and zklock seckill, which start an interpreter.

local commands = require "spec.commands"
local rig = require "spec.rig"

local LUA, ends, expect = commands.LUA, commands.ends, commands.expect

describe("zklock #server", function()
    local server
    setup(function() server = rig.shared() end)

    describe("zklock repl", function()
        local function type_lines(lines, hosts)
            return rig.shell("echo '%s' | %s bin/zklock repl --hosts %s 2>&1",
                             table.concat(lines, "\n"), LUA, hosts or "memory:repl")
        end

        it("repl reads Lua, with a session, queue(), stats() and help()", function()
            for _, hosts in ipairs{ server.hosts, "memory:repl" } do
                local text = type_lines({ 'lock = session:mutex("/repl") lease = lock:acquire(20)',
                                     'queue "/repl" stats() help() os.exit(0, true)' }, hosts)
                expect(text, "1 holds mutex", "a session with " .. hosts)
                assert.matches("grants +1\n", text)
                assert.matches("wait +count 1, max [%d.e-]+, p50 [%d.e-]+", text)
                assert.is_nil(text:find("table: ", 1, true))
            end
        end)

        it("repl completes globals, fields and methods", function()
            local text = type_lines{
                'lock = session:mutex("/repl")', "lease = lock:acquire(20)",
                'of = require("zklock.command.completions").complete',
                'for _, word in ipairs{ "sess", "session:mut", "zklock.dr", "lock:que",',
                '"lease:tok", "os.ge", "nothing:x" } do',
                'print("(" .. table.concat(of(word), " ") .. ")") end os.exit(0, true)',
            }
            expect(text, "(session)\n", "(session:mutex)\n", "(zklock.driver)\n", "(lock:queue)\n",
                "(lease:token_string)\n", "(os.getenv)\n", "()\n")
        end)

        it("the tab key completes a word", function()
            local text = rig.shell("printf 'session:timeo\\t()\\nos.exit(0, true)\\n' | HOME= "
                .. "script -qec '%s bin/zklock repl --hosts memory:repl' /dev/null", LUA)
            assert.matches("session:timeout%(%).*10[.0]*\r?\n", text)
        end)

        it("repl reads further lines until a statement is complete, and goes on after an error",
           function()
            local text = type_lines{
                "for i = 1, 2 do", "print(i * 7)", "end", "x = = 1", "error{}", "1, nil",
                'local function f() error "deep" end f()', "=6 * 7", "-- nothing",
            }
            expect(text, "7\n14\n", "stdin:1: unexpected symbol near '='\n", "table: ", "1\tnil\n",
                "stdin:1: deep\n", "42\n> > ")
        end)

        it("an error names the typed line, and suggests a name for a misspelled one", function()
            local text = type_lines{
                'lock = session:mutex "/repl"', 'lock:acquire("x")', "queue()", "lock:acquir(1)",
                'session:mutex("/a"):relese()', "lease = lock:acquire(1)", "lease:relaese()",
                'zklock.conect("x")', "sesion:close()", 'session:mitax("/a")',
                "lease:nothing_like_it()",
            }
            expect(text, 'stdin:1: acquire takes seconds or a table of options, not "x"\n',
                "stdin:1: a lock path must be a string, not nil\n", ": did you mean acquire?\n",
                ": did you mean release?\n", ": did you mean connect?\n",
                ": did you mean session?\n", ": did you mean mutex?\n")
            assert.is_nil(text:find("nothing_like_it.-did you"))
        end)

        it("repl shows the fields of a table", function()
            local text = type_lines{
                'lock = session:mutex "/repl"', "lease = lock:acquire(20)", "lock:queue()[1]",
                '{}, { 1, "a\27b", { x = true } }', 'zklock.memory("repl"):children "/"', "session",
                'lease:guard{ { "create", "/made", "x" } }', "t = {}", "t.t = t", "t",
            }
            expect(text, '  kind = "mutex",\n', '\n  held = true,\n',
                '> {}\t{ 1, "a?b", { x = true } }\n', '{ "repl" }\n', "true\t{ 0 }\n",
                "{ t = { t = { t = { t = table: ")
            assert.is_nil(text:find("\27", 1, true))
        end)

        it("help knows every topic, and suggests one for a misspelled name", function()
            local topics = require("zklock.command.help").topics
            assert.is_true(#topics >= 15)
            local lines = { "help()" }
            for _, topic in ipairs(topics) do lines[#lines + 1] = ("help %q"):format(topic) end
            lines[#lines + 1] = 'help "rwlok" help "nothing of that"'
            local text = type_lines(lines)
            expect(text, "session:rwlock", "memory:expire(session)", 'owner = "b"',
                "Ctrl-D, or os.exit", 'did you mean help "rwlock"?', "there is help on combine, ")
            assert.is_nil(text:find("nil\n", 1, true))
        end)

        it("help, exit and quit work as words, unless the user defined them", function()
            local text = type_lines{ "help", " help ", "help = 7", "help", "exit", "print(1)" }
            assert.equal(2, select(2, text:gsub("lease = lock:acquire%(3%)", "")))
            assert.matches("> 7\n> $", text)
            assert.matches("; help says what there is\n> $", type_lines{ "quit", "print(1)" })
        end)

        it("repl without a server ends with 69 and the reason, without a traceback", function()
            local status, text = commands.outcome("repl --hosts 127.0.0.1:1 </dev/null")
            assert.equal(69, status)
            assert.matches("^zklock: connection: [^\n]+refused%)$", text)
        end)

        it("the session of repl has the credentials of --auth, or else of ZK_AUTH", function()
            local own = rig.session(server.hosts, { auth = "digest:a:b", acl = "creator" })
            local path = rig.path()
            rig.hold(own:mutex(path))
            for _, words in ipairs{ "ZK_AUTH=digest:a:b", "ZK_AUTH=other:x ZK=--auth=digest:a:b",
                                    "ZK_AUTH=digest:c:d", "ZK_AUTH=" } do
                local text = rig.shell("export %s; echo 'queue %q' | %s bin/zklock $ZK repl "
                    .. "--hosts %s 2>&1", words, path, LUA, server.hosts)
                expect(text, words:find "a:b" and "1 holds mutex" or "auth: ")
            end
            rig.close_sessions()
        end)

        it("repl starts programs without ZK_AUTH in their arguments", function()
            local text = rig.shell([[folder=$(mktemp -d)
                printf '#!/bin/sh\necho "$@"; cat /proc/$PPID/cmdline' >$folder/env
                chmod +x $folder/env
                PATH=$folder:$PATH ZK_AUTH=digest:u:S3CRET %s bin/zklock repl --hosts memory:x
                rm -r $folder]], LUA)
            expect(text, "ZKLOCK_REPL_HOSTS=memory:x")
            assert.is_nil(text:find("S3CRET", 1, true))
        end)

        it("queue() shows a kept lock of the session as kept", function()
            expect(type_lines{ 'lock = session:mutex("/repl", { keep = 60 })',
                       'lock:acquire(20):release() queue "/repl"' }, "1 kept  mutex")
        end)

        it("Ctrl-C at the prompt drops the typed lines, and repl goes on", function()
            local text = rig.shell([[folder=$(mktemp -d) && {
                said() { [ "$(tail -c ${#1} $folder/said)" = "$1" ]; }
                echo "local f = io.open('$folder/pid', 'w')" \
                    "f:write((io.open('/proc/self/stat'):read('*n'))) f:close()"
                echo 'for i = 1, 2 do'
                until said '>> '; do sleep 0.01; done
                pid=$(cat $folder/pid)
                until grep -q '^State:.S' /proc/$pid/status; do sleep 0.01; done
                kill -INT $pid
                until said '
> ' || ! kill -0 $pid; do sleep 0.01; done
                echo 'print "on"'
                } | timeout 60 %s bin/zklock repl --hosts memory:repl >$folder/said 2>&1
                cat $folder/said; rm -r $folder]], LUA)
            assert.matches("\n> on\n> \n$", text)
        end)

        -- Returns the history and the output of repl on a terminal. `keys` alternates a text that
        -- repl prints and the keys sent after it.
        local function press_keys(keys, hosts, home)
            local script = {}
            for i = 1, #keys, 2 do
                script[#script + 1] = ("await '%s'; printf '%s' >&3"):format(keys[i], keys[i + 1])
            end
            return rig.shell([[folder=$(mktemp -d)
                mkfifo $folder/keys; : >$folder/said; (
                await() {
                    until case $(tail -c 20 $folder/said) in *"$1"*) ;; *) false;; esac
                    do sleep 0.01; done
                }
                exec 3>$folder/keys; %s) 2>&1 & keys=$!
                HOME=%s TERM=dumb timeout 60 script -qfec \
                    'exec %s bin/zklock repl --hosts %s' \
                    /dev/null <$folder/keys >$folder/said
                echo =$? >>$folder/said
                cat $folder/.zklock_history $folder/said 2>/dev/null
                kill $keys 2>/dev/null; rm -r $folder]],
                table.concat(script, "; ") .. "; sleep 60", home or "$folder", LUA,
                hosts or "memory:repl")
        end

        it("Ctrl-C on a terminal drops earlier lines, and quit ends repl", function()
            local text = press_keys{ "> ", [[print("x"\n]], ">> ", [[\003]], "\n> ", [[40+2\n]],
                                "42", [[quit\n]] }
            assert.matches("\n42\r\n> .*=0\r?\n$", text)
        end)

        it("repl keeps each line once in its history, and the last 1000 lines", function()
            local keys = { "> ", [[40+2\n]], "42\r\n> ", [[6*8\n]], "48\r\n> ", [[quit\n]] }
            local home = "$(seq 1003 >$folder/.zklock_history; echo $folder)"
            local text = press_keys(keys, nil, home)
            assert.matches("^4\n5\n6\n", text)
            assert.matches("\n1002\n1003\n40%+2\n6%*8\nquit\n", text)
        end)

        for home, what in pairs{ ["''"] = "without a home", ["/proc"] = "in a home of others" } do
            it("repl " .. what .. " works on a terminal, too", function()
                local text = press_keys({ "> ", [[40+2\n]], "42", [[quit\n]] }, nil, home)
                assert.matches("40%+2\r\n42\r\n> .*=0\r?\n$", text)
            end)
        end

        it("Ctrl-C ends a wait, and repl goes on", function()
            local text = type_lines{
                'lock = session:mutex("/repl")', 'lease = lock:acquire{ owner = "a" }',
                'stop = io.popen "sleep 0.2; kill -INT $PPID" lock:acquire{ owner = "b" }',
                'stop = io.popen "sleep 0.2; kill -INT $PPID" lock:acquire() print "not here"',
                'print "but here"',
            }
            assert.equal(2, select(2, text:gsub("interrupted!\n", "")), text)
            assert.is_nil(text:find("not here", 1, true))
            assert.matches("but here\n> \n$", text)
        end)

        describe("zklock repl without --hosts", function()
            local ADDRESS = "127%.0%.0%.1:(%d+)\n"
            local folder

            before_each(function() folder = rig.shell("mktemp -d"):match("%S+") end)
            after_each(function() rig.shell("rm -r %s", folder) end)

            local function prompt(text)
                return rig.shell("echo '%s' | ZK_HOSTS= XDG_RUNTIME_DIR=%s %s bin/zklock repl 2>&1",
                                 text, folder, LUA)
            end

            it("repl starts a ZooKeeper of its own, which ends with it #slow", function()
                local text = prompt "print(session:state()) print(session.hosts)"
                expect(text, "connected\n")
                ends(69, "--hosts 127.0.0.1:%s run -n /x true", text:match(ADDRESS))
                assert.equal("", rig.shell("ls %s", folder))
            end)

            it("repl uses the server that another prompt started", function()
                local second = "print(session.hosts)"
                local text = prompt(('print(session.hosts) os.execute([[echo "%s" | %s '
                    .. "bin/zklock repl 2>&1]])"):format(second, LUA))
                local port = text:match(ADDRESS)
                assert.equal(2, select(2, text:gsub("127%.0%.0%.1:" .. port .. "\n", "")), text)
            end)

            it("repl ignores the file of a server that is gone #slow", function()
                local file = ("%s/zklock-repl-%s"):format(folder, rig.shell("id -u"):match("%d+"))
                rig.shell("echo 127.0.0.1:1 >%s", file)
                expect(prompt "print(session:state())", "connected\n")
                assert.equal("", rig.shell("ls %s", folder))
            end)

            it("repl reports a server file without an address", function()
                local file = ("%s/zklock-repl-%s"):format(folder, rig.shell("id -u"):match("%d+"))
                for _, text in ipairs{ "half a li", "memory:x", "''" } do
                    rig.shell("echo %s >%s", text, file)
                    expect(prompt "", "zklock: " .. file .. " does not name a server")
                end
            end)

            it("repl tells that the prompt that started the server has ended", function()
                local file = ("%s/zklock-repl-%s"):format(folder, rig.shell("id -u"):match("%d+"))
                local proxy = rig.proxy_for_test(server.hosts)
                rig.shell("echo %s >%s", proxy.hosts, file)
                local pipe = io.popen(("{ echo 'print(1)'; until [ -e %s/over ]; do sleep 0.01; "
                    .. "done; echo 'while session:state() == \"connected\" do end'; echo exit; } | "
                    .. "ZK_HOSTS= XDG_RUNTIME_DIR=%s %s bin/zklock repl 2>&1"):format(folder,
                    folder, LUA))
                pipe:read("*l")
                assert.equal("> 1", pipe:read("*l"))
                proxy:shut()
                rig.shell("touch %s/over", folder)
                expect(pipe:read("*a"), proxy.hosts .. " does not answer; it ends with the prompt "
                    .. "that started it\n")
                pipe:close()
            end)
        end)
    end)

    it("zklock seckill runs the laboratory's command line", function()
        assert.matches("^no lock, one server +must be wrong +needs no ZooKeeper +DEMO%-01\n",
                       ends(0, "seckill --list") .. "\n")
        ends(2, "seckill --only nothing")
        ends(0, "seckill --only DEMO-01")
        ends(0, "seckill --buyers 2 --fault 'pause zookeeper at 0 for 0.1'")
        expect(ends(2, "seckill --zookeeper memory:x --only DEMO-04"),
            "memory:x is a server inside one process")
    end)
end)
