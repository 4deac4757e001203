--- An HTTP client for many concurrent requests, with coroutines over LuaSocket. It distinguishes an
--- unreachable server from a lost answer.

local dependency = require "zklock.system.dependency"


local client = {}


local LIMIT = 20 -- seconds for a request


-- Calls `step` until it succeeds, until its problem is not "timeout", or until `due`, and yields
-- between calls.
local function yield_until_done(connection, direction, due, step)
    while true do
        local result, problem = step()
        if result or problem ~= "timeout" then return result, problem end
        if dependency.load("socket").gettime() > due then return nil, "no answer in time" end
        coroutine.yield(connection, direction)
    end
end


local function connect(connection, port, due)
    return yield_until_done(connection, "write", due, function()
        local ok, problem = connection:connect("127.0.0.1", port)
        if problem == "already connected" then return true end
        if problem == "Operation already in progress" then problem = "timeout" end
        return ok, problem
    end)
end


local function receive(connection, due)
    local parts = {}
    yield_until_done(connection, "read", due, function()
        local all, problem, partial = connection:receive "*a"
        parts[#parts + 1] = all or partial
        return all, problem
    end)
    return table.concat(parts)
end


local function parse(text)
    local head, body = text:match "^(.-)\r\n\r\n(.*)$"
    if not head then return nil, "lost" end
    local length = tonumber(head:lower():match "\r\ncontent%-length: *(%d+)")
    if length and #body < length then return nil, "lost" end
    return tonumber(head:match "^HTTP/%S+ (%d+)"), body, head
end


---@param port integer
---@param method string
---@param path string
---@param limit number?     seconds; 20 by default
---@return integer? status  nil without an answer
---@return string body      without an answer, "refused" (no connection) or "lost"
---@return string? head
function client.request(port, method, path, limit)
    local socket = dependency.load "socket"
    local due = socket.gettime() + (limit or LIMIT)
    local connection = socket.tcp()
    connection:settimeout(0)
    if not connect(connection, port, due) then
        connection:close()
        return nil, "refused"
    end
    connection:send(("%s %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n"):format(method, path))
    local status, body, head = parse(receive(connection, due))
    connection:close()
    return status, body, head
end


-- Resumes a task until it waits for its connection, or ends.
local function resume(task)
    local ok, connection, direction = coroutine.resume(task.coroutine)
    if not ok then error(connection, 0) end
    task.connection, task.direction = connection, direction
end


local function waiting_connections(tasks)
    local directions, by_connection = { read = {}, write = {} }, {}
    for _, task in ipairs(tasks) do
        if task.connection then
            table.insert(directions[task.direction], task.connection)
            by_connection[task.connection] = task
        end
    end
    return directions, by_connection
end


-- Waits for ready connections and returns them. After an idle second returns all, to check their
-- deadlines.
local function wait_for_ready(directions, by_connection)
    local connections = {}
    local socket = dependency.load "socket"
    local readable, writable = socket.select(directions.read, directions.write, 1)
    for _, list in ipairs { readable, writable } do
        for _, connection in ipairs(list) do connections[#connections + 1] = connection end
    end
    if connections[1] then return connections end
    for connection in pairs(by_connection) do connections[#connections + 1] = connection end
    return connections
end


--- Runs the functions as coroutines, which may call `request`.
function client.run(functions)
    local tasks = {}
    for i, fn in ipairs(functions) do
        tasks[i] = { coroutine = coroutine.create(fn) }
        resume(tasks[i])
    end
    local directions, by_connection = waiting_connections(tasks)
    while next(by_connection) do
        for _, connection in ipairs(wait_for_ready(directions, by_connection)) do
            resume(by_connection[connection])
        end
        directions, by_connection = waiting_connections(tasks)
    end
end


function client.once(port, method, path)
    local status, body, head
    client.run { function() status, body, head = client.request(port, method, path) end }
    return status, body, head
end


return client
