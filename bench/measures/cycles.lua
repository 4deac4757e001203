--- Cycles of one process of each client, on a lock that nobody else wants. A row has
--
--   kind, tries, is_one   as in Crowd:cycles (crowd.lua)
--   count           of each task
--   tasks           at the same time; 1 by default
--   zklock_factor   for zklock's count, where its cycles need no request
--   threads         Curator's numbers of tasks instead; the total of cycles stays

local markdown = require "bench.markdown"
local rounds = require "bench.harness.rounds"
local tables = require "bench.harness.tables"

local number = markdown.number

local cycles = {}


--- With `threads` in the row, Curator is one contender for each number.
function cycles.contenders(world, row)
    local list = {}
    for _, each in ipairs(world:contenders(row)) do
        local threads = each.name == "Curator" and row.threads
        each.tasks = row.tasks or 1
        for _, tasks in ipairs(threads or {}) do
            list[#list + 1] = { name = ("%s, %d threads"):format(each.name, tasks),
                                crowd = each.crowd, tasks = tasks }
        end
        if not threads then list[#list + 1] = each end
    end
    return list
end


--- Milliseconds a cycle, and processor microseconds a cycle, of the client and of the server.
function cycles.one(world, row, contender)
    local where = row.delay > 0 and "proxy" or "server"
    local factor = contender.crowd.client.tells and row.zklock_factor or 1
    local count = math.ceil(row.count * factor * (row.tasks or 1) / contender.tasks)
    local path = ("/%s-%s-%d"):format(row.name, contender.crowd.name, contender.tasks)
    world.proxy:command("delay %g", row.delay)
    local before = world:server_cpu()
    local seconds, cpu = contender.crowd:cycles(where, row, path, count, contender.tasks)
    local server_cpu, total = world:server_cpu() - before, count * contender.tasks
    world.proxy:command("delay 0")
    return {
        ms = 1000 * seconds / total, cpu = 1e6 * cpu / total,
        server_cpu = 1e6 * server_cpu / total,
    }
end


function cycles.show(results)
    tables.grid("ratio of times; ms", tables.lines(results), tables.ratio)
    tables.grid("CPU µs a cycle, client + server", tables.lines(results), function(figures)
        return ("%s + %s"):format(number(rounds.mean(figures, "cpu")),
                                  number(rounds.mean(figures, "server_cpu")))
    end)
end


return cycles
