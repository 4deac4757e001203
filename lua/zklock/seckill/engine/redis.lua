--- A connection to a Redis server through Debian's lua-redis. A command blocks the process.

local dependency = require "zklock.system.dependency"
local failure = require "zklock.seckill.engine.failure"
local is_interrupt = require "zklock.value.is_interrupt"


---@class zklock.engine.Redis
---@field address string  "HOST:PORT"
---@field answer_timeout number  seconds
---@field client table?  nil if not connected
local Redis = {}
Redis.__index = Redis


local redis = {}


--- A connection that opens on use.
function redis.new(address, answer_timeout)
    return setmetatable({ address = address, answer_timeout = answer_timeout }, Redis)
end


local function connect(self)
    local host, port = self.address:match "^(.*):(%d+)$"
    local client = dependency.load("redis").connect{
        host = host, port = port, timeout = self.answer_timeout,
    }
    client.network.socket:settimeout(self.answer_timeout)
    return client
end


-- Removes the position in lua-redis's source.
local function text_of(problem) return (tostring(problem):gsub("^[^:]+:%d+: ", "")) end


--- True if there is something to read. On an idle connection that is a late answer, or the
--- connection's end.
function Redis:readable()
    local socket = self.client.network.socket
    return dependency.load("socket").select({ socket }, nil, 0)[1] ~= nil
end


--- Connects if necessary; returns the client, without late answers to earlier requests.
function Redis:ensure_client()
    if self.client and self:readable() then self:close() end
    if not self.client then
        local ok, client = failure.attempt(connect, self)
        if not ok then failure.raise("connection", text_of(client)) end
        self.client = client
    end
    return self.client
end


--- Calls fn(client, ...). Any error raises a failure, and closes the connection unless it is an
--- error reply.
function Redis:use(fn, ...)
    local ok, reply = pcall(fn, self.client, ...)
    if ok then return reply end
    if is_interrupt(reply) then
        self:close() -- the answer may still come
        error(reply, 0)
    end
    local text = text_of(reply)
    if not text:find "^redis error" then self:close() end
    failure.raise("connection", ("%s: %s"):format(self.address, text))
end


---@param command string  in lower case
---@return any reply
function Redis:call(command, ...)
    return self:use(self:ensure_client()[command], ...)
end


function Redis:eval(script, keys, ...)
    local arguments = { script, #keys }
    for _, key in ipairs(keys) do arguments[#arguments + 1] = key end
    for i = 1, select("#", ...) do arguments[#arguments + 1] = (select(i, ...)) end
    return self:call("eval", arguments)
end


function Redis:close()
    if self.client then self.client.network.socket:close() end
    self.client = nil
end


redis.COMPARE_AND_DELETE = [[
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0]]


function redis.random_id()
    local file = assert(io.open("/dev/urandom", "rb"))
    local bytes = file:read(16)
    file:close()
    return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end


function redis.milliseconds(seconds) return ("%.0f"):format(seconds * 1000) end


return redis
