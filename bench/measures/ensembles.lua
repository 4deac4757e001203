--- Cycles of many coroutines, each on a lock of its own, with one server, and with two servers
-- between which the path chooses (docs/throughput.md), all on this machine.

local locks = require "docs.throughput.locks"
local rounds = require "bench.harness.rounds"
local tables = require "bench.harness.tables"
local worlds = require "bench.harness.world"

local ensembles = {}


-- Marks the contender's set of ensembles first, while no session is open.
local function measure(process, hosts, options)
    locks.mark(hosts)
    local seconds = process:command("spread /spread %d %d %s", options.cycles, options.tasks,
                                    table.concat(hosts, " "))
    return { ms = 1000 * tonumber(seconds) / (options.cycles * options.tasks) }
end


function ensembles.run(world, row)
    local other = worlds.start_server(world.options)
    local crowd = world:start_crowd("zklock", 1)
    local list = { { name = "one server", hosts = { world.address } },
                   { name = "two servers", hosts = { world.address, other.hosts } } }
    local function run(contender)
        return measure(crowd.processes[1], contender.hosts, world.options)
    end
    for _, contender in ipairs(list) do run(contender) end -- creates the paths, and warms up
    local result = world:note_result(row, list, rounds.run(world.options, list, run))
    crowd:stop()
    other:stop()
    return result
end


function ensembles.show(results)
    tables.grid("ratio of times; ms a cycle", tables.lines(results), tables.ratio)
end


return ensembles
