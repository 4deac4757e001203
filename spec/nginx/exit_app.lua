--- The application of exit_spec and calls_spec, in nginx: /NAME runs app.NAME.

local zklock = require "zklock"

local app = {}
local session
local told = {} -- calls of callbacks, in order
local kept -- a lease that no request ends


local function arg(name, default)
    return ngx.req.get_uri_args()[name] or default
end


local function note(...) ngx.log(ngx.NOTICE, ...) end


-- Runs fn(...) in a timer after so many seconds, or at the worker's exit.
local function in_timer(seconds, fn, ...)
    ngx.timer.at(seconds, function(_, ...) fn(...) end, ...)
    ngx.say("started")
end


function app.ping() ngx.say("pong") end


function app.open()
    local message
    if session then return ngx.say("open") end
    session, message = zklock.connect(os.getenv "ZK_HOSTS", {
        timeout = 60, drain = tonumber(arg("drain")), recover = arg("recover"),
        on_state = function(state) told[#told + 1] = state end,
        on_event = function(event) told[#told + 1] = "event " .. event.event end,
    })
    ngx.say(session and "open" or message)
end


-- --- timers -------------------------------------------------------------------------------

--- Runs fn(session, path) in such a timer, by default at once. Logs the result.
function app.start(fn, seconds)
    in_timer(seconds or 0, function(path)
        note("it ended: ", fn(session, path))
    end, arg("path"))
end


-- --- waits until /let_go ------------------------------------------------------------------

function app.wait_for_go(path)
    while not ngx.shared.let_go:get(path) do ngx.sleep(0.01) end
end


function app.let_go()
    ngx.shared.let_go:set(arg("path"), true)
    ngx.say("go")
end


-- Calls fn again while it is interrupted. In a worker that is told to exit, each wait of a request
-- ends after the drain, and a slow server needs longer.
local function retry_interrupted(fn)
    local result, code
    repeat
        local _
        result, _, code = fn()
    until code ~= "interrupted"
    return result, code
end


--- A request that holds the lock until /let_go, then acquires another lock, and checks the lease.
function app.hold()
    local path = arg("path")
    local lease = assert(session:mutex(path):acquire())
    app.wait_for_go(path)
    local lock = session:mutex(path .. "-other")
    local other, code = retry_interrupted(function() return lock:acquire(5) end)
    local is_held = retry_interrupted(function() return lease:check() end)
    ngx.say(lease:state(), " ", tostring(is_held), " ", other and "acquired" or code)
end


function app.fill_running()
    for _ = 1, tonumber(arg("count")) do in_timer(0, app.wait_for_go, arg("path")) end
end


function app.sleep()
    local ok, _, code = zklock.sleep(60)
    ngx.say(ok and "slept" or code)
end


function app.turns() ngx.say(ngx.shared.turns:get(arg("path")) or 0) end


-- --- callbacks ----------------------------------------------------------------------------

function app.fill_pending()
    while ngx.timer.at(3600, function() end) do end
    ngx.say("filled")
end


--- Asks for callbacks of each kind about a path.
function app.listen()
    local path = arg("path")
    local function tell(...)
        local words = { ... }
        for i = 1, select("#", ...) do words[i] = tostring(words[i]) end
        told[#told + 1] = table.concat(words, " ")
    end
    assert(session:watch(path .. "/data", function(data) tell("watch", data) end))
    assert(session:members(path .. "/members", function(list) tell("members", #list) end))
    session:election(path .. "/leader"):on_change(function(who) tell("leader", who) end)
    kept = assert(session:mutex(path .. "/lock"):acquire(5))
    kept:on_lost(function(_, state) tell("lost", state) end)
    kept:on_revoke(function() tell("revoke") end)
    in_timer(0, function()
        session:mutex(path .. "/queue"):acquire{ on_queued = function(n) tell("queued", n) end }
    end)
end


--- Watches 300 nodes, each with a callback of its own.
function app.listen_for_many()
    for number = 1, 300 do
        assert(session:watch(arg("path") .. "/data" .. number, function(data)
            if data then told[#told + 1] = "watch " .. data end
        end))
    end
    ngx.say("listening")
end


local inside, most_inside, seen = 0, 0, {}

function app.watch_slowly()
    assert(session:watch(arg("path"), function(data)
        inside = inside + 1
        most_inside = math.max(most_inside, inside)
        ngx.sleep(0.05)
        seen[#seen + 1] = data
        inside = inside - 1
    end))
    ngx.say("watched")
end


function app.seen() ngx.say(most_inside, ": ", table.concat(seen, " ")) end


function app.told() ngx.say(table.concat(told, ", ")) end


function app.pending() ngx.say(session:stats().callbacks_pending) end


return app
