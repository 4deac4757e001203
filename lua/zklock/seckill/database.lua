--- A connection to an SQL database: an SQLite file, or MariaDB by URL,
---
---     mysql://USER:PASSWORD@HOST:PORT/NAME
---     mysql://USER:PASSWORD@localhost/NAME?socket=PATH
---
--- It blocks the process while a statement runs. That is why statements by it are short, and why
--- it is no example of database access in nginx.

local core = require "zklock.core"
local dependency = require "zklock.system.dependency"
local zklock = require "zklock"


-- How long a statement waits for another process's transaction, in seconds.
local BUSY_LIMIT = 10

-- Of mysql_real_connect: an UPDATE counts the rows it found, as in SQLite, also
-- those that have the new value already.
local FOUND_ROWS = 2


---@class zklock.seckill.Database
---@field where string
---@field path string  the same
local Database = {}
Database.__index = Database


local database = {}


-- dialects ----------------------------------------------------------------------------------

local sqlite = {
    busy = "database is locked",
    begin = "BEGIN IMMEDIATE",
    serial = "integer PRIMARY KEY AUTOINCREMENT",
}


-- WAL: readers see the last committed state and are never blocked, as in the
-- seed's InnoDB. It is of the file, and costs nothing when it is set already.
-- NORMAL: a commit survives the process, if not the machine.
function sqlite.connect(path)
    local environment = dependency.load("luasql.sqlite3").sqlite3()
    return environment, environment:connect(path)
end


function sqlite.prepare(self)
    self:rows "PRAGMA journal_mode = WAL"
    self:execute "PRAGMA synchronous = NORMAL"
end


local mysql = {
    busy = "Lock wait timeout exceeded",
    begin = "START TRANSACTION",
    serial = "bigint PRIMARY KEY AUTO_INCREMENT",
}


local function decoded(text)
    return (text:gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end))
end


--- A text as a part of a URL, such as the path of a socket.
function database.encoded(text)
    return (text:gsub("[%%?]", function(sign) return ("%%%02X"):format(sign:byte()) end))
end


---@class zklock.seckill.Address
---@field user string
---@field password string
---@field host string
---@field port integer?
---@field name string     of the database
---@field socket string?

--- The parts of a URL; nil: it is none.
function database.parts(url)
    local user, password, host, rest = url:match "^mysql://([^:@/]*):?([^@/]*)@([^/?]+)(.*)$"
    if not user then return nil end
    local name, query = rest:match "^/?([^/?]*)%??([^?]*)$"
    if not name then return nil end
    return {
        user = decoded(user), password = decoded(password), name = decoded(name),
        host = host:match "^[^:]*", port = tonumber(host:match ":(%d+)$"),
        socket = query:find "^socket=." and decoded(query:sub(#"socket=" + 1)) or nil,
    }
end


function mysql.connect(url)
    local parts = database.parts(url)
    if not parts then error("not a database's URL: " .. url, 0) end
    local environment = dependency.load("luasql.mysql").mysql()
    return environment, environment:connect(parts.name, parts.user, parts.password, parts.host,
        parts.port, parts.socket, FOUND_ROWS)
end


-- A statement that meets a row of another transaction fails at once. Its own wait would stop the
-- process, and with it the coroutine that is to commit that transaction.
function mysql.prepare(self) self:execute "SET SESSION innodb_lock_wait_timeout = 0" end


-- connections ---------------------------------------------------------------------------------

--- A class with a database's methods, to which its own are added.
function database.class()
    local class = setmetatable({}, Database)
    class.__index = class
    return class
end


--- Is `where` a server's URL, not a file?
function database.is_url(where)
    return where:find "^%w+://" ~= nil
end


--- Opens a database that exists, or an SQLite file.
function database.open(where)
    local dialect = database.is_url(where) and mysql or sqlite
    local environment, connection, problem = dialect.connect(where)
    if not connection then
        environment:close()
        error(problem, 0)
    end
    local self = setmetatable({
        where = where, path = where, dialect = dialect,
        environment = environment, connection = connection,
    }, Database)
    dialect.prepare(self)
    return self
end


-- The server of a database that has a name.
local function open_server(url)
    return database.open((url:gsub("^(mysql://[^/?]+)/[^?]*", "%1/")))
end


-- Runs a statement about a database on its server.
local function administer(server, url, statement)
    server:execute(statement .. " " .. database.parts(url).name)
    server:close()
end


--- Makes a database on a server.
---@param url string  with its name
function database.create(url) administer(open_server(url), url, "CREATE DATABASE") end


--- Removes a database of a server, if it is there. A server that does not answer keeps it.
function database.drop(url)
    local answers, server = pcall(open_server, url)
    if answers then administer(server, url, "DROP DATABASE IF EXISTS") end
end


function Database:close()
    self.connection:close()
    self.environment:close()
end


-- Waits until another transaction may have ended, and not as databases do, which would stop the
-- whole process. False: the error is another one, or it is too late. Random pauses: two that poll
-- in step would starve each other (PIT-14).
local function may_try_again(self, problem, due)
    if not tostring(problem):find(self.dialect.busy, 1, true) or core.now() > due then
        return false
    end
    zklock.sleep(0.001 + 0.002 * math.random())
    return true
end


--- Runs one statement; waits while another transaction writes.
---@param statement string
---@return any result  a cursor, or the number of rows changed
function Database:execute(statement)
    local due
    while true do
        local result, message = self.connection:execute(statement)
        if result then return result end
        due = due or core.now() + BUSY_LIMIT
        if self.undivided or not may_try_again(self, message, due) then
            error(message .. " in: " .. statement, 2)
        end
    end
end


function Database:execute_all(statements)
    for _, statement in ipairs(statements) do self:execute(statement) end
end


--- All rows of a query, each a list of columns.
function Database:rows(query)
    local cursor = self:execute(query)
    local rows = {}
    local row = cursor:fetch({}, "n")
    while row do
        rows[#rows + 1] = row
        row = cursor:fetch({}, "n")
    end
    cursor:close()
    return rows
end


--- The only value of a query with one row and one column.
function Database:value(query)
    local row = self:rows(query)[1]
    return row and row[1]
end


--- The same, as a number: MariaDB's come as text.
function Database:number(query)
    return tonumber(self:value(query))
end


--- `text` as an SQL literal.
function Database:text(text)
    return "'" .. self.connection:escape(text) .. "'"
end


--- A token is written as the digits that lease:token_string() gives: databases
--- keep them as a 64-bit integer, also where Lua has only doubles.
function database.literal_token(token)
    if token == nil then return "NULL" end
    assert(token:find "^%-?%d+$", "a token is a decimal number")
    return token
end


-- Is no token of the table's rows, compared with the one before it, so?
local function none_is(self, comparison, table_name, condition)
    return self:number(([[WITH numbered AS (
            SELECT token, lag(token) OVER (ORDER BY id) AS earlier FROM %s
            WHERE token IS NOT NULL AND (%s))
        SELECT count(*) FROM numbered WHERE token %s earlier]])
        :format(table_name, condition or "1", comparison)) == 0
end


--- Does every token of the table's rows exceed the one before it?
---@param table_name string
---@param condition string?  which rows
---@return boolean
function Database:tokens_grow(table_name, condition)
    return none_is(self, "<=", table_name, condition)
end


--- Is none less than the one before it? (The rows of one transaction have one token.)
function Database:tokens_never_fall(table_name) return none_is(self, "<", table_name) end


-- transactions -------------------------------------------------------------------------------

--- Is it the error of a COMMIT? Then the transaction may have been carried out all the same.
function database.leaves_in_doubt(problem)
    return tostring(problem):find " in: COMMIT$" ~= nil
end


function Database:begin() self:execute(self.dialect.begin) end
function Database:commit() self:execute "COMMIT" end
function Database:rollback() self:execute "ROLLBACK" end


-- Runs fn in a transaction, whose statements wait for no other one.
---@return boolean ok
---@return any done  what fn gave, or its error
local function attempt(self, fn)
    self:begin()
    self.undivided = true
    local ok, done = pcall(fn)
    self.undivided = false
    if ok and done then self:commit() else self:rollback() end
    return ok, done
end


--- Runs fn in a transaction, which is undone when fn raises an error or gives false. While another
--- transaction has a row that fn writes, it is undone and run again: coroutines share the
--- connection, so nothing waits between its statements, as long as fn does not yield. After an
--- error of COMMIT it may have been carried out.
---@param fn fun(): boolean
---@return boolean done
function Database:transaction(fn)
    local due = core.now() + BUSY_LIMIT
    while true do
        local ok, done = attempt(self, fn)
        if ok then return done and true or false end
        if not may_try_again(self, done, due) then error(done, 0) end
    end
end


return database
