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


local SIGINT = 2

--- Did the command end with status 0? Ctrl-C while it runs ends the command and not this process,
--- which is to end as well.
---@param command string
---@return boolean
function shell.succeeds(command)
    local status, how, number = execute(command)
    if how == "signal" and number == SIGINT or status == SIGINT then error("interrupted!", 0) end
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
