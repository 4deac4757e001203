--- Numbers for dkjson with all of their digits. It writes 14 of them itself.

local number_text = require "zklock.value.number_text"

local MOST_DIGITS = 17 -- tell doubles apart


local Exact = { __tojson = function(self) return self.text end }


local function shortest_text(value)
    for digits = 15, MOST_DIGITS do
        local text = number_text(("%%.%dg"):format(digits), value)
        if tonumber(text) == value then return text end
    end
end


--- The number, or in its place a table that dkjson encodes as the number.
---@param value number  finite
---@return number | table
return function(value)
    local text = tostring(value)
    if tonumber(text) == value then return value end
    text = shortest_text(value)
    if text and math.type and not text:find "[.e]" then text = text .. ".0" end -- remains a float
    return text and setmetatable({ text = text }, Exact) or value
end
