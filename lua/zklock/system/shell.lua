--- What plain Lua must ask the shell for.

local execute = os.execute
local popen = io.popen


local shell = {}


--- `text` as one word of a command line.
---@param text string
---@return string
function shell.quote(text)
    return "'" .. text:gsub("'", [['\'']]) .. "'"
end


--- Did the command end with status 0?
---@param command string
---@return boolean
function shell.succeeds(command)
    local status = execute(command)
    return status == true or status == 0 -- Lua 5.1 and LuaJIT give the number
end


--- What is said of a program that is not there; nil: it is.
---@param name string
---@return string? message
function shell.lacks(name)
    if shell.succeeds("command -v " .. shell.quote(name) .. " >/dev/null") then return nil end
    return name .. " is not installed"
end


--- The first line that the command prints.
---@param command string
---@return string?
function shell.first_line(command)
    local pipe = assert(popen(command, "r"))
    local line = pipe:read("*l")
    pipe:close()
    return line
end


return shell
