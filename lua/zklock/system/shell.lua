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


local SIGINT, SIGNAL = 2, 128

--- The exit status of a command, as a shell has it. Ctrl-C while it runs ends the command and not
--- this process, which is to end as well.
---@param command string
---@return integer
function shell.status(command)
    local waited, how, number = execute(command)
    if not how then -- Lua 5.1 and LuaJIT give what wait() gives
        local is_exit = waited % 256 == 0
        how, number = is_exit and "exit", is_exit and waited / 256 or waited % 128
    end
    if how == "exit" then return number end
    if number == SIGINT then error("interrupted!", 0) end
    return SIGNAL + number
end


--- Did the command end with status 0?
---@param command string
---@return boolean
function shell.succeeds(command) return shell.status(command) == 0 end


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
