--- The options of bench/engines.lua: options(arg) gives a table of them.

local argparse = require "argparse"
local contenders = require "bench.engines.contenders"
local converters = require "bench.converters"

local PARTS = { "grants", "claims", "faults" }
local FAULTS = { "killed", "stopped", "server", "promoted", "clock" }


local function engine_names()
    local names = {}
    for _, contender in ipairs(contenders) do names[#names + 1] = contender.engine end
    return names
end


local function describe()
    local parser = argparse("bench/engines.lua", "The engines side by side.")
    local function option(name, text, default, convert)
        parser:option(name, text, default):convert(convert)
    end
    option("--parts", "Of grants, claims, faults.", table.concat(PARTS, ","),
           converters.list_of(converters.one_of(PARTS)))
    option("--engines", "Some of them (default: all).", nil,
           converters.list_of(converters.one_of(engine_names())))
    option("--contenders", "In grants: numbers of them.", "1,8,64",
           converters.list_of(converters.count))
    option("--rounds", "In grants and claims: the median counts.", "5", converters.count)
    option("--faults", "Of killed, stopped (the holder), server, promoted, clock.",
           table.concat(FAULTS, ","), converters.list_of(converters.one_of(FAULTS)))
    option("--fault-rounds", "In faults.", "3", converters.count)
    option("--lease", "In faults: seconds, whole ones.", "3", converters.count)
    option("--seconds", "Of a round, of 8 contenders and more.", "1", converters.time)
    option("--processes", "Among which the contenders are dealt out.", "4", converters.count)
    option("--locks", "In claims: how many are held at once.", "20000", converters.count)
    option("--json", "A file for all figures of all rounds.", nil, tostring)
    return parser
end


return function(words)
    return describe():parse(words)
end
