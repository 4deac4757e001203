--- A connection to an SQL database, which is an SQLite file or, by URL, MariaDB.
---
---     mysql://USER:PASSWORD@HOST:PORT/NAME
---     mysql://USER:PASSWORD@localhost/NAME?socket=PATH
---
--- A statement blocks the process, so keep statements short. In nginx use a driver that yields.

local core = require "zklock.core"
local dependency = require "zklock.system.dependency"
local zklock = require "zklock"


-- Longest wait for another process's transaction, in seconds.
local BUSY_LIMIT = 10

-- A flag of mysql_real_connect: like SQLite, UPDATE also counts rows whose values do not change.
local FOUND_ROWS = 2


---@class zklock.seckill.Database
---@field path string  a file or a URL
---@field in_transaction boolean?  while a function of `transaction` runs
local Database = {}
Database.__index = Database


local database = {}


-- dialects ----------------------------------------------------------------------------------

local sqlite = {
    busy = "database is locked",
    begin = "BEGIN IMMEDIATE",
    serial = "integer PRIMARY KEY AUTOINCREMENT",
}


function sqlite.connect(path)
    local environment = dependency.load("luasql.sqlite3").sqlite3()
    return environment, environment:connect(path)
end


-- WAL: readers see the last commit and never block, as in the seed article's InnoDB. NORMAL: a
-- commit survives a crash of the process, perhaps not of the machine.
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


--- Escapes a text, such as a socket's path, for a URL.
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

--- The parts of a URL, or nil if it has a different form.
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


-- Fail at once on a locked row. A wait would block the process, and with it the coroutine that
-- holds the row. Transactions and messages do not depend on the server's settings.
function mysql.prepare(self)
    self:execute("SET SESSION innodb_lock_wait_timeout = 0, autocommit = 1, "
        .. "lc_messages = 'en_US'")
end


-- connections ---------------------------------------------------------------------------------

function database.new_subclass()
    local class = setmetatable({}, Database)
    class.__index = class
    return class
end


function database.is_url(path)
    return path:find "^%w+://" ~= nil
end


function database.open(path)
    local dialect = database.is_url(path) and mysql or sqlite
    local environment, connection, problem = dialect.connect(path)
    if not connection then
        environment:close()
        error(problem, 0)
    end
    local self = setmetatable({
        path = path, dialect = dialect,
        environment = environment, connection = connection,
    }, Database)
    dialect.prepare(self)
    return self
end


--- The URL of another database on the same server.
---@param url string   of the server, or of a database on it
---@param name string
---@return string url
function database.on_server_of(url, name)
    return (url:gsub("^(mysql://[^/?]+)/?[^?]*", "%1/" .. name))
end


local function connect_without_database(url)
    return database.open(database.on_server_of(url, ""))
end


local function administer(connection, url, statement)
    connection:execute(statement .. " " .. database.parts(url).name)
    connection:close()
end


---@param url string  with the database's name
function database.create(url)
    administer(connect_without_database(url), url, "CREATE DATABASE")
end


--- Drops a database if it exists and its server answers.
function database.drop(url)
    local answers, connection = pcall(connect_without_database, url)
    if answers then administer(connection, url, "DROP DATABASE IF EXISTS") end
end


function Database:close()
    self.connection:close()
    self.environment:close()
end


-- Pauses if another transaction caused the problem, without blocking the process. Returns false
-- after a different problem or after `due`. Pauses are random, because two pollers in step would
-- starve each other (PIT-14).
local function wait_to_retry(self, problem, due)
    if not tostring(problem):find(self.dialect.busy, 1, true) or core.now() > due then
        return false
    end
    zklock.sleep(0.001 + 0.002 * math.random())
    return true
end


--- Runs one statement. Outside a transaction it waits while another transaction writes.
---@param statement string
---@return any result  a cursor, or the number of rows changed
function Database:execute(statement)
    local due
    while true do
        local result, message = self.connection:execute(statement)
        if result then return result end
        due = due or core.now() + BUSY_LIMIT
        if self.in_transaction or not wait_to_retry(self, message, due) then
            error(message .. " in: " .. statement, 2)
        end
    end
end


function Database:execute_all(statements)
    for _, statement in ipairs(statements) do self:execute(statement) end
end


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


function Database:value(query)
    local row = self:rows(query)[1]
    return row and row[1]
end


--- Like value, as a number. MariaDB returns numbers as text.
function Database:number(query)
    return tonumber(self:value(query))
end


--- An SQL literal of the text.
function Database:text(text)
    return "'" .. self.connection:escape(text) .. "'"
end


--- An SQL literal of a token. A token stays text, because it has 64 bits, and Lua may have only
--- doubles.
function database.literal_token(token)
    if token == nil then return "NULL" end
    assert(token:find "^%-?%d+$", "a token is a decimal number")
    return token
end


-- True if no row's token compares so ("<" or "<=") with the token of the row before.
local function no_token_is(self, comparison, table_name, condition)
    return self:number(([[WITH numbered AS (
            SELECT token, lag(token) OVER (ORDER BY id) AS earlier FROM %s
            WHERE token IS NOT NULL AND (%s))
        SELECT count(*) FROM numbered WHERE token %s earlier]])
        :format(table_name, condition or "1", comparison)) == 0
end


--- True if each row's token exceeds the token of the row before.
---@param table_name string
---@param condition string?  selects rows
---@return boolean
function Database:tokens_grow(table_name, condition)
    return no_token_is(self, "<=", table_name, condition)
end


--- Like tokens_grow, but equal tokens are allowed, as in the rows of one transaction.
function Database:tokens_never_fall(table_name) return no_token_is(self, "<", table_name) end


-- transactions -------------------------------------------------------------------------------

--- True for an error of COMMIT. The transaction may have taken effect.
function database.leaves_in_doubt(problem)
    return tostring(problem):find " in: COMMIT$" ~= nil
end


function Database:begin() self:execute(self.dialect.begin) end
function Database:commit() self:execute "COMMIT" end
function Database:rollback() self:execute "ROLLBACK" end


-- Runs fn in a transaction, once. Its statements fail at once if another transaction blocks them.
---@return boolean ok
---@return any done  fn's result or its error
local function attempt(self, fn)
    self:begin()
    self.in_transaction = true
    local ok, done = pcall(fn)
    self.in_transaction = false
    if ok and done then self:commit() else self:rollback() end
    return ok, done
end


--- Runs fn in a transaction. An error or a false result rolls it back. While another transaction
--- locks a row that fn writes, fn is rolled back and run again; fn must not yield, because the
--- coroutines of a process share the connection.
---@param fn fun(): boolean
---@return boolean done
function Database:transaction(fn)
    local due = core.now() + BUSY_LIMIT
    while true do
        local ok, done = attempt(self, fn)
        if ok then return done and true or false end
        if not wait_to_retry(self, done, due) then error(done, 0) end
    end
end


return database
