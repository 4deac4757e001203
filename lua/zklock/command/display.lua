--- Shows values at the prompt. A table without a metatable is shown by its fields.

local printable = require "zklock.command.printable"
local sorted_names = require "zklock.value.sorted_names"

local getmetatable, ipairs, pairs, tostring, type = getmetatable, ipairs, pairs, tostring, type

local WIDTH = 80 -- columns
local DEPTH = 3 -- tables within tables
local INDENT = "  "

local display


local function key_text(key)
    if type(key) == "string" and key:find "^[%a_][%w_]*$" then return key end
    return "[" .. (type(key) == "string" and ('"%s"'):format(printable.line(key))
        or tostring(key)) .. "]"
end


local function field_texts(value, depth)
    local texts, listed, others = {}, {}, {}
    for i, each in ipairs(value) do
        texts[i], listed[i] = display(each, depth + 1), true
    end
    for key, each in pairs(value) do
        if not listed[key] then
            local name = key_text(key)
            others[name] = name .. " = " .. display(each, depth + 1)
        end
    end
    for _, name in ipairs(sorted_names(others)) do texts[#texts + 1] = others[name] end
    return texts
end


local function table_text(value, depth)
    if getmetatable(value) or depth > DEPTH then return tostring(value) end
    local texts = field_texts(value, depth)
    if not texts[1] then return "{}" end
    local line = "{ " .. table.concat(texts, ", ") .. " }"
    if #line + depth * #INDENT <= WIDTH and not line:find("\n", 1, true) then return line end
    local margin = INDENT:rep(depth)
    return ("{\n%s%s%s\n%s}"):format(margin, INDENT,
        table.concat(texts, ",\n" .. margin .. INDENT), margin)
end


function display(value, depth)
    if type(value) == "table" then return table_text(value, depth) end
    if type(value) == "string" then return ('"%s"'):format(printable.line(value)) end
    return tostring(value)
end


---@param value any
---@return string
return function(value)
    return type(value) == "table" and display(value, 0) or tostring(value)
end
