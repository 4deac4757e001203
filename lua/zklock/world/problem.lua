--- The problem of a schedule as text. A raised table is told by its fields, which are the same in
--- each replay, unlike its address.

local sorted_names = require "zklock.sorted_names"

local concat = table.concat
local getmetatable, ipairs, pairs, tostring, type = getmetatable, ipairs, pairs, tostring, type


local function show(value)
    return type(value) == "string" and ("%q"):format(value) or tostring(value)
end


---@param problem any
---@return string
return function(problem)
    if type(problem) ~= "table" or getmetatable(problem) then return tostring(problem) end
    local fields, texts = {}, {}
    for key, value in pairs(problem) do
        local name = type(key) == "string" and key or "[" .. tostring(key) .. "]"
        fields[name] = type(value) == "table" and "{…}" or show(value)
    end
    for i, name in ipairs(sorted_names(fields)) do texts[i] = name .. " = " .. fields[name] end
    return "{ " .. concat(texts, ", ") .. " }"
end
