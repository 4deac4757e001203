--- All scenarios, by seed article, in the order in which they are shown; `of_engines` are the
--- scenarios with the engines' locks. An id says where the scenario comes from; a letter behind it
--- tells its variants apart.

local ARTICLES = {
    "s0_oversell", "s1_crowd", "s1_locks", "s2_sessions", "s3_orders", "s4_products", "s4_redis",
    "s4_outages", "s4_switch",
}


---@class zklock.seckill.Scenario
---@field id string
---@field title string
---@field expect "right" | "wrong"  a wrong strategy must be seen to be wrong
---@field race boolean?             wrong by a race: by luck a run may come out right
---@field zookeeper boolean?        needs one
---@field explanation string       a sentence for readers that are new to this
---@field play fun(scenario, run: zklock.seckill.Run, attempt: integer): zklock.seckill.Played

---@class zklock.seckill.Played
---@field right boolean      what the store says, and what else the scenario wants
---@field finding string     the numbers behind it
---@field sales zklock.seckill.Sale[]?
---@field log zklock.seckill.Entry[]?      what happened, line by line
---@field glimpse zklock.seckill.Entry[]?  the part of it that is shown in any case
---@field again boolean?     it proves nothing: to be played again


local function all(field)
    local list = {}
    for _, name in ipairs(ARTICLES) do
        for _, scenario in ipairs(require("zklock.seckill.scenario." .. name)[field] or {}) do
            list[#list + 1] = scenario
        end
    end
    return list
end


local catalogue = all "scenarios"
catalogue.of_engines = all "of_engines"

return catalogue
