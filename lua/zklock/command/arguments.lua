--- Finds where zklock's own arguments end, for argparse, and a user's command begins, as for `run`.

local sub = string.sub

local _M = {}


-- The place behind this option, and behind its value if it is in `valued`.
local function behind(arguments, i, valued)
    local argument = arguments[i]
    if sub(argument, 1, 2) == "--" then
        if argument:find("=", 1, true) then return i + 1 end
        return valued[argument] and i + 2 or i + 1
    end
    for place = 2, #argument do -- -nw5 is -n -w 5
        if valued["-" .. sub(argument, place, place)] then
            return place == #argument and i + 2 or i + 1
        end
    end
    return i + 1
end


--- The first argument from `i` on that is no option, or follows `--`.
---@return integer? place nil without one
---@return boolean? ended `--` is before it
function _M.first(arguments, i, valued)
    while arguments[i] do
        if arguments[i] == "--" then return arguments[i + 1] and i + 1, true end
        if sub(arguments[i], 1, 1) ~= "-" or arguments[i] == "-" then return i, false end
        i = behind(arguments, i, valued)
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
