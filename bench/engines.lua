--- Compares the engines, on servers of this machine, round by round in one run. Prints the tables
-- of docs/performance/engines.md, which explains them.
--
--   make bench WHAT=engines                                  all, in less than ten minutes
--   make bench WHAT=engines BENCH="--help"                   the options
--   make bench WHAT=engines BENCH="--rows grants --engines redisson,zookeeper --contenders 8"
--
-- Its rows are in bench/engines/: grants, claims, faults.

local contenders = require "bench.engines.contenders"
local core = require "zklock.core"
local read_options = require "bench.harness.options"
local worlds = require "bench.engines.world"

local BENCH = {
    name = "engines", about = "locks of other servers",
    options = { rows = { "grants", "claims", "faults" }, engines = false,
                contenders = { 1, 8, 64 }, rounds = 5, seconds = 1, processes = 4, locks = 20000,
                faults = { "killed", "stopped", "server", "promoted", "clock" }, fault_rounds = 3,
                lease = 3, json = false },
    words = { engines = {} },
}
for i, contender in ipairs(contenders) do BENCH.words.engines[i] = contender.engine end


local function measure(options)
    local begin = core.now()
    local world = worlds.new(options)
    print(("%d processes that contend; ZooKeeper and MariaDB wait for their disk (%s), SQLite and "
        .. "Redis do not; medians of %d rounds (least to most)"):format(options.processes,
        world.servers:filesystem(), options.rounds))
    for _, row in ipairs(options.rows) do require("bench.engines." .. row)(world) end
    if options.json then world:write_json(options.json) end
    world:stop()
    print(("\n%.0f s"):format(core.now() - begin))
end


-- An error or Ctrl-C ends this process at once. All started processes end with it.
local ok, problem = xpcall(measure, debug.traceback, read_options(BENCH, arg))
if not ok then
    io.stderr:write(tostring(problem), "\n")
    os.exit(1)
end
