--- A waiter is woken by a message on a channel (pub/sub). The channels have a connection of their
--- own, which is looked at without blocking, between short sleeps.

local core = require "zklock.core"
local dependency = require "zklock.seckill.dependency"
local failure = require "zklock.engine.failure"
local redis = require "zklock.engine.redis"
local zklock = require "zklock"


local LOOK = 0.002 -- seconds between looks


---@class zklock.engine.Wakeup
---@field redis zklock.engine.Redis
---@field channels table<string, zklock.engine.Waiter[]>  in the order in which they came
local Wakeup = {}
Wakeup.__index = Wakeup


---@class zklock.engine.Waiter
---@field channel string
---@field woken boolean


local wakeup = {}


---@param address string
---@param answer number
---@return zklock.engine.Wakeup
function wakeup.new(address, answer)
    return setmetatable({ redis = redis.new(address, answer), channels = {} }, Wakeup)
end


-- One message, as the server sends it: { kind, channel, payload }.
local function read(self)
    self.next = self.next or dependency.load("redis").command("", { request = function() end })
    return self.redis:use(self.next)
end


-- A message wakes the first waiter, or all.
local function take(self, message)
    local kind, channel, payload = message[1], message[2], message[3]
    if kind ~= "message" then return end
    for _, waiter in ipairs(self.channels[channel] or {}) do
        if not waiter.woken then
            waiter.woken = true
            if payload ~= "all" then return end
        end
    end
end


local function send(self, command, channel)
    self.redis:use(function(client) client.requests.multibulk(client, command, channel) end)
end


-- Returns when the server has confirmed it: what is published from then on comes.
local function subscribe(self, channel)
    send(self, "SUBSCRIBE", channel)
    repeat
        local message = read(self)
        take(self, message)
    until message[1] == "subscribe" and message[2] == channel
end


-- After the connection broke, each waiter looks by itself: what was published meanwhile is lost.
local function connect(self)
    if self.redis.client then return end
    self.redis:connected()
    for channel, waiters in pairs(self.channels) do
        subscribe(self, channel)
        for _, waiter in ipairs(waiters) do waiter.woken = true end
    end
end


--- Listens to a channel from now on.
---@param channel string
---@return zklock.engine.Waiter
function Wakeup:listen(channel)
    connect(self)
    local waiter, waiters = { channel = channel, woken = false }, self.channels[channel]
    if not waiters then
        subscribe(self, channel)
        waiters = {}
        self.channels[channel] = waiters
    end
    waiters[#waiters + 1] = waiter
    return waiter
end


--- Does not listen any more. A wake-up that came too late for it is the next waiter's.
---@param waiter zklock.engine.Waiter
function Wakeup:leave(waiter)
    local waiters = self.channels[waiter.channel]
    for i, each in ipairs(waiters) do
        if each == waiter then table.remove(waiters, i) break end
    end
    if not waiters[1] then
        self.channels[waiter.channel] = nil
        if self.redis.client then send(self, "UNSUBSCRIBE", waiter.channel) end
    elseif waiter.woken then
        take(self, { "message", waiter.channel, "free" })
    end
end


-- Takes what has come.
local function look(self)
    connect(self)
    while self.redis:readable() do take(self, read(self)) end
end


--- Waits until it is woken, for so many seconds at most; then it must look for itself.
---@param waiter zklock.engine.Waiter
---@param seconds number
function Wakeup:wait(waiter, seconds)
    local due = core.now() + seconds
    repeat
        zklock.sleep(math.max(math.min(LOOK, due - core.now()), 0))
        failure.catch(waiter.channel, look, self)
    until waiter.woken or core.now() >= due
    waiter.woken = false
end


function Wakeup:close() self.redis:close() end


return wakeup
