--- Rows of cycles: one process of each client, on a lock that nobody else wants.

local rounds = require "bench.contended.rounds"
local rig = require "spec.rig"

local cycles = {}


local TICKS = tonumber(rig.shell("getconf CLK_TCK")) -- a second


-- Seconds of processor time that the servers have had.
local function server_cpu(world)
    local ticks = 0
    for n = 1, world.options.servers do
        local file = assert(io.open(("/proc/%d/stat"):format(world.server:pid(n))))
        local user, system = file:read("*a"):match("^.*%)" .. (" %S+"):rep(11) .. " (%d+) (%d+)")
        file:close()
        ticks = ticks + user + system
    end
    return ticks / TICKS
end


-- Milliseconds a cycle, and processor microseconds a cycle, of the client and of the server.
local function run(world, row, contender)
    local where = row.delay > 0 and "proxy" or "server"
    local count = row.count * (row.times and row.times[contender.crowd.name] or 1)
    local all = count * row.tasks
    local before = server_cpu(world)
    local seconds, cpu = contender.crowd:cycles(where, row.kind, count, row.tasks)
    return { ms = 1000 * seconds / all, cpu = 1e6 * cpu / all,
             server_cpu = 1e6 * (server_cpu(world) - before) / all }
end


function cycles.warm(world, row)
    for _, contender in ipairs(world:able(row.what)) do run(world, row, contender) end
end


function cycles.measure(world, row)
    local list = world:able(row.what)
    world.proxy:command("delay %g", row.delay)
    local figures = rounds.run(world.options, list, function(contender)
        return run(world, row, contender)
    end)
    world.proxy:command("delay 0")
    return world:result(row, "cycles", list, figures)
end


return cycles
