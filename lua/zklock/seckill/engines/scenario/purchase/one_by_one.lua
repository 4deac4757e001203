--- Buyers who come one after the other, sooner than the one before is served: a line grows, and it
--- is known who came first.

local purchases = require "zklock.seckill.purchases"
local zklock = require "zklock"


local plain = assert(purchases.load "plain")


return function(buyer)
    zklock.sleep((buyer.number - 1) * buyer.server.parameters.apart)
    plain(buyer)
end
