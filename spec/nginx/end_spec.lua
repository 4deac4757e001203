--- Ends in nginx that run nothing more of a request: clients that go, light threads that are
-- killed, ngx.exit, workers that leave or crash. No lock stays held, nothing is left.

local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"

local server, host, path, lock


local function contenders(count) server:wait_for_nodes(path, count) end

-- Who comes from elsewhere gets the lock, though no session ends.
local function is_free()
    rig.released((assert(lock:acquire(20), "still held")))
end


describe("an end in nginx #nginx #session:close", function()
    local RELEASE = 'log_by_lua_block { require("spec.nginx.app").release_all() }'

    setup(function() server = rig.shared() end)
    before_each(function()
        path = rig.path()
        lock = rig.session(server.hosts):mutex(path)
        host = nil
    end)
    after_each(function()
        rig.close_sessions()
        nginx.stop_all(host)
    end)

    local function start(options) host = nginx.start(options) end

    local function get(request, more)
        return host:get(("/%s?path=%s%s"):format(request, path, more or "")).body
    end

    -- Tells the master; its workers go.
    local function leaves(signal)
        local old = host:workers()
        host:signal(signal)
        for _, pid in ipairs(old) do assert(nginx.gone(pid), "it stays") end
    end

    describe("of a light thread that waits", function()
        local ways = {
            ["its client goes #slow"] = "-a 4 /with?path=",
            ["another one exits"] = "/sibling_exits?path=",
            ["another one kills it"] = "/killed?path=",
        }
        -- A request that waits behind the lease, and ends so.
        local function ends(request)
            local lease = rig.hold(lock)
            local begun = host:begin(request .. path)
            contenders(2)
            get "go"
            nginx.finish(begun)
            return lease
        end

        for name, request in pairs(ways) do
            it("gives up what is granted to it at once: " .. name, function()
                start{ location = "lua_check_client_abort on;" }
                local lease = ends(request)
                rig.wait_for("the end of both", function() return host:ended(path) == 2 end)
                contenders(2) -- it still stands in line
                lease:release()
                is_free()
                contenders(0)
            end)

            it("leaves the line with release_all in log_by_lua: " .. name, function()
                start{ location = "lua_check_client_abort on;" .. RELEASE }
                ends(request)
                contenders(1)
            end)
        end

        it("in a request that goes on, too #slow", function()
            start()
            local lease = rig.hold(lock)
            local begun = host:begin("/killed?stay=8&path=" .. path)
            contenders(2)
            get "go"
            local asked = 1 -- so far
            rig.wait_for("the end of the light thread", function()
                asked = asked + 1
                return get "is_killed" == "yes"
            end)
            lease:release()
            is_free()
            assert.equal(asked, host:ended(path)) -- not the one that stays
            nginx.finish(begun)
        end)

        it("at the moment when it is woken, or holds #slow", function()
            start{ location = RELEASE }
            for _ = 1, 20 do
                local lease = rig.hold(lock)
                local begun = host:begin("20 /killed?after=0.1&path=" .. path)
                rig.eventually(function() return #server:nodes(path) > 5 end, 0.1)
                lease:release() -- from now on grants and kills meet
                nginx.finish(begun)
                is_free()
            end
        end)
    end)

    describe("by ngx.exit inside `with`", function()
        it("is a release with release_all in log_by_lua", function()
            start{ location = RELEASE }
            assert.equal("exit", get "exit_inside")
            is_free()
        end)

        it("without that, when the lease is collected", function()
            start()
            assert.equal("exit", get "exit_inside")
            get "collect"
            is_free()
        end)
    end)

    describe("of a worker", function()
        it("is nginx's matter: close_on_signal says so", function()
            start{ server = nginx.code 'return select(3, zklock.close_on_signal("TERM"))' }
            assert.equal("unsupported", get "code")
        end)

        -- Many requests for the lock, none of which has it until the lease ends; then each holds
        -- it for a millisecond.
        local function load(count, more)
            local lease = rig.hold(lock)
            local begun = host:begin(("%d /with?path=%s%s"):format(count, path, more))
            contenders(count + 1)
            return lease, begun
        end

        it("by reload: idle, it leaves at once", function()
            start{ workers = 2, http = 'init_by_lua_block { require "zklock" }' }
            nginx.finish(host:begin("20 /with?path=" .. path))
            for _ = 1, 3 do
                leaves "HUP"
                assert.equal("held", get "with")
            end
        end)

        -- On a busy machine some have not got it half a second later, and are told so.
        it("by reload under load: it leaves soon, and every request is answered", function()
            start{ workers = 2 }
            for _ = 1, 3 do
                local lease, begun = load(40, "&session_timeout=30")
                lease:release()
                leaves "HUP"
                local counts = { held = 0, interrupted = 0 }
                for _, each in ipairs(nginx.finish(begun)) do
                    local word = each.body:match("^%w+")
                    counts[word] = counts[word] + 1
                end
                assert.equal(40, counts.held + counts.interrupted)
            end
            is_free()
        end)

        it("by reload: who waits for long is told that the worker goes", function()
            start()
            rig.hold(lock)
            local begun = host:begin("10 /with?path=" .. path)
            contenders(11)
            get "timer_waits"
            contenders(12)
            leaves "HUP"
            for _, answer in ipairs(nginx.finish(begun)) do
                assert.equal("interrupted", answer.body:match("^%w+"))
            end
            assert.truthy(host:log():find("the timer's wait ended with interrupted", 1, true))
            contenders(1)
        end)

        it("by worker_shutdown_timeout: the locks of requests that it cuts off are free", function()
            start{ main = "worker_shutdown_timeout 1s;" }
            local begun = host:begin("/with?session_timeout=60&hold=600&path=" .. path)
            contenders(1)
            leaves "HUP"
            is_free()
            nginx.finish(begun)
        end)

        it("by quit: nothing is left, before the session could expire", function()
            start()
            get("keep", "&session_timeout=60")
            contenders(1)
            leaves "QUIT"
            contenders(0)
        end)

        -- A worker is killed under load: another one has the lock, after how many seconds.
        local function crash(count, more)
            start{ expected = "exited on signal 9" }
            local lease, begun = load(count, more)
            local worker = host:workers()[1]
            lease:release()
            host:signal("KILL", worker)
            nginx.finish(begun)
            local answer = host:get("/with?path=" .. path .. more)
            assert.equal("held", answer.body)
            assert.not_equal(worker, host:workers()[1])
            return answer.seconds
        end

        it("by a crash under load: others go on within the session timeout #slow", function()
            crash(40, "&session_timeout=3")
            contenders(0)
        end)

        it("by a crash with recover: others go on at once", function()
            local folder = rig.shell("mktemp -d /dev/shm/zklock-XXXXXX"):match("%S+")
            local seconds = crash(200, "&session_timeout=40&recover=" .. folder)
            assert.is_true(seconds < 20, seconds)
            if os.getenv("ZKLOCK_FIGURES") then print(("%.3f s"):format(seconds)) end
            rig.shell("rm -rf %s", folder)
        end)
    end)
end)
