--- Where scenarios play, and what sets that apart: here servers are processes of
--- the demo, and the store is an SQLite file. zklock.seckill.http.environment and
--- zklock.seckill.engines.environment are the others.

local sale_command = require "zklock.seckill.sale_command"
local runs = require "zklock.seckill.run"
local process_options = require "zklock.seckill.process_options"
local throwaway = require "zklock.seckill.throwaway"


-- S2 sleeps that long with the lock held (DEMO-09, DEMO-10).
local HOLD = { of = "each of two sessions holds", seed = 5, usual = 0.5 }


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


--- Adds its options to the command line.
---@param parser table  of argparse
---@param seconds function  a converter
function environment.describe(parser, seconds) process_options.describe(parser, seconds, HOLD) end


--- What they come to: fields of the options.
---@param given table  what argparse read
---@return table
function environment.read(given) return process_options.read(given, HOLD) end


--- What else keeps the scenarios from running; nil: nothing.
function environment.missing() end


--- Makes what all scenarios share.
function environment.prepare(options, reaper) options.throwaway = throwaway.open(reaper) end


function environment.introduction(options)
    return ([[
Ten buyers, one item each, a stock of 100: 90 must be left. A wrong strategy must be seen to fail.
Servers are processes, buyers are coroutines; all numbers are read from the store, an SQLite file.
Between reading and writing the stock a buyer pauses %g s, which widens the race (--pause).
Where two sessions take turns, each holds the lock %g s (--hold; --seed-times: 5 s).

]]):format(options.pause, options.hold)
end


--- What is said below all results.
function environment.summary() return "" end


return environment
