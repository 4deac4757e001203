--- Errors that say what to install. They are texts, so scripts show them; commands have an exit
-- status for them.

local raised = {} -- texts

local missing = {}


---@param text string
function missing.raise(text)
    raised[text] = true
    error(text, 0)
end


---@return boolean
function missing.is(problem) return raised[problem] == true end


return missing
