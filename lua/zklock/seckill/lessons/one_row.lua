--- A database with the stock in one row, as a store of simulated sales. A statement and its
--- result travel TRIP seconds together; a write locks the row for WRITE seconds.

local memory = require "zklock.seckill.store.memory"
local zklock = require "zklock"

local TRIP, WRITE, POLL = 0.001, 0.001, 0.0001 -- seconds


local OneRow = {}
OneRow.__index = OneRow


local one_row = { create = memory.create }


function one_row.open(place)
    return setmetatable({
        place = place, rows = memory.open(place), sent = { statements = 0 },
    }, OneRow)
end


local function travel(self, fn, ...)
    self.sent.statements = self.sent.statements + 1
    zklock.sleep(TRIP / 2)
    local result = fn(self, ...)
    zklock.sleep(TRIP / 2)
    return result
end


local function lock_row(self)
    while self.place.row_is_locked do zklock.sleep(POLL) end
    self.place.row_is_locked = true
end


-- Writes the order, if there is one, and unlocks the row.
local function commit(self, order)
    if order then
        zklock.sleep(WRITE)
        self.rows:sell(order)
    end
    self.place.row_is_locked = false
    return true
end


local function select_stock(self, product) return self.rows:stock(product) end

local function select_for_update(self, product)
    lock_row(self)
    return select_stock(self, product)
end

local function update(self, order)
    lock_row(self)
    return commit(self, order)
end

local function take(self, order)
    lock_row(self)
    order.left = select_stock(self, order.product) - order.quantity
    local is_enough = order.left >= 0
    commit(self, is_enough and order or nil)
    return is_enough and order.left
end


--- SELECT stock
function OneRow:stock(product) return travel(self, select_stock, product) end

--- UPDATE … SET stock = :left
function OneRow:update(order) return travel(self, update, order) end
OneRow.sell = OneRow.update

--- UPDATE … SET stock = stock - 1 WHERE stock > 0; false if no row was changed
function OneRow:take(order) return travel(self, take, order) end

--- SELECT stock … FOR UPDATE
function OneRow:select_for_update(product) return travel(self, select_for_update, product) end

--- UPDATE, or nothing, and COMMIT
function OneRow:finish(order)
    if order then travel(self, function() end) end
    return travel(self, commit, order)
end


function OneRow:orders() return self.rows:orders() end
function OneRow:close() self.rows:close() end


return one_row
