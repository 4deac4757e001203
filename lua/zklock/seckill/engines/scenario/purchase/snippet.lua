--- S4's snippet (DEMO-13): tryLock(waitTime, leaseTime), a while of work, unlock. Here a buyer
--- without the lock does not unlock it (BUG-14). The last buyer does not wait for it: it tries
--- once, while the first is at work, and the first is at work at least until then.

local zklock = require "zklock"


local function work(buyer, lease)
    if not buyer:enter{ lease = lease } then return end
    local stock = buyer:stock()
    buyer:come "at work"
    zklock.sleep(buyer.server.plan.hold)
    buyer.server:wait_for("tried in vain", 1, zklock.sleep)
    buyer:buy(stock - buyer.quantity)
    buyer:note_hold()
    buyer:leave()
end


local function try_once(buyer, lease)
    buyer.server:wait_for("at work", 1, zklock.sleep)
    if buyer:enter{ lease = lease, timeout = 0 } then
        buyer:tell "refused"
        buyer:leave()
    end
    buyer:come "tried in vain"
end


return function(buyer)
    local plan = buyer.server.plan
    local role = buyer.number == plan.buyers and try_once or work
    role(buyer, buyer.server.parameters.lease)
end
