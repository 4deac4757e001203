--- The part of lua-resty-mysql's interface that examples/nginx/mysql uses, over LuaSQL, because
-- Debian has no package of it. It is as strict as the original, version 0.29: a connection has the
-- same states and messages, each worker has its pools, other light threads run between two
-- statements, and no connection works without cosockets. It differs in three things. A statement
-- blocks the worker, so that no timeout ends it; an error has no SQLSTATE; and a connection left
-- open by a request is closed by the collector.

local luasql = require "luasql.mysql"

local environment = luasql.mysql()

local CONNECTED, SENT = 1, 2
local FOUND_ROWS = 2 -- lua-resty-mysql sets it in each connection
local EXACT = 11 -- the width of an INT: wider numbers stay text

local _M = {}
local mt = { __index = _M }
local pools = {} -- idle connections by the pool's name: { connection, reused = times }


function _M.new()
    return setmetatable({ reused = 0 }, mt)
end


function _M.set_timeout(_, timeout)
    assert(type(timeout) == "number" and timeout >= 0, "a timeout is a number of milliseconds")
end


local function open(options)
    local host = options.host
    return environment:connect(options.database or "", options.user or "", options.password or "",
        host or "localhost", host and options.port or 3306, not host and options.path or nil,
        FOUND_ROWS)
end


-- Waits for the server like a cosocket, so that other light threads run. (nginx warns of a sleep of
-- 0.)
local function wait() ngx.sleep(0.001) end


function _M:connect(options)
    if not options.host and not options.path then
        return nil, 'neither "host" nor "path" options are specified'
    end
    wait()
    self.pool = options.pool or table.concat({ options.user or "", options.database or "",
        options.host and options.host .. ":" .. (options.port or 3306) or options.path }, ":")
    local idle = table.remove(pools[self.pool] or {})
    if idle then
        self.connection, self.reused = idle.connection, idle.reused + 1
    else
        local connection, message = open(options)
        if not connection then return nil, "failed to connect: " .. message end
        self.connection, self.reused = connection, 0
    end
    self.state = CONNECTED
    return 1
end


function _M:get_reused_times()
    if not self.connection then return nil, "closed" end
    return self.reused
end


-- Numbers that a double holds exactly become numbers, and NULL becomes ngx.null.
local function convert(value, kind)
    if value == nil then return ngx.null end
    local width = kind:match "^number%((%d+)%)$"
    return width and tonumber(width) <= EXACT and tonumber(value) or value
end


local function rows_of(cursor)
    local names, kinds, rows = cursor:getcolnames(), cursor:getcoltypes(), {}
    local values = cursor:fetch({}, "n")
    while values do
        local row = {}
        for i, name in ipairs(names) do row[name] = convert(values[i], kinds[i]) end
        rows[#rows + 1] = row
        values = cursor:fetch({}, "n")
    end
    cursor:close()
    return rows
end


-- The number of the last error, or nil while the server does not answer.
local function error_number(connection)
    local cursor = connection:execute "SHOW ERRORS"
    if not cursor then return nil end
    local _, number = cursor:fetch()
    cursor:close()
    return tonumber(number)
end


function _M:query(statement)
    if self.state ~= CONNECTED then
        return nil, "cannot send query in the current context: " .. (self.state or "nil")
    end
    assert(type(statement) == "string", "a statement is text")
    self.state = SENT
    wait()
    local result, message = self.connection:execute(statement)
    if not result then
        local number = error_number(self.connection)
        if number then self.state = CONNECTED end
        return nil, (message:gsub("^.-MySQL: ", "")), number
    end
    self.state = CONNECTED
    if type(result) ~= "number" then return rows_of(result) end
    return { affected_rows = result, insert_id = self.connection:getlastautoid() }
end


--- The idle time is ignored, because no spec lasts so long.
function _M:set_keepalive(_, size)
    if self.state ~= CONNECTED then
        return nil, "cannot be reused in the current connection state: " .. (self.state or "nil")
    end
    local pool = pools[self.pool] or {}
    pools[self.pool] = pool
    table.insert(pool, { connection = self.connection, reused = self.reused })
    if #pool > (size or 30) then table.remove(pool, 1).connection:close() end
    self.state, self.connection = nil, nil
    return 1
end


function _M:close()
    self.state = nil
    if not self.connection then return nil, "closed" end
    self.connection:close()
    self.connection = nil
    return 1
end


return _M
