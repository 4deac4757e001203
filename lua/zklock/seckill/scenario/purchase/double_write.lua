--- Buyers of REQ-15. The first ones write to the database and then to the cache. The others only
--- read both, and buy nothing; they come one after the other, so that some come in between.

local zklock = require "zklock"


local function write(buyer)
    if not buyer:enter() then return end
    local left = buyer:stock() - buyer.quantity
    buyer:pause()
    buyer:buy(left)
    buyer:pause()
    buyer.store:set_cached(buyer.product, left)
    buyer:leave()
end


local function read(buyer, number)
    local pause = buyer.server.plan.pause
    buyer:want{}
    zklock.sleep(number * pause / 4)
    if not buyer:enter{ side = "read" } then return end
    buyer:note(("database %d, cache %d"):format(buyer:stock(), buyer.store:cached(buyer.product)))
    zklock.sleep(pause)
    buyer:tell "refused"
    buyer:leave()
end


return function(buyer)
    local writers = buyer.server.parameters.writers
    if buyer.number <= writers then write(buyer) else read(buyer, buyer.number - writers) end
end
