--- All scenarios of the engines, in the order in which they are shown; see
--- zklock.seckill.catalogue.

local scenarios = require "zklock.seckill.scenarios"


return scenarios("zklock.seckill.engines.scenario", {
    "two_products", "snippet", "late_release", "half_locked", "other_product", "fair_price",
    "failover", "clock", "single_point", "switch",
})
