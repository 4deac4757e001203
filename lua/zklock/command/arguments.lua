--- Finds where zklock's own arguments, for argparse, end and a user's command begins.

local sub = string.sub

local _M = {}


-- The index behind an option, and behind its value if `valued` has the option.
local function index_behind(arguments, i, valued)
    local argument = arguments[i]
    if sub(argument, 1, 2) == "--" then
        if argument:find("=", 1, true) then return i + 1 end
        return valued[argument] and i + 2 or i + 1
    end
    for letter = 2, #argument do -- -nw5 is -n -w 5
        if valued["-" .. sub(argument, letter, letter)] then
            return letter == #argument and i + 2 or i + 1
        end
    end
    return i + 1
end


--- The first argument from `i` on that is no option, or follows `--`.
---@return integer? index nil without one
---@return boolean? ended `--` is before it
function _M.first(arguments, i, valued)
    while arguments[i] do
        if arguments[i] == "--" then return arguments[i + 1] and i + 1, true end
        if sub(arguments[i], 1, 1) ~= "-" or arguments[i] == "-" then return i, false end
        i = index_behind(arguments, i, valued)
    end
end


---@return string[] head
---@return string[] tail
function _M.split(arguments, last)
    local head, tail = {}, {}
    for i, argument in ipairs(arguments) do
        if i <= last then head[i] = argument else tail[i - last] = argument end
    end
    return head, tail
end


return _M
