--- Cycles of many coroutines of this process, each on a lock of its own, with one server, and with
-- two servers between which the path chooses (docs/throughput.md), all on this machine.

local core = require "zklock.core"
local locks = require "docs.throughput.locks"
local rounds = require "bench.harness.rounds"
local tables = require "bench.harness.tables"
local worlds = require "bench.harness.world"
local zklock = require "zklock"

local TIMEOUT, PATIENCE = 30, 300 -- seconds

local ensembles = {}


-- Waits for the last release, so that all the work is within the time.
local function cycle(lock, count)
    for i = 1, count do
        assert(lock:acquire(PATIENCE)):release(i == count and { wait = PATIENCE } or nil)
    end
end


-- Marks the contender's set of ensembles first, while no session is open.
local function measure(hosts, options)
    locks.mark(hosts)
    local all, tasks = assert(locks.connect(hosts, { timeout = TIMEOUT })), {}
    for i = 1, options.tasks do
        local lock = all:mutex("/spread/" .. i)
        tasks[i] = function() cycle(lock, options.cycles) end
    end
    local begin = core.now()
    zklock.run(table.unpack(tasks))
    local seconds = core.now() - begin
    all:close()
    return { ms = 1000 * seconds / (options.cycles * options.tasks) }
end


function ensembles.run(world, row)
    local other = worlds.start_server(world.options)
    local list = { { name = "one server", hosts = { world.address } },
                   { name = "two servers", hosts = { world.address, other.hosts } } }
    local function run(contender) return measure(contender.hosts, world.options) end
    for _, contender in ipairs(list) do run(contender) end -- creates the paths, and warms up
    local result = world:note_result(row, list, rounds.run(world.options, list, run))
    other:stop()
    return result
end


function ensembles.show(results)
    tables.grid("ratio of times; ms a cycle", tables.lines(results), tables.ratio)
end


return ensembles
