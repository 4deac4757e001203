--- The environment of scenarios with engines (docs/engines.md). Servers are processes, the store is
--- in SQLite or MariaDB, and the locks are on throwaway servers of Redis and MariaDB.

local clocks = require "zklock.throwaway.clock"
local runs = require "zklock.seckill.run"
local matrix = require "zklock.seckill.engines.matrix"
local default_environment = require "zklock.seckill.environment"
local shell = require "zklock.system.shell"


-- Redisson's code in seed article S4 works for 3 s while it holds the lock (DEMO-13).
local HOLD = { who = "Redisson's snippet holds", original = 3, default = 0.3 }


local environment = {
    command = "lua lua/zklock/seckill/engines/demo.lua",
    description = "The flash sale with the locks of databases and of Redis: what each does under a "
        .. "fault, and what zklock does under the same. Real servers and real processes; every "
        .. "verdict is read from the store.",
    title = "The flash sale with the engines of others",
    example = "DEMO-12,PIT-15",
    modules = { "luasql.sqlite3", "luasql.mysql", "redis", "socket", "dkjson" },
    open_run = runs.open,
    prepare = default_environment.prepare,
}


default_environment.add_options(environment, HOLD)


--- The reason why scenarios cannot run here, besides missing modules, or nil.
function environment.missing()
    return shell.lacks "redis-server" or shell.lacks "mariadbd" or clocks.missing()
end


function environment.introduction(options)
    return ([[
Each fault meets an engine, and then zklock. What must go wrong is wrong by the store, or because
buyers are kept waiting, and for the reason that is named. Servers are processes, buyers are
coroutines. Redis and MariaDB are started where they are needed.
Between reading and writing the stock a buyer pauses %g s, which widens the race (--pause).
Redisson's snippet holds the lock %g s (--hold; --seed-times: 3 s, as in the original).

]]):format(options.pause, options.hold)
end


function environment.summary()
    return ("\nWhat engines have; what was measured is in docs/performance/engines.md\n%s\n")
        :format(matrix.table())
end


return environment
