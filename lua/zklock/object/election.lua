--- In an election, candidates queue for one mutex, and its holder leads.

local Follower = require "zklock.object.follower"
local failure = require "zklock.value.failure"
local options = require "zklock.value.options"
local strict_methods = require "zklock.value.strict_methods"
local section = require "zklock.object.section"

local setmetatable = setmetatable

---@class zklock.Election
---@field lock zklock.Lock
---@field acquire_options { max_hold?: number }
local Election = {}
Election.__index = Election
Election.__name = "zklock.election"


-- An expiry ends a wait, but the candidate contends again if the session reopens.
local function acquire(self)
    while true do
        local lease, message, code = self.lock:acquire(self.acquire_options)
        if code ~= "expired" or self.session.handle:refusal() then return lease, message, code end
    end
end


-- Takes section's results. Returns fn's first result and, if the lead was lost, a message and
-- "lost".
local function result_first(kept, ...)
    if kept then return (...) end
    local message, code, result = ...
    return result, message, code
end


--- Contends, and runs fn(lease) while leading. Unless fn returns true, contends again at the end of
-- the line. An error passes unchanged.
---@param fn fun(lease: zklock.Lease): boolean?
---@return true? done
---@return string? message why it contends no more
---@return zklock.Code? code "lost": fn returned true, but the lead was lost before
function Election:lead(fn)
    options.callback(fn, "fn of lead")
    while true do
        local lease, message, code = acquire(self)
        if not lease then return nil, message, code end
        local done, loss, loss_code = result_first(section(lease, fn))
        if done and loss then return nil, loss, loss_code end
        if done then return true end
    end
end


--- Returns the leader.
---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return string? identity
---@return string? data or message
---@return integer|zklock.Code|nil token or code: "no_node" without a leader
function Election:leader(timeout)
    local queue, message, code = self.lock:queue(timeout)
    if not queue then return nil, message, code end
    if not queue[1] then return failure("no_node", self.lock.path, "nobody leads") end
    return Follower.describe(queue[1])
end


--- Calls fn(identity, data, token) with the leader, soon and after each change; fn(nil) without a
-- leader; fn(nil, message, code) when the server refuses to tell the leader or, in a last call, the
-- session expires and does not reopen. fn runs inside any wait or session:dispatch(), until the
-- session is closed.
---@param fn fun(identity: string?, data: string?, token: integer|zklock.Code|nil)
---@return fun()? stop ends the calls
---@return string? message
---@return zklock.Code? code "closed", "expired", "auth", "forked"
function Election:on_change(fn)
    options.callback(fn, "fn of on_change")
    local session, path = self.session, self.lock.path
    if session:gone() then return failure(session:gone(), path) end
    local refusal = session.handle:refusal()
    if refusal then return failure(refusal, path) end
    local follower = Follower.new(self.lock, fn)
    return function() follower:stop() end
end


function Election:__tostring()
    return ("zklock.election (%s)"):format(self.lock.path)
end


strict_methods(Election, Election, "election")


function Election.new(session, lock, max_hold)
    return setmetatable({
        session = session, lock = lock, acquire_options = { max_hold = max_hold },
    }, Election)
end


return Election
