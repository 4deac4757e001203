--- A number as text with a decimal point, even if the locale has a comma.

---@param form string of string.format
---@param value number
---@return string
return function(form, value)
    return (form:format(value):gsub("[^%w+-]+", "."))
end
