--- The times, bytes and memory of many waiters of one lock, of many locks at once, and of kept
-- locks that another session wants, on servers that keep their log on the disk.
--
--   make bench WHAT=many                                             all rows
--   make bench WHAT=many BENCH="--help"                              the options
--   make bench WHAT=many BENCH="--rows fifo --waiters 2000 --clients zklock,Curator"

-- The second queue is left out if an option sets the waiters or the processes.
local QUEUES = {
    { name = "fifo", kind = "mutex", can = "line", waiters = 10000, processes = 2 },
    { name = "fifo", kind = "mutex", can = "line", waiters = 20000, processes = 4,
      only_by_default = true },
    { name = "turns", kind = "turns", can = "turns", waiters = 100000, processes = 10 },
}


local function queues(options)
    local rows = {}
    for _, each in ipairs(QUEUES) do
        local waiters = options.waiters or each.waiters
        local processes = options.processes or each.processes
        if not each.only_by_default or not (options.waiters or options.processes) then
            rows[#rows + 1] = { name = each.name, kind = each.kind, can = each.can,
                                measure = "queue",
                                label = ("%s, %d × %d"):format(each.name, waiters, processes),
                                waiters = waiters, processes = processes,
                                sessions = processes * options.sessions[1] }
        end
    end
    return rows
end


require "bench.harness.run" {
    name = "many", about = "many waiters, many locks, kept locks",
    clients = { "zklock", "LuaJIT" },
    options = { rows = { "fifo", "turns", "locks", "ensembles", "kept" }, clients = false,
                waiters = false, processes = false, sessions = { 1 }, batch = false, tasks = 1000,
                cycles = 10, threads = { 16, 64, 250 }, alternations = 500, delays = { 0, 10 },
                rounds = 3, heap = 1000, json = false, against = false, no_fsync = false },
    words = { clients = { "zklock", "LuaJIT", "Curator", "kazoo", "go-zookeeper", "pipelined" } },
    rows = function(options)
        local at_once = options.tasks .. " locks at once"
        return { queues(options), {
            { name = "locks", label = at_once, measure = "cycles", can = "many", kind = "free",
              clients = { "zklock", "LuaJIT", "pipelined", "Curator" }, count = options.cycles,
              tasks = options.tasks, threads = options.threads },
            { name = "ensembles", label = at_once, measure = "ensembles", clients = {} },
            { name = "kept", measure = "borrowed", can = "free", kind = "free", delayed = 1,
              clients = { "zklock", "Curator", "kazoo", "go-zookeeper" } },
            { name = "kept", label = "alternated", measure = "alternated", clients = {},
              count = options.alternations, delayed = options.alternations // 5 },
        } }
    end,
}
