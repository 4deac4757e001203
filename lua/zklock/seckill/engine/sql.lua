--- A connection to SQLite or MariaDB. A statement blocks the process, but returns at once if
--- another client's row or lock is in the way.

local core = require "zklock.core"
local database = require "zklock.seckill.database"
local failure = require "zklock.seckill.engine.failure"
local misuse = require "zklock.value.misuse"
local options = require "zklock.seckill.engine.options"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: std max


local LONGEST = 10 -- seconds in which a statement that must succeed is repeated


-- Errors caused by another client's row or lock.
local TAKEN_ERRORS = {
    "database is locked", "database table is locked", "UNIQUE constraint failed",
    "Lock wait timeout exceeded", "Duplicate entry", "Deadlock found",
}


---@class zklock.engine.Sql
---@field path string  a file or a URL
---@field database zklock.seckill.Database?  nil if not connected
---@field closed boolean?
local Sql = {}
Sql.__index = Sql


local sql = {
    LONGEST_NAME = 255, -- bytes of a lock's name in a column
}


function sql.fields(own)
    own.mysql, own.sqlite = options.text, options.text
    return own
end


function sql.validate(given)
    if (given.mysql == nil) == (given.sqlite == nil) then
        misuse.refuse("the engine needs mysql = \"mysql://USER:PASSWORD@HOST:PORT/NAME\" or "
            .. "sqlite = the name of a file")
    end
    if given.mysql and not database.parts(given.mysql) then
        misuse.refuse("mysql must be a URL, mysql://USER:PASSWORD@HOST:PORT/NAME, not %s",
            misuse.show(given.mysql))
    end
end


local function is_taken(message)
    for _, text in ipairs(TAKEN_ERRORS) do
        if message:find(text, 1, true) then return true end
    end
end


-- The connection, which is opened again after an error, but not after close().
local function connected(self)
    if self.closed then failure.raise("closed", "the engine is closed") end
    if not self.database then
        local ok, opened = failure.attempt(database.open, self.path)
        if not ok then failure.raise("connection", tostring(opened)) end
        self.database = opened
    end
    return self.database
end


---@param given { mysql: string?, sqlite: string? }
---@return zklock.engine.Sql
function sql.open(given)
    local self = setmetatable({ path = given.mysql or given.sqlite }, Sql)
    connected(self)
    return self
end


local function disconnect(self)
    if self.database then self.database:close() end
    self.database = nil
end


---@param statement string
---@return any result  a cursor, or the number of changed rows; nil after one of TAKEN_ERRORS
function Sql:try(statement)
    local result, message = connected(self).connection:execute(statement)
    if result or is_taken(message) then return result end
    disconnect(self)
    failure.raise("connection", message)
end


--- The type of a column of names, which are compared byte by byte. (SQLite would make a number of a
--- varbinary.)
function Sql:type_of_name() return database.is_url(self.path) and "varbinary" or "varchar" end


--- Repeats the statement while it ends with one of TAKEN_ERRORS.
---@param statement string
---@return integer changed  rows
function Sql:insist(statement)
    local due = core.now() + LONGEST
    while true do
        local result = self:try(statement)
        if result then return result end
        if core.now() > due then failure.raise("connection", "busy for too long: " .. statement) end
        zklock.sleep(0.001 + 0.002 * math.random())
    end
end


--- The first column of the first row; nil without a row, or after one of TAKEN_ERRORS.
---@return any value
---@return boolean answered  false after one of TAKEN_ERRORS
function Sql:value(query)
    local cursor = self:try(query)
    if not cursor then return nil, false end
    local value = cursor:fetch()
    cursor:close()
    return value, true
end


--- Formats a statement with texts as literals.
function Sql:statement(format, ...)
    local literals = { ... }
    for i, text in ipairs(literals) do literals[i] = connected(self):text(text) end
    return format:format(unpack(literals))
end


function Sql:close()
    self.closed = true
    disconnect(self)
end


return sql
