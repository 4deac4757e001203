--- All scenarios of the engines, in the order in which they are shown; see
--- zklock.seckill.catalogue.

local KINDS = {
    "two_products", "snippet", "late_release", "half_locked", "other_product", "fair_price",
    "failover", "clock", "single_point", "switch",
}

local catalogue = {}

for _, kind in ipairs(KINDS) do
    local scenarios = require("zklock.seckill.engines.scenario." .. kind).scenarios
    for _, scenario in ipairs(scenarios) do
        catalogue[#catalogue + 1] = scenario
    end
end


return catalogue
