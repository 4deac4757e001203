--- Requests in nginx that end without running further code: clients that go, killed light threads,
-- ngx.exit, and workers that leave or crash. No lock stays held, and no temporary file is left.

local files = require "spec.files"
local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"

local server, host, path, lock


local function wait_for_contenders(count) server:wait_for_nodes(path, count) end

local function check_free()
    rig.release((assert(lock:acquire(20), "still held")))
end


describe("an end in nginx #nginx #session:close", function()
    local RELEASE = 'log_by_lua_block { require("spec.nginx.app").release_all() }'

    setup(function() server = rig.shared() end)
    before_each(function()
        path = rig.path()
        lock = rig.session(server.hosts):mutex(path)
    end)
    after_each(function() nginx.stop_all(host) end)

    local function start(options) host = nginx.start(options) end

    local function get(request, more)
        return host:get(("/%s?path=%s%s"):format(request, path, more or "")).body
    end

    local function signal_and_wait(signal)
        local old = host:workers()
        host:signal(signal)
        for _, pid in ipairs(old) do assert(nginx.wait_until_gone(pid), "the worker stays") end
    end

    describe("the end of a waiting light thread", function()
        local ways = {
            ["a client's end #slow"] = "-a 4 /with?path=",
            ["an exit of its sibling"] = "/sibling_exits?path=",
            ["a kill"] = "/kill_waiter?path=",
        }
        -- Ends a request that waits behind a lease. Returns the lease.
        local function end_waiting(request)
            local lease = rig.hold(lock)
            local begun = host:begin(request .. path)
            wait_for_contenders(2)
            get "go"
            nginx.finish(begun)
            return lease
        end

        for name, request in pairs(ways) do
            it("a grant that comes after the end is released at once: " .. name, function()
                start{ location = "lua_check_client_abort on;" }
                local lease = end_waiting(request)
                rig.wait_for("the end of both", function() return host:count_ended(path) == 2 end)
                wait_for_contenders(2)
                lease:release()
                check_free()
                wait_for_contenders(0)
            end)

            it("release_all in log_by_lua leaves the line at once: " .. name, function()
                start{ location = "lua_check_client_abort on;" .. RELEASE }
                end_waiting(request)
                wait_for_contenders(1)
            end)
        end

        it("a grant to a killed thread is given up also while its request goes on #slow", function()
            start()
            local lease = rig.hold(lock)
            local begun = host:begin("/kill_waiter?stay=8&path=" .. path)
            wait_for_contenders(2)
            get "go"
            local requests = 1 -- "go"
            rig.wait_for("the end of the light thread", function()
                requests = requests + 1
                return get "is_killed" == "yes"
            end)
            lease:release()
            check_free()
            assert.equal(requests, host:count_ended(path))
            nginx.finish(begun)
        end)

        it("a kill at the moment of a grant, or of a hold, leaves the lock free #slow", function()
            start{ location = RELEASE }
            for _ = 1, 20 do
                local lease = rig.hold(lock)
                local begun = host:begin("20 /kill_waiter?after=0.1&path=" .. path)
                rig.eventually(function() return #server:nodes(path) > 5 end, 0.1)
                lease:release()
                nginx.finish(begun)
                check_free()
            end
        end)
    end)

    describe("a task whose light threads end", function()
        it("a task keeps nothing of them", function()
            start{ server = nginx.code [[
                local task = require("zklock.waiting.nginx_task")()
                local function use() lock:acquire(20):release() end
                for _ = 1, 50 do ngx.thread.wait(ngx.thread.spawn(use)) end
                local lease = lock:acquire{ timeout = 20, owner = "another" }
                local function wait() lock:acquire(60) end
                for _ = 1, 50 do ngx.thread.kill(ngx.thread.spawn(wait)) end
                lease:release()
                while session:stats().claims > 0 do ngx.sleep(0.01) end
                local count = 0
                for _, each in pairs(task) do
                    for _ in pairs(type(each) == "table" and each or {}) do count = count + 1 end
                end
                return count
            ]] }
            assert.equal("0", get "code")
        end)

        it("release_all gives up the grant of a light thread that is about to wake", function()
            start{ server = nginx.code [[
                local lease = lock:acquire{ timeout = 20, owner = "another" }
                local state
                local thread = ngx.thread.spawn(function() state = lock:acquire(20):state() end)
                lease:release()
                repeat session:dispatch() until session:stats().outcomes.granted == 2
                session:dispatch()
                local count = session:release_all()
                ngx.thread.wait(thread)
                return count, state
            ]] }
            assert.equal("1 released", get "code")
        end)
    end)

    describe("ngx.exit inside `with`", function()
        it("release_all in log_by_lua releases the lock", function()
            start{ location = RELEASE }
            assert.equal("exit", get "exit_inside")
            check_free()
        end)

        it("the collection of the lease releases the lock", function()
            start()
            assert.equal("exit", get "exit_inside")
            get "collect"
            check_free()
        end)
    end)

    describe("requests with equal headers and the owner of docs/monitoring.md", function()
        before_each(function()
            local page = files.read "docs/monitoring.md"
            local acquire, release = page:match "%-%- content_by_lua\n(.-)%-%- log_by_lua\n(.-)```"
            start{ http = "lua_shared_dict inside 100k;", server = ([[
                location = /same {
                    content_by_lua_block {
                        ngx.req.set_header("traceparent", "00-a-b-01")
                        local app, inside = require "spec.nginx.app", ngx.shared.inside
                        local lock = app.lock()
                        local function sell()
                            local count = inside:incr("count", 1, 0)
                            inside:set("most", math.max(count, inside:get "most" or 0))
                            ngx.sleep(0.01)
                            inside:incr("count", -1)
                            ngx.say(inside:get "most")
                            ngx.exit(200)
                        end
                        %s
                    }
                    log_by_lua_block {
                        local session = require("spec.nginx.app").open()
                        %s
                    }
                }]]):format(acquire:gsub("timeout = 3", "timeout = 60"), release) }
        end)

        it("the lock has one holder at a time, and an exit releases it", function()
            get "session"
            local answers = nginx.finish(host:begin("20 /same?path=" .. path))
            assert.same({ ["1"] = 20 }, nginx.bodies(answers))
            wait_for_contenders(0)
        end)
    end)

    describe("the end of a worker", function()
        it("close_on_signal is unsupported, because nginx handles signals", function()
            start{ server = nginx.code 'return select(3, zklock.close_on_signal("TERM"))' }
            assert.equal("unsupported", get "code")
        end)

        -- Begins `count` requests that wait behind a lease, and then hold for a millisecond each.
        -- Returns the lease and the requests.
        local function wait_behind(count, more)
            local lease = rig.hold(lock)
            local begun = host:begin(("%d /with?path=%s%s"):format(count, path, more))
            wait_for_contenders(count + 1)
            return lease, begun
        end

        it("an idle worker leaves at once on reload", function()
            start{ workers = 2, http = 'init_by_lua_block { require "zklock" }' }
            nginx.finish(host:begin("20 /with?path=" .. path))
            for _ = 1, 3 do
                signal_and_wait "HUP"
                assert.equal("held", get "with")
            end
        end)

        -- On a busy machine some requests are interrupted half a second later, before a grant.
        it("a worker under load leaves soon on reload, and every request is answered", function()
            start{ workers = 2 }
            for _ = 1, 3 do
                local lease, begun = wait_behind(40, "&session_timeout=30")
                lease:release()
                signal_and_wait "HUP"
                local counts = { held = 0, interrupted = 0 }
                for _, each in ipairs(nginx.finish(begun)) do
                    local word = each.body:match("^%w+")
                    counts[word] = counts[word] + 1
                end
                assert.equal(40, counts.held + counts.interrupted)
            end
            check_free()
        end)

        it("a reload interrupts long waits", function()
            start()
            rig.hold(lock)
            local begun = host:begin("10 /with?path=" .. path)
            wait_for_contenders(11)
            get "timer_waits"
            wait_for_contenders(12)
            signal_and_wait "HUP"
            for _, answer in ipairs(nginx.finish(begun)) do
                assert.equal("interrupted", answer.body:match("^%w+"))
            end
            assert.truthy(host:log():find("the timer's wait ended with interrupted", 1, true))
            wait_for_contenders(1)
        end)

        it("worker_shutdown_timeout frees the locks of requests that it cuts off", function()
            start{ main = "worker_shutdown_timeout 1s;" }
            local begun = host:begin("/with?session_timeout=60&hold=600&path=" .. path)
            wait_for_contenders(1)
            signal_and_wait "HUP"
            check_free()
            nginx.finish(begun)
        end)

        it("a worker that quits leaves no node, before its session could expire", function()
            start()
            get("keep", "&session_timeout=60")
            wait_for_contenders(1)
            signal_and_wait "QUIT"
            wait_for_contenders(0)
        end)

        -- Kills a worker under load. Returns the seconds until another worker holds the lock.
        local function crash(count, more)
            start{ expected = "exited on signal 9" }
            local lease, begun = wait_behind(count, more)
            local worker = host:workers()[1]
            lease:release()
            host:signal("KILL", worker)
            nginx.finish(begun)
            local answer = host:get("/with?path=" .. path .. more)
            assert.equal("held", answer.body)
            assert.not_equal(worker, host:workers()[1])
            return answer.seconds
        end

        it("a crash under load lets other workers go on within the session timeout #slow",
           function()
            crash(40, "&session_timeout=3")
            wait_for_contenders(0)
        end)

        it("a crash with recover lets other workers go on at once", function()
            local folder = rig.shell("mktemp -d /dev/shm/zklock-XXXXXX"):match("%S+")
            local seconds = crash(200, "&session_timeout=40&recover=" .. folder)
            assert.is_true(seconds < 20, seconds)
            if os.getenv("ZKLOCK_FIGURES") then print(("%.3f s"):format(seconds)) end
            rig.shell("rm -rf %s", folder)
        end)
    end)
end)
