--- OpenTelemetry spans of waits and holds, a line of OTLP JSON each, for the collector's
-- otlpjsonfile receiver.
--
-- Shows on_event, which tells each step of each lock. The owner begins with the request's
-- traceparent (W3C), which makes the spans children of the request's span.
--
--     lua5.4 examples/spans.lua >spans.jsonl        with a server inside the process
--     ZK_HOSTS=127.0.0.1:2181 lua5.4 examples/spans.lua >spans.jsonl

local zklock = require "zklock"

local LINE = '{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":'
    .. '{"stringValue":"shop"}}]},"scopeSpans":[{"scope":{"name":"zklock"},"spans":[{"traceId":"%s"'
    .. ',"spanId":"%s","parentSpanId":"%s","name":"%s","kind":1,"startTimeUnixNano":"%.0f",'
    .. '"endTimeUnixNano":"%.0f","attributes":[{"key":"zklock.path","value":{"stringValue":"%s"}},'
    .. '{"key":"zklock.token","value":{"stringValue":"%s"}}]}]}]}]}'

local random = assert(io.open("/dev/urandom", "rb"))

local function id(bytes)
    return (random:read(bytes):gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end

local function escaped(text)
    return (text:gsub('[%c"\\]', function(byte) return ("\\u%04x"):format(byte:byte()) end))
end


-- A wait ends with "granted", a hold with "released" or "lost"; other steps are no spans.
local function print_span(event)
    local seconds = event.waited or event.held
    if not seconds then return end
    local trace, parent = event.owner:match '^string "%x%x%-(%x+)%-(%x+)%-%x%x '
    local name = event.event == "granted" and "lock wait"
        or event.event == "released" and "lock hold" or "lock hold, lost"
    print(LINE:format(trace or id(16), id(8), parent or "", name, (event.time - seconds) * 1e9,
                      event.time * 1e9, escaped(event.path), tostring(event.token)))
end


local session = assert(zklock.connect(os.getenv "ZK_HOSTS" or "memory:examples", {
    on_event = print_span,
}))
local stock = session:mutex("/examples/stock")

local count = 0

-- Works for a request that came with this header. A client that tries again sends the same header,
-- and equal owners share the lock, so the owner ends with a number of this request alone.
local function request(traceparent)
    count = count + 1
    local lease = assert(stock:acquire{ timeout = 20, owner = traceparent .. " " .. count })
    zklock.sleep(0.05) -- the work
    lease:release()
end

zklock.run(function() request "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" end,
           function() request "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" end)
session:close()
session:dispatch() -- the last events
