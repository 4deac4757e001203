--- An example: what a shop has, and what docs/testing-your-code.md tests. It sells one piece of a
-- product under a lock, and the stock is written only while the lock is held.

local Sale = {}
Sale.__index = Sale


--- A sale over a session; `pay` takes the money, and that takes time.
function Sale.new(session, pay)
    return setmetatable({ session = session, pay = pay }, Sale)
end


--- true; or nil, message, code: "sold_out", "lost" (nothing was sold), "unknown" (perhaps) …
function Sale:buy(product)
    local lease, message, code = self.session:mutex("/sale/" .. product):acquire(5)
    if not lease then return nil, message, code end
    local stock = "/stock/" .. product
    local left, version = self.session:get(stock)
    if left == "0" then
        lease:release()
        return nil, "nothing is left", "sold_out"
    end
    self.pay(product)
    local ok, why, which = lease:guard{ { "set", stock, ("%d"):format(left - 1), version } }
    lease:release()
    if not ok then return nil, why, which end
    return true
end


return Sale
