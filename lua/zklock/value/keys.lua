--- Lists the keys of a table that may change during a loop, because a finalizer may run at any
-- call, or wherever an object is made.

local pairs = pairs


---@param set table
---@return any[]
return function(set)
    local list = {}
    for key in pairs(set) do list[#list + 1] = key end
    return list
end
