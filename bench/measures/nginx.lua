--- zklock in nginx, with a single worker and sixteen connections of wrk: requests a second of a
-- handler that acquires a lock and releases it, beside a handler that does nothing.

local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"
local rounds = require "bench.harness.rounds"
local tables = require "bench.harness.tables"

local CONNECTIONS = 16
local PATIENCE = 30 -- seconds
local HANDLERS = {
    { name = "nothing", path = "/ping" },
    { name = "a lock of its own", path = "/cycle?own=1&path=/nginx" },
    { name = "one lock for all, in order", path = "/cycle?order=fifo&path=/nginx/one" },
    { name = "one lock for all, in turns of 16", path = "/cycle?order=turns&path=/nginx/turns" },
}

local measure = {}


-- Measures again, for twice as long, if no request was answered.
local function rate(nginx_server, path, seconds)
    local output = rig.shell("wrk -t 1 -c %d -d %gs 'http://127.0.0.1:%d%s' 2>&1", CONNECTIONS,
                             seconds, nginx_server.port, path)
    if output:find("Non-2xx") then error(output .. nginx_server:log(), 0) end
    local requests = tonumber(output:match("Requests/sec:%s+([%d.]+)")) or error(output, 0)
    if requests > 0 or seconds > PATIENCE then return requests end
    return rate(nginx_server, path, 2 * seconds)
end


function measure.run(world, row)
    if rig.shell("command -v nginx && command -v wrk") == "" then
        print("nginx or wrk is missing")
        return world:note_result(row, {}, {})
    end
    local nginx_server = nginx.start{
        app = "bench.nginx_app", environment = "ZK_HOSTS=" .. world.address,
        http = "keepalive_requests 1000000;",
    }
    local figures = rounds.run(world.options, HANDLERS, function(handler)
        local requests = rate(nginx_server, handler.path, math.max(1, world.options.seconds))
        return { rate = requests, ms = 1000 / requests }
    end)
    nginx.stop_all()
    return world:note_result(row, HANDLERS, figures)
end


function measure.show(results)
    tables.grid("a handler with", tables.lines(results), tables.ratio)
    tables.grid("requests a second", tables.lines(results, "rate"), tables.value)
end


return measure
