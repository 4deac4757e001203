--- Wakes waiters by messages on channels (pub/sub). The channels share a connection, which is
--- polled between short sleeps.

local core = require "zklock.core"
local dependency = require "zklock.system.dependency"
local failure = require "zklock.seckill.engine.failure"
local redis = require "zklock.seckill.engine.redis"
local zklock = require "zklock"


local POLL = 0.002 -- seconds between looks at the socket
local WEAK = { __mode = "k" }


---@class zklock.engine.Wakeup
---@field redis zklock.engine.Redis
---@field channels table<string, zklock.engine.Channel>  subscribed, by name
---@field read_reply table?  a command of lua-redis that sends nothing
local Wakeup = {}
Wakeup.__index = Wakeup


---@class zklock.engine.Channel
---@field waiters table<zklock.engine.Waiter, true>  weak, because a coroutine may be dropped
---@field untaken integer  messages that no waiter has taken yet; an abandoned coroutine takes none

---@class zklock.engine.Waiter
---@field channel string
---@field woken boolean


local wakeup = {}


function wakeup.new(address, answer_timeout)
    return setmetatable({ redis = redis.new(address, answer_timeout), channels = {} }, Wakeup)
end


local function read(self)
    self.read_reply = self.read_reply
        or dependency.load("redis").command("", { request = function() end })
    return self.redis:use(self.read_reply)
end


local function wake_all(channel)
    for waiter in pairs(channel.waiters) do waiter.woken = true end
end


local function deliver(self, message)
    local channel = self.channels[message[2]]
    if message[1] ~= "message" or not channel then return end
    if message[3] == "all" then
        wake_all(channel)
    else
        channel.untaken = channel.untaken + 1
    end
end


-- Gives a waiter that is not woken an untaken message; returns whether the waiter is woken now.
local function try_to_wake(self, waiter)
    local channel = self.channels[waiter.channel]
    if not waiter.woken and channel.untaken > 0 then
        channel.untaken = channel.untaken - 1
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
        deliver(self, message)
    until message[1] == "subscribe" and message[2] == channel
end


-- After a broken connection each waiter must try again, because messages may be lost.
local function connect(self)
    if self.redis.client then return end
    self.redis:ensure_client()
    for name, channel in pairs(self.channels) do
        subscribe(self, name)
        wake_all(channel)
    end
end


function Wakeup:listen(channel)
    connect(self)
    local waiter = { channel = channel, woken = false }
    if not self.channels[channel] then
        subscribe(self, channel)
        self.channels[channel] = { waiters = setmetatable({}, WEAK), untaken = 0 }
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


local function receive(self)
    connect(self)
    while self.redis:readable() do deliver(self, read(self)) end
end


--- Waits until the waiter is woken, for at most that many seconds.
function Wakeup:wait(waiter, seconds)
    local due = core.now() + seconds
    repeat
        zklock.sleep(math.max(math.min(POLL, due - core.now()), 0))
        failure.catch(waiter.channel, receive, self)
    until try_to_wake(self, waiter) or core.now() >= due
    waiter.woken = false
end


function Wakeup:close() self.redis:close() end


return wakeup
