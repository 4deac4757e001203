--- What zklock run, elect and join wait for, on a real server: -w and -n, and who is told of it.

local commands = require "spec.commands"
local rig = require "spec.rig"

local start, outcome = commands.start, commands.outcome

local UNHEARD = "no ZooKeeper server has answered for 5 s (%s): it waits for one"
local REFUSED = UNHEARD:format("the connection was refused")

describe("zklock #server", function()
    local server, proxy, path
    setup(function()
        server = rig.shared()
        commands.open()
    end)
    teardown(commands.close)
    before_each(function()
        proxy, path = rig.proxy_for_test(server.hosts), rig.path()
    end)
    after_each(function()
        commands.end_all()
        rig.close_sessions()
    end)

    local function through_proxy(text, ...)
        return ("--hosts %s --timeout 20 "):format(proxy.hosts) .. text:format(...)
    end

    -- The server's sessions: a set.
    local function ids()
        local found = {}
        for id in server:ask("cons"):gmatch("sid=0x(%x+)") do found[id] = true end
        return found
    end

    -- zklock contends for it. Gives how it ends when there is no server at the end of its wait.
    local function end_alone(line, contenders, ...)
        local process = start(through_proxy(line, ...))
        server:wait_for_nodes(path, contenders)
        proxy:command("refuse")
        proxy:command("cut")
        return process:finish()
    end


    describe("without -w and -n waits for a server as for the lock, says so, and", function()
        it("begins when there is one (PIT-03) #slow", function()
            proxy:command("refuse")
            local processes = {}
            for i, line in ipairs{ "run %s/a echo in", "elect %s/b echo in", "join %s c echo in",
                                   "run -w 600 %s/d echo in" } do
                processes[i] = start(through_proxy(line, path))
            end
            for _, process in ipairs(processes) do process:find(REFUSED) end
            proxy:command("accept")
            for _, process in ipairs(processes) do
                local status, text = process:finish()
                assert.same({ 0, "in\n" }, { status, text })
            end
        end)

        it("ends by a signal #slow", function()
            local process = start("--hosts 127.0.0.1:1 run %s true", path)
            process:find(REFUSED)
            process:signal("TERM")
            assert.same({ 143, "" }, { process:finish() })
        end)

        it("waits also while a name cannot be resolved #slow", function()
            local process = start("--hosts no.such.host.invalid:1 run %s true", path)
            assert.matches("answered for 5 s %(%u[^()]+%): it waits", process:line())
            process:signal("INT")
            assert.same({ 130, "" }, { process:finish() })
        end)

        it("goes on when a server gives a session, and ends it before it answers (PIT-02)",
           function()
            local before = ids()
            proxy:command("hold getData 1")
            local process = start(through_proxy("run %s sh -c 'echo $ZKLOCK_SESSION'", path))
            local id
            rig.wait_for("a session", function()
                for each in pairs(ids()) do id = not before[each] and each or id end
                return id
            end)
            proxy:command("refuse")
            proxy:command("cut")
            commands.end_session(server, id)
            proxy:pass()
            local own = process:line()
            assert.matches("^%x+$", own)
            assert.not_equal(id, own)
            assert.same({ 0, "" }, { process:finish() })
        end)
    end)


    describe("with -w ends after so long in all", function()
        it("without a server: 69 #slow", function()
            proxy:command("blackhole")
            for _, verb in ipairs{ "run", "join" } do
                local status, text = outcome(through_proxy("%s -w 1 %s a true", verb, path))
                assert.equal(69, status)
                assert.matches("no ZooKeeper server answered %(waited 1 s%)$", text)
            end
            local status, text = outcome("--hosts 127.0.0.1:1 run -w 6 -E 0 %s true", path)
            assert.equal(69, status)
            assert.truthy(text:find(REFUSED, 1, true), text)
        end)

        it("if none answers at the end: 69, whatever was said before #slow", function()
            rig.hold(rig.session(server.hosts):mutex(path))
            local status, text = end_alone("run -w 9 -E 0 %s true", 2, path)
            assert.equal(69, status)
            assert.truthy(text:find(path .. ": waited 9 s, and no server says whether it is taken",
                                    1, true), text)
        end)

        it("if none has said that it is taken: 69 #slow", function()
            for _, line in ipairs{ "run -w 4 -E 0 %s true", "join -w 4 %s a true" } do
                proxy:command("hold create2 1")
                local status, text = outcome(through_proxy(line, path))
                proxy:command("flow")
                assert.equal(69, status)
                assert.matches("waited 4 s, and no server says whether it is taken", text)
            end
        end)
    end)
end)
