--- Reads a contender's data, which are its identity and, on further lines, the lock's data; or a
-- word that asks the holder to give way. A node that may be kept adds a word when it is held.

local core = require "zklock.core"

local REVOKE, HELD_WORD = core.revoke_data, core.held_word .. "$"

local _M = {}


---@param text string
---@return string identity
---@return string? data
---@return boolean asked to give way
---@return boolean held
function _M.read(text)
    local said, words = text:gsub(HELD_WORD, "")
    local identity, data = said:match("^([^\n]*)\n?(.*)$")
    return identity, data ~= "" and data or nil, said == REVOKE, words > 0
end


return _M
