--- zklock in nginx: requests a second of a handler that acquires a lock and releases it, beside one
-- that does nothing. One worker, and as many connections as the row "many" has tasks; wrk asks.

local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"
local rounds = require "bench.contended.rounds"

local CONNECTIONS = 16
local PATIENCE = 30 -- seconds
local HANDLERS = {
    { name = "nothing", path = "/ping" },
    { name = "a lock of its own", path = "/cycle?own=1&path=/nginx" },
    { name = "one lock for all, in order", path = "/cycle?order=fifo&path=/nginx/one" },
    { name = "one lock for all, in turns of 16", path = "/cycle?order=turns&path=/nginx/turns" },
}

local row = { name = "nginx", label = "nginx" }


-- Of so many seconds; of twice as many if none was answered in them.
local function rate(host, path, seconds)
    local output = rig.shell("wrk -t 1 -c %d -d %gs 'http://127.0.0.1:%d%s' 2>&1", CONNECTIONS,
                             seconds, host.port, path)
    if output:find("Non-2xx") then error(output .. host:log(), 0) end
    local requests = tonumber(output:match("Requests/sec:%s+([%d.]+)")) or error(output, 0)
    if requests > 0 or seconds > PATIENCE then return requests end
    return rate(host, path, 2 * seconds)
end


function row.measure(world)
    if rig.shell("command -v nginx && command -v wrk") == "" then
        return { row = row, part = "nginx", missing = "nginx or wrk" }
    end
    local host = nginx.start{ app = "bench.nginx_app", environment = "ZK_HOSTS=" .. world.address,
                              http = "keepalive_requests 1000000;" }
    local figures = rounds.run(world.options, HANDLERS, function(handler)
        local requests = rate(host, handler.path, math.max(1, world.options.seconds))
        return { rate = requests, ms = 1000 / requests }
    end)
    nginx.stop_all()
    local list = {}
    for i, handler in ipairs(HANDLERS) do
        list[i] = { crowd = { name = handler.name }, kind = "mutex" }
    end
    local result = world:result(row, "nginx", list, figures)
    result.handlers = HANDLERS
    return result
end


return row
