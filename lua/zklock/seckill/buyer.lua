--- A buyer makes one purchase in a server, and writes its events into the server's record.

local checked_store = require "zklock.seckill.checked_store"
local lock_name = require "zklock.seckill.lock_name"
local misuse = require "zklock.value.misuse"
local option = require "zklock.seckill.option"
local sorted_names = require "zklock.value.sorted_names"
local zklock = require "zklock"


local POLL = 0.001 -- seconds between checks whether it is a buyer's turn


---@class zklock.seckill.Buyer
---@field number integer
---@field product string
---@field quantity integer
---@field lock string       the name of the lock that it needs
---@field server zklock.seckill.Server
---@field strategy table
---@field store table
---@field hold any?         the strategy's hold, while the buyer holds the lock
---@field token string?     the digits of the fencing token, after a grant
---@field told string?      the last answer to the buyer
---@field arrived table<string, true>  names of the barriers to which it came
local Buyer = {}
Buyer.__index = Buyer


local buyer = {}


---@param server zklock.seckill.Server
---@param assignment zklock.seckill.Assignment
---@return zklock.seckill.Buyer
function buyer.new(server, assignment)
    return setmetatable({
        number = assignment.buyer, product = assignment.product,
        quantity = assignment.quantity, lock = assignment.lock,
        server = server, strategy = server.strategy, store = server.store, arrived = {},
    }, Buyer)
end


function Buyer:record(word, details) self.server.record:write(self.number, word, details) end


--- Adds a remark to the record, with the token if the buyer holds the lock.
---@param line string
function Buyer:note(line)
    self:record("note", ("%s %s"):format(self.hold and self.token or "-", line))
end


function Buyer:note_hold() self:note("its hold is " .. self.strategy:state(self.hold)) end


local function check_sold(self, what, product)
    if not self.server.plan.products[product] then
        error(("%s: product %s is not sold"):format(what, misuse.show(product)), 0)
    end
end


local function check_pieces(self, what, product, pieces)
    check_sold(self, what, product)
    if not option.is_whole(pieces, 1, 2 ^ 31 - 1) then
        error(("%s: the pieces of %s must be a whole number from 1, not %s"):format(what, product,
            misuse.show(pieces)), 0)
    end
end


--- Declares which pieces the buyer wants in place of those by the sale's options. It may want none.
---@param wants table<string, integer>  pieces by product
function Buyer:want(wants)
    local words = {}
    for i, product in ipairs(sorted_names(wants)) do
        check_pieces(self, "want", product, wants[product])
        words[i] = ("%s %d"):format(product, wants[product])
    end
    self:record("wants", table.concat(words, " "))
end


--- Declares that the buyer returned pieces to the stock. The verdict then accepts all refusals of
--- the product.
---@param quantity integer
---@param product string?  its own by default
function Buyer:gave_back(quantity, product)
    product = product or self.product
    check_pieces(self, "gave_back", product, quantity)
    self:record("returned", ("%d %s"):format(quantity, product))
end


local function call_under_hang_detector(self, what, seconds, fn, ...)
    local detector = self.server.hang_detector
    if not detector then return fn(...) end
    detector:begin_call(self, what, seconds)
    return detector:end_call(self, fn(...))
end


local function call_strategy(self, method, seconds, ...)
    local what = ("the strategy %s: %s"):format(self.server.plan.strategy, method)
    return call_under_hang_detector(self, what, seconds, self.strategy[method], self.strategy, ...)
end


local function token_of(self, hold)
    local strategy = self.strategy
    local token = strategy.token and strategy:token(hold)
    if not token then return nil end
    if not tostring(token):find "^%d+$" then
        error(("the strategy %s: its token is %s, not digits"):format(self.server.plan.strategy,
            misuse.show(token)), 0)
    end
    return tostring(token)
end


local function call_store(self, what, fn, ...)
    what = ("the store %s: %s"):format(self.server.plan.store, what)
    return call_under_hang_detector(self, what, nil, fn, self.store, ...)
end


local function locks_of(self, wish)
    if not (wish and wish.products) then return { self.lock } end
    local locks = {}
    for _, product in ipairs(wish.products) do
        check_sold(self, "enter", product)
        locks[self.server.plan.lock == "one" and self.lock or product] = true
    end
    return sorted_names(locks)
end


local function request_locks(self, locks, wish)
    local timeout = wish and wish.timeout
    if not locks[2] then return call_strategy(self, "enter", timeout, locks[1], self, wish) end
    if not self.strategy.enter_all then
        error(("the strategy %s takes one lock at a time: it has no enter_all"):format(
            self.server.plan.strategy), 0)
    end
    return call_strategy(self, "enter_all", timeout, locks, self, wish)
end


local function record_grant(self)
    local strategy = self.strategy
    self:record("granted", self.token or "-")
    if strategy.shared and strategy:shared(self.hold) then self:record "shared" end
end


local STATES = { suspect = true, lost = true }

local function record_state(self, state)
    if not STATES[state] then
        error(("the strategy %s: on_state tells \"suspect\" or \"lost\", not %s"):format(
            self.server.plan.strategy, misuse.show(state)), 0)
    end
    self:record(state)
end


--- Options of a request for a lock.
---@class zklock.seckill.Wish
---@field on_queued fun(position: integer)?  called when the request has to wait
---@field side "read" | "write" | nil        of a read-write lock; "write" by default
---@field timeout number?                     seconds to wait; the sale's by default
---@field lease number?                       seconds for which an engine's lock lasts
---@field products string[]?                   takes the locks of all these products, or none

---@param wish zklock.seckill.Wish?
---@return any? hold       nil without the lock; `code` is then the answer to the buyer
---@return string? message
---@return string? code
function Buyer:enter(wish)
    local locks = locks_of(self, wish)
    self.told = nil
    self:record("asked", lock_name.of(locks))
    if wish and wish.timeout then self:record("patience", wish.timeout) end
    local hold, message, code = request_locks(self, locks, wish)
    if not hold then
        if message then self:note(message) end
        self:tell(code or "failed")
        return nil, message, code
    end
    local strategy = self.strategy
    self.hold = hold
    self.token = token_of(self, hold)
    record_grant(self)
    -- Not in simulated sales, where a callback would add a step to the schedule.
    if strategy.on_state and self.server.hang_detector then
        strategy:on_state(hold, function(state) record_state(self, state) end)
    end
    return hold
end


--- Asks the strategy for another try after a refused write. The record shows the time until the
--- next try as a wait for the lock.
---@return boolean again  false if no try is left
function Buyer:retry()
    self:record "retries"
    if not self.strategy:retry(self.hold) then return false end
    record_grant(self)
    return true
end


function Buyer:leave()
    local hold = self.hold
    if not hold then return end
    self.hold = nil
    self:record "released" -- first, because the next holder may be granted before leave returns
    call_strategy(self, "leave", nil, hold)
end


local function fencing_token(self) return self.server.plan.fenced and self.token or nil end


--- Reads the stock. The store gets the token first, so that it refuses later writes of earlier
--- holders. A planned fault may strike here, between reading and writing.
---@param product string?  its own by default
---@return integer
function Buyer:stock(product)
    product = product or self.product
    local stock = checked_store.stock(self.server.plan.store, product,
        call_store(self, "stock", self.store.stock, product, fencing_token(self)))
    self:record("read", ("%s %s"):format(stock, product))
    self.server.faults:strike_and_note(self)
    return stock
end


function Buyer:pause() zklock.sleep(self.server.plan.pause) end -- widens the race


--- True if the stock is enough for the buyer (S0's rule).
---@param stock integer
---@return boolean
function Buyer:may_buy(stock) return stock > 0 and self.quantity <= stock end


---@param left integer       the stock after the purchase
---@param product string?    its own by default
---@param quantity integer?  its own by default
---@return zklock.seckill.Order
function Buyer:order(left, product, quantity)
    product, quantity = product or self.product, quantity or self.quantity
    local prices = self.server.plan.prices
    return {
        product = product, quantity = quantity, left = left, buyer = self.number,
        paid = prices and prices[product] * quantity,
        server = self.server.name, token = fencing_token(self),
        version = self.strategy.version and self.strategy:version(self.hold) or nil,
        hold = self.hold,
    }
end


local function record_write(self, left, product, quantity)
    self:record("written", ("%s %s %s"):format(left, product, quantity))
end


---@param left integer  the stock after the purchase
---@param write (fun(store: table, order: zklock.seckill.Order): boolean)?  default: store:sell
---@return boolean written  false if the store refused it
function Buyer:write(left, write)
    write = write or self.store.sell
    local written = checked_store.written(self.server.plan.store,
        call_store(self, "a write", write, self:order(left)))
    if written then record_write(self, left, self.product, self.quantity) end
    return written
end


--- Writes several orders, all or none, and tells the buyer the outcome.
---@param baskets { product: string, quantity: integer, left: integer }[]  one for each product
---@return boolean written
function Buyer:buy_all(baskets)
    local plan, orders = self.server.plan, {}
    if not self.store.sell_all then
        error(("the store %s has no sell_all: it sells one product at a time"):format(
            plan.store), 0)
    end
    for i, each in ipairs(baskets) do
        orders[i] = self:order(each.left, each.product, each.quantity)
    end
    local written = checked_store.written(plan.store,
        call_store(self, "a write", self.store.sell_all, orders))
    for _, each in ipairs(written and baskets or {}) do
        record_write(self, each.left, each.product, each.quantity)
    end
    self:tell(written and "sold" or "late")
    return written
end


--- Like write, and tells the buyer the outcome.
---@param left integer  the stock after the purchase
---@param write (fun(store: table, order: zklock.seckill.Order): boolean)?  default: store:sell
---@return boolean written
function Buyer:buy(left, write)
    local written = self:write(left, write)
    self:tell(written and "sold" or "late")
    return written
end


--- Buys if `stock` is enough, and tells the buyer the outcome.
---@param stock integer
---@param write (fun(store: table, order: zklock.seckill.Order): boolean)?  default: store:sell
---@return boolean sold
function Buyer:buy_from(stock, write)
    if self:may_buy(stock) then return self:buy(stock - self.quantity, write) end
    self:tell "refused"
    return false
end


--- S0's purchase, inside the lock. Reads the stock, pauses, writes the remainder.
---@return boolean sold
function Buyer:try_to_buy()
    local stock = self:stock()
    self:pause()
    return self:buy_from(stock)
end


---@param outcome string  "sold", "refused", or a reason in one word
function Buyer:tell(outcome)
    self.told = outcome
    self:record("told", outcome)
end


--- Arrives at a barrier of the sale, unless the buyer did before.
---@param barrier string  its name
function Buyer:come(barrier)
    if self.arrived[barrier] then return end
    self.arrived[barrier] = true
    self.server:come(barrier)
end


--- Waits for the first arrival in all servers, or for `count` of them, without its own.
---@param barrier string
---@param count? integer
function Buyer:await(barrier, count)
    self.server:wait_for(barrier, count or 1, zklock.sleep)
end


--- Arrives, and waits for `count` arrivals in all servers.
---@param barrier string
---@param count integer
function Buyer:wait_for(barrier, count)
    self:come(barrier)
    self:await(barrier, count)
end


--- Waits until the buyer's server has served all earlier buyers, like a server of one thread.
function Buyer:wait_for_its_turn()
    local server = self.server
    local before = math.floor((self.number - 1) / server.plan.servers)
    while server.served < before do zklock.sleep(POLL) end
end


return buyer
