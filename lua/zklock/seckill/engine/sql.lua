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
---@field database zklock.seckill.Database
local Sql = {}
Sql.__index = Sql


local sql = {}


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


---@param given { mysql: string?, sqlite: string? }
---@return zklock.engine.Sql
function sql.open(given)
    local ok, opened = pcall(database.open, given.mysql or given.sqlite)
    if not ok then failure.raise("connection", tostring(opened)) end
    return setmetatable({ database = opened }, Sql)
end


---@param statement string
---@return any result  a cursor, or the number of changed rows; nil after one of TAKEN_ERRORS
function Sql:try(statement)
    local result, message = self.database.connection:execute(statement)
    if result or is_taken(message) then return result end
    failure.raise("connection", message)
end


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
function Sql:value(query)
    local cursor = self:try(query)
    if not cursor then return nil end
    local value = cursor:fetch()
    cursor:close()
    return value
end


--- Formats a statement with texts as literals.
function Sql:statement(format, ...)
    local literals = { ... }
    for i, text in ipairs(literals) do literals[i] = self.database:text(text) end
    return format:format(unpack(literals))
end


function Sql:close() self.database:close() end


return sql
