--- Callbacks in nginx while it has no timer for them. None is lost while the worker lives.

local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"
local zklock = require "zklock"

local server, host, path

describe("a callback in nginx #nginx #callbacks", function()
    setup(function() server = rig.shared() end)
    before_each(function() path = rig.path() end)
    after_each(function() nginx.stop_all() end)

    local function start(http)
        host = nginx.start{
            app = "spec.nginx.exit_app", http = "lua_shared_dict let_go 100k;" .. (http or ""),
        }
    end

    local function wait_for_callbacks(...)
        for _, wanted in ipairs{ ... } do
            rig.wait_for("the callback of " .. wanted, function()
                return host:get("/told").body:find(wanted, 1, true)
            end)
        end
    end

    local function cause_all_callbacks()
        local other = rig.session(server.hosts)
        server:foreign("create %s/data x", path)
        server:foreign("create %s/members x", path)
        server:foreign("create %s/members/a x", path)
        assert(other:mutex(path .. "/leader"):acquire(5))
        assert(other:mutex(path .. "/lock"):revoke())
        wait_for_callbacks("watch x", "members 1", "revoke", "queued 2")
        rig.wait_for("the leader", function() return host:get("/told").body:find("leader [^n]") end)
        server:foreign("delete %s", server:nodes(path .. "/lock")[1])
        wait_for_callbacks("lost lost", "event lost")
    end

    it("callbacks of each kind run in the dispatcher's timer when other timers run out #slow",
       function()
        start("lua_max_running_timers 6;")
        local queue = rig.hold(rig.session(server.hosts):mutex(path .. "/queue"))
        host:get("/open")
        host:get("/listen?path=" .. path)
        host:get("/fill_running?count=12&path=" .. path)
        cause_all_callbacks()
        assert.truthy(host:log():find("lua_max_running_timers are not enough", 1, true))
        rig.wait_for("the last callback", function() return host:get("/pending").body == "0" end)
        host:get("/let_go?path=" .. path)
        rig.release(queue)
    end)

    it("callbacks run while more come all the time and nginx drops their timers", function()
        start("lua_max_running_timers 2;")
        host:get("/open")
        host:get("/listen_for_many?path=" .. path)
        host:get("/fill_running?count=4&path=" .. path)
        local pen = rig.hold(rig.session(server.hosts):mutex(path .. "/pen"))
        local number, is_called = 0, false
        while not is_called and number < 300 do
            number = number + 1
            assert(pen:guard{ { "create", ("%s/data%d"):format(path, number), "x" } })
            zklock.sleep(0.01)
            is_called = number % 20 == 0 and host:get("/told").body:find("watch x", 1, true)
        end
        host:get("/let_go?path=" .. path)
        assert.truthy(is_called, "none in the time of 300")
    end)

    it("the dispatcher's timer ends with its session, also if callbacks began in it", function()
        host = nginx.start{ http = "lua_max_running_timers 2;", server = nginx.code [[
            local queued, is_over = 0, false
            local function fill() while not is_over do ngx.sleep(0.01) end end
            for _ = 1, 4 do ngx.timer.at(0, fill) end
            local lease = lock:acquire{ timeout = 20, owner = "another" }
            local thread = ngx.thread.spawn(lock.acquire, lock, {
                timeout = 20, on_queued = function() queued = queued + 1 end,
            })
            while queued == 0 do ngx.sleep(0.01) end
            lease:release()
            ngx.thread.wait(thread)
            session:close()
            is_over = true
            local due = ngx.now() + 20
            while ngx.timer.running_count() > 0 and ngx.now() < due do ngx.sleep(0.01) end
            return ngx.timer.running_count()
        ]] }
        assert.equal("0", host:get("/code?path=" .. path).body)
    end)

    -- nginx keeps some memory of each light thread until its timer ends.
    it("a dispatcher that has no callback to begin starts no light thread #slow", function()
        host = nginx.start{
            http = [[init_by_lua_block {
                local spawn = ngx.thread.spawn
                spawned = 0
                function ngx.thread.spawn(...)
                    spawned = spawned + 1
                    return spawn(...)
                end
            }]],
            server = nginx.code [[
                local held = lock:acquire{ timeout = 20, owner = "another" }
                local code = select(3, lock:acquire(0.1))
                local before = spawned
                ngx.sleep(2)
                held:release()
                return code, before > 0, spawned - before
            ]],
        }
        assert.equal("timeout true 0", host:get("/code?path=" .. path).body)
    end)

    it("a callback that always has newer news leaves its timer at times", function()
        host = nginx.start{ server = nginx.code [[
            local node, calls, timers, count = lock.path .. "/data", 0, {}, 0
            local lease = lock:acquire(20)
            assert(lease:guard{ { "create", node, "0" } })
            assert(session:watch(node, function()
                calls = calls + 1
                if not timers[ngx.ctx] then timers[ngx.ctx], count = true, count + 1 end
                if calls == 150 then return end
                assert(lease:guard{ { "set", node, tostring(calls) } })
                while session:stats().callbacks_pending == 0 do ngx.sleep(0.001) end
            end))
            local due = ngx.now() + 20
            while calls < 150 and ngx.now() < due do ngx.sleep(0.01) end
            return calls, count
        ]] }
        assert.equal("150 2", host:get("/code?path=" .. path).body)
    end)

    it("a killed light thread keeps no lock from those that wait, if no timer can run", function()
        host = nginx.start{
            http = [[lua_max_running_timers 2; init_worker_by_lua_block {
                local function fill() while not ngx.worker.exiting() do ngx.sleep(0.01) end end
                for _ = 1, 4 do ngx.timer.at(0, fill) end
            }]],
            server = nginx.code [[
                local held = lock:acquire{ timeout = 20, owner = "another" }
                local killed = ngx.thread.spawn(lock.acquire, lock)
                while session:stats().claims < 2 do ngx.sleep(0.01) end
                ngx.thread.kill(killed)
                held:release()
                local lease, message, code = lock:acquire(20)
                return lease and lease:state() or code
            ]],
        }
        assert.equal("held", host:get("/code?path=" .. path).body)
    end)

    it("a callback runs although the pending timers are used up", function()
        start("lua_max_pending_timers 8;")
        host:get("/open")
        host:get("/listen?path=" .. path)
        host:get("/fill_pending")
        server:foreign("create %s/data x", path)
        wait_for_callbacks("watch x")
    end)

    it("a callback runs once timers can run again, if none could when its session was opened #slow",
       function()
        start("lua_max_running_timers 2;")
        host:get("/fill_running?count=8&path=" .. path)
        assert.equal("open", host:get("/open").body)
        assert.equal("", host:get("/told").body)
        host:get("/let_go?path=" .. path)
        wait_for_callbacks("connected")
    end)

    it("pending callbacks are counted by stats, and only the newest is called", function()
        start()
        host:get("/open")
        server:foreign("create %s 0", path)
        host:get("/watch_slowly?path=" .. path)
        for i = 1, 20 do server:foreign("set %s %d", path, i) end
        rig.wait_for("a callback that waits", function()
            return host:get("/pending").body ~= "0" or host:get("/seen").body:find(" 20$")
        end)
        rig.wait_for("the last callback", function() return host:get("/seen").body:find(" 20$") end)
        local most, list = host:get("/seen").body:match("^(%d+): (.*)$")
        assert.equal("1", most) -- never nested
        local last = -1
        for each in list:gmatch("%d+") do
            assert.is_true(tonumber(each) > last, list)
            last = tonumber(each)
        end
        assert.equal("0", host:get("/pending").body)
    end)
end)
