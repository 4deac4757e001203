--- Engine "sql-pessimistic", with SELECT … FOR UPDATE in a transaction that lasts as long as the
--- lock; its COMMIT is the release (ALG-01). It needs MariaDB, because SQLite lacks that statement.
---
--- Each held lock has a connection with an open transaction. When the holder dies, the server rolls
--- back and so releases the lock. An index finds the row; without an index (`index = false`) InnoDB
--- locks the whole table (PIT-15).
---
--- Waiters poll with FOR UPDATE NOWAIT and zklock.sleep, because the seed article's statement
--- would block their process.

local failure = require "zklock.seckill.engine.failure"
local misuse = require "zklock.value.misuse"
local options = require "zklock.seckill.engine.options"
local sql = require "zklock.seckill.engine.sql"


local TABLE = "CREATE TABLE IF NOT EXISTS %s "
    .. "(resource_name varbinary(255) %s, client_info varchar(64)) ENGINE = InnoDB"
local ROW_EXISTS = "SELECT 1 FROM %s WHERE resource_name = %%s"
local INSERT = "INSERT IGNORE INTO %s (resource_name) VALUES (%%s)"
local LOCK = "SELECT * FROM %s WHERE resource_name = %%s FOR UPDATE NOWAIT"


local way = {
    has = { owned = true },
    fields = sql.fields{ poll = options.seconds(0.0001), index = options.flag },
    defaults = { poll = 0.005, index = true }, longest_name = sql.LONGEST_NAME,
}


function way.validate(given)
    if given.sqlite then
        misuse.refuse("the engine sql-pessimistic needs mysql = a URL of MariaDB: SQLite has no "
            .. "SELECT … FOR UPDATE")
    end
    sql.validate(given)
end


local function statements_of(indexed)
    local name = indexed and "contentMethodLock_row" or "contentMethodLock_row_unindexed"
    return {
        create = TABLE:format(name, indexed and "PRIMARY KEY" or "NOT NULL"),
        exists = ROW_EXISTS:format(name), insert = INSERT:format(name), lock = LOCK:format(name),
    }
end


function way.open(engine)
    engine.idle, engine.in_use, engine.known_rows = {}, {}, {}
    engine.statements = statements_of(engine.options.index)
    local connection = sql.open(engine.options)
    connection:insist(engine.statements.create)
    engine.idle[1] = connection
    return engine
end


function way.close(engine)
    for _, connection in ipairs(engine.idle) do connection:close() end
    for connection in pairs(engine.in_use) do connection:close() end
    engine.idle, engine.in_use = {}, {}
end


local function take_connection(engine)
    local connection = table.remove(engine.idle) or sql.open(engine.options)
    engine.in_use[connection] = true
    return connection
end


local function give_back(engine, connection, is_usable)
    engine.in_use[connection] = nil
    if is_usable then
        engine.idle[#engine.idle + 1] = connection
    else
        connection:close()
    end
end


-- False if another client is in the way.
local function ensure_row(engine, connection, name)
    if engine.known_rows[name] then return true end
    local statements = engine.statements
    local found = connection:value(connection:statement(statements.exists, name)) ~= nil
    engine.known_rows[name] = found
        or connection:try(connection:statement(statements.insert, name)) ~= nil
    return engine.known_rows[name]
end


-- False also if somebody has removed the row, which the next try then inserts again.
local function lock_row(engine, connection, name)
    if not ensure_row(engine, connection, name) then return false end
    connection:try "START TRANSACTION"
    local row, is_free = connection:value(connection:statement(engine.statements.lock, name))
    if row then return true end
    connection:try "ROLLBACK"
    if is_free then engine.known_rows[name] = nil end
    return false
end


function way.try(lock)
    local engine = lock.engine
    local connection = take_connection(engine)
    local ok, locked_or_error = pcall(lock_row, engine, connection, lock.name)
    if ok and locked_or_error then return { value = connection } end
    give_back(engine, connection, ok)
    if not ok then error(locked_or_error, 0) end
    return nil, engine.options.poll * (0.5 + math.random())
end


-- The lock is held as long as its connection lives.
function way.check(lease)
    local connection = lease.value
    return (failure.attempt(connection.value, connection, "SELECT 1"))
end


function way.release(lease)
    local connection = lease.value
    local committed = failure.attempt(connection.try, connection, "COMMIT")
    give_back(lease.lock.engine, connection, committed)
    return committed
end


return way
