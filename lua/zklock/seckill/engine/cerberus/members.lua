--- The list of members in one node, with a line for each process and epoch.
---
---     ID NUMBER LIFE        as in "3f2a… 7 10"; LIFE is "never" if the locks do not expire
---
--- A process writes the line before its first lock in that epoch, and removes it after its last
--- lock. The line of a dead process stays, and tells how long the locks may live on.

local number_text = require "zklock.value.number_text"


---@class zklock.engine.Member
---@field id string
---@field number integer  of the epoch
---@field life number     seconds that its locks may outlive it; math.huge for ever

local members = {}


function members.parse(text)
    local list = {}
    for id, number, life in text:gmatch "(%S+) (%d+) (%S+)\n" do
        list[#list + 1] = {
            id = id, number = tonumber(number), life = tonumber(life) or math.huge,
        }
    end
    return list
end


local function line_of(member)
    local life = member.life == math.huge and "never" or number_text("%g", member.life)
    return ("%s %d %s\n"):format(member.id, member.number, life)
end


function members.with(text, member) return text .. line_of(member) end


function members.without(text, id)
    local lines = {}
    for _, member in ipairs(members.parse(text)) do
        if member.id ~= id then lines[#lines + 1] = line_of(member) end
    end
    return table.concat(lines)
end


return members
