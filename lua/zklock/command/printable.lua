--- Makes foreign texts safe for a terminal. They may have escape sequences, and characters that
-- turn the direction of writing.

local utf8 = require "zklock.value.utf8"

-- Patterns of unseen characters that are not ASCII, such as separators of lines and turns of the
-- direction of writing. json.lua escapes them, too.
local hidden = { "\194[\128-\159]", "\216\156", "\226\128[\142\143\168-\174]",
                 "\226\129[\166-\169]" }

local ipairs = ipairs

local _M = { hidden = hidden }


--- Makes one line of `text`, with spaces for white space and "?" for all else unseen.
---@param text string
---@return string
function _M.line(text)
    text = utf8.clean(text):gsub("%s", " "):gsub("[%c\127]", "?")
    for _, pattern in ipairs(hidden) do text = text:gsub(pattern, "?") end
    return text
end


---@param text string
---@return string
function _M.lines(text)
    return (text:gsub("[^\n]+", _M.line))
end


return _M
