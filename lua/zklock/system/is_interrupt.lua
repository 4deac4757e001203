--- Is this error Ctrl-C's?

---@param problem any
---@return boolean
return function(problem)
    return tostring(problem):find("interrupted!", 1, true) ~= nil
end
