--- Runs a function and closes an object however the function ends, by return, error (which passes
-- unchanged) or, on Lua 5.4, the close of its coroutine. The object's close(), also its __close,
-- may be called twice.

local error, pcall = error, pcall


local function finish(closable, ok, ...)
    closable:close()
    if not ok then error((...), 0) end
    return ...
end


local function scope(closable, fn, ...)
    return finish(closable, pcall(fn, ...))
end


-- An error that ends a coroutine runs no __close. So this closes the object after an error, and the
-- guard below in all other cases.
local function close_on_error(closable, ok, ...)
    if ok then return ... end
    closable:close()
    error((...), 0)
end


-- `<close>` is a syntax error before Lua 5.4, so it stands in a string.
local closing = [[
local close_on_error, pcall = ...
return function(closable, fn, ...)
    local guard <close> = closable
    return close_on_error(closable, pcall(fn, ...))
end
]]

if _VERSION < "Lua 5.4" then return scope end
return load(closing, "=zklock.scope")(close_on_error, pcall)
