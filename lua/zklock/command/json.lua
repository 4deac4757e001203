--- Encodes plain values as JSON, without a library.

local printable = require "zklock.command.printable"
local sorted_names = require "zklock.value.sorted_names"
local utf8 = require "zklock.value.utf8"

local ipairs, tostring, type = ipairs, tostring, type

local encode

local function escaped(character)
    local a, b, c = character:byte(1, 3)
    local code = c and (a % 16) * 4096 + (b % 64) * 64 + c % 64 or b and (a % 32) * 64 + b % 64
        or a
    return ("\\u%04x"):format(code)
end


local function text(value)
    value = utf8.clean(value):gsub('[%c"\\\127]', escaped)
    for _, hidden in ipairs(printable.hidden) do value = value:gsub(hidden, escaped) end
    return '"' .. value .. '"'
end


local function list(value)
    local items = {}
    for i, each in ipairs(value) do items[i] = encode(each) end
    return "[" .. table.concat(items, ",") .. "]"
end


local function object(value)
    local items = {}
    for i, name in ipairs(sorted_names(value)) do
        items[i] = text(name) .. ":" .. encode(value[name])
    end
    return "{" .. table.concat(items, ",") .. "}"
end


-- Whole numbers have no exponent and no fraction.
local function number(value)
    return value % 1 == 0 and ("%d"):format(value) or ("%.14g"):format(value)
end


local encoders = { string = text, number = number, boolean = tostring }

function encoders.table(value)
    return (value[1] ~= nil or next(value) == nil) and list(value) or object(value)
end


--- Encodes an empty table as a list.
---@return string
function encode(value)
    return encoders[type(value)](value)
end


return encode
