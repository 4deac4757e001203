--- Strategy "combined" for nginx. Concurrent requests of a worker for a product share one hold of
--- zklock's lock, with one read, one pause and one transaction. The record shows the hold as the
--- first buyer's.


local MOST_BUYERS = 100 -- in one hold


local Combined = {}
Combined.__index = Combined


function Combined.open(server)
    return setmetatable({ server = server, session = server:session(), submits = {} }, Combined)
end


-- Serves the buyers in order, as long as the stock is enough (S0's rule). Returns the orders, and
-- the result of each buyer.
local function share_out(buyers, left)
    local orders, results = {}, {}
    for i, buyer in ipairs(buyers) do
        local sold = buyer:may_buy(left)
        if sold then
            left = left - buyer.quantity
            orders[#orders + 1] = buyer:order(left)
        end
        results[i] = { sold = sold, left = left }
    end
    return orders, results
end


local function buy_batch(self, lease, buyers)
    local token, first, store = lease:token_string(), buyers[1], self.server.store
    for _, buyer in ipairs(buyers) do buyer.token = token end
    first:record("granted", token)
    local stock = first:stock()
    first:pause()
    local orders, results = share_out(buyers, stock)
    local written = #orders == 0 or store:sell_all(orders)
    for i, buyer in ipairs(buyers) do
        results[i].late = not written
        if written and results[i].sold then buyer:record("written", results[i].left) end
    end
    first:record "released"
    return results
end


function Combined:submit_of(name)
    local submit = self.submits[name]
    if not submit then
        local server = self.server
        local lock = self.session:mutex(server:path("lock/" .. name))
        submit = lock:combine(function(lease, buyers)
            return server.call_as_holder(buy_batch, self, lease, buyers)
        end, { most = MOST_BUYERS })
        self.submits[name] = submit
    end
    return submit
end


---@param buyer zklock.seckill.Buyer
---@return { sold: boolean, left: integer, late: boolean }? result  `sold` if the stock was enough,
---`late` if the store refused the write
---@return string? message
---@return string? code
function Combined:buy(buyer)
    buyer:record("asked", buyer.lock)
    return self:submit_of(buyer.lock)(buyer, self.server.timeout)
end


return Combined
