--- What a lock costs with zklock and with its peers: Apache Curator, kazoo, go-zookeeper, and the
-- same requests made with libzookeeper alone. One server that keeps its log on the disk; all
-- clients in turn, round by round; each ratio is of one round. Ratios come first.
--
--   make bench-peers                                        all, in about ten minutes
--   make bench-peers BENCH="--help"                         the options
--   make bench-peers BENCH="--rows free,try --rounds 3"     some rows
--   make bench-peers BENCH="--json a.json"                  and later: --against a.json
--
-- The rows are in bench/peers/rows.lua, the clients in bench/contended/clients.lua. A peer that
-- cannot be had is "missing".

local core = require "zklock.core"
local clients = require "bench.contended.clients"
local compare = require "bench.peers.compare"
local read_options = require "bench.peers.options"
local rows_of = require "bench.peers.rows"
local say = require "bench.contended.say"
local tables = require "bench.peers.tables"
local worlds = require "bench.contended.world"

local NAMES = { "zklock", "LuaJIT", "Curator", "kazoo", "go-zookeeper", "serial", "pipelined" }


local function present()
    local names = {}
    for _, name in ipairs(NAMES) do
        local lack = clients[name].missing()
        if lack then say.line("%s is missing: %s", clients[name].label, lack)
        else names[#names + 1] = name end
    end
    return names
end


local function say_head(world)
    local disk, options = world.disk, world.options
    say.line("fsync %s, the log on %s; sessions of a line in %d processes of each client",
             disk.fsync and "on" or "off", disk.filesystem, options.processes)
    say.line("medians (least to most) of %d rounds, of 3 where these took more than %g s",
             options.rounds, options.patience)
    world:say_versions()
end


-- Sessions, paths and compilers are warm when it counts: the longest row of each part, in short.
local function warm_up(world, rows)
    for _, row in ipairs(rows) do
        if row.warm then row.warm(world, row) end
    end
end


local function measure(world, rows, results)
    warm_up(world, rows)
    for _, row in ipairs(rows) do
        local begin = core.now()
        results[#results + 1] = row.measure(world, row)
        io.stderr:write(("%-34s %4.0f s\n"):format(row.label, core.now() - begin))
    end
end


-- The rows of one server, then those of an ensemble.
local function run(options)
    local begin, results, noted = core.now(), {}, {}
    options.clients = present()
    for _, servers in ipairs{ 1, 3 } do
        local rows = rows_of(options, servers)
        if rows[1] then
            options.servers = servers
            local world = worlds.start(options)
            if servers == 1 or #results == 0 then say_head(world) end
            measure(world, rows, results)
            for _, row in ipairs(world.rows) do noted[#noted + 1] = row end
            world.rows = noted
            if options.json then world:write_json(options.json) end
            world:stop()
        end
    end
    tables(results, NAMES)
    if options.against then compare(noted, options.against) end
    print(("\n%.0f s"):format(core.now() - begin))
end


-- After an error, or Ctrl-C, nobody is waited for: what was started ends with this process.
local ok, problem = xpcall(run, debug.traceback, read_options(arg))
if not ok then
    io.stderr:write(tostring(problem), "\n")
    os.exit(1)
end
