--- Services of the shell that plain Lua lacks.

local execute = os.execute
local popen = io.popen


local shell = {}


---@param text string
---@return string
function shell.quote(text)
    return "'" .. text:gsub("'", [['\'']]) .. "'"
end


local SIGINT, SIGNAL = 2, 128

--- A shell's exit status. Ctrl-C ends only the command, so this raises the error of Ctrl-C.
---@param command string
---@return integer
function shell.status(command)
    local waited, how, number = execute(command)
    if not how then -- Lua 5.1 and LuaJIT return the value of wait()
        local is_exit = waited % 256 == 0
        how, number = is_exit and "exit", is_exit and waited / 256 or waited % 128
    end
    if how == "exit" then return number end
    if number == SIGINT then error("interrupted!", 0) end
    return SIGNAL + number
end


---@param command string
---@return boolean
function shell.succeeds(command) return shell.status(command) == 0 end


---@param name string
---@return string? message
function shell.lacks(name)
    if shell.succeeds("command -v " .. shell.quote(name) .. " >/dev/null") then return nil end
    return name .. " is not installed"
end


---@param command string
---@return string?
function shell.first_line(command)
    local pipe = assert(popen(command, "r"))
    local line = pipe:read("*l")
    pipe:close()
    return line
end


return shell
