--- lock:combine in nginx serves a worker's requests together, in a timer, whatever becomes of the
-- clients.

local files = require "spec.files"
local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"

local server, host, path


local function wait_for_contenders(count) server:wait_for_nodes(path, count) end


describe("combine in nginx #nginx #lock:combine", function()
    setup(function() server = rig.shared() end)
    before_each(function() path = rig.path() end)
    after_each(function() nginx.stop_all(host) end)

    local function start(options)
        host = nginx.start(options)
        host:get("/session")
    end

    local function hold_elsewhere() return rig.hold_elsewhere(server, path) end

    local function batches()
        local sizes = {}
        for size in host:get("/batches").body:gmatch("%d+") do
            sizes[#sizes + 1] = tonumber(size)
        end
        return sizes
    end

    local function wait_for_requests(count)
        rig.wait_for(count .. " requests", function()
            return host:get("/submitters?path=" .. path).body == tostring(count)
        end)
    end

    local function request(number, more)
        return ("/combine?number=%s&path=%s%s"):format(number, path, more or "")
    end

    local function begin_requests(count)
        local requests = {}
        for n = 1, count do requests[n] = request(n) end
        return host:begin(unpack(requests))
    end

    local function check_all_done(begun, count)
        local answers = nginx.finish(begun)
        assert.equal(count, #answers)
        for _, answer in ipairs(answers) do
            assert.equal("done " .. answer.path:match("number=(%d+)"), answer.body)
        end
    end

    it("combine serves many requests in one hold, and answers each with its number", function()
        start()
        local lease = hold_elsewhere()
        local begun = begin_requests(60)
        wait_for_requests(60)
        wait_for_contenders(2)
        lease:release()
        check_all_done(begun, 60)
        assert.same({ 60 }, batches())
        wait_for_contenders(0)
    end)

    -- Begins a request. Returns a function by which its client hangs up, and nginx knows.
    local function begin_until_hang_up(number, more)
        local file = os.tmpname()
        os.remove(file)
        local begun = host:begin(("-f %s %s"):format(file, request(number, more)))
        return function()
            files.write(file, "")
            nginx.finish(begun)
            os.remove(file)
            rig.wait_for("the request's end", function()
                return host:get("/has_ended?of=" .. number).body == "yes"
            end)
        end
    end

    it("a batch goes on when the clients of a taken and of a waiting item hang up", function()
        start{ location = "lua_check_client_abort on; log_by_lua_block { " ..
            'local app = require("spec.nginx.app") app.release_all() app.note_end() }' }
        local lease = hold_elsewhere()
        local hang_up_taken = begin_until_hang_up("first", "&waits=1")
        wait_for_requests(1)
        local others = begin_requests(10)
        wait_for_requests(11)
        lease:release()
        rig.wait_for("the batch", function() return #batches() == 1 end)
        local hang_up_late = begin_until_hang_up("late")
        wait_for_requests(12)
        hang_up_late()
        hang_up_taken()
        host:get("/go?path=" .. path)
        check_all_done(others, 10)
        assert.equal("done 0", host:get(request(0)).body)
        assert.same({ 11, 1 }, batches()) -- without the late item, which was not taken yet
        wait_for_contenders(0)
    end)

    it("a submit of the function's own light thread is refused", function()
        host = nginx.start{ server = nginx.code [[
            local submit
            submit = lock:combine(function()
                local thread = ngx.thread.spawn(function() return select(3, submit(1)) end)
                local _, code = ngx.thread.wait(thread)
                return { code }
            end)
            return (submit(1))
        ]] }
        assert.equal("would_deadlock", host:get("/code?path=" .. path).body)
    end)

    it("items are carried out one by one while nginx has no timer left", function()
        start{ http = "lua_max_pending_timers 1;" ..
            "init_worker_by_lua_block { ngx.timer.at(86400, function() end) }" }
        local lease = hold_elsewhere()
        local begun = begin_requests(10)
        wait_for_requests(10)
        lease:release()
        check_all_done(begun, 10)
        assert.same({ 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 }, batches())
    end)

    it("waiting items are carried out although nginx drops their timer", function()
        start{ http = "lua_max_running_timers 2;",
               expected = "lua_max_running_timers are not enough" }
        host:get("/long_timer?seconds=30")
        local begun = begin_requests(10)
        wait_for_requests(10)
        check_all_done(begun, 10)
    end)

    it("every request is answered when the worker is told to exit", function()
        start()
        local lease = hold_elsewhere()
        local begun = begin_requests(40)
        wait_for_requests(40)
        local old = host:workers()[1]
        lease:release()
        host:signal("HUP")
        local answers = nginx.finish(begun)
        assert.equal(40, #answers)
        for _, answer in ipairs(answers) do
            local word = answer.body:match("^%w+")
            assert.is_true(word == "done" or word == "interrupted", answer.body)
        end
        assert(nginx.wait_until_gone(old), "the worker stays")
        wait_for_contenders(0)
    end)
end)
