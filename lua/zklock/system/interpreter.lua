--- The interpreter that runs this process. Servers of a sale use the same.

local shell = require "zklock.system.shell"


local START = "package.path, package.cpath = %q, %q arg = { [0] = %q%s } dofile(arg[0])"


local interpreter = {}


--- The path of the interpreter; "lua5.4" if the program is no Lua.
---@return string
function interpreter.own()
    local path = shell.first_line 'readlink "/proc/$PPID/exe"'
    local name = path and path:match "[^/]*$"
    return name and name:find "^lua" and path or "lua5.4"
end


---@param program string?  default: interpreter.own()
---@param file string
---@param ... string  its arguments
---@return string[] words
function interpreter.words(program, file, ...)
    local arguments = {}
    for i = 1, select("#", ...) do arguments[i] = (", %q"):format((select(i, ...))) end
    local code = START:format(package.path, package.cpath, file, table.concat(arguments))
    return { program or interpreter.own(), "-e", code }
end


return interpreter
