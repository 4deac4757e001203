--- Workers of nginx that are told to exit while timers hold locks, wait, sleep or listen, and while
-- requests are open.

local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"

local server, host, path

local DICTS = "lua_shared_dict gone 100k; lua_shared_dict turns 100k;"
local PROMISE = 1 -- seconds, after the drain

describe("a worker that is told to exit #nginx", function()
    setup(function() server = rig.shared() end)
    before_each(function()
        path = rig.path()
        host = nil
    end)
    after_each(function()
        rig.close_sessions()
        nginx.stop_all(host)
    end)

    local function start(query, main, http)
        host = nginx.start{
            app = "spec.nginx.exit_app", http = DICTS .. (http or ""), main = main,
        }
        assert.equal("open", host:get("/open?" .. (query or "drain=0.1")).body)
    end

    local function nodes(count) server:wait_for_nodes(path, count) end

    local function says(text)
        assert.truthy(host:log():find(text, 1, true), text .. " is not in " .. host:log())
    end

    -- The old worker, which was just told.
    local function told(signal)
        local old = host:workers()[1]
        host:signal(signal or "HUP")
        return old
    end

    local function goes(old)
        assert(nginx.gone(old), "it stays")
    end

    -- How many nodes of the lock, or of a member, are there once the loop has begun.
    local begun = { locked = 0, waits = 2, joins = 1, condition = 0 }

    for _, name in ipairs{ "leader", "quick", "held", "on_lost", "named", "with", "locked", "waits",
                           "combine", "condition", "once", "joins", "deaf", "watch" } do
        it("ends the loop of a timer: " .. name, function()
            start()
            host:get(("/start?loop=%s&path=%s"):format(name, path))
            if name == "locked" then server:wait_for_nodes(path .. "-key", 1)
            elseif name == "condition" then rig.wait_for("its wait", function()
                return #server:nodes(path .. "-never") > 0 or #server:nodes(path) == 0
            end)
            else nodes(begun[name] or 1) end
            goes(told())
            says("the loop has ended")
            nodes(0)
            if name == "with" then says("with ended with lost") end
        end)
    end

    for _, signal in ipairs{ "HUP", "QUIT" } do
        it("exits within its drain and a second: " .. signal .. " #clock", function()
            start("drain=0.5")
            host:get("/start?loop=leader&path=" .. path)
            nodes(1)
            local old = told(signal)
            assert(nginx.gone(old, 0.5 + PROMISE), "it stays")
        end)
    end

    it("lets the work of timers end first, as long as its drain lasts", function()
        start("drain=60")
        host:get("/work?path=" .. path)
        nodes(1)
        local old = told()
        rig.wait_for("a new worker", function() return host:workers()[2] end)
        nodes(1)
        host:get("/let_go?path=" .. path)
        goes(old)
        says("the work ended: held true")
    end)

    it("without a drain ends the loop of a timer at once", function()
        start("drain=0")
        host:get("/start?loop=held&path=" .. path)
        nodes(1)
        goes(told())
        nodes(0)
    end)

    it("ends the loop of a timer that requests outlive, and leaves them their locks", function()
        start()
        local request = path .. "-request"
        local open = host:begin("/hold?path=" .. request, "/sleep?path=" .. request)
        server:wait_for_nodes(request, 1)
        host:get("/start?loop=held&path=" .. path)
        nodes(1)
        local old = told()
        nodes(0)
        server:wait_for_nodes(request, 1)
        host:get("/let_go?path=" .. request)
        local bodies = nginx.bodies(nginx.finish(open))
        assert.same({ ["held true acquired"] = 1, interrupted = 1 }, bodies)
        goes(old)
        server:wait_for_nodes(request, 0)
    end)

    it("with worker_shutdown_timeout ends the loop of a timer, too", function()
        start(nil, "worker_shutdown_timeout 1s;")
        host:get("/start?loop=leader&path=" .. path)
        nodes(1)
        goes(told())
        nodes(0)
    end)

    it("with recover leaves no file behind", function()
        local folder = rig.shell("mktemp -d /dev/shm/zklock-exit-XXXXXX"):match("[^\n]+")
        start("drain=0.1&recover=" .. folder)
        host:get("/start?loop=leader&path=" .. path)
        nodes(1)
        goes(told("QUIT"))
        assert.equal("", rig.shell("ls %s", folder))
        rig.shell("rm -r %s", folder)
    end)

    it("ends the loops of timers when it may run no other timer", function()
        start(nil, nil, "lua_max_running_timers 3;") -- two, besides the dispatcher's
        host:get("/start?loop=held&path=" .. path)
        host:get("/start?loop=on_lost&path=" .. path .. "-other")
        nodes(1)
        server:wait_for_nodes(path .. "-other", 1)
        goes(told())
        assert.truthy(host:log():find("lua_max_running_timers are not enough", 1, true))
        host = nil
    end)

    it("ends a connect that nobody answers", function()
        host = nginx.start{ app = "spec.nginx.exit_app", http = DICTS }
        host:get("/open_none")
        goes(told())
        says("connect ended with interrupted")
    end)

    it("without a session ends a sleep", function()
        host = nginx.start{ app = "spec.nginx.exit_app", http = DICTS }
        host:get("/sleep_alone")
        goes(told())
        says("the sleep ended with interrupted")
    end)

    it("refuses to open a session", function()
        start()
        host:get("/open_late")
        goes(told())
        says("a late connect ends with interrupted")
    end)

    it("serves its requests beside a loop that ignores everything #slow", function()
        start()
        local open = host:begin("/hold?path=" .. path .. "-request")
        server:wait_for_nodes(path .. "-request", 1)
        host:get("/start?loop=endless&path=" .. path)
        local old = told()
        rig.wait_for("its lock to go", function()
            local turns = tonumber(host:get("/turns?path=" .. path).body)
            return turns > 0 and #server:nodes(path) == 0
        end)
        local before = tonumber(host:get("/turns?path=" .. path).body)
        rig.sleep_apart(2)
        local turns = tonumber(host:get("/turns?path=" .. path).body) - before
        assert.is_true(turns > 0 and turns <= 20, turns) -- each sleeps 0.1 s
        host:get("/let_go?path=" .. path .. "-request")
        assert.same({ ["held true acquired"] = 1 }, nginx.bodies(nginx.finish(open)))
        host:signal("KILL", old)
        assert(nginx.gone(old))
        for _, line in ipairs(host:troubles()) do
            assert.truthy(line:find("exited on signal 9", 1, true), line)
        end
        host = nil
    end)
end)
