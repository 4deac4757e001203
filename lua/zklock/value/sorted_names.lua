--- Lists the keys of a table in order.

local members = require "zklock.value.keys"

---@param given table<any, any>
---@return any[]
return function(given)
    local names = members(given)
    table.sort(names)
    return names
end
