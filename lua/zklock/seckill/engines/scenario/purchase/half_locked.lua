--- The first buyer is on its way into the lock when the others come, and is killed (BUG-15).
--- A buyer that waited in vain for a key of Redis notes how long it will last.

local zklock = require "zklock"


local HEAD_START = 0.2 -- seconds


local function note_end(buyer)
    local engine = buyer.strategy.engine
    if not engine then return end
    local seconds = engine.redis:call("ttl", buyer.server:path("lock/" .. buyer.lock))
    buyer:note(("the key ends in %d s"):format(seconds))
end


local function come_later(buyer)
    buyer.server:wait_for("asks", 1, zklock.sleep)
    zklock.sleep(HEAD_START)
end


return function(buyer)
    if buyer.number == 1 then buyer:come "asks" else come_later(buyer) end
    if not buyer:enter() then return note_end(buyer) end
    buyer:try_to_buy()
    buyer:leave()
end
