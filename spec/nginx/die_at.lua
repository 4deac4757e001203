--- Makes this worker of nginx kill itself at the count-th line that it runs from now on of the Lua
-- files in nginx's folder. A nil count turns that off.

local ffi = require "ffi"
local jit = require "jit"

pcall(ffi.cdef, "int kill(int pid, int signal);") -- another module may have declared it

local KILL = 9

return function(count)
    local folder, lines_left = ngx.config.prefix():gsub("/$", ""), tonumber(count)
    jit.off() -- compiled code calls no hook
    jit.flush()
    debug.sethook(lines_left and function()
        local source = debug.getinfo(2, "S").source:match "^@(.*)/[^/]+%.lua$"
        if not source or source:gsub("/$", "") ~= folder then return end
        lines_left = lines_left - 1
        if lines_left == 0 then ffi.C.kill(ngx.worker.pid(), KILL) end
    end, "l")
end
