--- A purchase from one row, in one of three ways; after it, what its server has asked for until
--- then: requests to ZooKeeper, and to the database.

local REQUESTS = { "creates", "sets", "deletes", "lists", "gets", "exists", "syncs" }

local ways = {}


--- A lock around SELECT and UPDATE.
function ways.lock(buyer) buyer:buy_from(buyer:stock(), buyer.store.update) end


--- A transaction that locks the row.
function ways.transaction(buyer)
    local stock = buyer.store:select_for_update(buyer.product)
    if buyer:may_buy(stock) then return buyer:buy(stock - buyer.quantity, buyer.store.finish) end
    buyer.store:finish()
    buyer:tell "refused"
end


--- One statement, which tells what is left.
function ways.statement(buyer)
    local left = buyer.store:take(buyer:order())
    if not left then return buyer:tell "refused" end
    buyer:buy(left, function() return true end)
end


local function requests_of(server)
    if not server.own_session then return 0 end
    local stats, count = server.own_session:stats(), 0
    for _, kind in ipairs(REQUESTS) do count = count + stats[kind] end
    return count
end


return function(buyer)
    if not buyer:enter() then return end
    ways[buyer.server.parameters.way](buyer)
    buyer:leave()
    buyer:note(("requests %d %d"):format(requests_of(buyer.server), buyer.store.sent.statements))
end
