--- Independent Redis masters for redlock. Each can be cut off from its clients, and its wall clock
--- can jump.

local clocks = require "zklock.throwaway.clock"
local redis = require "zklock.seckill.throwaway.redis"
local relays = require "zklock.throwaway.relay"


---@class zklock.seckill.throwaway.RedisMaster
---@field address string  for clients
---@field server zklock.seckill.throwaway.Redis
---@field relay zklock.throwaway.Relay
---@field clock zklock.throwaway.Clock
local Master = {}
Master.__index = Master


function Master:cut() self.relay:cut() end


function Master:heal() self.relay:lead_to(self.server.address) end


function Master:jump(seconds) self.clock:jump(seconds) end


--- The server's wall clock in seconds, also during a cut.
function Master:time() return tonumber(redis.ask(self.server.address, "time")[1]) end


--- The server's keys, also during a cut.
function Master:keys() return redis.keys(self.server.address) end


---@class zklock.seckill.throwaway.RedisMasters  a list of masters
---@field addresses string  "HOST:PORT,HOST:PORT"
local Masters = {}
Masters.__index = Masters


function Masters:close()
    for _, master in ipairs(self) do
        master.server.process:kill()
        master.relay:close()
    end
end


local redis_masters = {}


local function start_one(reaper)
    local clock = clocks.new(reaper)
    local server = redis.start(reaper, { program = clock:program "redis-server" })
    local relay = relays.start(reaper, server.address)
    return setmetatable({
        address = relay.address, server = server, relay = relay, clock = clock,
    }, Master)
end


function redis_masters.start(reaper, count)
    local self, addresses = setmetatable({}, Masters), {}
    for i = 1, count do
        self[i] = start_one(reaper)
        addresses[i] = self[i].address
    end
    self.addresses = table.concat(addresses, ",")
    return self
end


return redis_masters
