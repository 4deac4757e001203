--- Runs a function and closes something after it, however the function ends:
-- it returns, raises (the error passes unchanged), or, on Lua 5.4, its
-- coroutine is closed. `closable` has a method close() that may be called
-- twice, and the same as metamethod __close.

local error, pcall = error, pcall


local function finish(closable, ok, ...)
    closable:close()
    if not ok then error((...), 0) end
    return ...
end


local function scope(closable, fn, ...)
    return finish(closable, pcall(fn, ...))
end


-- The guard closes it, but for an error: one that ends a coroutine closes nothing.
local function pass(closable, ok, ...)
    if ok then return ... end
    closable:close()
    error((...), 0)
end


-- `<close>` is a syntax error before Lua 5.4, so it stands in a string.
local closing = [[
local pass, pcall = ...
return function(closable, fn, ...)
    local guard <close> = closable
    return pass(closable, pcall(fn, ...))
end
]]

if _VERSION < "Lua 5.4" then return scope end
return load(closing, "=zklock.scope")(pass, pcall)
