--- Workers of nginx that are told to exit while timers hold locks, wait, sleep or listen, and while
-- requests are open.

local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"

local server, host, path

local DICTS = "lua_shared_dict let_go 100k; lua_shared_dict turns 100k;"
local PROMISE = 1 -- seconds after its drain, within which a worker exits

local WHILE_HELD = "while lease:held() do zklock.sleep(60) end "

local loops = {
    -- The loop of docs/reference/election.md, but for the result of sleep.
    leader = [[
        session:election(path):lead(function(lease)
            local state
            repeat
                if lease:held() then ngx.sleep(0) end
                zklock.sleep(60)
                state = lease:state()
            until state == "lost" or state == "released"
        end)]],
    quick = [[
        session:election(path):lead(function(lease)
            while lease:held() do ngx.sleep(0.001) end
        end)]],
    held = "local lease = assert(session:mutex(path):acquire()) " .. WHILE_HELD,
    -- This loop asks neither the lease nor zklock.sleep.
    on_lost = [[
        local lost = false
        local lease = assert(session:mutex(path):acquire())
        lease:on_lost(function() lost = true end)
        while not lost do ngx.sleep(0.02) end]],
    with = [[
        return select(3, session:mutex(path):with(function() zklock.sleep(60) end))]],
    waits = [[
        local lease = assert(session:mutex(path):acquire{ owner = "a" })
        session:mutex(path):acquire{ owner = "b" } ]] .. WHILE_HELD,
    combine = [[
        local submit = session:mutex(path):combine(function(lease) ]] .. WHILE_HELD .. [[
            return { true }
        end)
        submit("item")]],
    condition = [[
        local lock = session:mutex(path)
        lock:condition("never"):wait(assert(lock:acquire()))]],
    once = [[
        package.loaded.join = require "docs.members.join" -- as in the page's programs
        require "docs.members.once"(session, path, "here", 60, function() end, print)]],
    joins = [[
        assert(session:join(path, { name = "here" }))
        require "docs.members.join"(session, path, "here")]],
    -- This loop asks only for the session's state.
    deaf = [[
        assert(session:mutex(path):acquire())
        repeat zklock.sleep(60) until session:state() == "closed"]],
    watch = [[
        session:members(path, function() end)
        session:watch(path, function() end)
        session:election(path):on_change(function() end)
        assert(session:join(path, { name = "here" }))
        while zklock.sleep(60) do end]],
}

-- An endless loop, which counts its turns.
local ENDLESS = [[
    session:mutex(path):acquire()
    while true do
        zklock.sleep(0.1)
        session:mutex(path):with(0.1, function() end)
        zklock.connect("127.0.0.1:1", { connect_timeout = 0.1 })
        ngx.shared.turns:incr(path, 1, 0)
    end]]


describe("a worker that is told to exit #nginx #session:close", function()
    setup(function() server = rig.shared() end)
    before_each(function() path = rig.path() end)
    after_each(function() nginx.stop_all(host) end)

    -- A location /NAME that runs the code in a timer, or at the worker's exit if `late` is set.
    local function location(name, code, late)
        return ([[location = /%s { content_by_lua_block {
            local app, zklock = require "spec.nginx.exit_app", require "zklock"
            app.start(function(session, path) %s end, %s)
        } }]]):format(name, code, late and 3600 or 0)
    end

    -- Starts an nginx with locations for options.code and the loops. Opens its session by
    -- options.query, unless that is empty.
    local function start(options)
        options = options or {}
        local locations = location("code", options.code or "", options.late)
        for name, code in pairs(loops) do locations = locations .. location(name, code) end
        host = nginx.start{
            app = "spec.nginx.exit_app", http = DICTS .. (options.http or ""), server = locations,
            expected = options.expected,
        }
        local query = options.query or "drain=0.1"
        if query ~= "" then assert.equal("open", host:get("/open?" .. query).body) end
    end

    local function begin(loop, lock_path)
        host:get(("/%s?path=%s"):format(loop, lock_path or path))
        server:wait_for_nodes(lock_path or path, 1)
    end

    local function wait_for_nodes(count) server:wait_for_nodes(path, count) end

    local function check_log(text)
        assert.truthy(host:log():find(text, 1, true), text .. " is not in " .. host:log())
    end

    local function tell_to_exit(signal)
        local old = host:workers()[1]
        host:signal(signal or "HUP")
        return old
    end

    local function check_exit(old, seconds)
        assert(nginx.wait_until_gone(old, seconds), "the worker stays")
    end

    -- The nodes of the lock, or of a member, once the loop has begun. Other loops make one node.
    local nodes_of = { waits = 2, condition = 0 }

    for name in pairs(loops) do
        it("a worker's exit ends the loop of a timer: " .. name, function()
            start()
            host:get(("/%s?path=%s"):format(name, path))
            if name == "condition" then server:wait_for_nodes(path .. "-condition-never", 1) end
            wait_for_nodes(nodes_of[name] or 1)
            check_exit(tell_to_exit())
            check_log("it ended: " .. (name == "with" and "lost" or ""))
            wait_for_nodes(0)
        end)
    end

    it("an error at the end of nginx is trouble in its log", function()
        local ended = nginx.start{
            http = 'exit_worker_by_lua_block { ngx.log(ngx.ERR, "at the end") }',
        }
        assert.error_matches(function() nginx.stop_all(ended) end, "%[error%].*at the end")
    end)

    for _, signal in ipairs{ "HUP", "QUIT" } do
        it("a worker exits within its drain and a second: " .. signal .. " #clock", function()
            start{ query = "drain=0.5" }
            begin "leader"
            check_exit(tell_to_exit(signal), 0.5 + PROMISE)
        end)
    end

    it("a worker waits for the work of timers, within the drain", function()
        start{ query = "drain=60", code = [[
            local lease = assert(session:mutex(path):acquire())
            app.wait_for_go(path)
            return lease:state() .. " " .. tostring(lease:release())
        ]] }
        begin "code"
        local old = tell_to_exit()
        rig.wait_for("a new worker", function() return host:workers()[2] end)
        wait_for_nodes(1)
        host:get("/let_go?path=" .. path)
        check_exit(old)
        check_log("it ended: held true")
    end)

    it("the loop of a timer ends before requests do, and requests keep their locks", function()
        start()
        local request = path .. "-request"
        local open = host:begin("/hold?path=" .. request, "/sleep?path=" .. request)
        server:wait_for_nodes(request, 1)
        begin "held"
        local old = tell_to_exit()
        wait_for_nodes(0)
        server:wait_for_nodes(request, 1)
        host:get("/let_go?path=" .. request)
        local bodies = nginx.bodies(nginx.finish(open))
        assert.same({ ["held true acquired"] = 1, interrupted = 1 }, bodies)
        check_exit(old)
        server:wait_for_nodes(request, 0)
    end)

    it("a worker with recover leaves no file behind", function()
        local folder = rig.shell("mktemp -d /dev/shm/zklock-exit-XXXXXX"):match("[^\n]+")
        start{ query = "drain=0.1&recover=" .. folder }
        begin "leader"
        check_exit(tell_to_exit("QUIT"))
        assert.equal("", rig.shell("ls %s", folder))
        rig.shell("rm -r %s", folder)
    end)

    it("the loops of timers end although nginx has no timer left", function()
        local FEW = "lua_max_running_timers are not enough"
        start{ http = "lua_max_running_timers 3;", expected = FEW } -- two loops, and the dispatcher
        begin "held"
        begin("on_lost", path .. "-other")
        check_exit(tell_to_exit())
        check_log(FEW)
    end)

    for name, options in pairs{
        ["a worker's exit ends a connect without an answer"] = { query = "", code = [[
            local opened, _, code
            repeat
                opened, _, code = zklock.connect("127.0.0.1:1", { connect_timeout = 60 })
            until opened or not zklock.sleep(60)
            return code ]] },
        ["a worker's exit ends a sleep"] = {
            query = "", code = "return select(3, zklock.sleep(60))" },
        ["a worker in its exit opens no session"] = {
            late = true, code = 'return select(3, zklock.connect(os.getenv "ZK_HOSTS"))' },
    } do
        it(name, function()
            start(options)
            host:get("/code")
            check_exit(tell_to_exit())
            check_log("it ended: interrupted")
        end)
    end

    it("requests are served beside a loop that ignores the exit #slow", function()
        start{ expected = "exited on signal 9", code = ENDLESS }
        local request = path .. "-request"
        local open = host:begin("/hold?path=" .. request)
        server:wait_for_nodes(request, 1)
        host:get("/code?path=" .. path)
        local function turns() return tonumber(host:get("/turns?path=" .. path).body) end
        local old = tell_to_exit()
        rig.wait_for("the loop's lock to go", function()
            return turns() > 0 and #server:nodes(path) == 0
        end)
        local before = turns()
        rig.sleep_apart(2)
        local more_turns = turns() - before
        assert.is_true(more_turns > 0 and more_turns <= 20, more_turns)
        host:get("/let_go?path=" .. request)
        assert.same({ ["held true acquired"] = 1 }, nginx.bodies(nginx.finish(open)))
        host:signal("KILL", old)
        check_exit(old)
    end)
end)
