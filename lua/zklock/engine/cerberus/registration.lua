--- A registration: this process acts by an epoch. It is an ephemeral node, the read lock of that
--- epoch, and a line in the list of members. All leases that the process has in that epoch stand
--- or fall with it.

local failure = require "zklock.engine.failure"
local members = require "zklock.engine.cerberus.members"
local place_left = require("zklock.engine.cerberus.place").left
local unique = require("zklock.engine.redis").unique


---@class zklock.engine.Registration
---@field place zklock.engine.Place
---@field id string
---@field epoch zklock.engine.Epoch
---@field lease zklock.Lease    the read lock
---@field attempts integer      how many ask for a lock in this epoch
---@field leases table<zklock.engine.Lease, true>
local Registration = {}
Registration.__index = Registration


local registration = {}


--- Does it count? By this process's clock.
---@return boolean
function Registration:stands()
    local state = self.lease:state()
    return state == "held" or state == "suspect"
end


--- Has this process a lock of this epoch, or does it ask for one? A lease that ended by itself is
--- none; one that is suspect is, and one that was lost with the session, as long as its engines may
--- have it.
---@return boolean
function Registration:is_used()
    for lease in pairs(self.leases) do
        if not lease:lives() then self.leases[lease] = nil end
    end
    return self.attempts > 0 or next(self.leases) ~= nil
end


--- Asks ZooKeeper, past all that it may have said before: does it stand? No answer is neither.
---@param due number?
---@return boolean
function Registration:check(due)
    local stands, message, code = self.lease:check(place_left(due))
    if not stands and code ~= "lost" and code ~= "released" then
        failure.raise("connection", message)
    end
    return stands == true
end


--- The same, and is its epoch the present one?
---@param due number?
---@return boolean
function Registration:is_current(due)
    return self:check(due) and self.place:epoch(due).number == self.epoch.number
end


--- Takes it away: its process has no lock of this epoch any more. Where ZooKeeper does not answer
--- the line stays, to be taken away later, as that of a process that died; no switch waits for it
--- for ever.
---@param due number?
function Registration:leave(due)
    self.lease:release()
    self.place:edit("members", function(text) return members.without(text, self.id) end, due)
end


--- Writes its line. The registration counts if is_current() says so after.
---@param life number  seconds for which locks of its engines may outlive the process
---@param due number?
function Registration:enlist(life, due)
    local member = { id = self.id, number = self.epoch.number, life = life }
    self.place:edit("members", function(text) return members.with(text, member) end, due)
end


--- Takes the read lock of the epoch.
---@param place zklock.engine.Place
---@param epoch zklock.engine.Epoch
---@param due number?
---@return zklock.engine.Registration
function registration.new(place, epoch, due)
    local id = unique()
    local lease, message = place:lock(epoch.number, id):acquire{
        timeout = place_left(due), owner = id,
    }
    if not lease then failure.raise("connection", message) end
    return setmetatable({
        place = place, id = id, epoch = epoch, lease = lease, attempts = 0, leases = {},
    }, Registration)
end


return registration
