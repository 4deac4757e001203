--- A refusal is an error that ends a verb, with message and exit status.

local SIGNAL = require("zklock.command.status").SIGNAL

local Refusal = {}
Refusal.__index = Refusal

function Refusal:__tostring()
    return self.text
end


local DEADLY = { [2] = true, [3] = true } -- INT, QUIT: Ctrl-C and Ctrl-\

local _M = {}


---@param status integer of the process
---@param text string for stderr
function _M.raise(status, text, ...)
    error(setmetatable({ status = status, text = text:format(...) }, Refusal), 0)
end


--- Ends the verb silently, as after a signal. After a key of the terminal zklock dies of the signal
-- itself, because a shell script ends only then.
---@param number integer of the signal
---@param of_group boolean? the process group, such as that script, has not got the signal
function _M.raise_signal(number, of_group)
    local deadly = DEADLY[number]
    error(setmetatable({
        status = SIGNAL + number,
        text = "",
        signal = deadly and number,
        of_group = deadly and of_group,
    }, Refusal), 0)
end


---@return boolean
function _M.is(problem)
    return getmetatable(problem) == Refusal
end


return _M
