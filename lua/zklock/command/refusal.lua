--- Ends a verb before its end: refusal(status, text) raises what the command says, and ends with.

local Refusal = {}
Refusal.__index = Refusal

function Refusal:__tostring()
    return self.text
end


local _M = {}


--- Raises.
---@param status integer of the process
---@param text string for stderr
function _M.raise(status, text, ...)
    error(setmetatable({ status = status, text = text:format(...) }, Refusal), 0)
end


---@return boolean
function _M.is(problem)
    return getmetatable(problem) == Refusal
end


return _M
