--- Waits in nginx, the phases that allow them, the requests beside them, and the owners of locks.

local files = require "spec.files"
local nginx = require "spec.nginx.nginx"
local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"

local server, host, path


local function hold() return rig.hold(rig.session(server.hosts):mutex(path)) end

local function check_free() rig.release(hold()) end

local function wait_for_contenders(count) server:wait_for_nodes(path, count) end

local function start(options) host = nginx.start(options) end

local function ask(request, more)
    local answer = host:get(("/%s?path=%s%s"):format(request, path, more or ""))
    return answer.body, answer.seconds
end

local function check_code(code, answer)
    assert.equal(code, answer:match("^%w+"), answer)
    return answer
end

local function answers_behind(lease, count, request)
    local begun = host:begin(count .. " " .. request .. "?path=" .. path)
    wait_for_contenders(count + 1)
    lease:release()
    return nginx.bodies(nginx.finish(begun))
end

local function check_results(expected, code)
    start{ server = nginx.code(code) }
    local body, seconds = ask "code"
    assert.equal(expected, body)
    assert.is_true(seconds < 10, seconds)
end


describe("zklock in nginx #nginx #zklock.driver", function()
    setup(function() server = rig.shared() end)
    before_each(function() path = rig.path() end)
    after_each(function()
        zklock.driver(nil)
        nginx.stop_all(host)
    end)

    it("the driver works only in nginx", function()
        rig.check_refused("context", "nginx with the Lua module", zklock.driver("ngx"))
        start{ http = 'init_worker_by_lua_block { assert(require("zklock").driver("ngx")) }' }
        assert.equal("held", (ask "with"))
    end)

    describe("a wait", function()
        for _, phase in ipairs{ "rewrite", "access", "content" } do
            it("a wait is possible in " .. phase, function()
                local with = '_by_lua_block { require("spec.nginx.app").with() } '
                local content = phase == "content" and "" or "content" .. with
                start{ server = ("location = /phase { %s %s }"):format(phase .. with, content) }
                assert.same({ held = 1 }, answers_behind(hold(), 1, "/phase"))
            end)
        end

        it("a wait is possible in a timer", function()
            check_results("true", [[
                local semaphore, result = require("ngx.semaphore").new(), nil
                ngx.timer.at(0, function()
                    result = lock:with(5, function() ngx.sleep(0.01) end)
                    semaphore:post()
                end)
                semaphore:wait(10)
                return result
            ]])
        end)

        it("a wait ends at its deadline", function()
            start()
            local lease = hold()
            local answer, seconds = ask("with", "&timeout=0.3")
            check_code("timeout", answer)
            assert.is_true(seconds >= 0.3 and seconds < 10, seconds)
            check_code("busy", (ask("with", "&timeout=0")))
            rig.release(lease)
            assert.equal("held", (ask("with", "&timeout=0")))
        end)

        it("a wait suspends its light thread alone, and requests are served while 300 wait",
           function()
            start()
            local lease = hold()
            local begun = host:begin("300 /with?hold=0.001&path=" .. path)
            wait_for_contenders(301)
            local answers = nginx.finish(host:begin("20 /ping"))
            assert.same({ pong = 20 }, nginx.bodies(answers))
            assert.equal(301, #server:nodes(path))
            lease:release()
            assert.same({ held = 300 }, nginx.bodies(nginx.finish(begun)))
        end)
    end)

    describe("a phase without waits", function()
        local function check_refusal(phase, text)
            local answer = check_code("context", (ask("refused", "&phase=" .. phase)))
            assert.truthy(answer:find(text, 1, true), answer)
        end

        it("acquire and connect are refused, and name the phases that can wait", function()
            local TRY = 'require("spec.nginx.app").try_here'
            local http, here = "", ""
            for _, phase in ipairs{ "init", "init_worker", "exit_worker" } do
                http = http .. ('%s_by_lua_block { %s("%s") }\n'):format(phase, TRY, phase)
            end
            local phases = { header_filter = "", body_filter = "", log = "", set = "$unused" }
            for phase, variable in pairs(phases) do
                here = here .. ("%s_by_lua_block %s { %s() }\n"):format(phase, variable, TRY)
            end
            start{ http = http, server = "location = /here {" .. here .. "return 200 here; }" }
            check_refusal("init", "open the session in a request")
            check_refusal("init_worker", "ngx.timer.at(0")
            host:get("/session")
            assert.equal(200, host:get("/here").status)
            for phase in pairs(phases) do check_refusal(phase, "rewrite, access and content") end
        end)

        for place, code in pairs{
            ["table.sort"] = [[
                table.sort({ 1, 2 }, function()
                    result = { lock:acquire(1) }
                    return false
                end)]],
            ["a finalizer"] = [[
                local proxy = newproxy(true)
                getmetatable(proxy).__gc = function() result = { lock:acquire(1) } end
                proxy = nil
                while not result do collectgarbage() end]],
        } do
            it("acquire is refused where the thread cannot yield: " .. place, function()
                start{ server = nginx.code("local result; " .. code .. " return result[2]") }
                local answer = check_code("context", (ask "code"))
                assert.truthy(answer:find("a finalizer, or a function that was given to table.sort",
                    1, true), answer)
            end)
        end

        it("acquire works in a metamethod", function()
            check_results("held", [[
                local leases = { __index = function() return lock:acquire(1) end }
                return setmetatable({}, leases).first:state()
            ]])
        end)

        for _, phase in ipairs{ "header_filter", "body_filter", "log" } do
            it("a lease can be released in " .. phase, function()
                start{ server = ([[location = /there {
                    content_by_lua_block { require("spec.nginx.app").acquire_here() }
                    %s_by_lua_block { require("spec.nginx.app").release_here() } }]])
                    :format(phase) }
                assert.equal("acquired", (ask "there"))
                check_free()
            end)
        end
    end)

    describe("connect", function()
        it("connect does not hold up the worker, nor do slow names #clock", function()
            local library = program.library("worker")
            start{ environment = "SLOW_NAMES=1 LD_PRELOAD=" .. library }
            local named = server.hosts:gsub("127.0.0.1", "localhost")
            local begun = host:begin("/connect?hosts=" .. named)
            for _ = 1, 20 do
                local answer = host:get("/ping")
                assert.is_true(answer.seconds < 1.9, answer.seconds)
            end
            local answer = nginx.finish(begun)[1]
            assert.truthy(answer.body:find("closed in %d"), answer.body)
            assert.is_true(answer.seconds >= 2, answer.seconds)
        end)

        it("connect fails in time when nobody answers, and leaves nothing", function()
            start()
            local answer, seconds = ask("connect", "&connect_timeout=0.3&hosts=127.0.0.1:1")
            check_code("connection", answer)
            assert.is_true(seconds < 10, seconds)
            local function threads()
                return #rig.shell("ls /proc/%d/task", host:workers()[1]):gsub("[^\n]", "")
            end
            rig.wait_for("the threads of connect to end", function() return threads() == 1 end)
        end)
    end)

    describe("an owner in nginx", function()
        it("a light thread is an owner, which enters again, while another thread waits", function()
            check_results("true busy", [[
                local first, second = assert(lock:acquire(20)), assert(lock:acquire(0))
                local thread = ngx.thread.spawn(function() return select(3, lock:acquire(0)) end)
                local _, code = ngx.thread.wait(thread)
                return first:token_string() == second:token_string(), code
            ]])
        end)

        it("a coroutine is an owner, and an inner coroutine gets would_deadlock", function()
            check_results("would_deadlock", [[
                assert(lock:acquire(20))
                return coroutine.wrap(function()
                    return coroutine.wrap(function() return select(3, lock:acquire(20)) end)()
                end)()
            ]])
        end)

        it("a holder that waits for its own coroutine does not refuse another light thread's",
           function()
            check_results("held", [[
                local due, result = false, nil
                local holder = ngx.thread.spawn(function()
                    local lease = assert(lock:acquire(20))
                    coroutine.wrap(function() while not due do ngx.sleep(0.001) end end)()
                    lease:release()
                end)
                while lock:acquire(0) do ngx.sleep(0.001) end
                local waiter = ngx.thread.spawn(function()
                    coroutine.wrap(function() result = { lock:acquire(20) } end)()
                end)
                while not result and session:stats().waits == 0 do ngx.sleep(0.001) end
                due = true
                ngx.thread.wait(holder)
                ngx.thread.wait(waiter)
                return result[1] and result[1]:state() or result[3]
            ]])
        end)

        it("another light thread interrupts an owner, or gives up its leases", function()
            check_results("1 interrupted released", [[
                local lease = assert(lock:acquire(20))
                local waiter = ngx.thread.spawn(function() return select(3, lock:acquire(20)) end)
                local count = session:interrupt(waiter)
                local _, code = ngx.thread.wait(waiter)
                lease:release()
                local holder = ngx.thread.spawn(function()
                    local held = assert(lock:acquire(20))
                    while held:state() == "held" do ngx.sleep(0.001) end
                    return held:state()
                end)
                while session:release_all(holder) == 0 do ngx.sleep(0.001) end
                local _, state = ngx.thread.wait(holder)
                return count, code, state
            ]])
        end)

        it("the owner of a request differs from the next request's on the same coroutine",
           function()
            start()
            local coroutine, again = ask "keep", false
            for _ = 1, 10 do
                again = again or host:get("/keep?path=" .. rig.path()).body == coroutine
                check_code("busy", (ask("with", "&timeout=0")))
            end
            assert.is_true(again)
            ask "drop"
            check_free()
        end)
    end)

    it("a callback may wait for a lock, because another thread wakes waits", function()
        start()
        ask "keep"
        assert.equal(1, rig.session(server.hosts):mutex(path):revoke())
        check_free()
    end)

    it("several workers exclude each other", function()
        start{ workers = 3, http = "lua_shared_dict inside 1m;" }
        rig.wait_for("three workers", function() return #host:workers() == 3 end)
        local answers = nginx.finish(host:begin("120 /alone?path=" .. path))
        assert.same({ alone = 120 }, nginx.bodies(answers))
        local sessions, count = {}, 0
        for _ = 1, 100 do
            local id = ask("session"):match("^%x+")
            if not sessions[id] then sessions[id], count = true, count + 1 end
        end
        assert.equal(3, count)
    end)

    it("a worker that runs as nobody works, and its socket leaves no file", function()
        start{ user = "nobody nogroup" }
        assert.equal("held", (ask "with"))
        assert.equal("", host:temporary())
        local peers = rig.shell("grep -c '%s/tmp/zklock-.*/bell$' /proc/net/unix", host.dir)
        assert.equal(1, tonumber(peers)) -- the connection; the listening socket is closed
    end)

    it("a worker without a socket polls, and logs that once", function()
        local library = program.library("worker")
        start{ environment = "NO_FOLDER=1 LD_PRELOAD=" .. library, expected = "no socket in" }
        assert.same({ held = 30 }, answers_behind(hold(), 30, "/with"))
        assert.equal("held", (ask("with", "&timeout=0.2")))
        assert.equal(1, select(2, host:log():gsub("no socket in %$TMPDIR or /tmp", "")))
    end)

    it("each wait polls while nginx has no timer", function()
        start{ http = "lua_max_running_timers 1;",
               expected = "lua_max_running_timers are not enough" }
        local lease = hold()
        host:get("/long_timer?seconds=3")
        assert.same({ held = 30 }, answers_behind(lease, 30, "/with"))
    end)

    it("lua_code_cache off fails with advice", function()
        for _, http in ipairs{ 'init_by_lua_block { require "zklock" }', "" } do
            start{ code_cache = "off", http = http, expected = "lua_code_cache is off" }
            if http == "" then ask "connect" end -- only a second connect can know
            local answer = ask "connect"
            assert.truthy(answer:find("context: lua_code_cache off", 1, true), answer)
            assert.truthy(answer:find("lua_code_cache on", 1, true), answer)
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
        start{ environment = "ZK_HOSTS=" .. own.hosts }
        ask "keep"
        own:pause()
        local begun = host:begin("/close")
        rig.wait_for("the close", function() return ask("session"):find("closed") end)
        local ping = host:get("/ping")
        assert.is_true(ping.seconds < 0.9, ping.seconds)
        local answer = nginx.finish(begun)[1]
        assert.is_true(answer.seconds > 0.3 and answer.seconds < 10, answer.seconds)
        own:stop()
    end)

    it("zklock.sleep lasts as long as asked while other threads run, and zklock.run is refused",
       function()
        check_results("true true context", [[
            local now = require("zklock.core").now
            local long, turns, asleep = true, 0, true
            ngx.thread.spawn(function() -- so that nginx looks at its clock often
                while asleep do
                    turns = turns + 1
                    ngx.sleep(0.001)
                end
            end)
            for _ = 1, 10 do
                local due = now() + 0.01
                long = zklock.sleep(0.01) and long and now() >= due
            end
            asleep = false
            local _, _, code = zklock.run(function() return true end)
            return long, turns >= 10, code
        ]])
    end)

    it("an expired session is opened anew, and callbacks run, and may wait #slow", function()
        local proxy = rig.proxy_for_test(server.hosts)
        start{ environment = "ZK_HOSTS=" .. proxy.hosts }
        local function ask_briefly(what) return (ask(what, "&session_timeout=4")) end
        ask_briefly "keep"
        local id = ask_briefly("session"):match("^%x+")
        proxy:command("blackhole")
        for _, state in ipairs{ "suspect", "lost" } do
            rig.wait_for(state, function() return ask_briefly "state" == state end)
        end
        wait_for_contenders(0)
        proxy:command("flow")
        rig.wait_for("another session", function()
            local now, state = ask_briefly("session"):match("^(%x+) (%w+)")
            return state == "connected" and now ~= id
        end)
        assert.equal("held", ask_briefly "with")
        rig.wait_for("the news", function()
            local news = ask_briefly "news"
            return news:find("suspect.*lost") and news:find("suspended.*expired.*connected")
        end)
    end)

    it("the mail timer of docs/nginx.md goes on after a refusal, an error and an expiry #slow",
       function()
        local block = files.read("docs/nginx.md"):match "```lua\n([^`]-/jobs/mail.-)```"
        local proxy = rig.proxy_for_test(server.hosts)
        start{ environment = "ZK_HOSTS=" .. proxy.hosts, expected = "no mail server",
               http = ([[init_worker_by_lua_block {
            local app, zklock, session = require "spec.nginx.app", require "zklock", nil
            local shop, count = {}, 0
            local function send_mail()
                count = count + 1
                if count == 1 then error "no mail server" end
            end
            function app.sent() app.answer(count) end
            local other_kind -- a lease of the election's path, which refuses the election
            function app.refuse()
                session = app.open()
                local lock = session:mutex("/jobs/mail", { order = "turns" })
                other_kind = assert(lock:acquire(5))
                app.answer "refused"
            end
            function app.admit() app.answer(other_kind:release{ wait = 5 }) end
            ]] .. block .. [[
            function app.mail()
                ngx.timer.at(0, shop.lead_mail)
                ngx.say "begun"
            end
        }]]):gsub('"/jobs/mail"', ("%q"):format(path)) }
        local function wait_for_mails(count)
            local before = tonumber((ask "sent"))
            rig.wait_for("mails", function() return tonumber((ask "sent")) >= before + count end)
        end
        assert.equal("refused", (ask("refuse", "&session_timeout=4")))
        assert.equal("begun", (ask "mail"))
        rig.wait_for("the refusal", function() return host:log():find("conflict: ", 1, true) end)
        assert.equal("true", (ask "admit"))
        wait_for_mails(2)
        proxy:command("blackhole")
        wait_for_contenders(0)
        proxy:command("flow")
        wait_for_mails(2)
    end)
end)
