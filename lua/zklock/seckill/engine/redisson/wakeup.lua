--- Wakes waiters by messages on channels (pub/sub). The channels share a connection, which is
--- polled between short sleeps.

local core = require "zklock.core"
local dependency = require "zklock.system.dependency"
local failure = require "zklock.seckill.engine.failure"
local redis = require "zklock.seckill.engine.redis"
local zklock = require "zklock"


local LOOK = 0.002 -- seconds between looks
local WEAK = { __mode = "k" }


---@class zklock.engine.Wakeup
---@field redis zklock.engine.Redis
---@field channels table<string, zklock.engine.Channel>  the subscribed ones
local Wakeup = {}
Wakeup.__index = Wakeup


-- A message for one waiter stays here until a waiter takes it, so that it is not lost with an
-- abandoned coroutine.
---@class zklock.engine.Channel
---@field waiters table<zklock.engine.Waiter, true>  weak: a waiter goes with its coroutine
---@field free integer  messages for one waiter

---@class zklock.engine.Waiter
---@field channel string
---@field woken boolean


local wakeup = {}


function wakeup.new(address, answer)
    return setmetatable({ redis = redis.new(address, answer), channels = {} }, Wakeup)
end


local function read(self)
    self.next = self.next or dependency.load("redis").command("", { request = function() end })
    return self.redis:use(self.next)
end


local function wake_all(channel)
    for waiter in pairs(channel.waiters) do waiter.woken = true end
end


-- A message is for one waiter, or for all.
local function take(self, message)
    local channel = self.channels[message[2]]
    if message[1] ~= "message" or not channel then return end
    if message[3] == "all" then
        wake_all(channel)
    else
        channel.free = channel.free + 1
    end
end


-- True if the waiter was woken, or takes a message now.
local function is_woken(self, waiter)
    local channel = self.channels[waiter.channel]
    if not waiter.woken and channel.free > 0 then
        channel.free = channel.free - 1
        waiter.woken = true
    end
    return waiter.woken
end


local function send(self, command, channel)
    self.redis:use(function(client) client.requests.multibulk(client, command, channel) end)
end


-- Returns after the server's confirmation, so that no later message is missed.
local function subscribe(self, channel)
    send(self, "SUBSCRIBE", channel)
    repeat
        local message = read(self)
        take(self, message)
    until message[1] == "subscribe" and message[2] == channel
end


-- After a broken connection each waiter looks by itself, because messages may be lost.
local function connect(self)
    if self.redis.client then return end
    self.redis:connected()
    for name, channel in pairs(self.channels) do
        subscribe(self, name)
        wake_all(channel)
    end
end


--- Subscribes to a channel.
function Wakeup:listen(channel)
    connect(self)
    local waiter = { channel = channel, woken = false }
    if not self.channels[channel] then
        subscribe(self, channel)
        self.channels[channel] = { waiters = setmetatable({}, WEAK), free = 0 }
    end
    self.channels[channel].waiters[waiter] = true
    return waiter
end


function Wakeup:leave(waiter)
    local waiters = self.channels[waiter.channel].waiters
    waiters[waiter] = nil
    if next(waiters) then return end
    self.channels[waiter.channel] = nil
    if self.redis.client then send(self, "UNSUBSCRIBE", waiter.channel) end
end


local function look(self)
    connect(self)
    while self.redis:readable() do take(self, read(self)) end
end


--- Waits for a message, for at most that many seconds; the caller looks afterwards.
function Wakeup:wait(waiter, seconds)
    local due = core.now() + seconds
    repeat
        zklock.sleep(math.max(math.min(LOOK, due - core.now()), 0))
        failure.catch(waiter.channel, look, self)
    until is_woken(self, waiter) or core.now() >= due
    waiter.woken = false
end


function Wakeup:close() self.redis:close() end


return wakeup
