--- The engines side by side, on servers of this machine, round by round in one run. It prints the
-- tables as docs/performance/engines.md has them, and that page says what they mean.
--
--   make bench-engines                                  all, in less than ten minutes
--   make bench-engines BENCH="--help"                   the options
--   make bench-engines BENCH="--parts grants --engines redisson,zookeeper --contenders 8"
--
-- Its parts are in bench/engines/: grants, claims, faults.

local core = require "zklock.core"
local read_options = require "bench.engines.options"
local worlds = require "bench.engines.world"


local function measure(options)
    local begin = core.now()
    local world = worlds.new(options)
    print(("%d processes that contend; ZooKeeper and MariaDB wait for their disk (%s), SQLite and "
        .. "Redis do not; medians of %d rounds (least to most)"):format(options.processes,
        world.servers:filesystem(), options.rounds))
    for _, part in ipairs(options.parts) do require("bench.engines." .. part)(world) end
    if options.json then world:write_json(options.json) end
    world:stop()
    print(("\n%.0f s"):format(core.now() - begin))
end


-- After an error, or Ctrl-C, nobody is waited for: what was started ends with this process.
local ok, problem = xpcall(measure, debug.traceback, read_options(arg))
if not ok then
    io.stderr:write(tostring(problem), "\n")
    os.exit(1)
end
