--- The same purchase, after which each buyer notes what time it is by the wall clock of its server.

local asks_again = require "zklock.seckill.engines.scenario.purchase.asks_again"


return function(buyer)
    asks_again(buyer)
    buyer:note(("it is %d"):format(os.time()))
end
