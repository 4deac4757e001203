--- The clock of the laboratory: seconds, to the millisecond, the same for all
--- processes. Plain Lua's clocks have whole seconds or are private to a
--- process, so the store's is used.

local dependency = require "zklock.seckill.dependency"


local clock = {
    --- The present as an SQL expression.
    NOW = "(julianday('now') - 2440587.5) * 86400.0",
}

local connection


--- Seconds since 1970.
---@return number
function clock.now()
    if not connection then
        local sqlite = dependency.load "luasql.sqlite3"
        connection = assert(sqlite.sqlite3():connect(":memory:"))
    end
    local cursor = assert(connection:execute("SELECT " .. clock.NOW))
    local now = cursor:fetch()
    cursor:close()
    return tonumber(now)
end


return clock
