--- A registration of this process for an epoch. It consists of the epoch's read lock (an ephemeral
--- node) and of a line in the list of members, and stands while the read lock is not lost. All
--- leases of the process in that epoch depend on it.

local clock = require "zklock.waiting.runtime"
local errand = require "zklock.seckill.engine.cerberus.errand"
local failure = require "zklock.seckill.engine.failure"
local members = require "zklock.seckill.engine.cerberus.members"
local answer_timeout = require("zklock.seckill.engine.cerberus.place").answer_timeout
local random_id = require("zklock.seckill.engine.redis").random_id


---@class zklock.engine.Registration
---@field place zklock.engine.Place
---@field id string
---@field epoch zklock.engine.Epoch
---@field lives { after_process: number, after_lease: number }  seconds for which locks of the
--- epoch's engines may outlive the process, or their leases
---@field lease zklock.Lease    the read lock
---@field counts boolean        the epoch was still the present one once the line was written
---@field leaving zklock.engine.Errand
---@field grants zklock.engine.Granted[]  the process's locks in this epoch
local Registration = {}
Registration.__index = Registration


-- A lock of the process, with a weak reference to its lease. If the lease is dropped, for example
-- by an abandoned coroutine, the lock may live on as after a death; only a zklock lock is released.
---@class zklock.engine.Granted
---@field lease zklock.engine.Lease?  weak
---@field ends_at number?             latest end of a lock whose lease was dropped


local registration = {}


--- True if the read lock is not lost, by this process's clock.
function Registration:stands()
    local state = self.lease:state()
    return state == "held" or state == "suspect"
end


local WEAK = { __mode = "v" }

function Registration:add(lease)
    self.grants[#self.grants + 1] = setmetatable({ lease = lease }, WEAK)
end


function Registration:remove(lease)
    for i, each in ipairs(self.grants) do
        if each.lease == lease then table.remove(self.grants, i) break end
    end
end


local function may_be_held(self, granted)
    if granted.lease then return granted.lease:lives() end
    granted.ends_at = granted.ends_at or clock.now() + self.lives.after_lease
    return clock.now() < granted.ends_at
end


-- Removes the ended locks; returns the locks that may still be held, with or without a lease.
local function remove_ended(self)
    for i = #self.grants, 1, -1 do
        if not may_be_held(self, self.grants[i]) then table.remove(self.grants, i) end
    end
    return self.grants
end


--- True if a lease of this epoch is in use in this process. Suspect leases are in use, and so are
--- leases that were lost with the session, while their engines may hold the lock.
function Registration:is_used()
    for _, each in ipairs(remove_ended(self)) do
        if each.lease then return true end
    end
    return false
end


--- True if all locks of the process in this epoch have ended, even those with dropped leases.
function Registration:is_over() return remove_ended(self)[1] == nil end


--- Asks ZooKeeper whether the registration stands.
function Registration:check(due)
    local stands, message, code = self.lease:check(answer_timeout(due))
    if not stands and code ~= "lost" and code ~= "released" then
        failure.raise("connection", message)
    end
    return stands == true
end


--- Asks ZooKeeper whether the registration stands and its epoch is the present one.
function Registration:is_current(due)
    return self:check(due) and self.place:epoch(due).number == self.epoch.number
end


--- Removes the line, after the release of the read lock.
function Registration:strike_off(due)
    self.place:edit("members", function(text) return members.without(text, self.id) end, due)
end


--- Writes the line, unless the read lock is lost, because nobody would then remove the line. The
--- registration counts if is_current() is true afterwards.
function Registration:enlist(due)
    local member = { id = self.id, number = self.epoch.number, life = self.lives.after_process }
    self.place:edit("members", function(text)
        local others = members.without(text, self.id)
        return self:stands() and members.with(others, member) or others
    end, due)
end


---@param place zklock.engine.Place
---@param epoch zklock.engine.Epoch
---@param lives { after_process: number, after_lease: number }
---@param due number?
---@return zklock.engine.Registration
function registration.new(place, epoch, lives, due)
    local id = random_id()
    local lease, message = place:lock(epoch.number, id):acquire{
        timeout = answer_timeout(due), owner = id,
    }
    if not lease then failure.raise("connection", message) end
    return setmetatable({
        place = place, id = id, epoch = epoch, lives = lives, lease = lease, counts = false,
        leaving = errand(), grants = {},
    }, Registration)
end


return registration
