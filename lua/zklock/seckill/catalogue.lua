--- All scenarios, in the order of the seed articles. The field `of_engines` lists those with the
--- engines' locks. An id names a demo, pitfall, bug or other point of the articles, and a letter
--- after it a variant.

local ARTICLES = {
    "s0_oversell", "s1_crowd", "s1_locks", "s2_sessions", "s3_orders", "s4_products", "s4_redis",
    "s4_outages", "s4_switch",
}


---@class zklock.seckill.Scenario
---@field id string
---@field title string
---@field expect "right" | "wrong"  expected verdict; a wrong strategy must fail
---@field race boolean?             wrong only by a race, so an attempt may come out right by luck
---@field zookeeper boolean?        needs a ZooKeeper
---@field explanation string       a sentence for newcomers
---@field play fun(scenario, run: zklock.seckill.Run, attempt: integer): zklock.seckill.Played

---@class zklock.seckill.Played
---@field right boolean      the store and the scenario's other conditions are right
---@field finding string     the numbers behind the verdict
---@field sales zklock.seckill.Sale[]?
---@field log zklock.seckill.Entry[]?      events, line by line
---@field glimpse zklock.seckill.Entry[]?  the part of the log that is always shown
---@field again boolean?     this attempt proves nothing and must be repeated


local function collect(field)
    local list = {}
    for _, name in ipairs(ARTICLES) do
        for _, scenario in ipairs(require("zklock.seckill.scenario." .. name)[field] or {}) do
            list[#list + 1] = scenario
        end
    end
    return list
end


local catalogue = collect "scenarios"
catalogue.of_engines = collect "of_engines"

return catalogue
