--- Strategy "sql-optimistic" (ALG-02): nobody waits. The row of each product has a version, which
--- every write makes greater. A buyer reads it before the stock; its write is refused if the
--- version is another one by then. So it needs a store in SQL, sqlite or mysql, and any number of
--- buyers are in the critical section at once, as the record shows.
---
--- Its purchase is "optimistic": a buyer whose write was refused waits, reads again and writes
--- again, up to `retries` times with Curator's backoff from `base` seconds on. The defaults are the
--- seed's (CFG-06: 3 times, from 1 s), with which few of many buyers succeed, though there is stock
--- left (BUG-09's undersell): `parameters = { engine = { retries = 20, base = 0.01 } }`.

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


--- The write was refused: reads the version again, for another try, if there is one.
function Optimistic:retry(hold)
    if hold.retries == self.options.retries then return false end
    zklock.sleep(backoff.seconds(self.options.base, hold.retries))
    hold.retries = hold.retries + 1
    hold.version = self.store:version(hold.product)
    return true
end


--- What the store must still have when it writes.
function Optimistic.version(_, hold) return hold.version end

-- It excludes nobody.
function Optimistic.shared() return true end


return Optimistic
