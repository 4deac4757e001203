--- Memory of a client's process, in kilobytes for each further session, held lock, and waiter.
-- The factor options.scale is for the numbers of locks and waiters below.

local tables = require "bench.harness.tables"

local SESSIONS, LOCKS, WAITERS = 16, 100, 100
local HEAP = 128 -- megabytes of Java, resident from the start; free memory is not counted
local FLAGS = ("-Xms%dm -XX:+AlwaysPreTouch"):format(HEAP)

local memory = { is_cold = true }


function memory.contenders(world, row) return world:able_clients(row) end


-- A fresh process each time.
function memory.one(world, _, contender)
    local name, scale = contender.name, world.options.scale
    local crowd = world:start_crowd(name, 1, FLAGS, HEAP)
    local function grown(count, fn)
        local before = crowd:memory()
        fn(count)
        return (crowd:memory() - before) / 1024 / count
    end
    local function keep(path)
        return function(count) crowd:keep(("/%s-%s"):format(path, name), count) end
    end
    crowd:prepare_line("mutex", 1, 1) -- warm
    crowd:join(10)
    crowd:serve()
    keep "warm" (10)
    local figures = {
        session = grown(SESSIONS, function(count) crowd:open(1 + count) end),
        lock = grown(math.ceil(scale * LOCKS), keep "kept"),
    }
    crowd:prepare_line("mutex", 1, 1)
    figures.waiter = grown(math.ceil(scale * WAITERS), function(n) crowd:join(n) end)
    crowd:serve()
    crowd:stop()
    return figures
end


function memory.show(results)
    local lines = {}
    for i, unit in ipairs{ "session", "lock", "waiter" } do
        lines[i] = { label = "a " .. unit, result = results[1], figure = unit }
    end
    tables.grid("memory: ratio; kB", lines, tables.ratio)
end


return memory
