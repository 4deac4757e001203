--- Many waiters of one lock, many locks at once, and kept locks that another session wants:
-- seconds, bytes, memory; on servers that keep their log on the disk.
--
--   make bench-many                                             all rows
--   make bench-many BENCH="--help"                              the options
--   make bench-many BENCH="--rows fifo --waiters 2000 --clients zklock,Curator"
--
-- The rows are in bench/many/. What goes through the proxy is counted there, with its time.

local core = require "zklock.core"
local read_options = require "bench.many.options"
local say = require "bench.contended.say"
local start_world = require("bench.contended.world").start

local ROWS = { { "fifo", "line" }, { "turns", "line" }, { "locks", "locks" },
               { "ensembles", "ensembles" }, { "kept", "kept" } }


local function run(options)
    local begin, wanted = core.now(), options.clients
    options.clients = {} -- each row starts its own
    local world = start_world(options)
    options.clients = wanted
    local disk = world.disk
    say.line("fsync %s, the log on %s; medians of %d rounds", disk.fsync and "on" or "off",
             disk.filesystem, options.rounds)
    for _, row in ipairs(ROWS) do
        if options.wanted[row[1]] then require("bench.many." .. row[2])(world, row[1]) end
    end
    world:say_versions()
    if options.json then world:write_json(options.json) end
    world:stop()
    say.line("\n%.0f s", core.now() - begin)
end


-- After an error, or Ctrl-C, nobody is waited for: what was started ends with this process.
local ok, problem = xpcall(run, debug.traceback, read_options(arg))
if not ok then
    io.stderr:write(tostring(problem), "\n")
    os.exit(1)
end
