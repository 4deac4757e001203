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


if _VERSION < "Lua 5.4" then
    return function(closable, fn, ...)
        return finish(closable, pcall(fn, ...))
    end
end


-- `<close>` is a syntax error before Lua 5.4, so it stands in a string. It is
-- for coroutine.close alone: an error that ends a coroutine closes nothing.
return load([[
local finish, pcall = ...
return function(closable, fn, ...)
    local guard <close> = closable
    return finish(closable, pcall(fn, ...))
end
]], "=zklock.scope")(finish, pcall)
