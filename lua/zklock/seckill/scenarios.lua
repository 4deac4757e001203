--- The scenarios of all seed articles, in the order in which they are shown.

local ARTICLES = {
    "s0_oversell", "s1_crowd", "s1_locks", "s2_sessions", "s3_orders", "s4_products", "s4_redis",
    "s4_outages", "s4_switch",
}


---@param field "scenarios" | "of_engines"
---@return zklock.seckill.Scenario[]
return function(field)
    local list = {}
    for _, name in ipairs(ARTICLES) do
        for _, scenario in ipairs(require("zklock.seckill.scenario." .. name)[field] or {}) do
            list[#list + 1] = scenario
        end
    end
    return list
end
