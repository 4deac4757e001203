--- [lua luajit asan tsan] -w and -n of zklock run, elect and join on a real server, and the
-- messages of a wait.

local commands = require "spec.commands"
local rig = require "spec.rig"

local start, ends, expect = commands.start, commands.ends, commands.expect

local UNHEARD = "no ZooKeeper server has answered for 5 s (%s); zklock waits for one"
local REFUSED = UNHEARD:format("the connection was refused")

describe("zklock #server", function()
    local server, path, proxy

    before_each(function()
        server, path = rig.begin(0)
        proxy = rig.proxy_for_test(server.hosts)
    end)
    after_each(commands.end_all)

    local function through_proxy(text, ...)
        return ("--hosts %s --timeout 20 "):format(proxy.hosts) .. text:format(...)
    end

    local function session_ids()
        local found = {}
        for id in server:ask("cons"):gmatch("sid=0x(%x+)") do found[id] = true end
        return found
    end


    describe("zklock run, elect and join without -w and -n", function()
        it("a wait for a server is reported, and ends when a server answers (PIT-03) #slow",
           function()
            proxy:command("refuse")
            local processes = {}
            for i, line in ipairs{ "run %s/a echo in", "elect %s/b echo in", "join %s c echo in",
                                   "run -w 600 %s/d echo in" } do
                processes[i] = start(through_proxy(line, path))
            end
            for _, process in ipairs(processes) do process:find(REFUSED) end
            proxy:command("accept")
            for _, process in ipairs(processes) do assert.equal("in\n", process:ends(0)) end
        end)

        for hosts, each in pairs{
            ["127.0.0.1:1"] = { reason = "the connection was refused", "TERM", 143 },
            ["no.such.host.invalid:1"] = { reason = "%u[^()]+", "INT", 130 },
        } do
            it("a signal ends a wait for a server: " .. hosts .. " #slow", function()
                local process = start("--hosts %s run %s true", hosts, path)
                assert.matches(" for 5 s %(" .. each.reason .. "%); zklock waits", process:line())
                assert.equal("", process:ends(each[2], each[1]))
            end)
        end

        it("a wait goes on in a new session if the first one ends before an answer (PIT-02)",
        function()
            local before = session_ids()
            proxy:command("hold getData 1")
            local process = start(through_proxy("run %s sh -c 'echo $ZKLOCK_SESSION'", path))
            local id
            rig.wait_for("a session", function()
                for each in pairs(session_ids()) do id = not before[each] and each or id end
                return id
            end)
            proxy:shut()
            commands.end_session(server, id)
            proxy:pass()
            local own = process:line()
            assert.matches("^%x+$", own)
            assert.not_equal(id, own)
            assert.equal("", process:ends(0))
        end)
    end)


    describe("zklock's wait for a lock that is taken", function()
        local HELD = "zklock: %s: held by somebody (token %s), for %%d+ s at most; zklock waits"

        it("a wait reports the holder, its age and its token once, unless with -q #slow",
           function()
            local lock = rig.session(server.hosts, { identity = "somebody" }):mutex(path)
            local lease = rig.hold(lock)
            local said = HELD:format(path:gsub("%-", "%%-"), lease:token_string())
                :gsub("[()]", "%%%0")
            local elected, quiet = start("elect %s echo in", path), start("run -q %s echo in", path)
            assert.matches("^" .. said .. "$", elected:line())
            assert.matches("^" .. said .. "\n$", start("run -w 8 %s true", path):ends(75))
            rig.release(lease)
            for _, process in ipairs{ elected, quiet } do assert.equal("in\n", process:ends(0)) end
        end)
    end)


    describe("zklock run and join with -w", function()
        it("a wait without a server ends in time with 69 #slow", function()
            proxy:command("blackhole")
            for _, verb in ipairs{ "run", "join" } do
                assert.matches("no ZooKeeper server answered %(waited 1 s%)$",
                               ends(69, through_proxy("%s -w 1 %s a true", verb, path)))
            end
            expect(ends(69, "--hosts 127.0.0.1:1 run -w 6 -E 0 %s true", path), REFUSED)
        end)

        it("a wait that has lost its server by its deadline ends with 69 #slow",
           function()
            rig.hold_elsewhere(server, path)
            local process = start(through_proxy("run -w 9 -E 0 %s true", path))
            server:wait_for_nodes(path, 2)
            proxy:shut()
            expect(process:ends(69),
                path .. ": waited 9 s, and no server says whether it is taken")
        end)

        it("a wait without an answer about the lock ends with 69 #slow", function()
            for _, line in ipairs{ "run -w 4 -E 0 %s true", "join -w 4 %s a true" } do
                proxy:command("hold create2 1")
                expect(ends(69, through_proxy(line, path)),
                    "waited 4 s, and no server says whether it is taken")
                proxy:command("flow")
            end
        end)
    end)
end)
