--- Buyers that come one after the other, each before the one ahead of it is served: a line grows,
--- and it is known in which order they came.

local purchases = require "zklock.seckill.purchases"
local zklock = require "zklock"


local plain = assert(purchases.load "plain")


return function(buyer)
    zklock.sleep((buyer.number - 1) * buyer.server.parameters.apart)
    plain(buyer)
end
