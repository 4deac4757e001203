--- The options of all benchmarks. A benchmark has the options that its table `options` names.

local argparse = require "argparse"


-- --- converters: each returns the value of a text, or nil and a message -------------------------

local function list_of(convert)
    return function(text)
        local list = {}
        for word in text:gmatch("[^,]+") do
            local value = convert(word)
            if value == nil then return nil, ("%q will not do"):format(word) end
            list[#list + 1] = value
        end
        return list
    end
end


local function one_of(words)
    local known = {}
    for _, name in ipairs(words) do known[name] = name end
    return function(word) return known[word] end
end


local function count(text)
    local number = tonumber(text)
    if number and number >= 1 and number % 1 == 0 then return number end
    return nil, ("%q is no whole number above 0"):format(text)
end


-- Seconds or milliseconds.
local function time(text)
    local number = tonumber(text)
    if number and number >= 0 and number < 1000 then return number end
    return nil, ("%q is no time below 1000"):format(text)
end


-- An option without a converter takes words of the benchmark, with commas between them.
local OPTIONS = {
    { "rows", "Some of the rows" },
    { "clients", "For all rows" },
    { "engines", "Some of the engines" },
    { "faults", "Some of the faults" },
    { "kinds", "Of locks" },
    { "sessions", "Numbers of sessions", list_of(count) },
    { "contenders", "Numbers of contenders", list_of(count) },
    { "delays", "Round trips, milliseconds", list_of(time) },
    { "threads", "Of Curator, of which the best counts", list_of(count) },
    { "rounds", "Of each row; their median counts", count },
    { "fault_rounds", "Of each fault", count },
    { "patience", "Seconds after which a row has no further round, if it has three", time },
    { "processes", "Of each client", count },
    { "batch", "Grants of a turn; without it turns end by time", count },
    { "waiters", "Of all processes", count },
    { "tasks", "Coroutines at once", count },
    { "cycles", "Of each coroutine", count },
    { "alternations", "Cycles of two sessions in turn; at 10 ms a fifth", count },
    { "locks", "Locks that are held at once", count },
    { "lease", "Whole seconds, of leases and sessions", count },
    { "silence", "Seconds for which the server is stopped", time },
    { "seconds", "Of a round", time },
    { "heap", "Megabytes, of a server", count },
    { "json", "A file for all figures of all rounds", tostring },
    { "against", "Such a file of another run, to compare with", tostring },
    { "quick", "One short round of each row: does it work?", "flag" },
    { "no_fsync", "The server answers before its log is on the disk", "flag" },
}


local function default_text(value)
    if not value then return "" end
    return (" (%s)"):format(type(value) == "table" and table.concat(value, ",") or value)
end


local function add(parser, bench, name, text, convert)
    local word, default = "--" .. name:gsub("_", "-"), bench.options[name]
    if convert == "flag" then return parser:flag(word, text .. ".") end
    parser:option(word, text .. default_text(default) .. "."):convert(
        convert or list_of(one_of(bench.words and bench.words[name] or default)))
end


--- Reads the words of a command line.
---@param bench table  name; about, a text; options, the defaults by name, or false for no default;
--   words, by option the words that it takes, unless those of the default; quick, the defaults with
--   --quick
return function(bench, words)
    local parser = argparse("make bench WHAT=" .. bench.name, bench.about)
    for _, each in ipairs(OPTIONS) do
        if bench.options[each[1]] ~= nil then
            add(parser, bench, each[1], each[2], each[3])
        end
    end
    local options = parser:parse(words)
    for _, defaults in ipairs{ options.quick and bench.quick or {}, bench.options } do
        for name, value in pairs(defaults) do
            if options[name] == nil then options[name] = value end
        end
    end
    options.wanted = {}
    for _, name in ipairs(options.rows) do options.wanted[name] = true end
    return options
end
