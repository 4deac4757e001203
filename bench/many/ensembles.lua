--- Row "ensembles": the cycles of many coroutines, each on a lock of its own, by one server,
-- and by two, of which the path chooses one (docs/throughput.md). Both are on this machine.

local crowds = require "bench.contended.crowd"
local clients = require "bench.contended.clients"
local markdown = require "bench.markdown"
local rounds = require "bench.contended.rounds"
local locks = require "docs.throughput.locks"
local worlds = require "bench.contended.world"

local range = markdown.range


-- The set is another one for each: nobody has a session meanwhile.
local function measure(contender, options)
    locks.mark(contender.ensembles)
    local process = contender.crowd.processes[1]
    local seconds = process:command("spread /spread %d %d %s", options.cycles, options.tasks,
                                    table.concat(contender.ensembles, " "))
    return { ms = 1000 * tonumber(seconds) / (options.cycles * options.tasks) }
end


local function start_crowd(world)
    local program = ("%s %s %s 0"):format(clients.zklock.program(), world.address, world.address)
    local crowd = crowds.start(clients.zklock, program, 1)
    crowd:await()
    return crowd
end


return function(world, row)
    local other = worlds.start_server(world.options)
    local crowd, hosts = start_crowd(world), { world.address, other.hosts }
    local list = { { crowd = crowd, kind = "mutex", ensembles = { hosts[1] } },
                   { crowd = crowd, kind = "mutex", ensembles = hosts } }
    local function run(contender) return measure(contender, world.options) end
    for _, contender in ipairs(list) do run(contender) end -- makes the paths; warm
    local figures = rounds.run(world.options, list, run)
    world:note(row, list, { sessions = #hosts, waiters = world.options.tasks }, 0, figures)
    print("\nlocks of their own, at once, of one server and of two")
    markdown.table({ "servers", "ms a cycle", "time / one's" }, {
        { "1", range(rounds.middle(figures[1], "ms")), "1" },
        { "2", range(rounds.middle(figures[2], "ms")),
          range(rounds.ratio(figures[2], figures[1])) },
    })
    crowd:stop()
    other:stop()
end
