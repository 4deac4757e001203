--- Is this error Ctrl-C's? The interpreter raises "interrupted!", behind no more than the place.

---@param problem any
---@return boolean
return function(problem)
    local line = tostring(problem):match "^[^\n]*"
    return line == "interrupted!" or line:find ":%d+: interrupted!$" ~= nil
end
