--- The store of a simulated sale, in memory, with the behavior of the SQL store. Transactions write
--- one at a time, and a statement waits up to ten seconds for another transaction. Readers see the
--- last commit. The transaction of a dead process is rolled back.

local runtime = require "zklock.waiting.runtime"
local tokens = require "zklock.seckill.token"
local zklock = require "zklock"


local BUSY_LIMIT = 10 -- seconds
local FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.1 -- seconds between checks for an open transaction


---@class zklock.seckill.MemoryTables
---@field stock table<string, integer>
---@field token table<string, string>  by product, the greatest token of a reader or writer
---@field orders { buyer: integer, product: string, quantity: integer }[]
---@field writer zklock.seckill.MemoryStore?  the store object with an open transaction

---@class zklock.seckill.MemoryStore
---@field tables zklock.seckill.MemoryTables
---@field process zklock.Process?  the server that uses the store
---@field uncommitted zklock.seckill.Order[]  of the open transaction
local Memory = {}
Memory.__index = Memory


local memory = {}


---@param place zklock.seckill.Place  one table for the whole sale
---@return zklock.seckill.MemoryStore
function memory.open(place)
    local store = { tables = place.tables, process = runtime.current(), uncommitted = {} }
    return setmetatable(store, Memory)
end


function memory.create(place)
    place.tables = { stock = {}, token = {}, orders = {} }
    for product, stock in pairs(place.products) do place.tables.stock[product] = stock end
    return memory.open(place)
end


-- Returns the store object with an open transaction, after a rollback if its process is dead.
local function live_writer_of(tables)
    local writer = tables.writer
    if writer and writer.process and writer.process.over then writer:rollback() end
    return tables.writer
end


local function wait_for_writer(self)
    local due, pause = runtime.now() + BUSY_LIMIT, FIRST_PAUSE
    while live_writer_of(self.tables) do
        if runtime.now() > due then error("the store is locked", 0) end
        zklock.sleep(pause)
        pause = math.min(2 * pause, LONGEST_PAUSE)
    end
end


local function is_late(self, order)
    local greatest = self.tables.token[order.product]
    return order.token ~= nil and greatest ~= nil and tokens.is_less(order.token, greatest)
end


-- Stores the token before its holder reads, to refuse late writes of earlier holders.
local function store_token(self, product, token)
    wait_for_writer(self)
    local greatest = self.tables.token
    if not greatest[product] or tokens.is_less(greatest[product], token) then
        greatest[product] = token
    end
end


function Memory:stock(product, token)
    if token then store_token(self, product, token) end
    return self.tables.stock[product]
end


function Memory:begin()
    wait_for_writer(self)
    self.tables.writer = self
end


---@param order zklock.seckill.Order
---@return boolean written  false if a later holder has read or written
function Memory:write(order)
    if is_late(self, order) then return false end
    self.uncommitted[#self.uncommitted + 1] = order
    return true
end


local function end_transaction(self)
    self.uncommitted = {}
    if self.tables.writer == self then self.tables.writer = nil end
end


function Memory:commit()
    local tables = self.tables
    for _, order in ipairs(self.uncommitted) do
        tables.stock[order.product] = order.left
        tables.token[order.product] = order.token or tables.token[order.product]
        tables.orders[#tables.orders + 1] = order
    end
    end_transaction(self)
end


function Memory:rollback() end_transaction(self) end


--- Writes the stock and several orders of one holder, all or none.
---@param orders zklock.seckill.Order[]
---@return boolean written  false if a later holder has read or written
function Memory:sell_all(orders)
    self:begin()
    local written = true
    for _, order in ipairs(orders) do written = written and self:write(order) end
    if written then self:commit() else self:rollback() end
    return written
end


function Memory:sell(order) return self:sell_all{ order } end


function Memory:orders() return self.tables.orders end
function Memory:close() end_transaction(self) end


return memory
