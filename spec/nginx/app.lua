--- The usual application of spec.nginx.nginx, which runs in nginx: /NAME runs app.NAME.

local zklock = require "zklock"

local app = {}
local session
local kept = {} -- leases that outlive their request, by path
local news = {} -- words that callbacks and /stay add
local refused = {} -- the code and message of a wait, by phase


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


function app.open()
    if session then return session end
    local opened = assert(connect())
    if session then opened:close() else session = opened end -- another request was quicker
    return session
end


function app.lock()
    return app.open():mutex(arg("path"))
end


local function failed(_, message, code)
    return say(code, " ", message)
end


function app.answer(...)
    local words = { ... }
    for i = 1, select("#", ...) do words[i] = tostring(words[i]) end
    return say(table.concat(words, " "))
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


function app.session()
    local ours = app.open()
    return app.answer(ours:id() or "none", ours:state(), "claims=" .. ours:stats().claims)
end


function app.close()
    session:close()
    return say("closed")
end


function app.with()
    local ok, message, code = app.lock():with(tonumber(arg("timeout")), function()
        ngx.sleep(tonumber(arg("hold", 0.001)))
        return true
    end)
    if not ok then return failed(nil, message, code) end
    return say("held")
end


--- Holds the lock, and tells whether another holder is inside.
function app.alone()
    local inside = ngx.shared.inside
    return say(select(2, assert(app.lock():with(function()
        local count = inside:incr("count", 1, 0)
        ngx.sleep(0.001)
        inside:incr("count", -1)
        return count == 1 and "alone" or "not alone"
    end))))
end


--- Keeps a lease until /drop. When another client asks for the lock, takes another lock, and then
-- releases the lease.
function app.keep()
    local lease, message, code = app.lock():acquire{ timeout = tonumber(arg("timeout")) }
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


function app.news()
    return say(table.concat(news, " "))
end


function app.collect()
    collectgarbage()
    collectgarbage()
    return say("collected")
end


-- --- waits until /go or /let_go ---------------------------------------------------------

local may_go, killed_paths = {}, {} -- by path


function app.go()
    may_go[arg("path")] = true
    return say("go")
end


--- A request that is open until /let_go, also from another worker.
function app.stay()
    news[#news + 1] = "stays"
    while not ngx.shared.let_go:get(arg("path")) do ngx.sleep(0.01) end
    return say("stayed")
end


function app.let_go()
    ngx.shared.let_go:set(arg("path"), true)
    return say("go")
end


-- --- members ------------------------------------------------------------------------------

local members = {} -- the member, or the reason that there is none, by name

function app.join()
    local ours, path, name = app.open(), arg("path"), arg("name")
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


--- Leaves when the worker is told to exit, as in docs/members.md.
function app.leave_when_told()
    local member = members[arg("name")]
    ngx.timer.every(3600, function(premature)
        if premature then member:leave() end
    end)
    return say("it will")
end


-- --- combining ----------------------------------------------------------------------------

local combined = {} -- submit(), by path
local submitters = {} -- the number of submitters, by path
local batches = {} -- the sizes of batches, in order

local function carry_out(_, items)
    batches[#batches + 1] = #items
    local results = {}
    for i, item in ipairs(items) do
        while item.waits and not may_go[item.waits] do ngx.sleep(0.01) end
        results[i] = "done " .. item.number
    end
    return results
end


--- Submits an item with the request's `number`. With `waits`, its batch lasts until /go.
function app.combine()
    local path = arg("path")
    combined[path] = combined[path] or app.lock():combine(carry_out)
    submitters[path] = (submitters[path] or 0) + 1
    local result, message, code = combined[path]({
        number = arg("number", "0"), waits = arg("waits") and path,
    }, tonumber(arg("timeout")))
    if not result then return failed(nil, message, code) end
    return say(result)
end


function app.submitters()
    return say(submitters[arg("path")] or 0)
end


local ended = {} -- by number, in log_by_lua

--- Notes the request's end, also if its client has gone.
function app.note_end()
    ended[arg("number", "")] = true
end


function app.has_ended()
    return say(ended[arg("of")] and "yes" or "no")
end


function app.batches()
    return say(table.concat(batches, " "))
end


-- --- requests that end without running further code ---------------------------------------

function app.exit_inside()
    app.lock():with(function() return say("exit") end)
end


local function wait_for_lock(path)
    app.open():mutex(path):with(function() ngx.sleep(60) end)
end


local function wait_for_go()
    local after, path = arg("after"), arg("path")
    if after then return ngx.sleep(tonumber(after)) end
    while not may_go[path] do ngx.sleep(0.01) end
end


--- Ends the request while its second light thread waits for the lock or holds it.
function app.sibling_exits()
    ngx.thread.spawn(wait_for_lock, arg("path"))
    wait_for_go()
    return say("exit")
end


function app.kill_waiter()
    local thread = ngx.thread.spawn(wait_for_lock, arg("path"))
    wait_for_go()
    ngx.thread.kill(thread)
    killed_paths[arg("path", "")] = true
    ngx.sleep(tonumber(arg("stay", 0)))
    return say("killed")
end


function app.is_killed()
    return say(killed_paths[arg("path")] and "yes" or "no")
end


function app.release_all()
    if session then session:release_all() end
end


-- --- phases ----------------------------------------------------------------------------------

--- Notes the refusal of a wait in this phase.
function app.try_here(phase)
    local _, message, code
    if session then _, message, code = session:mutex("/spec/phase"):acquire(0)
    else _, message, code = zklock.connect(os.getenv("ZK_HOSTS") or "127.0.0.1:1") end
    refused[phase or ngx.get_phase()] = ("%s %s"):format(code, message)
end


function app.refused()
    return say(refused[arg("phase")] or "not tried")
end


function app.acquire_here()
    ngx.ctx.lease = assert(app.lock():acquire(20))
    ngx.say("acquired")
end


function app.release_here()
    if ngx.ctx.lease then assert(ngx.ctx.lease:release()) end
    ngx.ctx.lease = nil
end


function app.long_timer()
    ngx.timer.at(0, function(_, seconds) ngx.sleep(seconds) end, tonumber(arg("seconds")))
    return say("runs")
end


--- A timer that waits for the lock, as a candidate for leader does.
function app.timer_waits()
    local ours = app.lock()
    ngx.timer.at(0, function()
        local _, _, code = ours:acquire()
        ngx.log(ngx.NOTICE, "the timer's wait ended with ", code)
    end)
    return say("waits")
end


return app
