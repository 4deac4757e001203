--- The two transactions of a sale, in MySQL or MariaDB (schema.sql). Each shows its token first,
-- reads the order, and does nothing if it was done before.

local database = require "database"

local _M = {}
local query = database.query


-- The condition for the order. Its buyer and number consist of letters and digits.
local function where(order)
    return (" WHERE product = %s AND buyer = '%s' AND number = '%s'")
        :format(order.id, order.buyer, order.number)
end


-- The stock, and the state of the order if it exists; or nil, and why nothing can be done.
local function begin(db, token, order)
    query(db, "START TRANSACTION")
    local shown = query(db, ("UPDATE product SET token = %s WHERE id = %s AND token <= %s")
        :format(token, order.id, token))
    local product = query(db, "SELECT stock FROM product WHERE id = " .. order.id)[1]
    if not product then return nil, "no such product" end
    if shown.affected_rows == 0 then return nil, "stale" end
    local row = query(db, "SELECT state FROM purchase" .. where(order))[1]
    return product.stock, row and row.state
end


local function add_to_stock(db, order, count)
    query(db, ("UPDATE product SET stock = stock + %d WHERE id = %s"):format(count, order.id))
end


local function reserve(db, token, order)
    local stock, state = begin(db, token, order)
    -- Nothing can be done, or the same order was sent before.
    if not stock or state then return state end
    if stock == 0 then return "sold out" end
    add_to_stock(db, order, -1)
    query(db, ("INSERT INTO purchase (product, buyer, number) VALUES (%s, '%s', '%s')")
        :format(order.id, order.buyer, order.number))
    return "reserved"
end


local function settle(db, token, order, state)
    local stock, before = begin(db, token, order)
    -- Nothing can be done, or another attempt has settled it.
    if not stock or before ~= "reserved" then return before end
    query(db, ("UPDATE purchase SET state = '%s'"):format(state) .. where(order))
    if state == "cancelled" then add_to_stock(db, order, 1) end
    return state
end


--- Reserves an item for the order. Returns "reserved", or the order's state if it was reserved
-- before. After "sold out", "no such product", "stale" or "failed" this attempt did nothing. After
-- "unknown", COMMIT was not answered.
function _M.reserve(lease, order)
    return database.transact({ reserved = true }, reserve, lease:token_string(), order)
end


--- Sets the order to "paid", or to "cancelled" with the item given back. Returns its state, or
-- "stale", "failed" or "unknown".
function _M.settle(lease, order, state)
    return database.transact({ [state] = true }, settle, lease:token_string(), order, state)
end


--- Up to a hundred unsettled orders that were reserved at least so many seconds ago, by their keys;
-- those after the order `last`, if given. Returns nil if the database fails.
function _M.unsettled(seconds, last)
    local rows
    local after = last and (" AND (product, buyer, number) > (%s, '%s', '%s')")
        :format(last.id, last.buyer, last.number) or ""
    database.transact({}, function(db)
        rows = query(db, ("SELECT product AS id, buyer, number FROM purchase WHERE state ="
            .. " 'reserved' AND reserved_at <= NOW() - INTERVAL %d SECOND%s"
            .. " ORDER BY product, buyer, number LIMIT 100"):format(seconds, after))
    end)
    return rows
end


return _M
