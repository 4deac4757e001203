--- Purchases: what a buyer does. One of zklock's by its name, or a module of the user's own that
--- returns a function of the buyer.

local lua_module = require "zklock.seckill.lua_module"
local zklock = require "zklock"


local built_in = {}


--- S0's purchase, the lock around it.
function built_in.plain(buyer)
    if not buyer:enter() then return end
    buyer:try_to_buy()
    zklock.sleep(buyer.server.plan.hold)
    buyer:leave()
end


-- The part of a transaction before its end. The stock is read first: what the next holder reads
-- while this is not committed is the old stock (PIT-04).
local function begin(buyer)
    local connection = buyer.server:new_store()
    local stock = buyer:stock()
    connection:begin()
    buyer:buy_from(stock, function(_, order) return connection:write(order) end)
    return connection
end


--- The lock inside the transaction (S0 §4.3): the next holder reads the old stock.
function built_in.release_then_commit(buyer)
    if not buyer:enter() then return end
    local connection = begin(buyer)
    buyer:leave()
    buyer:pause()
    connection:commit()
    connection:close()
end


--- The lock around the transaction.
function built_in.commit_then_release(buyer)
    if not buyer:enter() then return end
    local connection = begin(buyer)
    buyer:pause()
    connection:commit()
    connection:close()
    buyer:leave()
end


--- A buyer whose write is refused reads again and writes again, as often as the strategy allows
--- it (ALG-02).
function built_in.optimistic(buyer)
    if not buyer:enter() then return end
    local outcome
    repeat
        local stock = buyer:stock()
        buyer:pause()
        outcome = not buyer:may_buy(stock) and "refused"
            or buyer:write(stock - buyer.quantity) and "sold" or "conflict"
    until outcome ~= "conflict" or not buyer.strategy:retry(buyer.hold)
    buyer:tell(outcome)
    buyer:leave()
end


local NAMES = "plain, release_then_commit, commit_then_release, optimistic"


local purchases = {}


--- The purchase of that name.
---@param name string
---@return (fun(buyer: zklock.seckill.Buyer))? purchase
---@return string? message
function purchases.load(name)
    if built_in[name] then return built_in[name] end
    return lua_module.load(name, "purchase", {}, NAMES)
end


return purchases
