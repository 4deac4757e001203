--- A buyer that holds the lock for a while (S2). The last line of a turn is written just before the
--- lock is given up: after it the other may be quicker with its first line than this one with its
--- last.

local zklock = require "zklock"


local scripts = {}


function scripts.once(buyer)
    buyer:note "got the lock"
    zklock.sleep(buyer.server.plan.hold)
    buyer:try_to_buy()
    buyer:note "released"
end


function scripts.twice(buyer)
    buyer:note "got"
    local again = assert(buyer.strategy:enter(buyer.lock))
    buyer:note "got again"
    zklock.sleep(buyer.server.plan.hold)
    buyer:try_to_buy()
    buyer.strategy:leave(again)
    buyer:note "released"
    buyer:note "released again"
end


return function(buyer)
    if not buyer:enter() then return end
    scripts[buyer.server.parameters.script](buyer)
    buyer:leave()
end
