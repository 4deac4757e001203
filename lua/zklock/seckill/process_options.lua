--- Options of the command line for scenarios whose servers are processes of the demo: for how long
--- a lock is held where the seed sleeps, and which Lua runs them.

local process_options = {}


---@class zklock.seckill.Hold
---@field of string     the scenarios that hold it
---@field seed number   seconds, the seed's own
---@field usual number  seconds, so that the demo is quick


--- Adds them to the command line.
---@param parser table  of argparse
---@param seconds function  a converter
---@param hold zklock.seckill.Hold
function process_options.describe(parser, seconds, hold)
    parser:mutex(
        parser:option("--hold", ("Seconds for which %s the lock "
            .. "(default %g; in the original %g)."):format(hold.of, hold.usual, hold.seed))
            :argname "S" :convert(seconds),
        parser:flag("--seed-times", ("As long as in the original: --hold %g."):format(hold.seed)))
    parser:option("--lua", "Interpreter for the processes (default: the one that runs this).")
        :argname "PROGRAM"
end


--- What they come to: fields of the options.
---@param given table  what argparse read
---@param hold zklock.seckill.Hold
---@return table
function process_options.read(given, hold)
    local chosen = given.seed_times and hold.seed or given.hold
    return { hold = chosen or hold.usual, lua = given.lua }
end


return process_options
