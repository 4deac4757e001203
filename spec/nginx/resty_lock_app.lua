--- The application of resty_lock_spec.lua, in nginx: /NAME runs app.NAME.

local files = require "spec.files"
local resty_lock = require "zklock.resty_lock"
local zklock = require "zklock"

local app = {}
local session


function app.ping()
    ngx.say("pong")
end


-- Connects, and runs the line that docs/resty-lock.md adds.
local function open(premature)
    if premature then return end
    local message
    session, message = zklock.connect(os.getenv("ZK_HOSTS"))
    if session then return resty_lock.use(session) end
    ngx.log(ngx.ERR, message)
    ngx.timer.at(1, open)
end


function app.start()
    ngx.timer.at(0, open)
end


--- Returns a lock object for the request's `name`.
function app.object(options)
    while not session do ngx.sleep(0.01) end
    return assert(resty_lock:new(ngx.var.arg_name, options))
end


--- Words for the results of lock(), without the time of a wait.
function app.shown(elapsed, why)
    if not elapsed then return why end
    return elapsed == 0 and "free" or "waited"
end


--- Locks, fills the cache, a file, once the file `go` exists, unless another request has filled it,
-- and answers with the value.
function app.fill()
    local path, lock = ngx.var.arg_cache, app.object{ timeout = 30 }
    local elapsed = assert(lock:lock("a"))
    local what = elapsed == 0 and "hit" or "waited"
    if elapsed == 0 and not files.read(path) then
        while not files.read(ngx.var.arg_go) do ngx.sleep(0.01) end
        what = "filled"
        local file = assert(io.open(path, "a"))
        file:write("value")
        file:close()
    end
    local value = files.read(path)
    assert(lock:unlock() == 1)
    ngx.say(what, " ", value)
end


return app
