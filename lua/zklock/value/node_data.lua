--- Reads the data of a contender's node, which are its identity and, on further lines, the lock's
-- data. lock:revoke writes one word in place of both. In a node that can be kept, another word at
-- the end shows that the lock is held.

local core = require "zklock.core"

local REVOKE, HELD_WORD = core.revoke_data, core.held_word .. "$"


---@param text string
---@return string identity
---@return string? data
---@return boolean asked to give way
---@return boolean held
return function(text)
    local rest, held_words = text:gsub(HELD_WORD, "")
    local identity, data = rest:match("^([^\n]*)\n?(.*)$")
    return identity, data ~= "" and data or nil, rest == REVOKE, held_words > 0
end
