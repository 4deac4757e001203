--- What a C request for the contenders of a lock gave, as lock:queue() shows them.

local core = require "zklock.core"
local failure = require "zklock.failure"

local huge = math.huge
local ipairs = ipairs

local REVOKE, BATCH_MAX = core.revoke_data, core.batch_max
local HELD_WORD = core.held_word .. "$"


-- Of the first in line. What another session may keep it may not hold, unless its node says so.
local function is_held(entry)
    local data, words = entry.data:gsub(HELD_WORD, "")
    local unknown = entry.keeps and not entry.mine and words == 0
    entry.data, entry.keeps = data, nil
    if entry.kept then return false end
    return unknown and "unknown" or true
end


-- Node data is the holder's identity, then on a line of its own the lock's data; or the
-- word that asks the holder to give way.
local function describe(entry, held)
    local identity, data = entry.data:match("^([^\n]*)\n?(.*)$")
    entry.revoked = identity == REVOKE or nil
    entry.identity = identity
    entry.data = data ~= "" and data or nil
    entry.held = held
end


---@param request zklock.Request
---@param counting? boolean tokens count the grants of a node
---@return table? queue
---@return string? message
---@return string? code
return function(request, path, counting)
    local code, detail = request.handle:result()
    if code ~= "ok" then return failure(code, path, detail) end
    local queue = request.handle:queue()
    local readers_so_far, taken = true, 0
    for position, entry in ipairs(queue) do
        readers_so_far = readers_so_far and entry.kind == "read"
        taken = taken + (entry.permits or huge)
        if counting and entry.token then entry.token = entry.token * BATCH_MAX + entry.served end
        entry.served = nil
        local held = is_held(entry)
        local first = position == 1 or readers_so_far or taken <= (entry.limit or 0)
        describe(entry, first and held)
    end
    return queue
end
