--- Lists the keys of a table. Traverse the list where the loop may change the table. A finalizer
-- may do that at any call, or wherever an object is made.

local pairs = pairs


---@param set table
---@return any[]
return function(set)
    local list = {}
    for key in pairs(set) do list[#list + 1] = key end
    return list
end
