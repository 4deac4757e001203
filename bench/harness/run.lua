--- Runs a benchmark. The rows are measured one after the other, each client in turn, round by
-- round. Then the tables are printed, ratios first. A benchmark has
--
--   name, about, options, words, quick   as in options.lua
--   clients                              of its rows
--   rows(options)                        lists of its rows
--
-- and a row has
--
--   name      the word for --rows
--   label     in tables; by default its name
--   measure   a module of bench/measures, which says what else the row has
--   can       what a client must be able to do (clients.lua); by default its name
--   clients   the names of the measured clients, unless --clients is given; zklock first
--   count, laps   as its measure says; options.scale is a factor
--   delayed   its count or laps with a delay. The row is measured with each of options.delays; a
--             row without it is measured once, without a delay
--   servers   3 for an ensemble
--
-- A measure gets rows that have a `delay`, the milliseconds of a round trip.
--
-- A measure has show(results), which prints the tables of its rows, and
--
--   one(world, row, contender)   returns the figures of a round. It is called once before the
--                                rounds, with one lap, unless the measure `is_cold`
--   contenders(world, row)       instead of world:contenders(row)
--   run(world, row)              instead of both; returns a result of world:note_result()

local clients = require "bench.harness.clients"
local compare = require "bench.harness.compare"
local core = require "zklock.core"
local dkjson = require "dkjson"
local files = require "spec.files"
local read_options = require "bench.harness.options"
local rounds = require "bench.harness.rounds"
local worlds = require "bench.harness.world"


-- The row as it is measured with one delay.
local function completed(row, bench, options, delay)
    local own = { delay = delay, label = row.label or row.name, can = row.can or row.name,
                  clients = row.clients or bench.clients }
    for _, name in ipairs{ "count", "laps" } do
        local value = row[name] and (delay > 0 and row.delayed or row[name])
        own[name] = value and math.ceil(value * (options.scale or 1))
    end
    if row.servers == 3 then own.label = own.label .. ", ensemble" end
    if delay > 0 then own.label = ("%s, %g ms round trip"):format(own.label, delay) end
    return setmetatable(own, { __index = row })
end


-- The wanted rows, with each delay.
local function rows_of(bench, options)
    local rows, lists = {}, bench.rows(options)
    for i, delay in ipairs(options.delays or { 0 }) do
        for _, list in ipairs(lists) do
            for _, row in ipairs(list) do
                if options.wanted[row.name] and (row.delayed or i == 1) then
                    rows[#rows + 1] = completed(row, bench, options, row.delayed and delay or 0)
                end
            end
        end
    end
    return rows
end


local function measure(world, row)
    local module = require("bench.measures." .. row.measure)
    if module.run then return module.run(world, row) end
    local list = (module.contenders or world.contenders)(world, row)
    local warm = setmetatable({ delay = 0, laps = 1 }, { __index = row })
    for _, contender in ipairs(module.is_cold and {} or list) do
        module.one(world, warm, contender)
    end
    local figures = rounds.run(world.options, list, function(contender)
        return module.one(world, row, contender)
    end)
    return world:note_result(row, list, figures)
end


local function measure_all(world, rows, results)
    for _, row in ipairs(rows) do
        local begin = core.now()
        results[#results + 1] = measure(world, row)
        io.stderr:write(("%-34s %4.0f s\n"):format(row.label, core.now() - begin))
    end
    print(world:describe())
    io.stdout:flush()
    world:stop()
    return world.notes
end


-- The tables of each measure, in the order of its first row.
local function show(results)
    local by_measure, order = {}, {}
    for _, result in ipairs(results) do
        local name = result.row.measure
        if not by_measure[name] then
            by_measure[name] = {}
            order[#order + 1] = name
        end
        table.insert(by_measure[name], result)
    end
    for _, name in ipairs(order) do require("bench.measures." .. name).show(by_measure[name]) end
end


local function print_missing(rows, options)
    local checked = {}
    for _, row in ipairs(rows) do
        for _, name in ipairs(options.clients or row.clients) do
            local lack = not checked[name] and clients[name].missing()
            if lack then print(("%s is missing: %s"):format(clients[name].label, lack)) end
            checked[name] = true
        end
    end
end


-- The rows of one server, then those of an ensemble.
local function run(bench)
    local options = read_options(bench, arg)
    local begin, results, notes, all = core.now(), {}, {}, rows_of(bench, options)
    print(("%s; medians (least to most) of %d rounds"):format(bench.about, options.rounds))
    print_missing(all, options)
    for servers = 1, 3, 2 do
        local rows = {}
        for _, row in ipairs(all) do
            if (row.servers or 1) == servers then rows[#rows + 1] = row end
        end
        if rows[1] then
            local world = worlds.start(options, servers)
            for _, note in ipairs(measure_all(world, rows, results)) do notes[#notes + 1] = note end
        end
    end
    show(results)
    if options.json then
        files.write(options.json, dkjson.encode({ options = options, rows = notes },
                                                { indent = true }))
    end
    if options.against then compare(notes, options.against) end
    print(("\n%.0f s"):format(core.now() - begin))
end


-- An error or Ctrl-C ends this process at once. All started processes end with it.
return function(bench)
    local ok, problem = xpcall(run, debug.traceback, bench)
    if ok then return end
    io.stderr:write(tostring(problem), "\n")
    os.exit(1)
end
