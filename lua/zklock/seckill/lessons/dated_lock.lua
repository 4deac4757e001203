--- A lock that is stored with the time of its end, like a row with the column `locked_until`. A
--- server takes the lock once that time has come by its own wall clock, and the clock of one server
--- jumps. With `counted` the lock's server counts the seconds by a monotonic clock.

local now = require("zklock.waiting.runtime").now -- seconds, of the sale's own clock
local zklock = require "zklock"

local locks = {} -- by name, the latest hold


local DatedLock = { simulated = true }
DatedLock.__index = DatedLock


function DatedLock.prepare() locks = {} end


function DatedLock.open(server)
    local given = server.parameters
    local jumps = given.jump.server == server.number and not given.counted
    return setmetatable({
        lease = given.lease, timeout = server.timeout, jump = jumps and given.jump,
    }, DatedLock)
end


function DatedLock:clock()
    local jump = self.jump
    return now() + (jump and now() >= jump.at and jump.by or 0)
end


function DatedLock:enter(name, _, wish)
    local due = now() + (wish and wish.timeout or self.timeout)
    while locks[name] and self:clock() < locks[name].ends do
        if now() > due then return nil, "waited too long", "timeout" end
        zklock.sleep(0.01)
    end
    locks[name] = { name = name, ends = self:clock() + self.lease }
    return locks[name]
end


function DatedLock.leave(_, hold)
    if locks[hold.name] == hold then locks[hold.name] = nil end
end


return DatedLock
