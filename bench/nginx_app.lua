--- The application of bench/nginx.lua and bench/measures/nginx.lua; it runs in nginx. /NAME runs
-- app.NAME.

local core = require "zklock.core"
local ffi = require "ffi"
local zklock = require "zklock"

ffi.cdef "double last_ring(void);"

local app = {}
local session, parked
local OWN = 1024 -- locks for /cycle?own, used in turn
local cycles = 0


local function lock_of(path, options)
    session = session or assert(zklock.connect(os.getenv("ZK_HOSTS"), { timeout = 30 }))
    return session:mutex(path, options)
end


local function the_lock() return lock_of(ngx.var.arg_path) end


local function number(name)
    return tonumber(ngx.var["arg_" .. name])
end


function app.ping()
    ngx.say("pong")
end


--- Starts light threads that wait for the lock; each holds it for `hold` seconds, once.
function app.park()
    local lock, hold = the_lock(), number("hold")
    parked = number("count")
    for _ = 1, parked do
        ngx.thread.spawn(function()
            lock:with(function() if hold > 0 then ngx.sleep(hold) end end)
            parked = parked - 1
        end)
    end
end


function app.parked()
    ngx.say(parked or 0)
end


--- Acquires and releases a lock, which no other request wants now (`own`), or all requests want.
function app.cycle()
    local path = ngx.var.arg_path
    cycles = cycles + 1
    if ngx.var.arg_own then path = path .. "/" .. cycles % OWN end
    assert(lock_of(path, { order = ngx.var.arg_order }):acquire(10)):release()
    ngx.say("done")
end


--- Acquires and releases repeatedly. Prints the microseconds of a grant from the session's thread
-- to the light thread: mean, median, p99.
function app.grants()
    local lock, waits = the_lock(), {}
    for i = 1, number("count") do
        local lease = assert(lock:acquire())
        waits[i] = (core.now() - ffi.C.last_ring()) * 1e6
        lease:release()
    end
    local sum = 0
    for _, each in ipairs(waits) do sum = sum + each end
    table.sort(waits)
    ngx.say(("%.1f %.1f %.1f"):format(sum / #waits, waits[math.ceil(#waits / 2)],
                                      waits[math.ceil(#waits * 0.99)]))
    collectgarbage()
    collectgarbage()
end


return app
