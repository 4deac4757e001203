--- Names may have any bytes; a page, JSON and CSV are UTF-8.

local utf8 = {}

local REPLACEMENT = "\239\191\189" -- U+FFFD

-- By the first byte: how many more there are, and what the second one may be.
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


-- The length of the character that begins at i; nil if none does.
local function length(text, i)
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


--- `text`, where each byte that is no UTF-8 is U+FFFD.
---@param text string
---@return string
function utf8.clean(text)
    if not text:find("[\128-\255]") then return text end
    local parts, i = {}, 1
    while i <= #text do
        local count = length(text, i)
        parts[#parts + 1] = count and text:sub(i, i + count - 1) or REPLACEMENT
        i = i + (count or 1)
    end
    return table.concat(parts)
end


return utf8
