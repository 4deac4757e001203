--- A purchase is a function of the buyer, built in or returned by a module of the user.

local lua_module = require "zklock.seckill.lua_module"
local zklock = require "zklock"


local built_in = {}


function built_in.plain(buyer)
    if not buyer:enter() then return end
    buyer:try_to_buy()
    zklock.sleep(buyer.server.plan.hold)
    buyer:leave()
end


-- Begins a transaction and writes the order, without a commit. Returns its connection, and the
-- outcome to tell after the commit.
local function begin_order(buyer)
    local connection = buyer.server:new_store()
    local stock = buyer:stock()
    connection:begin()
    if not buyer:may_buy(stock) then return connection, "refused" end
    local written = buyer:write(stock - buyer.quantity, function(_, order)
        return connection:write(order)
    end)
    return connection, written and "sold" or "late"
end


local function commit_and_tell(buyer, connection, outcome)
    buyer:pause()
    connection:commit()
    connection:close()
    buyer:tell(outcome)
end


--- Releases the lock inside the transaction, before the commit (S0 §4.3, PIT-04). The next holder
--- reads the old stock.
function built_in.release_then_commit(buyer)
    if not buyer:enter() then return end
    local connection, outcome = begin_order(buyer)
    buyer:leave()
    commit_and_tell(buyer, connection, outcome)
end


function built_in.commit_then_release(buyer)
    if not buyer:enter() then return end
    commit_and_tell(buyer, begin_order(buyer))
    buyer:leave()
end


--- Reads and writes again after a refused write, as often as the strategy allows (ALG-02).
function built_in.optimistic(buyer)
    if not buyer:enter() then return end
    local outcome
    repeat
        local stock = buyer:stock()
        buyer:pause()
        outcome = not buyer:may_buy(stock) and "refused"
            or buyer:write(stock - buyer.quantity) and "sold" or "conflict"
    until outcome ~= "conflict" or not buyer:retry()
    buyer:tell(outcome)
    buyer:leave()
end


local NAMES = "plain, release_then_commit, commit_then_release, optimistic"

-- A purchase may need a method of the server's store or strategy.
local TRANSACTION = { of = "store", method = "begin", known = "sqlite and mysql" }
local NEEDS = {
    commit_then_release = TRANSACTION, release_then_commit = TRANSACTION,
    optimistic = { of = "strategy", method = "retry", known = "sql-optimistic" },
}


local purchases = {}


function purchases.is_built_in(name) return built_in[name] ~= nil end


--- Raises an error if the server's strategy or store cannot serve the sale's purchase.
---@param server zklock.seckill.Server
function purchases.check(server)
    local plan = server.plan
    local need = NEEDS[plan.purchase]
    if need and not server[need.of][need.method] then
        error(("the purchase %s needs a %s with %s, such as %s, and not %s"):format(plan.purchase,
            need.of, need.method, need.known, plan[need.of]), 0)
    end
end


---@param name string
---@return (fun(buyer: zklock.seckill.Buyer))? purchase
---@return string? message
function purchases.load(name)
    if built_in[name] then return built_in[name] end
    return lua_module.load(name, "purchase", {}, NAMES)
end


return purchases
