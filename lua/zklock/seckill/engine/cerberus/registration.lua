--- A registration of this process for an epoch. It consists of the epoch's read lock, an ephemeral
--- node, and of a line in the list of members. All leases of the process in that epoch depend on
--- it.

local clock = require "zklock.waiting.runtime"
local errand = require "zklock.seckill.engine.cerberus.errand"
local failure = require "zklock.seckill.engine.failure"
local members = require "zklock.seckill.engine.cerberus.members"
local place_left = require("zklock.seckill.engine.cerberus.place").left
local unique = require("zklock.seckill.engine.redis").unique


---@class zklock.engine.Registration
---@field place zklock.engine.Place
---@field id string
---@field epoch zklock.engine.Epoch
---@field lives { of_process: number, of_lease: number }  seconds for which locks of its engines may
--- outlive the process, or their leases
---@field lease zklock.Lease    the read lock
---@field counts boolean        its epoch was still the present one after its line was written
---@field leaving zklock.engine.Errand
---@field grants zklock.engine.Granted[]  the process's locks in this epoch
local Registration = {}
Registration.__index = Registration


-- A lock of the process, with a weak reference to its lease. After a dropped lease, for example of
-- an abandoned coroutine, the lock may live on as after a death, except for zklock's, which is
-- released.
---@class zklock.engine.Granted
---@field lease zklock.engine.Lease?  weak
---@field ends number?                without a lease, the latest end of its locks


local registration = {}


--- True if it stands, by this process's clock.
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


local function may_be_had(self, granted)
    if granted.lease then return granted.lease:lives() end
    granted.ends = granted.ends or clock.now() + self.lives.of_lease
    return clock.now() < granted.ends
end


-- The locks that may still be held, with or without a lease.
local function look(self)
    for i = #self.grants, 1, -1 do
        if not may_be_had(self, self.grants[i]) then table.remove(self.grants, i) end
    end
    return self.grants
end


--- True if a lease of this epoch is in use in this process. An expired lease is not. A suspect
--- lease is, and so is a lease lost with the session, as long as its engines may hold it.
function Registration:is_used()
    for _, each in ipairs(look(self)) do
        if each.lease then return true end
    end
    return false
end


--- True if all locks of the process in this epoch have ended, even those with dropped leases.
function Registration:is_over() return look(self)[1] == nil end


--- Asks ZooKeeper whether it stands. A missing answer raises a failure.
function Registration:check(due)
    local stands, message, code = self.lease:check(place_left(due))
    if not stands and code ~= "lost" and code ~= "released" then
        failure.raise("connection", message)
    end
    return stands == true
end


--- Asks ZooKeeper whether it stands for the present epoch.
function Registration:is_current(due)
    return self:check(due) and self.place:epoch(due).number == self.epoch.number
end


--- Removes its line after the release of its lease. If ZooKeeper does not answer, the line stays
--- until later, like a dead process's.
function Registration:strike_off(due)
    self.place:edit("members", function(text) return members.without(text, self.id) end, due)
end


--- Writes its line, unless its lease is gone, because nobody would then remove the line. The
--- registration counts if is_current() is true afterwards.
function Registration:enlist(due)
    local member = { id = self.id, number = self.epoch.number, life = self.lives.of_process }
    self.place:edit("members", function(text)
        local others = members.without(text, self.id)
        return self:stands() and members.with(others, member) or others
    end, due)
end


---@param place zklock.engine.Place
---@param epoch zklock.engine.Epoch
---@param lives { of_process: number, of_lease: number }
---@param due number?
---@return zklock.engine.Registration
function registration.new(place, epoch, lives, due)
    local id = unique()
    local lease, message = place:lock(epoch.number, id):acquire{
        timeout = place_left(due), owner = id,
    }
    if not lease then failure.raise("connection", message) end
    return setmetatable({
        place = place, id = id, epoch = epoch, lives = lives, lease = lease, counts = false,
        leaving = errand(), grants = {},
    }, Registration)
end


return registration
