--- lock:combine in nginx: the requests of a worker are carried out together, in a timer of their
-- own, whatever becomes of their clients.

local files = require "spec.files"
local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"

local server, host, path


local function contenders(count)
    rig.wait_for(count .. " contenders", function() return #server:nodes(path) == count end)
end


describe("combine in nginx #nginx", function()
    setup(function() server = rig.shared() end)
    before_each(function() path = rig.path() end)
    after_each(function()
        rig.close_sessions()
        local troubles = host and host:troubles() or {}
        nginx.stop_all()
        host = nil
        assert.same({}, troubles)
    end)

    local function start(options)
        host = nginx.start(options)
        host:get("/session") -- opens it
    end

    local function held_elsewhere()
        return rig.hold(rig.session(server.hosts):mutex(path))
    end

    -- How many items each batch had.
    local function batches()
        local sizes = {}
        for size in host:get("/batches").body:gmatch("%d+") do
            sizes[#sizes + 1] = tonumber(size)
        end
        return sizes
    end

    -- Waits until so many requests about the path wait in the worker.
    local function requests_wait(count)
        rig.wait_for(count .. " requests", function()
            return host:get("/submitters?path=" .. path).body == tostring(count)
        end)
    end

    local function words(count, more)
        local requests = {}
        for n = 1, count do
            requests[n] = ("/combine?number=%d&path=%s%s"):format(n, path, more or "")
        end
        return (table.unpack or unpack)(requests)
    end

    it("carries out what many requests want in one hold, and answers each its own", function()
        start()
        local lease = held_elsewhere()
        local begun = host:begin(words(60))
        requests_wait(60)
        contenders(2) -- of which one is the worker's
        lease:release()
        for _, answer in ipairs(nginx.finish(begun)) do
            assert.equal("done " .. answer.path:match("number=(%d+)"), answer.body)
        end
        assert.same({ 60 }, batches())
        contenders(0)
    end)

    -- A request whose client goes when the function is called, which returns when nginx knows.
    local function leaving(number, more)
        local file = os.tmpname()
        os.remove(file)
        local begun = host:begin(("-f %s /combine?number=%s&path=%s%s"):format(file, number, path,
                                                                              more or ""))
        return function()
            files.write(file, "")
            nginx.finish(begun)
            os.remove(file)
            rig.wait_for("its end", function()
                return host:get("/has_ended?of=" .. number).body == "yes"
            end)
        end
    end

    it("goes on when a client goes: of those that were taken, and of those that wait", function()
        start{ location = "lua_check_client_abort on; log_by_lua_block { " ..
            'local app = require("spec.nginx.app") app.release_all() app.note_end() }' }
        local lease = held_elsewhere()
        local taken_goes = leaving("first", "&waits=1")
        requests_wait(1)
        local others = host:begin(words(10))
        requests_wait(11)
        lease:release()
        rig.wait_for("the batch", function() return #batches() == 1 end)
        local late_goes = leaving("late")
        requests_wait(12)
        late_goes()
        taken_goes()
        host:get("/go?path=" .. path)
        local answers = nginx.finish(others)
        assert.equal(10, #answers)
        for _, answer in ipairs(answers) do assert.equal("done", answer.body:match("^%w+")) end
        assert.equal("done 0", host:get("/combine?path=" .. path).body)
        assert.same({ 11, 1 }, batches()) -- without the one that went before it was taken
        contenders(0)
    end)

    it("tells each by its deadline, before it is taken and after #clock", function()
        start()
        local lease = held_elsewhere()
        local answer = host:get("/combine?timeout=0.3&path=" .. path)
        assert.equal("timeout", answer.body:match("^%w+"))
        contenders(1)
        lease:release()
        answer = host:get("/combine?timeout=1.5&hold=6&path=" .. path)
        assert.equal("unknown", answer.body:match("^%w+"))
        assert.is_true(answer.seconds < 5.5, answer.seconds)
        assert.equal("done 0", host:get("/combine?path=" .. path).body)
    end)

    it("raises an error of the function in each request of the batch", function()
        start()
        local lease = held_elsewhere()
        local begun = host:begin("5 /combine?fails=1&path=" .. path)
        requests_wait(5)
        lease:release()
        assert.same({ ["raised it fails"] = 5 }, nginx.bodies(nginx.finish(begun)))
        assert.equal("done 0", host:get("/combine?path=" .. path).body)
    end)

    it("refuses a submit of the function's own light threads", function()
        start()
        assert.equal("would_deadlock", host:get("/combine_inside?path=" .. path).body)
    end)

    it("carries out each alone while no timer is to be had", function()
        start{ http = "lua_max_pending_timers 1;" ..
            "init_worker_by_lua_block { ngx.timer.at(86400, function() end) }" }
        local lease = held_elsewhere()
        local begun = host:begin(words(10))
        requests_wait(10)
        lease:release()
        for _, answer in ipairs(nginx.finish(begun)) do
            assert.equal("done " .. answer.path:match("number=(%d+)"), answer.body)
        end
        for _, size in ipairs(batches()) do assert.equal(1, size) end
        assert.equal(10, #batches())
    end)

    it("goes on when nginx did not run its timer, with those that wait #slow", function()
        local narrow = nginx.start{ http = "lua_max_running_timers 2;" }
        narrow:get("/session")
        narrow:get("/long_timer?seconds=3")
        local begun = narrow:begin("10 /combine?path=" .. path)
        rig.wait_for("10 requests", function()
            return narrow:get("/submitters?path=" .. path).body == "10"
        end)
        rig.wait_for("a later one", function()
            return narrow:get("/combine?timeout=0.5&path=" .. path).body == "done 0"
        end)
        assert.same({ ["done 0"] = 10 }, nginx.bodies(nginx.finish(begun)))
        for _, line in ipairs(narrow:troubles()) do
            assert.truthy(line:find("lua_max_running_timers are not enough", 1, true), line)
        end
    end)

    it("answers every request when the worker is to go", function()
        start()
        local lease = held_elsewhere()
        local begun = host:begin(words(40))
        requests_wait(40)
        local old = host:workers()[1]
        lease:release()
        host:signal("HUP")
        local answers = nginx.finish(begun)
        assert.equal(40, #answers)
        for _, answer in ipairs(answers) do
            local word = answer.body:match("^%w+")
            assert.is_true(word == "done" or word == "interrupted", answer.body)
        end
        assert(nginx.gone(old), "it stays")
        contenders(0)
    end)
end)
