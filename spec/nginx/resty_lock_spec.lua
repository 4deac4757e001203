--- zklock.resty_lock in nginx: what lua-resty-lock's documentation and tests say of resty.lock, and
--- what it is for, two servers.

local files = require "spec.files"
local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"

local server, host, name


describe("resty_lock in nginx #nginx", function()
    setup(function() server = rig.shared() end)
    before_each(function() name = rig.path():gsub("/", "-") end)
    after_each(function()
        rig.close_sessions()
        nginx.stop_all(host)
        host = nil
    end)

    local APP = 'require("spec.nginx.resty_lock_app")'

    local function start(options)
        options = options or {}
        options.app = "spec.nginx.resty_lock_app"
        options.http = ("init_worker_by_lua_block { %s.start() }"):format(APP)
        return nginx.start(options)
    end

    local function request(path, more) return ("/%s?name=%s%s"):format(path, name, more or "") end

    local function ask(path, more) return host:get(request(path, more)).body end

    local function contenders(key, count)
        server:wait_for_nodes(("/resty_lock/%s/%s"):format(name, key), count)
    end

    it("is closed until a session is used", function()
        host = nginx.start{ app = "spec.nginx.resty_lock_app" }
        assert.equal("nil closed", ask "new")
    end)

    for promise, example in pairs{
        ["is had with 0, and given up with 1, again and again"] = { "serial", "", "0 1 0 1" },
        ["is given up when its object is collected"] = { "collected", "", "collected" },
        ["times out, and is not unlocked by who has it not"] =
            { "in_vain", "&timeout=0.01", "0 nil timeout 1 nil unlocked" },
        ["is tried with a timeout of 0"] =
            { "in_vain", "&timeout=0", "0 nil timeout 1 nil unlocked" },
        ["needs a key"] = { "no_key", "", "nil nil key" },
        ["is waited for in a light thread"] = { "waited", "", "free 1 waited 1" },
        ["is waited for whatever the step"] =
            { "waited", "&option=step&value=0.01", "free 1 waited 1" },
        ["is waited for whatever the ratio"] =
            { "waited", "&option=ratio&value=3", "free 1 waited 1" },
        ["is waited for whatever the longest step"] =
            { "waited", "&option=max_step&value=0.05", "free 1 waited 1" },
        ["expires by itself"] = { "expires", "", "free waited nil 1" },
        ["expires as it is told to"] =
            { "expire", "", "unlocked free true timeout true waited unlocked true 1" },
        ["is given up by another light thread"] = { "other_thread", "", "1 free" },
        ["is one, of two light threads with one object"] =
            { "shared", "", "locked free 1 free" },
    } do
        it(promise, function()
            host = start()
            assert.equal(example[3], ask(example[1], example[2]))
        end)
    end

    it("is given up by another request, by a timer, and by a phase that cannot wait", function()
        host = start{ server = ([[location = /log {
            content_by_lua_block { %s.keep() } log_by_lua_block { %s.drop_here() } }]])
            :format(APP, APP) }
        assert.equal("free", ask("keep", "&key=a"))
        assert.equal("timeout", ask("try", "&key=a"))
        assert.equal("1", ask("drop", "&key=a"))
        assert.equal("free", ask("keep", "&key=a"))
        assert.equal("soon", ask("drop_in_timer", "&key=a"))
        contenders("a", 0)
        assert.equal("free", ask("log", "&key=a"))
        contenders("a", 0)
    end)

    it("says in which phases it can be waited for", function()
        host = start{ server = ([[location = /here {
            header_filter_by_lua_block { %s.try_here() }
            content_by_lua_block { ngx.say("here") } }]]):format(APP) }
        ask "session"
        local answer = rig.shell("perl -MIO::Socket::INET -e '"
            .. '$s = IO::Socket::INET->new("127.0.0.1:%d"); '
            .. 'print $s "GET /here HTTP/1.0\\r\\n\\r\\n"; print <$s>' .. "'", host.port)
        assert.matches('X%-Why: context: waiting in the phase "header_filter"', answer)
    end)

    it("of a light thread that was killed is free when its object is collected", function()
        host = start()
        assert.equal("killed", ask "killed")
        rig.wait_for("the collector", function()
            ask "collect"
            return ask("try", "&key=foo") == "free"
        end)
    end)

    it("is had by one of the workers of two servers", function()
        host = start{ workers = 2 }
        local other = start{ workers = 2 }
        assert.equal("free", ask("keep", "&key=a"))
        for _ = 1, 10 do
            assert.equal("timeout", ask("try", "&key=a"))
            assert.equal("timeout", other:get(request("try", "&key=a")).body)
        end
    end)

    it("lets one request fill a cache, with 0, of forty on two servers", function()
        host = start{ workers = 2 }
        local other = start{ workers = 2 }
        local cache, go = host.dir .. "/cache", host.dir .. "/go"
        local want = request("fill", ("&key=a&cache=%s&go=%s"):format(cache, go))
        local ours, theirs = host:begin("20 " .. want), other:begin("20 " .. want)
        contenders("a", 40)
        files.write(go, "go")
        local all = nginx.finish(ours)
        for _, answer in ipairs(nginx.finish(theirs)) do all[#all + 1] = answer end
        assert.same({ ["filled value"] = 1, ["waited value"] = 39 }, nginx.bodies(all))
        contenders("a", 0)
        assert.equal("hit value", other:get(want).body)
    end)
end)
