--- The stock and the purchases in MySQL or MariaDB (schema.sql), by lua-resty-mysql.

local mysql = require "resty.mysql"

local _M = {}

local SERVER = {
    host = os.getenv "DB_HOST", -- without it, by the socket on this host
    path = os.getenv "DB_SOCKET" or "/run/mysqld/mysqld.sock",
    user = "shop", password = os.getenv "DB_PASSWORD" or "secret", database = "shop",
}
local ANSWER = 5000 -- ms that an answer may take: more than a statement waits for a row
local IDLE, POOL = 60000, 10 -- ms that a connection is kept, and how many each worker keeps


local function query(db, statement)
    local result, message = db:query(statement)
    if not result then error(message .. ": " .. statement, 0) end
    return result
end


local function connect()
    local db = assert(mysql:new())
    db:set_timeout(ANSWER)
    assert(db:connect(SERVER))
    if db:get_reused_times() == 0 then
        -- Seconds. A holder that was stopped in a transaction loses it; MySQL has no such option.
        query(db, "SET innodb_lock_wait_timeout = 2 /*M! , idle_write_transaction_timeout = 5 */")
    end
    return db
end


-- Quote text with ngx.quote_sql_str; id and token consist of digits only.
local function sell_one(db, token, id, buyer, order)
    query(db, "START TRANSACTION")
    local shown = query(db, ("UPDATE product SET token = %s WHERE id = %s AND token <= %s")
        :format(token, id, token))
    local product = query(db, "SELECT stock FROM product WHERE id = " .. id)[1]
    if not product then return "no such product" end
    if shown.affected_rows == 0 then return "stale" end
    buyer, order = ngx.quote_sql_str(buyer), ngx.quote_sql_str(order)
    local before = query(db, ("SELECT id FROM purchase WHERE product = %s AND buyer = %s"
        .. " AND number = %s"):format(id, buyer, order))
    if before[1] then return "sold" end -- the same order, sent again
    if product.stock == 0 then return "sold out" end
    query(db, ("UPDATE product SET stock = %d WHERE id = %s"):format(product.stock - 1, id))
    query(db, ("INSERT INTO purchase (product, buyer, number, token) VALUES (%s, %s, %s, %s)")
        :format(id, buyer, order, token))
    return "sold"
end


--- Sells one item while the lease is held. Gives "sold", also if this order was carried out before;
-- or "sold out", "no such product", "stale" (a later holder has shown its token) or "failed", and
-- nothing is sold; or "unknown": COMMIT was not answered, and the item may be sold.
function _M.sell(lease, id, buyer, order)
    local db, outcome
    local done, problem = pcall(function()
        db = connect()
        outcome = sell_one(db, lease:token_string(), id, buyer, order)
        query(db, outcome == "sold" and "COMMIT" or "ROLLBACK")
        db:set_keepalive(IDLE, POOL)
    end)
    if done then return outcome end
    if db then db:close() end -- the server rolls back what is not committed
    ngx.log(ngx.ERR, problem)
    return outcome == "sold" and "unknown" or "failed"
end


return _M
