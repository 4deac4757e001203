--- An environment holds the texts, options and preparations of a command that runs scenarios. In
--- this environment servers are processes, and the store is an SQLite file. Other environments are
--- zklock.seckill.http.environment and zklock.seckill.engines.environment.

local sale_command = require "zklock.seckill.sale_command"
local runs = require "zklock.seckill.run"
local throwaway = require "zklock.seckill.throwaway"


-- Seed article S2 sleeps for 5 s while it holds the lock (DEMO-09, DEMO-10).
local HOLD = { who = "each of two sessions holds", original = 5, default = 0.5 }


local environment = {
    command = "zklock seckill",
    description = "The flash sale: what goes wrong without a lock, with a local lock, with a lock "
        .. "used wrongly, and how zklock puts it right. Real processes, one SQLite file as the "
        .. "store; every verdict is read from the store.",
    title = "The flash sale",
    example = "DEMO-03,DEMO-17",
    modules = { "luasql.sqlite3" },
    open_run = runs.open,
    sale_command = sale_command,
}


--- Gives an environment the options --hold, --seed-times and --lua.
---@param target table  the environment
---@param hold { who: string, original: number, default: number }  the holder in the help of --hold,
---and seconds for which the lock is held in the seed article and by default
function environment.add_options(target, hold)
    function target.describe(parser, to_seconds)
        parser:mutex(
            parser:option("--hold", ("Seconds for which %s the lock "
                .. "(default %g; in the original %g).")
                :format(hold.who, hold.default, hold.original))
                :argname "S" :convert(to_seconds),
            parser:flag("--seed-times", ("As long as in the original: --hold %g.")
                :format(hold.original)))
        parser:option("--lua", "Interpreter for the processes (default: the one that runs this).")
            :argname "PROGRAM"
    end

    function target.read(given)
        local chosen = given.seed_times and hold.original or given.hold
        return { hold = chosen or hold.default, lua = given.lua }
    end
end

environment.add_options(environment, HOLD)


---@return string? reason  why scenarios cannot run here, besides missing modules
function environment.missing() end


function environment.prepare(options, reaper) options.throwaway = throwaway.open(reaper) end


function environment.introduction(options)
    return ([[
Ten buyers, one item each, a stock of 100: 90 must be left. A wrong strategy must be seen to fail.
Servers are processes, buyers are coroutines; all numbers are read from the store, an SQLite file.
Between reading and writing the stock a buyer pauses %g s, which widens the race (--pause).
Where two sessions take turns, each holds the lock %g s (--hold; --seed-times: 5 s).

]]):format(options.pause, options.hold)
end


function environment.summary() return "" end


return environment
