--- Strategy "sql-optimistic" (ALG-02), without a lock. Each product's row has a version, which
--- every write increments. A buyer reads the version before the stock, and its write is refused if
--- the version has changed. The store must be in SQL (sqlite or mysql). Without a lock the record
--- shows several buyers at once between reading and writing.
---
--- Its purchase "optimistic" retries a refused write up to `retries` times, with Curator's backoff
--- from `base` seconds on. By default it retries 3 times from 1 s on, as in the seed article
--- (CFG-06). Then few of many buyers succeed, though there is stock left (BUG-09). More buyers
--- succeed with `parameters = { engine = { retries = 20, base = 0.01 } }`.

local backoff = require "zklock.seckill.engine.backoff"
local engine_options = require "zklock.seckill.engine.options"
local misuse = require "zklock.value.misuse"
local stores = require "zklock.seckill.stores"
local zklock = require "zklock"


local FIELDS = { retries = engine_options.count, base = engine_options.seconds(0) }
local DEFAULTS = { retries = 3, base = 1 }


local Optimistic = { purchase = "optimistic", unlocked = true }
Optimistic.__index = Optimistic


local function options_of(parameters)
    return engine_options.complete(parameters and parameters.engine, FIELDS, DEFAULTS,
        "parameters.engine of sql-optimistic")
end


function Optimistic.check(plan)
    if plan.store ~= "sqlite" and not stores.is_mysql(plan.store) then
        misuse.refuse("the strategy sql-optimistic needs store = \"sqlite\" or \"mysql\", whose "
            .. "rows have a version, not %s", misuse.show(plan.store))
    end
    options_of(plan.parameters)
end


function Optimistic.open(server)
    return setmetatable({ store = server.store, options = options_of(server.parameters) },
        Optimistic)
end


function Optimistic:enter(_, buyer)
    return { product = buyer.product, version = self.store:version(buyer.product), retries = 0 }
end


function Optimistic.leave() end


--- Waits and reads the version again after a refused write; false if no try is left.
function Optimistic:retry(hold)
    if hold.retries == self.options.retries then return false end
    zklock.sleep(backoff.seconds(self.options.base, hold.retries))
    hold.retries = hold.retries + 1
    hold.version = self.store:version(hold.product)
    return true
end


--- The version that the store must still have at the write.
function Optimistic.version(_, hold) return hold.version end

function Optimistic.shared() return true end


return Optimistic
