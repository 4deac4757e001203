--- The options of bench/peers.lua: options(arg) gives a table of them.

local argparse = require "argparse"
local converters = require "bench.converters"

local count, list_of, time = converters.count, converters.list_of, converters.time

local NAMES = { "free", "many", "try", "reentry", "read", "kept", "turns", "combined", "handoff",
                "8x1", "8x8", "memory", "held", "nginx", "outage", "ensemble" }

-- What --quick means, where an option is not given.
local QUICK = { rounds = 1, sessions = { 2, 4 }, delays = { 0, 2 }, processes = 1, loopers = 3,
                share = 0.05, silence = 1.5, locks = 200, seconds = 0.3 }
local FULL = { rounds = 5, sessions = { 2, 8, 32, 64 }, delays = { 0, 10 }, processes = 2,
               loopers = 8, share = 1, silence = 12, locks = 20000, seconds = 2 }


local function describe()
    local parser = argparse("bench/peers.lua", "What a lock costs, beside other clients.")
    local function option(name, text, convert)
        parser:option(name, text):convert(convert)
    end
    option("--rows", "Some of " .. table.concat(NAMES, ", ") .. ".",
           list_of(converters.one_of(NAMES)))
    option("--sessions", "In handoff: numbers of sessions (2,8,32,64).", list_of(count))
    option("--delays", "Round trips, milliseconds (0,10).", list_of(time))
    option("--rounds", "Of each row (5); their median counts.", count)
    option("--patience", "Seconds after which a row has no further round, if it has three (6).",
           time)
    option("--processes", "Of each client in handoff, 8x1 and 8x8 (2).", count)
    option("--silence", "In outage: seconds for which the server is stopped (12).", time)
    option("--locks", "In held: how many (20000).", count)
    option("--heap", "Megabytes, of the server (256).", count)
    option("--seconds", "In nginx: of a round (2).", time)
    option("--json", "A file for all figures of all rounds.", tostring)
    option("--against", "Such a file of another run, to compare with.", tostring)
    parser:flag("--quick", "One short round of each row: does it work?")
    parser:flag("--no-fsync", "The server answers before its log is on the disk.")
    return parser
end


return function(words)
    local options = describe():parse(words)
    for name, value in pairs(options.quick and QUICK or FULL) do
        if options[name] == nil then options[name] = value end
    end
    options.patience = options.patience or 6
    options.batch = 16
    local wanted = options.rows or NAMES
    options.rows = {}
    for _, name in ipairs(wanted) do options.rows[name] = true end
    return options
end
