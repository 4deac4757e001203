--- Engine "sql-table", where a row is the lock (ALG-01), with SELECT, then INSERT, and DELETE by
--- name and owner. On SQLite or MariaDB. docs/design/engines.md lists the faults that it keeps.

local options = require "zklock.seckill.engine.options"
local random_id = require("zklock.seckill.engine.redis").random_id
local sql = require "zklock.seckill.engine.sql"


local TABLE = "CREATE TABLE IF NOT EXISTS contentMethodLock "
    .. "(resource_name %s(255) PRIMARY KEY, client_info varchar(64))"
local SELECT = "SELECT client_info FROM contentMethodLock WHERE resource_name = %s"
local INSERT = "INSERT INTO contentMethodLock (resource_name, client_info) VALUES (%s, %s)"
local DELETE = "DELETE FROM contentMethodLock WHERE resource_name = %s AND client_info = %s"


local way = {
    has = { owned = true },
    fields = sql.fields{ poll = options.seconds(0.0001) },
    defaults = { poll = 0.005 },
    validate = sql.validate, longest_name = sql.LONGEST_NAME,
}


function way.open(engine)
    engine.sql = sql.open(engine.options)
    engine.sql:insist(TABLE:format(engine.sql:type_of_name()))
    return engine
end


function way.close(engine) engine.sql:close() end


local function owner_of(connection, name)
    return connection:value(connection:statement(SELECT, name))
end


function way.try(lock)
    local engine, connection = lock.engine, lock.engine.sql
    local client = random_id()
    if not owner_of(connection, lock.name)
        and connection:try(connection:statement(INSERT, lock.name, client)) then
        return { value = client }
    end
    return nil, engine.options.poll * (0.5 + math.random())
end


function way.check(lease) return owner_of(lease.lock.engine.sql, lease.name) == lease.value end


function way.release(lease)
    local connection = lease.lock.engine.sql
    return connection:insist(connection:statement(DELETE, lease.name, lease.value)) == 1
end


return way
