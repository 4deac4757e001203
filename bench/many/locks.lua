--- Row "locks": many coroutines of one session at once, each with a lock of its own, beside the
-- same requests made by libzookeeper alone, and Curator with several numbers of threads.

local clients = require "bench.contended.clients"
local markdown = require "bench.markdown"
local rounds = require "bench.contended.rounds"

local range = markdown.range

local NAMES = { "zklock", "LuaJIT", "pipelined" }


-- One for each client that is here; of Curator one for each number of threads. Threads that are
-- fewer have more cycles each.
local function contenders(world)
    local list, options = {}, world.options
    local all = options.tasks * options.cycles
    local function add(name, tasks)
        local crowd = world:start_crowd(name, 1)
        crowd:await()
        list[#list + 1] = { crowd = crowd, kind = "mutex", tasks = tasks,
                            count = math.ceil(all / tasks) }
    end
    for _, name in ipairs(NAMES) do
        if not clients[name].missing() then add(name, options.tasks) end
    end
    if not clients.Curator.missing() then
        for _, threads in ipairs(options.threads) do add("Curator", threads) end
    end
    return list
end


local function measure(contender)
    local seconds = contender.crowd:cycles("server", "free", contender.count, contender.tasks)
    return { ms = 1000 * seconds / (contender.count * contender.tasks) }
end


return function(world, row)
    local list, lines = contenders(world), {}
    for _, contender in ipairs(list) do measure(contender) end -- makes the paths; warm
    local figures = rounds.run(world.options, list, measure)
    world:note(row, list, { sessions = 1, waiters = world.options.tasks }, 0, figures)
    for i, contender in ipairs(list) do
        lines[i] = { clients[contender.crowd.name].label, contender.tasks,
                     range(rounds.middle(figures[i], "ms")),
                     range(rounds.ratio(figures[i], figures[1])) }
        contender.crowd:stop()
    end
    print("\nlocks of their own, at once: acquire and release")
    markdown.table({ "client", "at once", "ms a cycle", "time / zklock's" }, lines)
end
