--- Lists the keys of a table in order.

local keys_of = require "zklock.value.keys"

---@param given table<any, any>
---@return any[]
return function(given)
    local names = keys_of(given)
    table.sort(names)
    return names
end
