--- A purchase that needs the locks of the stock and of the buyer's account. Odd buyers acquire the
--- stock first, even buyers the account. With `parameters.sorted` all acquire the account first.
--- Each buyer comes `parameters.gap` seconds after the previous one.

local zklock = require "zklock"


local function note_hold(buyer, lock, hold)
    buyer:note(("has %s %s"):format(lock, buyer.strategy:token(hold)))
end


return function(buyer)
    local parameters = buyer.server.parameters
    local first, second = "account", "stock"
    if not parameters.sorted and buyer.number % 2 == 1 then first, second = second, first end
    zklock.sleep((buyer.number - 1) * parameters.gap)
    buyer.lock = first
    if not buyer:enter() then return end
    note_hold(buyer, first, buyer.hold)
    buyer:pause()
    buyer:note("asks " .. second)
    local hold, _, code = buyer.strategy:enter(second, buyer)
    if hold then
        note_hold(buyer, second, hold)
        buyer:try_to_buy()
        buyer.strategy:leave(hold)
    else
        buyer:note "gives up"
        buyer:tell(code)
    end
    buyer:leave()
end
