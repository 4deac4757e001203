--- The cost of waiting in nginx, with a single worker: the time of other requests while many light
-- threads wait, the worker's memory, and the time that a grant takes from the session's thread to
-- the waiting light thread.
--
--   make bench WHAT=nginx

local core = require "zklock.core"
local markdown = require "bench.markdown"
local nginx = require "spec.nginx.nginx"
local process = require "bench.process"
local rig = require "spec.rig"
local rounds = require "bench.harness.rounds"
local socket = require "socket"
local zklock = require "zklock"

local ROUNDS, PINGS, WAITERS = 5, 1500, 1000
local GRANTS = 100000

local server = rig.shared()
local library = os.tmpname()
rig.shell("${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -shared -fPIC -o %s bench/ring.c -ldl", library)
local nginx_server = nginx.start{
    app = "bench.nginx_app",
    environment = "LD_PRELOAD=" .. library,
    events = "accept_mutex off;",
    http = "keepalive_requests 1000000;",
}


-- Requests /ping on one connection, one request after the other, a millisecond apart. Returns
-- median and p99 in microseconds.
local function ping()
    local connection, took = assert(socket.connect("127.0.0.1", nginx_server.port)), {}
    connection:setoption("tcp-nodelay", true)
    for i = 1, PINGS do
        local begun = core.now()
        assert(connection:send("GET /ping HTTP/1.1\r\nHost: bench\r\n\r\n"))
        repeat until assert(connection:receive("*l")) == "0" -- the last chunk
        assert(connection:receive("*l"))
        took[i] = 1e6 * (core.now() - begun)
        zklock.sleep(0.001)
    end
    connection:close()
    local median = rounds.median(took) -- sorts them
    return { median = median, p99 = took[math.ceil(0.99 * PINGS)] }
end


-- Pings while light threads wait for a lock. If `hold` is 0 a session of this process holds the
-- lock; else the light threads hand it on, each after `hold` seconds.
local function ping_while_waiting(hold)
    local path = rig.path()
    local lease = rig.hold(rig.session(server.hosts, { timeout = 30 }):mutex(path))
    local request = nginx_server:begin(("/park?count=%d&hold=%g&path=%s"):format(WAITERS, hold,
                                                                                 path))
    server:wait_for_nodes(path, WAITERS + 1)
    if hold > 0 then lease:release() end
    local figures = ping()
    local parked = tonumber(nginx_server:get("/parked").body)
    assert(parked > 0, "nobody waits any more")
    if hold == 0 then lease:release() end
    nginx.finish(request)
    rig.close_sessions()
    return figures
end


local function compare(label, hold)
    local contenders = { ping, function() return ping_while_waiting(hold) end }
    local figures = rounds.run({ rounds = ROUNDS }, contenders, function(measure)
        return measure()
    end)
    local row = { label }
    for _, name in ipairs{ "median", "p99" } do
        for _, each in ipairs(figures) do
            row[#row + 1] = ("%.0f µs"):format((rounds.median_of(each, name)))
        end
        row[#row + 1] = ("%.2f"):format((rounds.ratio(figures[2], figures[1], name)))
    end
    return row
end


local function print_grants()
    local worker, path, rows, before = nginx_server:workers()[1], rig.path(), {}, nil
    for i = 1, 10 do
        local answer = nginx_server:get(("/grants?count=%d&path=%s"):format(GRANTS / 10, path)).body
        local mean, median, p99 = answer:match("(%S+) (%S+) (%S+)")
        local memory = process.resident(worker) / 1024
        before = before or memory
        rows[i] = { ("%d"):format(i * GRANTS / 10), mean, median, p99, ("%d"):format(memory),
                    ("%.3f"):format(memory / before) }
    end
    markdown.table({ "grants", "from thread to light thread, µs: mean", "median", "p99",
                     "worker's memory, kB", "ratio" }, rows)
end


local ok, problem = pcall(function()
    markdown.table({ ("/ping while %d threads"):format(WAITERS), "median: none", WAITERS, "ratio",
                     "p99: none", WAITERS, "ratio" },
                   { compare("wait for one lock", 0), compare("hand it on every 4 ms", 0.004) })
    print_grants()
end)
nginx.stop_all()
os.remove(library)
if not ok then error(problem, 0) end
