--- The part of a wrk run that wrk itself runs, with its own Lua: it shares the
--- threads out over the ports in $ZKLOCK_PORTS, counts answers, stops at "sold out",
--- and prints one line for wrk_load.lua. wrk calls these functions by their names.

local ports, threads = {}, {}

for port in (os.getenv "ZKLOCK_PORTS" or ""):gmatch "%d+" do ports[#ports + 1] = port end


function setup(thread)
    local port = ports[#threads % #ports + 1]
    threads[#threads + 1] = thread
    thread.addr = wrk.lookup("127.0.0.1", port)[1]
end


function init()
    wrk.method = "POST"
    sold, sold_out, other = 0, 0, 0
end


function response(status)
    if status == 200 then
        sold = sold + 1
    elseif status == 409 then
        sold_out = sold_out + 1
        wrk.thread:stop()
    else
        other = other + 1
    end
end


local function total(name)
    local sum = 0
    for _, thread in ipairs(threads) do sum = sum + thread:get(name) end
    return sum
end


-- Times in microseconds.
function done(summary, latency)
    local errors = summary.errors
    print(("result sold=%d sold_out=%d other=%d lost=%d duration=%d median=%d p99=%d max=%d"):format(
        total "sold", total "sold_out", total "other",
        errors.connect + errors.read + errors.write + errors.timeout, summary.duration,
        latency:percentile(50), latency:percentile(99), latency.max))
end
