--- Memory of a client: what a session more, a lock more that is held, and a waiter more occupy in
-- its process. A fresh process each time.

local rounds = require "bench.contended.rounds"

local SESSIONS, LOCKS, WAITERS = 16, 100, 100
local HEAP = 128 -- megabytes, of Java: resident from the beginning, and what is free is not counted
local FLAGS = ("-Xms%dm -XX:+AlwaysPreTouch"):format(HEAP)

local UNITS = { "session", "lock", "waiter" }


local function wait_in_line(crowd, path, count)
    crowd:line(path, 1, 1)
    crowd:join(count)
end


local function measure_one(world, name)
    local share = world.options.share
    local crowd = world:start_crowd(name, 1, FLAGS, HEAP)
    crowd:await()
    local process = crowd.processes[1]
    local function memory() return tonumber(process:command("memory")) end
    local function grown(count, fn)
        local before = memory()
        fn(count)
        return (memory() - before) / 1024 / count
    end
    wait_in_line(crowd, "mutex", 10) -- warm
    crowd:serve()
    process:command("keep /warm-%s 10", name)
    local figures = {
        session = grown(SESSIONS, function(count) process:command("open %d", 1 + count) end),
        lock = grown(math.ceil(share * LOCKS), function(count)
            process:command("keep /kept-%s %d", name, count)
        end),
    }
    crowd:line("mutex", 1, 1)
    figures.waiter = grown(math.ceil(share * WAITERS), function(count) crowd:join(count) end)
    crowd:serve()
    crowd:stop()
    return figures
end


local row = { name = "memory", label = "memory", units = UNITS }


function row.measure(world)
    local list = world:able("keep")
    local figures = rounds.run(world.options, list, function(contender)
        return measure_one(world, contender.crowd.name)
    end)
    return world:result(row, "memory", list, figures)
end


return row
