--- Makes texts of others, such as names, data or a server's reason, safe for a terminal. They may
-- have escape sequences, and characters that turn the direction of writing.

local utf8 = require "zklock.value.utf8"

-- Patterns of unseen characters besides ASCII's: control characters of Latin-1, line and paragraph
-- separators, and characters that turn the direction of writing.
local hidden = { "\194[\128-\159]", "\216\156", "\226\128[\142\143\168-\174]",
                 "\226\129[\166-\169]" }

local ipairs = ipairs

local _M = { hidden = hidden }


--- Puts `text` into one line. White space becomes a space, and all else unseen "?".
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
