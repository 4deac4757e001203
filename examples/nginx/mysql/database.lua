--- Transactions in MySQL or MariaDB, by lua-resty-mysql.

local mysql = require "resty.mysql"

local _M = {}

local SERVER = {
    host = os.getenv "DB_HOST", -- without it, by the socket on this host
    path = os.getenv "DB_SOCKET" or "/run/mysqld/mysqld.sock",
    user = "shop", password = os.getenv "DB_PASSWORD" or "secret", database = "shop",
}
local ANSWER = 5000 -- ms that an answer may take: more than a statement waits for a row
local IDLE, POOL = 60000, 10 -- ms that a connection is kept, and how many each worker keeps


--- Returns the result, or raises an error.
function _M.query(db, statement)
    local result, message = db:query(statement)
    if not result then error(message .. ": " .. statement, 0) end
    return result
end

local query = _M.query


local function connect()
    local db = assert(mysql:new())
    db:set_timeout(ANSWER)
    assert(db:connect(SERVER))
    if db:get_reused_times() == 0 then
        -- Seconds. The second ends a stopped holder's transaction; only MariaDB has this option.
        query(db, "SET innodb_lock_wait_timeout = 2 /*M! , idle_write_transaction_timeout = 5 */")
    end
    return db
end


--- Runs a transaction by fn(db, ...), and returns its outcome. An outcome in `good` is committed,
-- any other rolled back. Returns "failed" if nothing is done, "unknown" if COMMIT was not answered,
-- so that it may be done.
function _M.transact(good, fn, ...)
    local db, outcome
    local done, problem = pcall(function(...)
        db = connect()
        outcome = fn(db, ...)
        query(db, good[outcome] and "COMMIT" or "ROLLBACK")
        db:set_keepalive(IDLE, POOL)
    end, ...)
    if done then return outcome end
    if db then db:close() end -- the server rolls back what is not committed
    ngx.log(ngx.ERR, problem)
    return good[outcome] and "unknown" or "failed"
end


return _M
