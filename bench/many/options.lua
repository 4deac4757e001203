--- The options of bench/many.lua: options(arg) gives a table of them.

local argparse = require "argparse"
local converters = require "bench.converters"

local count, list_of = converters.count, converters.list_of

local ROWS = { "fifo", "turns", "locks", "ensembles", "kept" }


local function describe()
    local parser = argparse("bench/many.lua", "Many waiters, and many locks.")
    local function option(name, text, default, convert)
        parser:option(name, text):convert(convert):default(default)
    end
    option("--rows", "Of fifo, turns, locks, ensembles, kept.", table.concat(ROWS, ","),
           list_of(converters.one_of(ROWS)))
    option("--clients", "Of zklock, LuaJIT, Curator: in fifo and turns.", "zklock,LuaJIT",
           list_of(converters.one_of{ "zklock", "LuaJIT", "Curator" }))
    option("--waiters", "Of all processes (fifo: 10000 in 2 and 20000 in 4; turns: 100000).", nil,
           count)
    option("--processes", "That have them (turns: 10).", nil, count)
    option("--sessions", "Of each process.", "1", count)
    option("--batch", "Grants of a turn; without it turns end by time.", nil, count)
    option("--tasks", "In locks and ensembles: coroutines at once.", "1000", count)
    option("--cycles", "In locks and ensembles: of each of them.", "10", count)
    option("--threads", "In locks: of Curator, of which the best counts.", "16,64,250",
           list_of(count))
    option("--alternations", "In kept: cycles of two sessions in turn (at 10 ms a fifth).", "500",
           count)
    option("--rounds", "Of each row; their median counts.", "3", count)
    option("--heap", "Megabytes, of a server.", "1000", count)
    option("--json", "A file for all figures of all rounds.", nil, tostring)
    parser:flag("--no-fsync", "The server answers before its log is on the disk.")
    return parser
end


return function(words)
    local options = describe():parse(words)
    options.patience = math.huge
    options.servers = 1
    options.wanted = {}
    for _, name in ipairs(options.rows) do options.wanted[name] = true end
    return options
end
