--- Throwaway Redis servers, on free ports of 127.0.0.1, in a folder of the run, without
--- persistence. They end with the reaper.

local connections = require "zklock.seckill.engine.redis"
local core = require "zklock.core"
local dependency = require "zklock.system.dependency"
local engine_options = require "zklock.seckill.engine.options"
local failure = require "zklock.seckill.engine.failure"
local missing = require "zklock.system.missing"
local process = require "zklock.system.process"
local shell = require "zklock.system.shell"
local zklock = require "zklock"


-- Seconds
local READY = 30 -- until it must answer
local POLL = 0.02 -- between attempts to connect
local ANSWER_LIMIT = 10

local TRIES = 5 -- because another process may take the free port first
local FIRST_PORT = 10000
local LEAST_PORTS = 1000 -- least number of ports to choose from

local SERVER = [[port=$1 program=$2; shift 2
exec "$program" --port "$port" --bind 127.0.0.1 --dir "$0" --dbfilename "$port.rdb" --save "" \
    --appendonly no --daemonize no --logfile "" --enable-debug-command local "$@" \
    >"$0/redis-$port.log" 2>&1]]


local redis = {}


---@class zklock.seckill.throwaway.Redis
---@field address string  "127.0.0.1:PORT"
---@field process zklock.system.Process


-- A random port below the range of ephemeral ports, so that no connection takes the port while the
-- server is down. If there are too few ports below the range, 0 lets the system choose.
local function random_port()
    local file = io.open "/proc/sys/net/ipv4/ip_local_port_range"
    local port_count = (file and file:read "*n" or 0) - FIRST_PORT
    if file then file:close() end
    if port_count < LEAST_PORTS then return 0 end
    return FIRST_PORT + tonumber(connections.random_id():sub(1, 8), 16) % port_count
end


local function free_port()
    local socket, problem
    for _ = 1, LEAST_PORTS do
        socket, problem = dependency.load("socket").bind("127.0.0.1", random_port())
        if socket then break end
    end
    local _, port = assert(socket, problem):getsockname()
    socket:close()
    return tostring(port)
end


local function wait_until_ready(address, running)
    local connection = connections.new(address, ANSWER_LIMIT)
    local due = core.now() + READY
    repeat
        local answers = failure.catch(address, connection.call, connection, "ping")
        connection:close()
        if answers then return true end
        zklock.sleep(POLL)
    until core.now() > due or not running:lives()
    return false
end


local function start_on(port, reaper, options)
    local address = "127.0.0.1:" .. port
    local words = { "sh", "-c", SERVER, reaper.folder, port, options.program or "redis-server" }
    for _, argument in ipairs(options.arguments or {}) do words[#words + 1] = argument end
    local running = process.start("Redis", words, nil, reaper)
    if wait_until_ready(address, running) and running:lives() then
        return { address = address, process = running }
    end
    running:kill()
end


---@param reaper zklock.system.Reaper
---@param options { port: string?, program: string?, arguments: string[]? }?  a free port by default
---@return zklock.seckill.throwaway.Redis
function redis.start(reaper, options)
    options = options or {}
    local port = options.port
    if not shell.succeeds "command -v redis-server >/dev/null" then
        missing.raise("no Redis could be started: apt install redis-server, or give redis = "
            .. "\"HOST:PORT\"")
    end
    local tried
    for _ = 1, port and 1 or TRIES do
        tried = port or free_port()
        local started = start_on(tried, reaper, options)
        if started then return started end
    end
    error("Redis did not start: " .. (shell.first_line(("tail -1 %s/redis-%s.log")
        :format(shell.quote(reaper.folder), tried)) or "its log is silent"), 0)
end


---@param address string  "HOST:PORT"
---@param command string  in lower case
---@return any
function redis.ask(address, command, ...)
    local connection = connections.new(address, ANSWER_LIMIT)
    local answer, message, code = failure.catch(address, connection.call, connection, command, ...)
    connection:close()
    if code then error(message, 0) end
    return answer
end


--- All keys that have not expired.
function redis.keys(address) return redis.ask(address, "keys", "*") end


local function delete_batch(connection, cursor, pattern)
    local batch = connection:call("scan", cursor, { match = pattern, count = 1000 })
    if batch[2][1] then connection:call("del", batch[2]) end
    return batch[1]
end


local function delete_all(connection, pattern)
    local cursor = "0"
    repeat cursor = delete_batch(connection, cursor, pattern) until cursor == "0"
end


--- Deletes the keys that contain the text. Keys of a server that does not answer expire with their
--- lease time, if they have one.
---@param addresses string  "HOST:PORT,HOST:PORT"
---@param text string
function redis.delete_keys(addresses, text)
    for _, address in ipairs(engine_options.addresses_of(addresses)) do
        local connection = connections.new(address, ANSWER_LIMIT)
        failure.catch(address, delete_all, connection, "*" .. text .. "*")
        connection:close()
    end
end


return redis
