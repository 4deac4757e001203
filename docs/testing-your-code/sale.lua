--- An example: what a shop has, and what docs/testing-your-code.md tests. It sells one piece of a
-- product under a lock, and the stock is written only while the lock is held.

local Sale = {}
Sale.__index = Sale


--- A sale over a session; `pay` takes the money, and that takes time.
function Sale.new(session, pay)
    return setmetatable({ session = session, pay = pay }, Sale)
end


local function sell(lease, sale, product)
    local stock = "/stock/" .. product
    local left, version, code = sale.session:get(stock)
    if not left then return nil, version, code end -- before the customer pays
    if left == "0" then return nil, "nothing is left", "sold_out" end
    sale.pay(product)
    return lease:guard{ { "set", stock, ("%d"):format(left - 1), version } }
end


--- true; or nil, message, code: "sold_out", "lost" (nothing was sold), "unknown" (perhaps) …
function Sale:buy(product)
    local lock = self.session:mutex("/sale/" .. product)
    local ok, first, second, third, message, code = lock:with(5, sell, self, product)
    if ok then return first, second, third end
    if second == "lost" then return third, message, code end -- what sell() returned counts
    return nil, first, second
end


return Sale
