--- The payment provider, over HTTP (provider/ has one to try). A real shop uses its provider's
-- library here, over TLS.

local _M = {}

local HOST, PORT = (os.getenv "PROVIDER" or "127.0.0.1:8090"):match "^(.*):(%d+)$"
local PATIENCE = tonumber(os.getenv "PATIENCE" or 5) * 1000 -- ms

local STATES = { ["200"] = "paid", ["402"] = "cancelled" }


--- Charges the buyer once per key, however often it is called. Returns "paid", or "cancelled" if
-- the provider refuses, or nil if it may have charged. Then ask again with the same key.
function _M.charge(key)
    local socket = ngx.socket.tcp()
    socket:settimeouts(PATIENCE, PATIENCE, PATIENCE)
    if not socket:connect(HOST, tonumber(PORT)) then return end
    socket:send(("POST /charge HTTP/1.0\r\nHost: %s\r\nIdempotency-Key: %s\r\n\r\n")
        :format(HOST, key))
    local line = socket:receive "*l"
    socket:close() -- never reused: a second answer on it would be read as the next order's
    return line and STATES[line:match "^HTTP/1%.%d (%d+) "]
end


return _M
