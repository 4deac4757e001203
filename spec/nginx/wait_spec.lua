--- Waits in nginx: where they can be, what goes on meanwhile, whose a lock is.

local nginx = require "spec.nginx.nginx"
local fault = require "spec.fault.fault"
local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"

local server, path


local function hold() return rig.hold(rig.session(server.hosts):mutex(path)) end

-- Nobody has it, sooner or later.
local function free() rig.released(hold()) end

local function contenders(count) server:wait_for_nodes(path, count) end

-- What so many requests for the lock are answered that begin behind its holder.
local function answers_behind(lease, host, count, request)
    local begun = host:begin(count .. " " .. request .. "?path=" .. path)
    contenders(count + 1)
    lease:release()
    return nginx.bodies(nginx.finish(begun))
end


describe("in nginx #nginx", function()
    local host
    setup(function() server = rig.shared() end)
    before_each(function() host, path = nil, rig.path() end)
    after_each(function()
        rig.close_sessions()
        zklock.driver(nil)
        nginx.stop_all(host)
    end)

    it("alone the driver works", function()
        local ok, message, code = zklock.driver("ngx")
        assert.is_nil(ok)
        assert.equal("context", code)
        assert.truthy(message:find("nginx with the Lua module", 1, true))
        host = nginx.start{
            http = 'init_worker_by_lua_block { assert(require("zklock").driver("ngx")) }',
        }
        assert.equal("held", host:get("/with?path=" .. rig.path()).body)
    end)

    describe("a wait", function()
        for phase, location in pairs{
            rewrite = 'rewrite_by_lua_block { require("spec.nginx.app").with() }',
            access = 'access_by_lua_block { require("spec.nginx.app").with() }',
            content = "",
        } do
            it("is possible in " .. phase, function()
                host = nginx.start{ server = "location = /phase {" .. location ..
                    ' content_by_lua_block { require("spec.nginx.app").with() } }' }
                assert.same({ held = 1 }, answers_behind(hold(), host, 1, "/phase"))
            end)
        end

        it("is possible in a timer", function()
            host = nginx.start()
            assert.equal("true", host:get("/timer?path=" .. rig.path()).body)
        end)

        it("ends at its deadline", function()
            host = nginx.start()
            local lease = hold()
            local answer = host:get("/with?timeout=0.3&path=" .. path)
            assert.equal("timeout", answer.body:match("^%w+"))
            assert.is_true(answer.seconds >= 0.3 and answer.seconds < 10, answer.seconds)
            assert.equal("busy", host:get("/with?timeout=0&path=" .. path).body:match("^%w+"))
            rig.released(lease)
            assert.equal("held", host:get("/with?timeout=0&path=" .. path).body)
        end)

        it("of with, whose lock is lost meanwhile, says so, and what its function gave #slow",
           function()
            host = nginx.start()
            local begun = host:begin("1 /lose?path=" .. path)
            rig.wait_for("it holds", function()
                return host:get("/news").body:find("inside", 1, true)
            end)
            server:foreign("delete %s", server:nodes(path)[1])
            local body = next(nginx.bodies(nginx.finish(begun)))
            assert.equal("nil lost sold", body:match("^%w+ %w+ %w+"))
        end)

        it("suspends its light thread alone: others are served while 300 wait", function()
            host = nginx.start()
            local lease = hold()
            local begun = host:begin("300 /with?hold=0.001&path=" .. path)
            contenders(301)
            local answers = nginx.finish(host:begin("20 /ping"))
            assert.same({ pong = 20 }, nginx.bodies(answers))
            assert.equal(301, #server:nodes(path))
            lease:release()
            assert.same({ held = 300 }, nginx.bodies(nginx.finish(begun)))
        end)
    end)

    describe("where nothing can wait", function()
        local log = 'log_by_lua_block { require("spec.nginx.app").try_here() }'
        local filters = [[
            header_filter_by_lua_block { require("spec.nginx.app").try_here() }
            body_filter_by_lua_block { require("spec.nginx.app").try_here() }
            set_by_lua_block $unused { require("spec.nginx.app").try_here() }]]

        local function says(phase, text)
            local body = host:get("/refused?phase=" .. phase).body
            assert.equal("context", body:match("^%w+"), body)
            assert.truthy(body:find(text, 1, true), body)
        end

        it("acquire and connect say so, and where they can", function()
            host = nginx.start{
                http = [[
                    init_by_lua_block { require("spec.nginx.app").try_here("init") }
                    init_worker_by_lua_block { require("spec.nginx.app").try_here("init_worker") }
                    exit_worker_by_lua_block { require("spec.nginx.app").try_here("exit_worker") }
                ]],
                server = "location = /here {" .. filters .. log .. "return 200 here; }",
            }
            says("init", "open the session in a request")
            says("init_worker", "ngx.timer.at(0")
            host:get("/session") -- opens it: from now on they try to acquire
            assert.equal(200, host:get("/here").status)
            for _, phase in ipairs{ "header_filter", "body_filter", "log", "set" } do
                says(phase, "rewrite, access and content")
            end
        end)

        it("because the thread cannot yield: acquire says that", function()
            host = nginx.start()
            for _, place in ipairs{ "sort", "finalizer" } do
                local body = host:get(("/%s?path=%s"):format(place, rig.path())).body
                assert.equal("context", body:match("^%w+"), body)
                assert.truthy(body:find("a finalizer, or a function that was given to table.sort",
                    1, true), body)
            end
        end)

        it("but in a metamethod acquire can", function()
            host = nginx.start()
            assert.equal("held", host:get("/metamethod?path=" .. rig.path()).body)
        end)

        for _, phase in ipairs{ "header_filter", "body_filter", "log" } do
            it("a lease can be released: " .. phase, function()
                host = nginx.start{ server = ([[location = /there {
                    content_by_lua_block { require("spec.nginx.app").hand_over() }
                    %s_by_lua_block { require("spec.nginx.app").release_here() } }]])
                    :format(phase) }
                assert.equal("acquired", host:get("/there?path=" .. path).body)
                free()
            end)
        end
    end)

    describe("connect", function()
        it("does not hold up the worker, nor do slow names #clock", function()
            local library = program.library("worker")
            host = nginx.start{
                environment = "SLOW_NAMES=1 LD_PRELOAD=" .. library,
            }
            local named = server.hosts:gsub("127.0.0.1", "localhost")
            local begun = host:begin("/connect?hosts=" .. named)
            local pings = 0
            repeat
                local answer = host:get("/ping")
                assert.is_true(answer.seconds < 1.9, answer.seconds) -- less than a name
                pings = pings + 1
            until pings == 20
            local answer = nginx.finish(begun)[1]
            assert.truthy(answer.body:find("closed in %d"), answer.body)
            assert.is_true(answer.seconds >= 2, answer.seconds)
            os.remove(library)
        end)

        it("fails in time when nobody answers, and leaves nothing", function()
            host = nginx.start()
            local answer = host:get("/connect?connect_timeout=0.3&hosts=127.0.0.1:1")
            assert.equal("connection", answer.body:match("^%w+"), answer.body)
            assert.is_true(answer.seconds < 10, answer.seconds)
            local function threads()
                return #rig.shell("ls /proc/%d/task", host:workers()[1]):gsub("[^\n]", "")
            end
            rig.wait_for("its threads to end", function() return threads() == 1 end)
        end)

        it("is needed once a worker: all requests share the session", function()
            host = nginx.start()
            local first = host:get("/session").body:match("^%x+")
            nginx.finish(host:begin("20 /with?path=" .. path))
            local id, waits, grants = host:get("/session").body:match(
                "^(%x+) connected waits=(%d+) claims=%d+ grants=(%d+)$")
            assert.equal(first, id)
            assert.equal(20, tonumber(grants))
            assert.is_true(tonumber(waits) > 0)
        end)
    end)

    describe("an owner", function()
        it("is the light thread: it enters again, another one waits", function()
            host = nginx.start()
            assert.equal("true busy", host:get("/reenter?path=" .. path).body)
        end)

        it("is a coroutine, and a coroutine for which it waits gets would_deadlock", function()
            host = nginx.start()
            local answer = host:get("/inside?path=" .. path)
            assert.equal("would_deadlock", answer.body)
            assert.is_true(answer.seconds < 10, answer.seconds)
        end)

        it("that waits for its own coroutine does not refuse another light thread's", function()
            host = nginx.start()
            assert.equal("held", host:get("/beside?path=" .. path).body)
        end)

        it("is named by its light thread: another one interrupts it, or gives up what it has",
           function()
            host = nginx.start()
            assert.equal("1 interrupted released",
                         host:get("/interrupted?path=" .. path).body)
        end)

        it("is of its request: the next one on the same coroutine is another", function()
            host = nginx.start()
            local coroutine = host:get("/keep?path=" .. path).body
            local again
            for _ = 1, 10 do -- until nginx uses it again
                again = again or host:get("/keep?path=" .. rig.path()).body == coroutine
                local answer = host:get("/with?timeout=0&path=" .. path)
                assert.equal("busy", answer.body:match("^%w+"), answer.body)
            end
            assert.is_true(again)
            host:get("/drop?path=" .. path)
            free()
        end)
    end)

    it("a callback may wait for a lock: whoever wakes waits does not call it", function()
        host = nginx.start()
        host:get("/keep?path=" .. path)
        assert.equal(1, rig.session(server.hosts):mutex(path):revoke())
        free()
    end)

    it("several workers exclude each other", function()
        host = nginx.start{ workers = 3, http = "lua_shared_dict inside 1m;" }
        rig.wait_for("three workers", function() return #host:workers() == 3 end)
        local answers = nginx.finish(host:begin("120 /alone?path=" .. path))
        assert.same({ alone = 120 }, nginx.bodies(answers))
        local sessions = {}
        for _ = 1, 100 do sessions[host:get("/session").body:match("^%x+")] = true end
        local count = 0
        for _ in pairs(sessions) do count = count + 1 end
        assert.equal(3, count)
    end)

    it("the worker may be nobody, and its socket leaves no trace", function()
        host = nginx.start{ user = "nobody nogroup" }
        assert.equal("held", host:get("/with?path=" .. rig.path()).body)
        assert.equal("", host:temporary())
        local peers = rig.shell("grep -c '%s/tmp/zklock-.*/bell$' /proc/net/unix", host.dir)
        assert.equal(1, tonumber(peers)) -- its end of the connection; the door is closed
    end)

    it("without a socket it looks by itself, and says so once", function()
        local library = program.library("worker")
        local mute = nginx.start{ environment = "NO_FOLDER=1 LD_PRELOAD=" .. library }
        assert.same({ held = 30 }, answers_behind(hold(), mute, 30, "/with"))
        assert.equal("held", mute:get("/with?timeout=0.2&path=" .. path).body)
        assert.equal(1, #mute:troubles())
        assert.truthy(mute:troubles()[1]:find("no socket in $TMPDIR or /tmp", 1, true))
        os.remove(library)
    end)

    it("without a timer to be had each wait looks by itself", function()
        local narrow = nginx.start{ http = "lua_max_running_timers 1;" }
        local lease = hold()
        narrow:get("/long_timer?seconds=3")
        assert.same({ held = 30 }, answers_behind(lease, narrow, 30, "/with"))
        for _, line in ipairs(narrow:troubles()) do
            assert.truthy(line:find("lua_max_running_timers are not enough", 1, true), line)
        end
    end)

    it("lua_code_cache off fails, and says what to do", function()
        local loaded = 'init_by_lua_block { require "zklock" }'
        for _, http in ipairs{ loaded, "" } do
            local bare = nginx.start{ code_cache = "off", http = http }
            if http == "" then bare:get("/connect") end -- the first one cannot know
            local answer = bare:get("/connect")
            assert.truthy(answer.body:find("context: lua_code_cache off", 1, true), answer.body)
            assert.truthy(answer.body:find("lua_code_cache on", 1, true), answer.body)
        end
    end)

    it("the example of docs/nginx.md sells what there is, over two workers", function()
        host = nginx.example()
        local tokens = {}
        rig.wait_for("all to be sold", function()
            local answers = nginx.finish(host:begin("40 /buy?sku=3"))
            for _, each in ipairs(answers) do
                local left, token = each.body:match("^sold, (%d+) left, token (%d+)$")
                if left then
                    assert.is_nil(tokens[10 - left])
                    tokens[10 - left] = tonumber(token)
                end
            end
            return nginx.bodies(answers)["sold out"] == 40
        end)
        assert.equal(10, #tokens)
        for i = 2, 10 do assert.is_true(tokens[i] > tokens[i - 1]) end
    end)

    it("close takes a second at most, and does not hold up the worker #clock", function()
        local own = rig.server()
        host = nginx.start{ environment = "ZK_HOSTS=" .. own.hosts }
        host:get("/keep?path=" .. rig.path())
        fault.pause(own)
        local begun = host:begin("/close")
        rig.wait_for("the close", function() return host:get("/session").body:find("closed") end)
        local ping = host:get("/ping")
        assert.is_true(ping.seconds < 0.9, ping.seconds)
        local answer = nginx.finish(begun)[1]
        assert.is_true(answer.seconds > 0.3 and answer.seconds < 10, answer.seconds)
        own:stop()
    end)

    it("zklock.sleep goes on with others and lasts as long as asked, zklock.run refuses", function()
        host = nginx.start()
        assert.equal("slept well, context", host:get("/others").body)
    end)

    it("a node is watched: each request has its latest data at hand, and asks nobody", function()
        host = nginx.start()
        host:get("/with?path=" .. path .. "-lock") -- the folder
        assert.equal("watched", host:get("/watch?path=" .. path).body)
        local function shows(text)
            rig.wait_for(text, function() return host:get("/config").body == text end)
        end
        shows("none 1")
        server:foreign("create %s one", path)
        shows("one 2")
        server:foreign("set %s two", path)
        shows("two 3")
        server:foreign("delete %s", path)
        shows("none 4")
    end)

    it("a session that expires is opened anew; callbacks run, and may wait #slow", function()
        local proxy = rig.proxy(server.hosts)
        host = nginx.start{ environment = "ZK_HOSTS=" .. proxy.hosts }
        local function ask(what)
            return host:get(what .. "?session_timeout=4&path=" .. path).body
        end
        ask("/keep")
        local id = ask("/session"):match("^%x+")
        proxy:command("blackhole")
        rig.wait_for("suspect", function() return ask("/state") == "suspect" end)
        rig.wait_for("lost", function() return ask("/state") == "lost" end)
        contenders(0)
        proxy:command("flow")
        rig.wait_for("another session", function()
            local now, state = ask("/session"):match("^(%x+) (%w+)")
            return state == "connected" and now ~= id
        end)
        assert.equal("held", ask("/with"))
        rig.wait_for("the news", function()
            local news = ask("/news")
            return news:find("suspect.*lost") and news:find("suspended.*expired.*connected")
        end)
        proxy:stop()
    end)
end)
