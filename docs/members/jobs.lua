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
    local self = setmetatable({ session = session, member = member, name = name, list = {} }, jobs)
    assert(session:members(folder, function(list) self.list = list or self.list end))
    return self
end

--- Whether the job is this member's now.
function jobs:mine(job)
    local joined = self.member:state() == "joined" and self.session:state() == "connected"
    return joined and jobs.owner(self.list, job) == self.name
end

return jobs
