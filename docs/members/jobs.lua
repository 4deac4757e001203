--- jobs.lua - shares jobs out among the members of a folder by rendezvous hashing, so a job belongs
-- to the member with the highest hash of the two names. When a member goes, only its jobs move.

local join = require "join"

local jobs = {}
jobs.__index = jobs

-- Not linear, because a linear hash such as a CRC would share out unevenly.
local function hash(text)
    local value = 1
    for i = 1, #text + 2 do -- the last byte counts for all bits, too
        value = (value * (value % 4096 + 4099) + (text:byte(i) or 0) * 7919 + 1) % 2147483647
    end
    return value
end

--- The name of the member that has the job; nil: there is no member.
function jobs.owner(list, job)
    local owner, highest = nil, -1
    for _, member in ipairs(list) do
        local value = hash(member.name .. " " .. job)
        if value > highest then owner, highest = member.name, value end
    end
    return owner
end

--- Joins; or nil, message, code. `sleep` is as in join.lua.
function jobs.join(session, folder, name, sleep)
    local member, message, code = join(session, folder, name, sleep)
    if not member then return nil, message, code end
    local self = { session = session, folder = folder, name = name, member = member, list = {} }
    assert(session:members(folder, function(list) self.list = list or self.list end))
    return setmetatable(self, jobs)
end

--- Joins again if zklock has given the member up, as when another took the name while this program
-- was cut off. Call it before each round. True; or nil, message, code.
function jobs:stay()
    if self.member then
        local _, why = self.member:state()
        if not why then return true end
        self.member:leave()
    end
    local member, message, code = self.session:join(self.folder, { name = self.name })
    self.member = member
    if not member then return nil, message, code end
    return true
end

--- Whether the job is this member's now.
function jobs:mine(job)
    local joined = self.member and self.member:state() == "joined"
    local certain = joined and self.session:state() == "connected"
    return certain and jobs.owner(self.list, job) == self.name
end

return jobs
