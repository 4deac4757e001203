--- Rows "fifo" and "turns": so many waiters of some processes come to one lock at once, behind a
-- holder. They get in line; all are served, once; as many come again, and all give up at once.

local clients = require "bench.contended.clients"
local core = require "zklock.core"
local markdown = require "bench.markdown"
local rounds = require "bench.contended.rounds"
local traffic = require "bench.contended.traffic"
local zklock = require "zklock"

local number = markdown.number

local WARM = 50 -- waiters of each process
local GRACE, SLOWER = 2, 3 -- so many seconds, and times the seconds that it took, to get in line
local PATIENCE = 300 -- seconds
local POLL = 0.02 -- seconds

local KINDS = { fifo = "mutex", turns = "turns" }
local SHAPES = {
    fifo = { { waiters = 10000, processes = 2 }, { waiters = 20000, processes = 4 } },
    turns = { { waiters = 100000, processes = 10 } },
}


local function warm_up(crowd, shape, kind)
    crowd:line(kind, shape.sessions, 1)
    crowd:throng(WARM * shape.processes)
    crowd:serve()
end


-- Seconds since then, when no node is left.
local function await_no_nodes(world, since)
    local function nodes()
        return tonumber(world.server:ask("mntr"):match("zk_ephemerals_count%s+(%d+)"))
    end
    while nodes() > 0 do
        if core.now() > since + PATIENCE then error("nodes are left", 0) end
        zklock.sleep(POLL)
    end
    return core.now() - since
end


local function megabytes(world)
    local counts = traffic.take(world.proxy, 0)
    return counts.bytes / 1e6, counts.requests
end


local function be_served(world, crowd, shape, kind, figures)
    crowd:line(kind, shape.sessions, 1)
    local before = crowd:memory()
    megabytes(world)
    figures.queue_s = crowd:throng(shape.waiters)
    local requests
    figures.queue_MB, requests = megabytes(world)
    figures.queue_requests = requests / shape.waiters
    figures.kB = (crowd:memory() - before) / 1024 / shape.waiters
    figures.drain_s = crowd:serve()
    figures.drain_MB, requests = megabytes(world)
    figures.drain_requests = requests / shape.waiters
    figures.served = crowd:tally().served
end


local function give_up(world, crowd, shape, kind, figures)
    crowd:line(kind, shape.sessions, 1)
    local deadline = core.now() + GRACE + SLOWER * figures.queue_s
    crowd:throng(shape.waiters, deadline)
    megabytes(world)
    figures.late_s = crowd:give_up() - deadline
    figures.gone_s = await_no_nodes(world, deadline)
    figures.leave_MB = megabytes(world)
    figures.timeouts = crowd:tally().timeouts
end


-- A fresh crowd each time.
local function measure(world, shape, name, kind)
    local crowd, figures = world:start_crowd(name, shape.processes, "-Xss256k"), {}
    crowd:await()
    warm_up(crowd, shape, kind)
    be_served(world, crowd, shape, kind, figures)
    give_up(world, crowd, shape, kind, figures)
    crowd:stop()
    return figures
end


local HEAD = { "waiters × processes", "client", "in line, s", "MB", "requests each", "kB each",
               "served", "in, s", "MB", "requests each", "timeouts", "answered after, s",
               "gone after, s", "MB" }
local COLUMNS = { "queue_s", "queue_MB", "queue_requests", "kB", "served", "drain_s", "drain_MB",
                  "drain_requests", "timeouts", "late_s", "gone_s", "leave_MB" }
local WHOLE = { served = true, timeouts = true }


local function line_of(shape, name, figures)
    local cells = { ("%d × %d"):format(shape.waiters, shape.processes), clients[name].label }
    for _, column in ipairs(COLUMNS) do
        local value = rounds.middle(figures, column)
        cells[#cells + 1] = WHOLE[column] and ("%d"):format(value) or number(value)
    end
    return cells
end


local function shapes_of(row, options)
    local shapes = {}
    for i, each in ipairs(SHAPES[row]) do
        if i > 1 and (options.waiters or options.processes) then break end
        local processes = options.processes or each.processes
        shapes[i] = { waiters = options.waiters or each.waiters, processes = processes,
                      sessions = processes * options.sessions }
    end
    return shapes
end


local function contenders(world, row)
    local list = {}
    for _, name in ipairs(world.options.clients) do
        local has_it = row == "fifo" or name ~= "Curator"
        if has_it and not clients[name].missing() then
            list[#list + 1] = { crowd = { name = name }, kind = KINDS[row] }
        end
    end
    return list
end


return function(world, row)
    local list, lines = contenders(world, row), {}
    for _, shape in ipairs(shapes_of(row, world.options)) do
        local figures = rounds.run(world.options, list, function(contender)
            return measure(world, shape, contender.crowd.name, contender.kind)
        end)
        world:note(row, list, shape, 0, figures)
        for i, contender in ipairs(list) do
            lines[#lines + 1] = line_of(shape, contender.crowd.name, figures[i])
        end
    end
    print("\n" .. row)
    markdown.table(HEAD, lines)
end
