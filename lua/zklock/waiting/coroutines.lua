--- Abilities and limits of this Lua's coroutines.

local failure = require "zklock.value.failure"

local running = coroutine.running
local select = select
local jit = rawget(_G, "jit")

local _M = {
    NO_YIELD = "nothing can wait inside require, a finalizer, or a function that was given to " ..
               "table.sort or string.gsub",
}


--- False in the main program.
function _M.is_inside()
    local thread, is_main = running() -- Lua 5.1 has no thread for the main program
    return thread ~= nil and not is_main
end


--- True where a yield may be possible. Lua 5.1 and 5.2 overlook C functions in between.
_M.yieldable = coroutine.isyieldable or _M.is_inside


--- Message and code if the running code cannot yield, else nothing.
function _M.refusal()
    if _M.yieldable() then return end
    return select(2, failure("context", "waiting here", _M.NO_YIELD))
end


--- The reason why no wait can yield in plain Lua 5.1, where each wait has a pcall around it.
---@type string?
_M.problem = _VERSION == "Lua 5.1" and not jit and
    "plain Lua 5.1 cannot yield across pcall; use LuaJIT, or Lua 5.2 or later" or nil


return _M
