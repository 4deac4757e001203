--- Raises errors about misuse, with the line of the user's code.

local is_valid = require "zklock.value.utf8".is_valid

local error, getmetatable, tostring, type = error, getmetatable, tostring, type
local byte, find, format = string.byte, string.find, string.format
local gsub, sub = string.gsub, string.sub
local getinfo = debug.getinfo

local SHOWN = 60 -- bytes of a value that a message repeats

local _M = {}


-- The folder of this library, as chunks name it, "@.../zklock/".
local folder = getinfo(1, "S").source:match("^(.-)value/[^/]*$")

-- Chunks that the library loads from strings are named "=zklock.…".
local function is_ours(source)
    return sub(source, 1, #folder) == folder or find(source, "^=zklock%.")
end


-- "file:line: " of the innermost Lua function outside this library; "" without one.
local function users_line()
    local level = 3 -- the caller of refuse()
    local info = getinfo(level, "Sl")
    while info do
        if info.currentline > 0 and not is_ours(info.source) then
            return format("%s:%d: ", info.short_src, info.currentline)
        end
        level = level + 1
        info = getinfo(level, "Sl")
    end
    return ""
end


--- "file:line: " of the definition of a Lua function; "" for other values.
function _M.defined_at(fn)
    if type(fn) ~= "function" then return "" end
    local info = getinfo(fn, "S")
    return info.linedefined > 0 and format("%s:%d: ", info.short_src, info.linedefined) or ""
end


---@param text string for string.format
function _M.refuse(text, ...)
    error(users_line() .. format(text, ...), 0)
end


-- The greatest length, at most `most`, that cuts no character in two.
local function whole_length(text, most)
    for last = most, most - 3, -1 do
        local following = byte(text, last + 1)
        if following < 0x80 or following >= 0xC0 then return last end
    end
    return most -- not UTF-8
end


-- The beginning of a text, and a mark with its length if it was cut.
local function cut_text(text, most)
    if #text <= most then return text, "" end
    return sub(text, 1, whole_length(text, most)), format("… (%d bytes)", #text)
end


---@param most? integer bytes
function _M.brief(text, most)
    local head, rest = cut_text(text, most or SHOWN)
    return head .. rest
end


local function escaped(character)
    return format("\\%03d", byte(character))
end


-- Quotes as Lua would, in one line of UTF-8. %q of Lua 5.1 leaves control characters.
local function quote(text)
    local quoted = gsub(gsub(format("%q", text), "\\\n", "\\n"), "%c", escaped)
    if is_valid(quoted) then return quoted end
    return (gsub(quoted, "[\128-\255]", escaped))
end


--- Shows any value in a message, as Lua would write it.
function _M.show(value)
    if type(value) ~= "string" then return _M.brief(tostring(value)) end
    local head, rest = cut_text(value, SHOWN)
    return quote(head) .. rest
end


function _M.kind_of(value)
    local class = type(value) == "table" and getmetatable(value)
    return type(class) == "table" and class.__name or type(value)
end


return _M
