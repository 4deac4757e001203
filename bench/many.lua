--- The times, bytes and memory of many waiters of one lock, of many locks at once, and of kept
-- locks that another session wants, on servers that keep their log on the disk.
--
--   make bench WHAT=many                                             all rows
--   make bench WHAT=many BENCH="--help"                              the options
--   make bench WHAT=many BENCH="--rows fifo --waiters 2000 --clients zklock,Curator"

local DELAYS = { 0, 10 } -- milliseconds, of a round trip
local QUEUES = {
    { name = "fifo", kind = "mutex", can = "line", waiters = 10000, processes = 2 },
    { name = "fifo", kind = "mutex", can = "line", waiters = 20000, processes = 4,
      only_by_default = true },
    { name = "turns", kind = "turns", can = "turns", waiters = 100000, processes = 10 },
}


local function add_queues(rows, options)
    for _, each in ipairs(QUEUES) do
        if each.only_by_default and (options.waiters or options.processes) then goto next_one end
        local waiters = options.waiters or each.waiters
        local processes = options.processes or each.processes
        rows[#rows + 1] = { name = each.name, kind = each.kind, can = each.can, measure = "queue",
                            label = ("%s, %d × %d"):format(each.name, waiters, processes),
                            clients = { "zklock", "LuaJIT" }, waiters = waiters,
                            processes = processes, sessions = processes * options.sessions[1] }
        ::next_one::
    end
end


require "bench.harness.run" {
    name = "many", about = "many waiters, many locks, kept locks",
    options = { rows = { "fifo", "turns", "locks", "ensembles", "kept" }, clients = false,
                waiters = false, processes = false, sessions = { 1 }, batch = false, tasks = 1000,
                cycles = 10, threads = { 16, 64, 250 }, alternations = 500, rounds = 3, heap = 1000,
                json = false, against = false, no_fsync = false },
    words = { clients = { "zklock", "LuaJIT", "Curator", "kazoo", "go-zookeeper", "pipelined" } },
    rows = function(options)
        local rows = {}
        add_queues(rows, options)
        rows[#rows + 1] = { name = "locks", label = options.tasks .. " locks at once",
                            measure = "cycles", can = "many", kind = "free",
                            clients = { "zklock", "LuaJIT", "pipelined", "Curator" },
                            count = options.cycles, tasks = options.tasks,
                            threads = options.threads }
        rows[#rows + 1] = { name = "ensembles", label = options.tasks .. " locks at once",
                            measure = "ensembles" }
        for _, delay in ipairs(DELAYS) do
            local count = delay > 0 and options.alternations // 5 or options.alternations
            rows[#rows + 1] = { name = "kept", label = "kept", measure = "borrowed", can = "free",
                                clients = { "zklock", "Curator", "kazoo", "go-zookeeper" },
                                delay = delay }
            rows[#rows + 1] = { name = "kept", label = "alternated", measure = "alternated",
                                count = count, delay = delay }
        end
        return rows
    end,
}
