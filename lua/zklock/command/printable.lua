--- What others wrote, for a terminal: a name, data, a server's reason. It may have escape
-- sequences, and what turns the direction of writing.

local utf8 = require "zklock.value.utf8"

-- Of Unicode, besides the control characters of ASCII: those of Latin-1, line and paragraph
-- separators, and those that turn the direction of writing.
local hidden = { "\194[\128-\159]", "\216\156", "\226\128[\142\143\168-\174]",
                 "\226\129[\166-\169]" }

local ipairs = ipairs

local _M = { hidden = hidden }


--- `text` in one line: space is a space, all else that is not to be seen is "?".
---@param text string
---@return string
function _M.line(text)
    text = utf8.clean(text):gsub("%s", " "):gsub("[%c\127]", "?")
    for _, pattern in ipairs(hidden) do text = text:gsub(pattern, "?") end
    return text
end


--- The same of each line.
---@param text string
---@return string
function _M.lines(text)
    return (text:gsub("[^\n]+", _M.line))
end


return _M
