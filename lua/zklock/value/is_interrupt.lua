--- True for Ctrl-C's error, "interrupted!" with or without a position.

---@param problem any
---@return boolean
return function(problem)
    local line = tostring(problem):match "^[^\n]*"
    return line == "interrupted!" or line:find ":%d+: interrupted!$" ~= nil
end
