--- The store: one SQLite file, which all processes of a scenario share. It has
--- the seed's tables (S0 tb_commodity_info, S3 test_order) and two of our own:
--- what every buyer was told, and what the processes did, in order.
---
--- A verdict counts only what it reads here.

local clock = require "zklock.seckill.clock"
local database = require "zklock.seckill.database"

local literal_token = database.literal_token


---@class zklock.seckill.Store: zklock.seckill.Database
local Store = database.class()


local store = {
    --- The product of S0: char siu bun, 100 of them.
    PRODUCT = "4f863bb5266b9508e0c1f28c61ea8de1",
    STOCK = 100,
    --- The row of S3: 10 orders to give away.
    ORDER = 1,
    ORDERS = 10,
    --- `token` is not in the seed: the highest fencing token that has written
    --- the row (DEMO-17).
    COMMODITY_TABLE = [[CREATE TABLE tb_commodity_info (
        id varchar(32) PRIMARY KEY,
        commodity_name varchar(512) DEFAULT NULL,
        commodity_price varchar(36) DEFAULT '0',
        number int(10) DEFAULT 0,
        description varchar(2048) DEFAULT '',
        token bigint DEFAULT 0)]],
}


local SCHEMA = {
    store.COMMODITY_TABLE,
    "CREATE TABLE test_order (id integer PRIMARY KEY, nums integer)",
    [[CREATE TABLE answer (
        id integer PRIMARY KEY AUTOINCREMENT,
        buyer text, server text, said text, token integer)]],
    [[CREATE TABLE journal (
        id integer PRIMARY KEY AUTOINCREMENT,
        at real, who text, line text, token integer)]],
    ("INSERT INTO tb_commodity_info (id, commodity_name, number) "
        .. "VALUES ('%s', 'char siu bun', %d)"):format(store.PRODUCT, store.STOCK),
    ("INSERT INTO test_order VALUES (%d, %d)"):format(store.ORDER, store.ORDERS),
}


--- Opens a store that exists.
---@param path string
---@return zklock.seckill.Store
function store.open(path)
    return setmetatable(database.open(path), Store)
end


--- Makes the file, with the seed's stock in it.
---@param path string
---@return zklock.seckill.Store
function store.create(path)
    local self = store.open(path)
    self:execute_all(SCHEMA)
    return self
end


-- the stock ---------------------------------------------------------------------------------

--- What is left of the product.
---@return integer
function Store:stock()
    return tonumber(self:value(("SELECT number FROM tb_commodity_info WHERE id = '%s'")
        :format(store.PRODUCT)))
end


--- S0's update: writes the number that the caller has worked out.
---@param number integer
---@return boolean changed
function Store:set_stock(number)
    return self:execute(("UPDATE tb_commodity_info SET number = %d WHERE id = '%s'")
        :format(number, store.PRODUCT)) == 1
end


--- The same for a holder that may be late: refused if a younger holder, that
--- is a greater token, has written before (Q-01, Q-03).
---@param number integer
---@param token string  lease:token_string()
---@return boolean changed
function Store:set_stock_fenced(number, token)
    token = literal_token(token)
    return self:execute(([[UPDATE tb_commodity_info SET number = %d, token = %s
        WHERE id = '%s' AND token < %s]])
        :format(number, token, store.PRODUCT, token)) == 1
end


--- S3's counter of orders that may still be given away.
---@return integer
function Store:orders_left()
    return tonumber(self:value(("SELECT nums FROM test_order WHERE id = %d")
        :format(store.ORDER)))
end


---@param number integer
---@return boolean changed
function Store:set_orders_left(number)
    return self:execute(("UPDATE test_order SET nums = %d WHERE id = %d")
        :format(number, store.ORDER)) == 1
end


-- what was said and done ---------------------------------------------------------------------

--- Records what a buyer was told: "sold", "refused" or a code of zklock.
---@param buyer string
---@param server string
---@param said string
---@param token string?
function Store:tell(buyer, server, said, token)
    self:execute(("INSERT INTO answer (buyer, server, said, token) VALUES (%s, %s, %s, %s)")
        :format(self:text(buyer), self:text(server), self:text(said), literal_token(token)))
end


--- How many buyers were told this.
---@param said string
---@return integer
function Store:told(said)
    return tonumber(self:value("SELECT count(*) FROM answer WHERE said = " .. self:text(said)))
end


--- Writes a line into the journal. The time is taken when it is this writer's
--- turn, so that times have the order of the lines.
---@param who string
---@param line string
---@param token string?
function Store:note(who, line, token)
    self:execute(("INSERT INTO journal (at, who, line, token) VALUES (%s, %s, %s, %s)")
        :format(clock.NOW, self:text(who), self:text(line), literal_token(token)))
end


--- The journal in the order in which it was written. Tokens are text.
---@return { at: number, who: string, line: string, token: string? }[]
function Store:journal()
    local entries = {}
    for i, row in ipairs(self:rows(
        "SELECT at, who, line, CAST(token AS text) FROM journal ORDER BY id")) do
        entries[i] = { at = tonumber(row[1]), who = row[2], line = row[3], token = row[4] }
    end
    return entries
end


return store
