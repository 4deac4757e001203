--- A refusal is an error that ends a verb, with message and exit status.

local Refusal = {}
Refusal.__index = Refusal

function Refusal:__tostring()
    return self.text
end


local _M = {}


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
