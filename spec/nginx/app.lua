--- What the throwaway nginx of the specs serves: /NAME runs app.NAME. It runs in nginx.

local core = require "zklock.core"
local zklock = require "zklock"

local app = {}
local session
local kept = {} -- leases that no request ends
local news = {} -- what callbacks told
local refused = {} -- by phase


local function arg(name, default)
    return ngx.req.get_uri_args()[name] or default
end


local function say(...)
    ngx.say(...)
    return ngx.exit(ngx.HTTP_OK)
end


local function connect()
    return zklock.connect(arg("hosts", os.getenv("ZK_HOSTS")), {
        timeout = tonumber(arg("session_timeout", 8)),
        connect_timeout = tonumber(arg("connect_timeout", 5)),
        recover = arg("recover"),
        on_state = function(state)
            ngx.sleep(0.001) -- callbacks may wait
            news[#news + 1] = state
        end,
    })
end


--- The worker's session, opened by whoever needs it first.
function app.open()
    if session then return session end
    local opened = assert(connect())
    if session then opened:close() else session = opened end -- another request was quicker
    return session
end


local function lock()
    return app.open():mutex(arg("path"))
end


local function failed(_, message, code)
    return say(code, " ", message)
end


function app.ping()
    ngx.say("pong")
end


function app.connect()
    local opened, message, code = connect()
    if not opened then return failed(nil, message, code) end
    local begun = ngx.now()
    opened:close()
    ngx.update_time()
    return say(("closed in %.1f s"):format(ngx.now() - begun))
end


function app.close_on_signal()
    return failed(zklock.close_on_signal("TERM"))
end


--- What other clients know: the session's id, state and counters.
function app.session()
    local stats = app.open():stats()
    return say(("%s %s waits=%d claims=%d grants=%d"):format(
        session:id() or "none", session:state(), stats.waits, stats.claims, stats.grants))
end


function app.close()
    session:close()
    return say("closed")
end


--- Holds the lock for `hold` seconds.
function app.with()
    local ok, token, code = lock():with(tonumber(arg("timeout")), function(lease)
        ngx.sleep(tonumber(arg("hold", 0.001)))
        return lease:token_string()
    end)
    if not ok then return failed(nil, token, code) end
    return say("held")
end


--- The same, and tells when somebody else is inside.
function app.alone()
    local inside = ngx.shared.inside
    return say(select(2, assert(lock():with(function()
        local count = inside:incr("count", 1, 0)
        ngx.sleep(0.001)
        inside:incr("count", -1)
        return count == 1 and "alone" or "not alone"
    end))))
end


--- Holds the lock until it is lost, and says what with gives.
function app.lose()
    local ok, message, code, result = lock():with(function(lease)
        news[#news + 1] = "inside"
        while lease:state() ~= "lost" do ngx.sleep(0.01) end
        return "sold"
    end)
    return say(tostring(ok), " ", tostring(code), " ", tostring(result), " ", message)
end


--- Holds it until /drop, or until somebody asks for it; then it takes another one first.
function app.keep()
    local lease, message, code = lock():acquire{ timeout = tonumber(arg("timeout")) }
    if not lease then return failed(nil, message, code) end
    kept[arg("path")] = lease
    lease:on_lost(function(_, state)
        ngx.sleep(0.01)
        news[#news + 1] = state
    end)
    lease:on_revoke(function()
        session:mutex(lease.path .. "-other"):with(5, function() lease:release() end)
    end)
    return say(tostring(coroutine.running()))
end


function app.drop()
    kept[arg("path")]:release()
    kept[arg("path")] = nil
    return say("dropped")
end


function app.state()
    return say(kept[arg("path")]:state())
end


--- What the callbacks told.
function app.news()
    return say(table.concat(news, " "))
end


-- --- a configuration that the worker has at hand --------------------------------------------

local config, changes = "unknown", 0

function app.watch()
    assert(app.open():watch(arg("path"), function(data)
        ngx.sleep(0.001) -- callbacks may wait
        config, changes = data or "none", changes + 1
    end))
    return say("watched")
end


function app.config()
    return say(config, " ", changes)
end


function app.collect()
    collectgarbage()
    collectgarbage()
    return say("collected")
end


-- --- what waits until it is told to go on ---------------------------------------------------

local gone = {} -- by path


function app.go()
    gone[arg("path")] = true
    return say("go")
end


-- --- members ------------------------------------------------------------------------------

local members = {} -- by name: each, or why there is none

--- Joins, in a timer.
function app.join()
    local ours, path, name = app.open(), arg("path"), arg("name")
    members[name] = "joining"
    ngx.timer.at(0, function()
        local member, _, code = ours:join(path, { name = name, timeout = 60 })
        members[name] = member or code
    end)
    return say("joins")
end


function app.member()
    local member = members[arg("name")]
    return say(type(member) == "table" and member:state() or member or "none")
end


--- It leaves when the worker is to go, as docs/nginx.md has it.
function app.leave_when_told()
    local member = members[arg("name")]
    ngx.timer.every(3600, function(premature)
        if premature then member:leave() end
    end)
    return say("it will")
end


--- A request that is open until /let_go, also that of another worker.
function app.stay()
    news[#news + 1] = "stays"
    while not ngx.shared.gone:get(arg("path")) do ngx.sleep(0.01) end
    return say("stayed")
end


function app.let_go()
    ngx.shared.gone:set(arg("path"), true)
    return say("go")
end


-- --- combining ----------------------------------------------------------------------------

local combined = {} -- submit(), by path
local submitters = {} -- how many have come, by path
local batches = {} -- their sizes, in order

local function carry_out(_, items)
    batches[#batches + 1] = #items
    local results = {}
    for i, item in ipairs(items) do
        ngx.sleep(item.hold)
        while item.waits and not gone[item.waits] do ngx.sleep(0.01) end
        if item.fails then error("it fails", 0) end
        results[i] = "done " .. item.number
    end
    return results
end


-- One that has light threads of its own, which submit.
local function spawn_inside(_, items)
    local thread = ngx.thread.spawn(function() return select(3, items[1].submit(1)) end)
    local _, code = ngx.thread.wait(thread)
    return { code }
end


--- Submits the `number` of the request, whose part of a batch takes `hold` seconds; with `waits` it
-- goes on until /go.
function app.combine()
    local path = arg("path")
    combined[path] = combined[path] or lock():combine(carry_out)
    submitters[path] = (submitters[path] or 0) + 1
    local ok, result, message, code = pcall(combined[path], {
        number = arg("number", "0"), hold = tonumber(arg("hold", 0)), fails = arg("fails"),
        waits = arg("waits") and path,
    }, tonumber(arg("timeout")))
    if not ok then return say("raised ", result) end
    if not result then return failed(nil, message, code) end
    return say(result)
end


function app.submitters()
    return say(submitters[arg("path")] or 0)
end


local ended = {} -- by number: in log_by_lua

--- The request is over, also because its client has gone.
function app.note_end()
    ended[arg("number", "")] = true
end


function app.has_ended()
    return say(ended[arg("of")] and "yes" or "no")
end


function app.combine_inside()
    local submit = lock():combine(spawn_inside)
    return say((submit{ submit = submit }))
end


function app.batches()
    return say(table.concat(batches, " "))
end


-- --- ends that run nothing more -----------------------------------------------------

function app.exit_inside()
    lock():with(function() return say("exit") end)
end


local function wait_for_lock(path)
    app.open():mutex(path):with(function() ngx.sleep(60) end)
end


-- Until `after` seconds have passed; without it until /go.
local function wait_for_go()
    local after, path = arg("after"), arg("path")
    if after then return ngx.sleep(tonumber(after)) end
    while not gone[path] do ngx.sleep(0.01) end
end


--- Another light thread ends the request, while this one waits or holds.
function app.sibling_exits()
    ngx.thread.spawn(wait_for_lock, arg("path"))
    wait_for_go()
    return say("exit")
end


function app.killed()
    local thread = ngx.thread.spawn(wait_for_lock, arg("path"))
    wait_for_go()
    ngx.thread.kill(thread)
    gone[arg("path", "")] = "killed"
    ngx.sleep(tonumber(arg("stay", 0)))
    return say("killed")
end


function app.is_killed()
    return say(gone[arg("path")] == "killed" and "yes" or "no")
end


function app.release_all()
    if session then session:release_all() end
end


-- --- owners -------------------------------------------------------------------------------

--- One light thread enters twice, another one of the same request waits.
function app.reenter()
    local ours = lock()
    local first, second = assert(ours:acquire(20)), assert(ours:acquire(0))
    local thread = ngx.thread.spawn(function() return select(3, ours:acquire(0)) end)
    local _, code = ngx.thread.wait(thread)
    local same = first:token_string() == second:token_string()
    second:release()
    first:release()
    return say(tostring(same), " ", code)
end


--- The request's light thread holds the lock, and waits for a coroutine that wants it.
function app.inside()
    local ours = lock()
    local lease = assert(ours:acquire(20))
    local code = coroutine.wrap(function()
        return coroutine.wrap(function() return select(3, ours:acquire(20)) end)()
    end)()
    lease:release()
    return say(code)
end


--- A light thread holds the lock, and waits for a coroutine. Of another light thread a coroutine
-- wants the lock meanwhile.
function app.beside()
    local ours, due, result = lock(), false, nil
    local holder = ngx.thread.spawn(function()
        local lease = assert(ours:acquire(20))
        coroutine.wrap(function() while not due do ngx.sleep(0.001) end end)()
        lease:release()
    end)
    while ours:acquire(0) do ngx.sleep(0.001) end
    local waiter = ngx.thread.spawn(function()
        coroutine.wrap(function() result = { ours:acquire(20) } end)()
    end)
    while not result and session:stats().waits == 0 do ngx.sleep(0.001) end
    due = true
    ngx.thread.wait(holder)
    ngx.thread.wait(waiter)
    return say(result[1] and result[1]:state() or result[3])
end


--- A light thread waits until another one of its request interrupts it, then has what that one
--- gives up.
function app.interrupted()
    local ours = app.open():mutex(arg("path"))
    local lease = assert(ours:acquire(20))
    local waiter = ngx.thread.spawn(function() return select(3, ours:acquire(20)) end)
    local count = session:interrupt(waiter)
    local _, code = ngx.thread.wait(waiter)
    lease:release()
    local holder = ngx.thread.spawn(function()
        local held = assert(ours:acquire(20))
        while held:state() == "held" do ngx.sleep(0.001) end
        return held:state()
    end)
    while session:release_all(holder) == 0 do ngx.sleep(0.001) end
    local _, state = ngx.thread.wait(holder)
    return say(count, " ", code, " ", state)
end


-- --- phases ----------------------------------------------------------------------------------

--- Notes what a wait says in this phase.
function app.try_here(phase)
    local _, message, code
    if session then _, message, code = session:mutex("/spec/phase"):acquire(0)
    else _, message, code = zklock.connect(os.getenv("ZK_HOSTS") or "127.0.0.1:1") end
    refused[phase or ngx.get_phase()] = ("%s %s"):format(code, message)
end


function app.refused()
    return say(refused[arg("phase")] or "not tried")
end


--- For a later phase to release.
function app.hand_over()
    ngx.ctx.lease = assert(lock():acquire(20))
    ngx.say("acquired")
end


function app.release_here()
    if ngx.ctx.lease then assert(ngx.ctx.lease:release()) end
    ngx.ctx.lease = nil
end


-- Runs fn in a timer and gives what it gives.
local function in_timer(fn, ...)
    local semaphore, result = require("ngx.semaphore").new(), nil
    assert(ngx.timer.at(0, function(_, ...)
        result = { fn(...) }
        semaphore:post()
    end, ...))
    semaphore:wait(10)
    return unpack(result)
end


function app.timer()
    local ours = lock()
    return say(tostring(in_timer(function()
        return ours:with(5, function() ngx.sleep(0.01) end)
    end)))
end


--- A timer that runs for that long.
function app.long_timer()
    ngx.timer.at(0, function(_, seconds) ngx.sleep(seconds) end, tonumber(arg("seconds")))
    return say("runs")
end


--- A timer that waits for the lock, as who wants to be leader does.
function app.timer_waits()
    local ours = lock()
    ngx.timer.at(0, function()
        local _, _, code = ours:acquire()
        ngx.log(ngx.NOTICE, "the timer's wait ended with ", code)
    end)
    return say("waits")
end


--- In a function that cannot yield.
function app.sort()
    local ours, result = lock(), nil
    table.sort({ 1, 2 }, function()
        result = { ours:acquire(1) }
        return false
    end)
    return failed(unpack(result, 1, 3))
end


--- In a metamethod, which can yield.
function app.metamethod()
    local ours = lock()
    local leases = setmetatable({}, { __index = function() return ours:acquire(1) end })
    return say(leases.first:state())
end


--- In a finalizer, which cannot.
function app.finalizer()
    local ours, result = lock(), nil
    local proxy = newproxy(true) -- luacheck: ignore 113
    getmetatable(proxy).__gc = function() result = { ours:acquire(1) } end
    proxy = nil -- luacheck: ignore 311
    while not result do collectgarbage() end
    return failed(unpack(result, 1, 3))
end


--- zklock.sleep and zklock.run.
function app.others()
    local short, turns, asleep = nil, 0, true
    ngx.thread.spawn(function() -- so that nginx looks at its clock often
        while asleep do
            turns = turns + 1
            ngx.sleep(0.001)
        end
    end)
    for _ = 1, 10 do
        local due = core.now() + 0.01
        short = not zklock.sleep(0.01) or short or core.now() < due
    end
    asleep = false
    local _, _, code = zklock.run(function() return true end)
    local slept = short and "short" or turns < 10 and "alone" or "well"
    return say(("slept %s, %s"):format(slept, code))
end


return app
