--- All scenarios, in the order in which they are shown. An id says where the scenario comes
--- from; a letter behind one tells its variants apart.

local scenarios = require "zklock.seckill.scenarios"


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


return scenarios "scenarios"
