--- Tells whether an error is Ctrl-C's. The interpreter raises "interrupted!", perhaps after a
-- position.

---@param problem any
---@return boolean
return function(problem)
    local line = tostring(problem):match "^[^\n]*"
    return line == "interrupted!" or line:find ":%d+: interrupted!$" ~= nil
end
