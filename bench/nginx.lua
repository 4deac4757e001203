--- What waiting in nginx costs: others while many wait, memory, the way from the thread that
-- hears of a grant to the light thread that has it. One worker.
--
--   make bench-nginx

local median = require "bench.median"
local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"

local ROUNDS, PINGS, WAITERS = 5, 1500, 1000
local GRANTS = 100000

local server = rig.shared()
local library = os.tmpname()
rig.shell("${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -shared -fPIC -o %s bench/ring.c -ldl", library)
local host = nginx.start{
    app = "bench.nginx_app",
    environment = "LD_PRELOAD=" .. library,
    events = "accept_mutex off;",
    http = "keepalive_requests 1000000;",
}


local function ping()
    local output = rig.shell("perl bench/ping.pl %d %d", host.port, PINGS)
    local middle, late = output:match("(%d+) (%d+)")
    return tonumber(middle), tonumber(late)
end


-- Pings while light threads wait for a lock that somebody else has, and after.
local function while_waiting(hold)
    local path = rig.path()
    local lease = rig.hold(rig.session(server.hosts, { timeout = 30 }):mutex(path))
    local begun = host:begin(("/park?count=%d&hold=%g&path=%s"):format(WAITERS, hold, path))
    server:wait_for_nodes(path, WAITERS + 1)
    if hold > 0 then lease:release() end
    local middle, late = ping()
    local left = tonumber(host:get("/parked").body)
    assert(left > 0, "nobody waits any more")
    if hold == 0 then lease:release() end
    nginx.finish(begun)
    rig.close_sessions()
    return middle, late
end


local function compare(what, hold)
    local figures = { {}, {}, {}, {} }
    for i = 1, ROUNDS do
        figures[1][i], figures[2][i] = ping()
        figures[3][i], figures[4][i] = while_waiting(hold)
    end
    local values = {}
    for i = 1, 4 do values[i] = median(figures[i]) end
    print(("%-34s %6d us %6d us %7.2f    %6d us %6d us %7.2f"):format(
        what, values[1], values[3], values[3] / values[1],
        values[2], values[4], values[4] / values[2]))
end


local function wait_side_by_side()
    print(("/ping while %d threads               median: none      1000   ratio       p99: none" ..
           "      1000   ratio"):format(WAITERS))
    compare("wait for one lock", 0)
    compare("hand it on every 4 ms", 0.004)
end


local function grants()
    local worker, path = host:workers()[1], rig.path()
    local before
    print("\ngrants     from thread to light thread: mean  median     p99     worker's memory")
    for done = GRANTS / 10, GRANTS, GRANTS / 10 do
        local answer = host:get(("/grants?count=%d&path=%s"):format(GRANTS / 10, path)).body
        local mean, middle, late = answer:match("(%S+) (%S+) (%S+)")
        before = before or nginx.memory(worker)
        print(("%6d %34.1f us %4.1f us %5.1f us %12d kB"):format(
            done, mean, middle, late, nginx.memory(worker)))
    end
    print(("memory after %d grants / after %d: %.3f"):format(
        GRANTS, GRANTS / 10, nginx.memory(worker) / before))
end


local ok, problem = pcall(function()
    wait_side_by_side()
    grants()
end)
nginx.stop_all()
os.remove(library)
if not ok then error(problem, 0) end
