--- Chooses the search that the options ask for.

local pct = require "zklock.world.pct"
local search = require "zklock.world.search"
local systematic = require "zklock.world.systematic"

---@param fn fun(world: zklock.World)
---@param opts table of zklock.world.options; `on_schedule` is called after each schedule
---@return zklock.Found
return function(fn, opts)
    if opts.pct then return pct.run(fn, opts) end
    if opts.all then return systematic.run(fn, opts) end
    if opts.schedule then return systematic.replay(fn, opts) end
    return search.run(fn, opts)
end
