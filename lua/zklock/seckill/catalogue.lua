--- All scenarios, in the order in which they are shown. The ids are those of
--- the requirements; a letter behind one tells its variants apart.

---@class zklock.seckill.Scenario
---@field id string
---@field title string
---@field expect "right" | "wrong"  a wrong strategy must be seen to be wrong
---@field race boolean?             wrong by a race: by luck a run may come out right
---@field zookeeper boolean?        needs one
---@field play fun(scenario, run: zklock.seckill.Run, attempt: integer): zklock.seckill.Outcome

---@class zklock.seckill.Outcome
---@field right boolean   what the store says
---@field finding string  the numbers behind it
---@field log table[]?    the journal
---@field glimpse table[]?  the part of the journal that is shown in any case
---@field again boolean?  it proves nothing: to be played again


local catalogue = {}

for _, kind in ipairs { "oversell", "read_write", "turns", "orders", "herd", "crash",
    "late_write" } do
    local scenarios = require("zklock.seckill.scenario." .. kind).scenarios
    for _, scenario in ipairs(scenarios) do
        catalogue[#catalogue + 1] = scenario
    end
end


return catalogue
