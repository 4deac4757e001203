--- Returns a variable of the environment. An empty one counts as unset.

local getenv = os.getenv

---@param name string
---@return string?
return function(name)
    local text = getenv(name)
    return text ~= "" and text or nil
end
