--- The script inside wrk. It distributes threads over the ports in $ZKLOCK_PORTS, counts answers,
--- stops at "sold out", and prints one line for wrk_load.lua. wrk calls these functions by name.

-- luacheck: globals wrk setup init response done first last sold sold_out other

local ffi = require "ffi" -- wrk embeds LuaJIT

local ports, threads = {}, {}

for port in (os.getenv "ZKLOCK_PORTS" or ""):gmatch "%d+" do ports[#ports + 1] = port end

ffi.cdef "typedef struct { long s, ns; } time_point; int clock_gettime(int clock, time_point *now);"

local MONOTONIC = 1
local point = ffi.new "time_point"


local function now()
    ffi.C.clock_gettime(MONOTONIC, point)
    return tonumber(point.s) * 1000000 + math.floor(tonumber(point.ns) / 1000)
end


function setup(thread)
    local port = ports[#threads % #ports + 1]
    threads[#threads + 1] = thread
    thread.addr = wrk.lookup("127.0.0.1", port)[1]
end


function init()
    wrk.method = "POST"
    sold, sold_out, other = 0, 0, 0
    first = now()
    last = first
end


-- `last` is the sale's end, because wrk always runs for the full time.
function response(status)
    last = now()
    if status == 200 then
        sold = sold + 1
    elseif status == 409 then
        sold_out = sold_out + 1
        wrk.thread:stop()
    else
        other = other + 1
    end
end


local function combine_threads(name, combine)
    local result
    for _, thread in ipairs(threads) do
        local value = thread:get(name)
        result = result and combine(result, value) or value
    end
    return result
end


local function sum(a, b) return a + b end


function done(summary, latency)
    local errors = summary.errors
    print(("result sold=%d sold_out=%d other=%d lost=%d"):format(
        combine_threads("sold", sum), combine_threads("sold_out", sum),
        combine_threads("other", sum),
        errors.connect + errors.read + errors.write + errors.timeout)
        .. (" duration=%d median=%d p99=%d max=%d"):format(
        combine_threads("last", math.max) - combine_threads("first", math.min),
        latency:percentile(50), latency:percentile(99), latency.max))
end
