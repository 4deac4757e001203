--- UTF-8 by RFC 3629, without surrogates, overlong forms and codes above U+10FFFF.

local utf8 = {}

local REPLACEMENT = "\239\191\189" -- U+FFFD

-- The number of bytes that follow a first byte, and the range of the second byte.
local function shape(first)
    if first < 0x80 then return 0 end
    if first < 0xC2 then return nil end
    if first < 0xE0 then return 1, 0x80, 0xBF end
    if first == 0xE0 then return 2, 0xA0, 0xBF end
    if first == 0xED then return 2, 0x80, 0x9F end -- no surrogates
    if first < 0xF0 then return 2, 0x80, 0xBF end
    if first == 0xF0 then return 3, 0x90, 0xBF end
    if first < 0xF4 then return 3, 0x80, 0xBF end
    if first == 0xF4 then return 3, 0x80, 0x8F end
    return nil
end


local function character_length(text, i)
    local more, least, most = shape(text:byte(i))
    if not more then return nil end
    for k = 1, more do
        local byte = text:byte(i + k)
        if not byte or byte < (k == 1 and least or 0x80) or byte > (k == 1 and most or 0xBF) then
            return nil
        end
    end
    return more + 1
end


--- The code and the length of the character at i; nil if it is not UTF-8.
---@param text string
---@param i integer
---@return integer? code
---@return integer? length
function utf8.character(text, i)
    local count = character_length(text, i)
    if not count then return nil end
    local code = text:byte(i) % (count == 1 and 0x80 or 2 ^ (7 - count))
    for k = 1, count - 1 do code = code * 0x40 + text:byte(i + k) % 0x40 end
    return code, count
end


---@param text string
---@return boolean
function utf8.is_valid(text)
    local i = text:find("[\128-\255]")
    while i and i <= #text do
        local count = character_length(text, i)
        if not count then return false end
        i = i + count
    end
    return true
end


---@param text string
---@return string
function utf8.clean(text)
    if not text:find("[\128-\255]") then return text end
    local parts, i = {}, 1
    while i <= #text do
        local count = character_length(text, i)
        parts[#parts + 1] = count and text:sub(i, i + count - 1) or REPLACEMENT
        i = i + (count or 1)
    end
    return table.concat(parts)
end


--- Cleans for HTML, XML and CSV. Control characters other than tabs and line ends become spaces;
--- U+FFFE and U+FFFF, which XML must not have, become U+FFFD.
---@param text string
---@return string
function utf8.plain(text)
    text = utf8.clean(text):gsub("[^%C\t\r\n]", " "):gsub("\239\191[\190\191]", REPLACEMENT)
    return text
end


return utf8
