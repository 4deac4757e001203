--- The stock and the purchases in MySQL or MariaDB (schema.sql), by lua-resty-mysql.

local database = require "database"

local _M = {}
local query = database.query


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


--- Sells one item while the lease is held. Returns "sold", also if this order was carried out
-- before. After "sold out", "no such product", "stale" (a later holder has shown its token) or
-- "failed" nothing is sold. After "unknown" the item may be sold, because COMMIT was not answered.
function _M.sell(lease, id, buyer, order)
    return database.transact({ sold = true }, sell_one, lease:token_string(), id, buyer, order)
end


return _M
