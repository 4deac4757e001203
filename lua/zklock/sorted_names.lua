--- The names that a table has, or other keys, in order.

local members = require "zklock.members"

---@param given table<any, any>
---@return any[]
return function(given)
    local names = members(given)
    table.sort(names)
    return names
end
