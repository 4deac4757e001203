--- A shop on several hosts, with a lock in ZooKeeper for each product, and the stock in MySQL. See
-- nginx.conf and docs/start.md.

local locks = require "locks"
local request = require "request"
local store = require "store"

local _M = {}

local STATUS = {
    sold = 200, ["no such product"] = 404, ["sold out"] = 409,
    stale = 503, failed = 503, -- nothing is sold
    unknown = 504, -- it may be sold
} -- after 503, 504 or no answer the client sends the same order again


--- In content_by_lua.
function _M.buy()
    local id, buyer, order = request.order()
    if not id then return end
    local session = locks.session()
    if not session then return request.answer(503, "ZooKeeper has not answered yet") end

    local lock = session:mutex("/locks/product-" .. id)
    local ok, outcome, code, outcome_when_lost = lock:with(3, store.sell, id, buyer, order)
    if code == "lost" then
        outcome = outcome_when_lost -- valid, because the store had seen no later token when it sold
    elseif not ok then
        return request.answer(503, code) -- without the lock nothing is sold
    end
    request.answer(STATUS[outcome], outcome)
end


return _M
