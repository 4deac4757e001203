--- A purchase from one row, in one of three ways. Buyers arrive `parameters.gap` seconds apart, or
--- all together. Then a note counts the server's requests to ZooKeeper so far, by kind, and its
--- statements to the database.

local zklock = require "zklock"

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


--- A single statement, which returns the remaining stock.
function ways.statement(buyer)
    local left = buyer.store:take(buyer:order())
    if not left then return buyer:tell "refused" end
    buyer:buy(left, function() return true end)
end


local function note_requests(buyer)
    local session = buyer.server.own_session
    local stats, counts = session and session:stats(), {}
    for i, kind in ipairs(stats and REQUESTS or {}) do
        counts[i] = ("%s=%d"):format(kind, stats[kind])
    end
    counts[#counts + 1] = ("statements=%d"):format(buyer.store.sent.statements)
    buyer:note(table.concat(counts, " "))
end


return function(buyer)
    local parameters = buyer.server.parameters
    zklock.sleep((buyer.number - 1) * (parameters.gap or 0))
    if not buyer:enter() then return end
    ways[parameters.way](buyer)
    buyer:leave()
    note_requests(buyer)
end
