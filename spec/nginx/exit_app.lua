--- The application of exit_spec and calls_spec, in nginx. /NAME runs app.NAME.

local join = require "docs.members.join"
package.loaded.join = join -- as that page's programs name it
local once = require "docs.members.once"
local zklock = require "zklock"

local app, loops = {}, {}
local session
local told = {} -- by callbacks, in order


local function arg(name, default)
    return ngx.req.get_uri_args()[name] or default
end


function app.ping() ngx.say("pong") end


--- The worker's session.
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


-- --- loops of timers ----------------------------------------------------------------------

-- docs/reference/election.md, but for the result of sleep.
function loops.leader(path)
    session:election(path):lead(function(lease)
        local state
        repeat
            if lease:held() then ngx.sleep(0) end
            zklock.sleep(60)
            state = lease:state()
        until state == "lost" or state == "released"
    end)
end


-- One that would lead again at once.
function loops.quick(path)
    session:election(path):lead(function(lease)
        while lease:held() do ngx.sleep(0.001) end
    end)
end


function loops.held(path)
    local lease = assert(session:mutex(path):acquire())
    while lease:held() do zklock.sleep(60) end
end


-- It asks neither the lease nor zklock.sleep.
function loops.on_lost(path)
    local lost = false
    local lease = assert(session:mutex(path):acquire())
    lease:on_lost(function() lost = true end)
    while not lost do ngx.sleep(0.02) end
end


function loops.named(path)
    local lease = assert(session:mutex(path):acquire{ owner = "the leader" })
    while lease:held() do zklock.sleep(60) end
end


function loops.with(path)
    local _, _, code = session:mutex(path):with(function() zklock.sleep(60) end)
    ngx.log(ngx.NOTICE, "with ended with ", code)
end


function loops.locked(path)
    session:locked(path .. "-", 1, function() zklock.sleep(60) end)("key")
end


function loops.waits(path)
    local lease = assert(session:mutex(path):acquire{ owner = "a" })
    session:mutex(path):acquire{ owner = "b" }
    while lease:held() do zklock.sleep(60) end
end


function loops.combine(path)
    local submit = session:mutex(path):combine(function(lease)
        while lease:held() do zklock.sleep(60) end
        return { true }
    end)
    submit("item")
end


function loops.condition(path)
    local lock = session:mutex(path)
    local lease = assert(lock:acquire())
    lock:condition("never"):wait(lease)
end


function loops.once(path)
    once(session, path, "here", 60, function() end)
end


-- The name is taken, and stays so.
function loops.joins(path)
    assert(session:join(path, { name = "here" }))
    join(session, path, "here")
end


-- It ignores all but the session's state.
function loops.deaf(path)
    assert(session:mutex(path):acquire())
    repeat zklock.sleep(60) until session:state() == "closed"
end


function loops.watch(path)
    session:members(path, function() end)
    session:watch(path, function() end)
    session:election(path):on_change(function() end)
    assert(session:join(path, { name = "here" }))
    while zklock.sleep(60) do end
end


-- Nothing ends it. It counts its turns.
function loops.endless(path)
    local turns = ngx.shared.turns
    session:mutex(path):acquire()
    while true do
        zklock.sleep(0.1)
        session:mutex(path):with(0.1, function() end)
        zklock.connect("127.0.0.1:1", { connect_timeout = 0.1 })
        turns:incr(path, 1, 0)
    end
end


--- Runs the loop in a timer.
function app.start()
    local name, path = arg("loop"), arg("path")
    ngx.timer.at(0, function()
        loops[name](path)
        ngx.log(ngx.NOTICE, "the loop has ended")
    end)
    ngx.say("started")
end


--- A timer that holds the lock until it may go, and says how that went.
function app.work()
    local path = arg("path")
    ngx.timer.at(0, function()
        local lease = assert(session:mutex(path):acquire())
        while not ngx.shared.gone:get(path) do ngx.sleep(0.01) end
        ngx.log(ngx.NOTICE, "the work ended: ", lease:state(), " ", tostring(lease:release()))
    end)
    ngx.say("started")
end


-- --- requests -----------------------------------------------------------------------------

--- Holds the lock until it may go; then asks the server, and waits for another lock.
function app.hold()
    local path = arg("path")
    local lease = assert(session:mutex(path):acquire())
    while not ngx.shared.gone:get(path) do ngx.sleep(0.01) end
    local other, _, code = session:mutex(path .. "-other"):acquire(5)
    ngx.say(lease:state(), " ", tostring(lease:check()), " ", other and "acquired" or code)
end


--- Sleeps, and says how that ended.
function app.sleep()
    local ok, _, code = zklock.sleep(60)
    ngx.say(ok and "slept" or code)
end


function app.let_go()
    ngx.shared.gone:set(arg("path"), true)
    ngx.say("go")
end


function app.turns() ngx.say(ngx.shared.turns:get(arg("path")) or 0) end


-- --- a worker without a session -----------------------------------------------------------

--- Opens in a timer a session with a server that does not answer.
function app.open_none()
    ngx.timer.at(0, function()
        local opened, _, code
        repeat
            opened, _, code = zklock.connect("127.0.0.1:1", { connect_timeout = 60 })
        until opened or not zklock.sleep(60)
        ngx.log(ngx.NOTICE, "connect ended with ", code)
    end)
    ngx.say("started")
end


--- Sleeps in a timer, without a session.
function app.sleep_alone()
    ngx.timer.at(0, function()
        local _, _, code = zklock.sleep(60)
        ngx.log(ngx.NOTICE, "the sleep ended with ", code)
    end)
    ngx.say("started")
end


--- In the timer that nginx runs because the worker is to exit.
function app.open_late()
    ngx.timer.at(3600, function()
        local _, _, code = zklock.connect(os.getenv "ZK_HOSTS")
        ngx.log(ngx.NOTICE, "a late connect ends with ", code)
    end)
    ngx.say("started")
end


-- --- callbacks ----------------------------------------------------------------------------

--- Uses up all timers that may run, until they may go.
function app.fill()
    local path = arg("path")
    for _ = 1, tonumber(arg("count")) do
        ngx.timer.at(0, function()
            while not ngx.shared.gone:get(path) do ngx.sleep(0.01) end
        end)
    end
    ngx.say("filled")
end


--- Uses up all timers that may wait.
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
    local lease = assert(session:mutex(path .. "/lock"):acquire(5))
    lease:on_lost(function(_, state) tell("lost", state) end)
    lease:on_revoke(function() tell("revoke") end)
    ngx.timer.at(0, function()
        session:mutex(path .. "/queue"):acquire{ on_queued = function(n) tell("queued", n) end }
    end)
    ngx.say("listens")
end


local inside, most, seen = 0, 0, {}

--- Watches a node by a callback that waits.
function app.watch_slowly()
    assert(session:watch(arg("path"), function(data)
        inside = inside + 1
        most = math.max(most, inside)
        ngx.sleep(0.05)
        seen[#seen + 1] = data
        inside = inside - 1
    end))
    ngx.say("watched")
end


function app.seen() ngx.say(most, ": ", table.concat(seen, " ")) end


function app.told() ngx.say(table.concat(told, ", ")) end


function app.pending() ngx.say(session:stats().callbacks_pending) end


return app
