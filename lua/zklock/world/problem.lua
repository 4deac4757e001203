--- The problem of a schedule as text. A raised table is shown by its fields, because its address
-- changes with each replay.

local sorted_names = require "zklock.value.sorted_names"

local concat = table.concat
local getmetatable, ipairs, pairs, tostring, type = getmetatable, ipairs, pairs, tostring, type


local function show_without_address(value)
    local kind = type(value)
    if kind == "string" then return ("%q"):format(value) end
    return (kind == "number" or kind == "boolean") and tostring(value) or "a " .. kind
end


---@param problem any
---@return string
return function(problem)
    local class = getmetatable(problem)
    if type(problem) == "string" or class and class.__tostring then return tostring(problem) end
    if type(problem) ~= "table" then return show_without_address(problem) end
    local fields, texts = {}, {}
    for key, value in pairs(problem) do
        fields[type(key) == "string" and key or "[" .. show_without_address(key) .. "]"] =
            show_without_address(value)
    end
    for i, name in ipairs(sorted_names(fields)) do texts[i] = name .. " = " .. fields[name] end
    return "{ " .. concat(texts, ", ") .. " }"
end
