--- Requests and bytes that go through a proxy (rig/proxy.c), except heartbeats.

local core = require "zklock.core"
local zklock = require "zklock"

local REST = 0.05 -- seconds without a request, besides two round trips
local PATIENCE = 30 -- seconds

local UNCOUNTED = { ping = true, sync = true, connect = true, flights = true, events = true }


local traffic = {}


local function count_requests(proxy)
    local sum = 0
    for name, count in pairs(proxy:counts()) do
        if not UNCOUNTED[name] then sum = sum + count end
    end
    return sum
end


--- Waits until no request has been made for a moment. `round_trip` is the proxy's, in milliseconds.
function traffic.await_rest(proxy, round_trip)
    local deadline = core.now() + PATIENCE
    local before, count = nil, count_requests(proxy)
    while count ~= before do
        if core.now() > deadline then error("requests do not end", 2) end
        zklock.sleep(REST + 2 * round_trip / 1000)
        before, count = count, count_requests(proxy)
    end
end


--- Waits like await_rest. Returns the requests, and the bytes of both directions, since the last
-- call.
function traffic.take(proxy, round_trip)
    traffic.await_rest(proxy, round_trip)
    local requests, up, down = count_requests(proxy), proxy:bytes()
    proxy:reset()
    return { requests = requests, bytes = up + down }
end


return traffic
