--- What the nginx of resty_lock_spec.lua serves: /NAME runs app.NAME. It runs in nginx.

local resty_lock = require "zklock.resty_lock"
local zklock = require "zklock"

local app = {}
local session
local kept = {} -- objects that no request ends, by key


local function arg(name, default)
    return ngx.req.get_uri_args()[name] or default
end


local function say(...)
    local words = {}
    for i = 1, select("#", ...) do words[i] = tostring((select(i, ...))) end
    ngx.say(table.concat(words, " "))
    return ngx.exit(ngx.HTTP_OK)
end


function app.ping()
    return say("pong")
end


-- The one line of docs/resty-lock.md, with what is around it.
local function open(premature)
    if premature then return end
    local message
    session, message = zklock.connect(os.getenv("ZK_HOSTS"))
    if session then return resty_lock.use(session) end
    ngx.log(ngx.ERR, message)
    ngx.timer.at(1, open)
end


--- In init_worker_by_lua.
function app.start()
    ngx.timer.at(0, open)
end


local function object(options)
    while not session do ngx.sleep(0.01) end
    return assert(resty_lock:new(arg("name"), options))
end


--- Without a session.
function app.new()
    return say(resty_lock:new("some"))
end


function app.session()
    object()
    return say(session:id())
end


-- --- one request ------------------------------------------------------------------------

function app.serial()
    local said = {}
    for _ = 1, 2 do
        local lock = object()
        said[#said + 1] = tostring(lock:lock("foo"))
        said[#said + 1] = tostring(lock:unlock())
    end
    return say(unpack(said))
end


local function take(options, key)
    assert(object(options):lock(key) == 0)
end


--- Twice the object goes, and the next one has the lock.
function app.collected()
    for _ = 1, 3 do
        take({ timeout = 20 }, "foo")
        collectgarbage()
        collectgarbage()
    end
    return say("collected")
end


function app.in_vain()
    local one, two = object(), object{ timeout = tonumber(arg("timeout")) }
    local first = one:lock("foo")
    local second, why = two:lock("foo")
    local end_of_first = one:unlock()
    local end_of_second, what = two:unlock()
    return say(first, second, why, end_of_first, end_of_second, what)
end


function app.no_key()
    return say(object():lock(nil))
end


-- Words for what lock() gives: the time of a wait is nobody's.
local function shown(elapsed, why)
    if not elapsed then return why end
    return elapsed == 0 and "free" or elapsed > 0 and "waited" or "?"
end


--- One light thread has the lock while another one waits for it.
function app.waited()
    local option = arg("option")
    local one, first, last = object(), nil, nil
    local thread = ngx.thread.spawn(function()
        first = shown(one:lock("blah"))
        while session:stats().waits == 0 do ngx.sleep(0.001) end
        last = one:unlock("blah")
    end)
    local two = object(option and { timeout = 20, [option] = tonumber(arg("value")) })
    while not first do ngx.sleep(0.001) end
    local second = shown(two:lock("blah"))
    ngx.thread.wait(thread)
    return say(first, last, second, two:unlock())
end


function app.expires()
    local one, two = object{ exptime = 0.1 }, object{ timeout = 20 }
    return say(shown(one:lock("blah")), shown(two:lock("blah")), one:unlock(), two:unlock())
end


function app.expire()
    local one, two, three = object(), object{ timeout = 0 }, object{ timeout = 20 }
    local _, nothing = one:expire()
    local said = { nothing, shown(one:lock("foo")), one:expire(60), shown(two:lock("foo")) }
    said[#said + 1] = one:expire(0.1)
    said[#said + 1] = shown(three:lock("foo"))
    _, said[#said + 1] = one:expire()
    said[#said + 1] = three:expire()
    said[#said + 1] = three:unlock()
    return say(unpack(said))
end


--- Another light thread than the one that has the lock gives it up.
function app.other_thread()
    local lock = object()
    ngx.thread.wait(ngx.thread.spawn(function() lock:lock("foo") end))
    local _, last = ngx.thread.wait(ngx.thread.spawn(function() return lock:unlock() end))
    return say(last, shown(object{ timeout = 20 }:lock("foo")))
end


--- Two light threads want two keys with one object, of which one is taken until the other is had.
function app.shared()
    local holder, lock, first = object(), object{ timeout = 20 }, nil
    holder:lock("a")
    local thread = ngx.thread.spawn(function() first = shown(lock:lock("a")) end)
    while session:stats().waits == 0 do ngx.sleep(0.001) end
    local second = shown(lock:lock("b"))
    holder:unlock()
    ngx.thread.wait(thread)
    return say(first, second, lock:unlock(), shown(holder:lock("a")))
end


--- A light thread that has the lock is killed.
function app.killed()
    local had
    local thread = ngx.thread.spawn(function()
        local lock = object()
        had = lock:lock("foo")
        ngx.sleep(60)
        return lock:unlock()
    end)
    while not had do ngx.sleep(0.001) end
    ngx.thread.kill(thread)
    return say("killed")
end


function app.collect()
    collectgarbage()
    collectgarbage()
    return say("collected")
end


-- --- several requests --------------------------------------------------------------------

--- Has the lock until a later request, or phase, ends that.
function app.keep()
    local key = arg("key")
    kept[key] = object()
    ngx.ctx.lock = kept[key]
    return say(shown(kept[key]:lock(key)))
end


function app.drop()
    return say(kept[arg("key")]:unlock())
end


--- In log_by_lua.
function app.drop_here()
    if ngx.ctx.lock then assert(ngx.ctx.lock:unlock() == 1) end
end


function app.drop_in_timer()
    local lock = kept[arg("key")]
    ngx.timer.at(0, function() lock:unlock() end)
    return say("soon")
end


function app.try()
    return say(shown(object{ timeout = tonumber(arg("timeout", 0)) }:lock(arg("key"))))
end


--- In header_filter_by_lua, where nothing can wait.
function app.try_here()
    if not session then return end
    local _, why = resty_lock:new("some"):lock("foo")
    ngx.header["X-Why"] = why
end


-- --- a cache ----------------------------------------------------------------------------

local function read(path)
    local file = io.open(path)
    local text = file and file:read("*a")
    if file then file:close() end
    return text
end


--- Fills the cache, a file, if nobody else did while it waited, once there is the file `go`.
function app.fill()
    local path, lock = arg("cache"), object{ timeout = 30 }
    local elapsed, why = lock:lock(arg("key"))
    if not elapsed then return say("failed", why) end
    local what = elapsed == 0 and "hit" or "waited"
    if elapsed == 0 and not read(path) then
        while not read(arg("go")) do ngx.sleep(0.01) end
        what = "filled"
        local file = assert(io.open(path, "a"))
        file:write("value")
        file:close()
    end
    local value = read(path)
    assert(lock:unlock() == 1)
    return say(what, value)
end


return app
