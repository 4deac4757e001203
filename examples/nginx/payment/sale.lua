--- A sale with a payment. The item is reserved under the product's lock, paid without it, and the
-- order settled under it. Each step may be repeated, so sending a cut-off order again finishes it.
-- See nginx.conf and docs/start.md.

local locks = require "locks"
local orders = require "orders"
local provider = require "provider"
local request = require "request"

local _M = {}

local HOLD = os.getenv "HOLD" -- "1" holds the lock during the payment, to compare

local STATUS = {
    paid = 200, cancelled = 402, ["no such product"] = 404, ["sold out"] = 409,
    stale = 503, failed = 503, -- this attempt has reserved nothing
    reserved = 504, unknown = 504, -- it may be paid, or not
} -- after 503, 504 or no answer the client sends the same order again


-- Runs a transaction under the lock. Its outcome counts even if the lock is lost meanwhile, because
-- it is "stale" if a later holder has shown its token first.
local function under(lock, timeout, transaction, ...)
    local ok, outcome, code, outcome_when_lost = lock:with(timeout, transaction, ...)
    if code == "lost" then return outcome_when_lost end
    return ok and outcome or "failed"
end


local function sell(lock, order)
    local state = under(lock, 3, orders.reserve, order)
    if state ~= "reserved" then return state end
    local key = ("%s-%s-%s"):format(order.id, order.buyer, order.number)
    local answer = provider.charge(key) -- the lock is free meanwhile
    if not answer then return "reserved" end -- charged or not, so the next attempt asks again
    state = under(lock, 10, orders.settle, order, answer)
    if state == "cancelled" and answer == "paid" then
        ngx.log(ngx.ERR, "refund: the provider has forgotten its refusal of ", key)
    end
    return (state == "paid" or state == "cancelled") and state or "reserved"
end


local function finish(session, order)
    local lock = session:mutex("/locks/product-" .. order.id)
    if not HOLD then return sell(lock, order) end
    return under(lock, 3, function() return sell(lock, order) end) -- sell() re-enters the lock
end


--- In content_by_lua.
function _M.buy()
    local id, buyer, number = request.order()
    if not id then return end
    local session = locks.session()
    if not session then return request.answer(503, "ZooKeeper has not answered yet") end
    local state = finish(session, { id = id, buyer = buyer, number = number })
    request.answer(STATUS[state], state)
end


-- Finishes the orders, and adds a line for each. Returns whether the database and the lock worked.
local function finish_all(session, list, lines)
    local well = true
    for _, order in ipairs(list) do
        local state = finish(session, order)
        lines[#lines + 1] = ("%s %s %s: %s\n"):format(order.id, order.buyer, order.number, state)
        well = well and state ~= "failed"
    end
    return well
end


--- In content_by_lua, by a cron job. Finishes orders whose clients did not come back.
function _M.sweep()
    local session = locks.session()
    if not session then return request.answer(503, "ZooKeeper has not answered yet") end
    local age, lines, well, last = tonumber(ngx.var.arg_age) or 60, {}, true, nil
    repeat
        local list = orders.unsettled(age, last)
        well = list and finish_all(session, list, lines) and well
        last = list and list[#list] -- an order that stays unsettled must not hide later ones
    until not last
    ngx.status = well and 200 or 503
    ngx.print(lines)
end


return _M
