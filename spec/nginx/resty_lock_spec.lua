--- zklock.resty_lock in nginx: its session, its phases, and two servers that share locks.

local files = require "spec.files"
local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"

local server, host, name

-- The code of requests, by name. `app.lock` is the object of /keep.
local pages = {
    new = 'ngx.say(select(2, require("zklock.resty_lock"):new("some")))',
    keep = 'app.lock = app.object() ngx.say(app.shown(app.lock:lock("a")))',
    drop = "ngx.say(app.lock:unlock())",
    drop_in_timer = "ngx.timer.at(0, function() app.lock:unlock() end)",
    try = 'ngx.say(app.shown(app.object{ timeout = 0 }:lock("a")))',
    collect = "collectgarbage() collectgarbage()",
    kill_holder = [[
        local elapsed
        local thread = ngx.thread.spawn(function()
            local lock = app.object()
            elapsed = lock:lock("a")
            ngx.sleep(60)
            return lock:unlock()
        end)
        while not elapsed do ngx.sleep(0.001) end
        ngx.thread.kill(thread)]],
}


describe("resty_lock in nginx #nginx #resty_lock:lock", function()
    setup(function() server = rig.shared() end)
    before_each(function() name = rig.path():gsub("/", "-") end)
    after_each(function() nginx.stop_all(host) end)

    local APP = 'local app = require("spec.nginx.resty_lock_app")'

    local function code_in_phase(directive, code)
        return ("%s_by_lua_block { %s %s }\n"):format(directive, APP, code)
    end

    local function start(options)
        local server_lines = options.server or ""
        for page, code in pairs(pages) do
            server_lines = server_lines .. ("location = /%s { %s }\n"):format(
                page, code_in_phase("content", code))
        end
        return nginx.start{
            app = "spec.nginx.resty_lock_app", workers = options.workers, server = server_lines,
            http = options.http or code_in_phase("init_worker", "app.start()"),
        }
    end

    local function request(path, more)
        return ("/%s?name=%s&key=a%s"):format(path, name, more or "")
    end

    local function ask(path, other_host)
        return (other_host or host):get(request(path)).body
    end

    local function wait_for_contenders(count)
        server:wait_for_nodes(("/resty_lock/%s/a"):format(name), count)
    end

    it("new() without a session returns closed", function()
        host = start{ http = "" }
        assert.equal("closed", ask "new")
    end)

    it("another request, a timer, or a phase without waits may release the lock", function()
        host = start{ server = "location = /log {" .. code_in_phase("content", pages.keep) ..
                               code_in_phase("log", "assert(app.lock:unlock() == 1)") .. "}" }
        assert.equal("free", ask "keep")
        assert.equal("timeout", ask "try")
        assert.equal("1", ask "drop")
        assert.equal("free", ask "keep")
        ask "drop_in_timer"
        wait_for_contenders(0)
        assert.equal("free", ask "log")
        wait_for_contenders(0)
    end)

    it("lock() in header_filter is refused, and the message names that phase", function()
        host = start{ server = "location = /here {" ..
            code_in_phase("content", 'ngx.say("here")') ..
            code_in_phase("header_filter", [[
                local _, why = require("zklock.resty_lock"):new("some"):lock("foo")
                ngx.header["X-Why"] = why]]) .. "}" }
        ask "try"
        local answer = rig.shell("perl -MIO::Socket::INET -e '"
            .. '$s = IO::Socket::INET->new("127.0.0.1:%d"); '
            .. 'print $s "GET /here HTTP/1.0\\r\\n\\r\\n"; print <$s>' .. "'", host.port)
        assert.matches('X%-Why: context: waiting in the phase "header_filter"', answer)
    end)

    it("the lock of a killed light thread is free after its object's collection", function()
        host = start{}
        ask "kill_holder"
        rig.wait_for("the collector", function()
            ask "collect"
            return ask "try" == "free"
        end)
    end)

    it("a lock that one worker holds is taken for all workers of two servers", function()
        host = start{ workers = 2 }
        local other = start{ workers = 2 }
        assert.equal("free", ask "keep")
        for _ = 1, 10 do
            assert.equal("timeout", ask "try")
            assert.equal("timeout", ask("try", other))
        end
    end)

    it("a single request of forty on two servers fills a cache", function()
        host = start{ workers = 2 }
        local other = start{ workers = 2 }
        local cache, go = host.dir .. "/cache", host.dir .. "/go"
        local want = request("fill", ("&cache=%s&go=%s"):format(cache, go))
        local ours, theirs = host:begin("20 " .. want), other:begin("20 " .. want)
        wait_for_contenders(40)
        files.write(go, "go")
        local answers = nginx.finish(ours)
        for _, answer in ipairs(nginx.finish(theirs)) do answers[#answers + 1] = answer end
        assert.same({ ["filled value"] = 1, ["waited value"] = 39 }, nginx.bodies(answers))
        wait_for_contenders(0)
        assert.equal("hit value", other:get(want).body)
    end)
end)
