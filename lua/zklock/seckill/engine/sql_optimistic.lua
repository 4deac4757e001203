--- Engine "sql-optimistic", with a version column (ALG-02). It excludes nobody; a write is refused
--- if the version has changed since its writer read it.
---
--- acquire() reads the version and never waits. release() increments the version if it is
--- unchanged; otherwise the lease is "lost". with() then runs its function again, up to `retries`
--- times with Curator's backoff from `base` on (CFG-06), without undoing earlier effects. So the
--- protected data must be written by the statement that increments the version. The strategy
--- sql-optimistic does so, with a version column in the product's row.
---
--- A statement blocks the process. On SQLite or MariaDB.

local backoff = require "zklock.seckill.engine.backoff"
local failure = require "zklock.seckill.engine.failure"
local options = require "zklock.seckill.engine.options"
local sql = require "zklock.seckill.engine.sql"
local random_id = require("zklock.seckill.engine.redis").random_id
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: std max


local TABLE = "CREATE TABLE IF NOT EXISTS distributed_lock "
    .. "(resource_name %s(255) PRIMARY KEY, client_info varchar(64), version bigint)"
local SELECT = "SELECT version FROM distributed_lock WHERE resource_name = %s"
local INSERT = "INSERT INTO distributed_lock (resource_name, version) "
    .. "SELECT %s, 0 WHERE NOT EXISTS (" .. SELECT .. ")"
local UPDATE = "UPDATE distributed_lock SET client_info = %s, version = version + 1 "
    .. "WHERE resource_name = %s AND version = %s"


local way = {
    has = {},
    fields = sql.fields{ retries = options.count, base = options.seconds(0) },
    defaults = { retries = 3, base = 1 },
    validate = sql.validate, longest_name = sql.LONGEST_NAME,
}


function way.open(engine)
    engine.sql, engine.client = sql.open(engine.options), random_id()
    engine.sql:insist(TABLE:format(engine.sql:type_of_name()))
    return engine
end


function way.close(engine) engine.sql:close() end


local function version_of(connection, name)
    local version = connection:value(connection:statement(SELECT, name))
    return version and ("%d"):format(tonumber(version))
end


function way.try(lock)
    local connection = lock.engine.sql
    local version = version_of(connection, lock.name)
    if not version then
        connection:insist(connection:statement(INSERT, lock.name, lock.name))
        version = version_of(connection, lock.name)
    end
    return { version = version }
end


function way.check(lease)
    return version_of(lease.lock.engine.sql, lease.name) == lease.version
end


function way.release(lease)
    local engine = lease.lock.engine
    return engine.sql:insist(engine.sql:statement(UPDATE, engine.client, lease.name,
        lease.version)) == 1
end


local function pack(...) return { n = select("#", ...), ... } end


function way.with(lock, given, fn, ...)
    local settings, results = lock.engine.options, nil
    for retry = 0, settings.retries do
        local lease, message, code = lock:acquire(given)
        if not lease then return nil, message, code end
        results = pack(fn(lease, ...))
        local written
        written, message, code = lease:release()
        if written then return true, unpack(results, 1, results.n) end
        if code ~= "lost" then return nil, message, code end
        if retry < settings.retries then zklock.sleep(backoff.seconds(settings.base, retry)) end
    end
    local tried = ("tried %d times"):format(settings.retries + 1)
    local message, code = select(2, failure.of("lost", lock.name, tried))
    return nil, message, code, unpack(results, 1, results.n)
end


return way
