--- The options of bench/contended.lua: options(arg) gives a table of them.

local argparse = require "argparse"
local converters = require "bench.converters"

local count, list_of = converters.count, converters.list_of
local one_of, time = converters.one_of, converters.time


local function describe()
    local parser = argparse("bench/contended.lua", "What a contended lock serves.")
    local function option(name, text, default, convert)
        parser:option(name, text, default):convert(convert)
    end
    option("--parts", "Of line, steady, timeouts.", "line,steady,timeouts",
           list_of(one_of{ "line", "steady", "timeouts" }))
    option("--sessions", "In line: numbers of sessions.", "2,8,32,64", list_of(count))
    option("--locks", "In line: of mutex, turns, write, semaphore.", "mutex,write,semaphore",
           list_of(one_of{ "mutex", "turns", "write", "semaphore" }))
    option("--delays", "Round trips, milliseconds.", "0,10", list_of(time))
    option("--rounds", "Of each row; their median counts.", "5", count)
    option("--patience", "Seconds after which a row has no further round, if it has three.", "6",
           time)
    option("--processes", "Of each client.", "4", count)
    option("--batch", "Grants of a turn.", "16", count)
    option("--waiters", "That give up.", "500", count)
    option("--wait", "Seconds until they do, at first (default: by their number).", nil, time)
    option("--json", "A file for all figures of all rounds.", nil, tostring)
    parser:flag("--no-fsync", "The server answers before its log is on the disk.")
    parser:flag("--alone", "Without Curator.")
    return parser
end


return function(words)
    local options = describe():parse(words)
    options.clients = { "zklock", not options.alone and "Curator" or nil }
    return options
end
