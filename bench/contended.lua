--- What a contended lock serves: zklock beside Apache Curator, on one server that keeps its log on
-- the disk, through one proxy (which adds the round trip, and counts), round by round in one run.
--
--   make bench-contended                            all, in about four minutes
--   make bench-contended BENCH="--help"             the options
--   make bench-contended BENCH="--parts line --sessions 4,16 --locks mutex"
--   make bench-contended PEER=                      without Curator, and without Java's compiler
--
-- Its parts are in bench/contended/: line, steady, timeouts.

local read_options = require "bench.contended.options"
local say = require "bench.contended.say"
local serve = require "bench.contended.serve"
local start_world = require("bench.contended.world").start

local MOST_TO_WARM = 16 -- sessions


-- Sessions, paths and Java's compiler are warm when it counts.
local function warm_up(world)
    local shape = { sessions = MOST_TO_WARM, waiters = 1, laps = 2 }
    for _, sessions in ipairs(world.options.sessions) do
        shape.sessions = math.max(shape.sessions, sessions)
    end
    for _, kind in ipairs{ "mutex", "turns", "write", "semaphore" } do
        for _, contender in ipairs(world:contenders(kind)) do serve(world, contender, shape, 0) end
    end
end


local options = read_options(arg)
local world = start_world(options)
local disk = world.disk
say.line("%d processes of each client; one server, fsync %s, its log on %s%s", options.processes,
         disk.fsync and "on" or "off", disk.filesystem,
         disk.filesystem == "tmpfs" and ", where that costs nothing" or "")
say.line("medians of rounds (least to most); requests are counted without heartbeats")
world:say_versions()
warm_up(world)
for _, part in ipairs(options.parts) do require("bench.contended." .. part)(world) end
if options.json then world:write_json(options.json) end
world:stop()
