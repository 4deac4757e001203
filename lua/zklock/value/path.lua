--- Checks and makes paths of ZooKeeper.
-- Source: PathUtils.validatePath of ZooKeeper's server.

local character = require "zklock.value.utf8".character

local byte, find, format = string.byte, string.find, string.format
local gmatch, gsub, sub = string.gmatch, string.gsub, string.sub
local concat = table.concat

local _M = {}


local function character_flaw(code)
    if code < 0x20 or code >= 0x7F and code <= 0x9F then
        return "must not contain NUL or control characters"
    end
    if code >= 0xE000 and code <= 0xF8FF or code >= 0xFFF0 and code <= 0xFFFF then
        return "contains a character that ZooKeeper does not allow"
    end
end


local function text_flaw(text)
    local at = find(text, "[^ -~]") or #text + 1
    while at <= #text do
        local code, length = character(text, at)
        if not code or code > 0xFFFF then return "must be UTF-8 up to U+FFFF" end
        local why = character_flaw(code)
        if why then return why end
        at = at + length
    end
end


---@param path string
---@return string? why
function _M.flaw(path)
    if sub(path, 1, 1) ~= "/" then return "must start with /" end
    if sub(path, -1) == "/" then return "must not end with /" end
    if find(path, "//", 1, true) then return "must not contain an empty segment" end
    for segment in gmatch(path, "[^/]+") do
        if segment == "." or segment == ".." then
            return "must not contain the segment . or .."
        end
    end
    return text_flaw(path)
end


---@param folder string
---@param name string
---@return string
function _M.join(folder, name)
    return (folder == "/" and "" or folder) .. "/" .. name
end


local function escape(bytes)
    return (gsub(bytes, ".", function(each) return format("%%%02X", byte(each)) end))
end


-- The character at `at`, escaped if a segment may not contain it, and its length.
local function escaped_character(text, at)
    local code, length = character(text, at)
    length = length or 1
    local bytes = sub(text, at, at + length - 1)
    local bad = not code or code > 0xFFFF or character_flaw(code) or find(bytes, "[%%/:]")
    return bad and escape(bytes) or bytes, length
end


--- Escapes a text for a segment as in URLs, so that different texts stay different. Also escapes
-- "%", "/", ":", and the segments "." and "..".
---@param text string
---@return string
function _M.escape(text)
    if text == "." or text == ".." then return escape(text) end
    if not find(text, "[^%w_.-]") then return text end
    local characters, at = {}, 1
    while at <= #text do
        local shown, length = escaped_character(text, at)
        characters[#characters + 1] = shown
        at = at + length
    end
    return concat(characters)
end


return _M
