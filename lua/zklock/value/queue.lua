--- Takes the contenders of a lock from a C request, in the form of lock:queue().

local failure = require "zklock.value.failure"
local read_data = require "zklock.value.node_data"

---@class zklock.Contender
---@field position integer
---@field name string of the node
---@field kind "mutex"|"read"|"write"|"permit"
---@field permits? integer
---@field limit? integer
---@field held boolean|"unknown"
---@field kept? boolean
---@field mine boolean of this session
---@field token? integer nil where lease.token raises
---@field identity string
---@field data? string
---@field session string hexadecimal id
---@field since? number seconds since 1970
---@field revoked? boolean

local huge = math.huge
local ipairs = ipairs


-- The field `held` of a contender at the front. A node that another session can keep is "unknown",
-- unless its data says that it is held.
local function held_at_front(entry, says_held)
    if entry.kept then return false end
    return entry.keeps and not entry.mine and not says_held and "unknown" or true
end


local function complete(entry, at_front)
    local identity, data, asked, says_held = read_data(entry.data)
    entry.identity, entry.data = identity, data
    entry.revoked = asked or nil
    entry.held = at_front and held_at_front(entry, says_held)
    entry.keeps = nil
end


---@param request zklock.Request
---@return table? queue
---@return string? message
---@return string? code
return function(request, path)
    local code, detail = request.handle:result()
    if code ~= "ok" then return failure(code, path, detail) end
    local queue = request.handle:queue()
    local readers_so_far, taken = true, 0
    for position, entry in ipairs(queue) do
        readers_so_far = readers_so_far and entry.kind == "read"
        taken = taken + (entry.permits or huge)
        complete(entry, position == 1 or readers_so_far or taken <= (entry.limit or 0))
    end
    return queue
end
