--- A follower tells a user's function who leads an election, first and after each change. It never
-- waits; dispatch() continues it. It watches the leader's node. While nobody leads, it asks again
-- after a pause.

local Caller = require "zklock.waiting.caller"
local Request = require "zklock.waiting.request"
local failure = require "zklock.value.failure"
local take_queue = require "zklock.value.queue"

local select, setmetatable = select, setmetatable
local unpack = table.unpack or unpack

local PAUSE = 0.5 -- seconds

---@class zklock.Follower
---@field last_told? string the leader's node, "" without a leader, or a failure's code
---@field news? table arguments of the next call
---@field caller zklock.Caller
---@field request? zklock.Request the latest
---@field unwatch? function
---@field stopped? boolean
local Follower = {}
Follower.__index = Follower


--- The identity, data and token of a leader. Its node may have the words of lock:revoke() in place
-- of the first two.
function Follower.describe(entry)
    if entry.revoked then return "", nil, entry.token end
    return entry.identity, entry.data, entry.token
end


-- Begins a request by that method of the session's handle, and calls after(self, request) when it
-- is done. The previous request is closed last, so that its callback has ended before its number is
-- reused.
function Follower:await(after, method, ...)
    local session, previous = self.session, self.request
    local request = Request.new(session)
    request:on_done(function()
        if not self.stopped then after(self, request) end
    end)
    local handle, id = session.handle[method](session.handle, ...)
    request.handle, request.id = handle, id
    request.requests[id] = request
    self.request = request
    if previous then previous:close() end
end


function Follower:ask()
    local lock = self.lock
    self:await(self.take_leader, "queue", lock.path, lock.contends_as, self.session:timeout())
end


-- A pause also ends with the session. Then the follower tells the reason in a last call, unless the
-- user closed the session.
function Follower:after_pause(request)
    local code = request.handle:result()
    if code == "timeout" then return self:ask() end
    self.session.followers[self] = nil
    if code == "expired" or code == "auth" then
        self:tell(code, failure(code, self.lock.path))
    end
end


function Follower:pause()
    self:await(self.after_pause, "pause", PAUSE)
end


local function tell_news(self)
    local news = self.news
    self.news = nil
    if news and not self.stopped then self.session:protect(self.fn, unpack(news, 1, news.n)) end
end


function Follower:tell(news, ...)
    if self.last_told == news then return end
    self.last_told, self.news = news, { n = select("#", ...), ... }
    self.session:call(self, self.caller.call, self.caller, tell_news, self)
end


-- Asks again when the node is gone, or after an error of the watch and a pause.
function Follower:watch(name)
    local unwatch
    unwatch = self.session:watch(self.lock.path .. "/" .. name, function(data, _, code)
        if data or self.stopped or self.unwatch ~= unwatch then return end
        unwatch()
        self.unwatch = nil
        if code then self:pause() else self:ask() end
    end)
    self.unwatch = unwatch
    if not unwatch then self:pause() end
end


function Follower:take_leader(request)
    local queue, message, code = take_queue(request, self.lock.path)
    if not queue then
        if code == "auth" or code == "unsupported" then self:tell(code, nil, message, code) end
        return not self.stopped and self:pause()
    end
    local first = queue[1]
    if first then self:tell(first.name, Follower.describe(first)) else self:tell("", nil) end
    if self.stopped then return end
    if first then self:watch(first.name) else self:pause() end
end


function Follower:stop()
    self.stopped = true
    self.session.followers[self] = nil
    if self.unwatch then self.unwatch() end
end


--- The session refers to the follower until it is stopped.
function Follower.new(lock, fn)
    local self = setmetatable({
        session = lock.session,
        lock = lock,
        fn = fn,
        caller = Caller.new(),
    }, Follower)
    self.session.followers[self] = true
    self:ask()
    return self
end


return Follower
