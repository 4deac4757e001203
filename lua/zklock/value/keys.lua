--- The keys of a table, as a list: what is done to each may change the table, and so may a
-- finalizer, wherever an object is made or a function is called.

local pairs = pairs


---@param set table
---@return any[]
return function(set)
    local list = {}
    for key in pairs(set) do list[#list + 1] = key end
    return list
end
