--- The names that a table has, in alphabetical order.

---@param given table<string, any>
---@return string[]
return function(given)
    local names = {}
    for name in pairs(given) do names[#names + 1] = name end
    table.sort(names)
    return names
end
