--- The cost of a lock with zklock, Apache Curator, kazoo and go-zookeeper, and of a lock's requests
-- by libzookeeper alone, on a server that keeps its log on the disk.
--
--   make bench WHAT=peers                                        all, in about ten minutes
--   make bench WHAT=peers BENCH="--help"                         the options
--   make bench WHAT=peers BENCH="--rows free,try --rounds 3"     some rows
--   make bench WHAT=peers BENCH="--json a.json"                  and later: --against a.json

local CLIENTS = { "zklock", "LuaJIT", "Curator", "kazoo", "go-zookeeper", "serial", "pipelined" }

-- `delayed` is the count with a delay; a row without it is measured only without a delay. zklock
-- makes `zklock_factor` times as many cycles where its cycle needs no request.
local CYCLES = {
    { name = "free", label = "free", kind = "free", count = 100, delayed = 20 },
    { name = "many", label = "16 free at once", kind = "free", count = 20, delayed = 10,
      tasks = 16 },
    { name = "try", label = "try, taken", kind = "try", count = 200, delayed = 20 },
    { name = "reentry", label = "re-entry", kind = "reentry", count = 5000 },
    { name = "read", label = "read", kind = "read", count = 100, delayed = 20 },
    { name = "kept", label = "kept", kind = "kept", count = 20, delayed = 5,
      zklock_factor = 500 },
    { name = "turns", label = "one lock, 8 tasks, turns", kind = "turns", count = 5, delayed = 2,
      tasks = 8, zklock_factor = 500 },
    { name = "turns", label = "one lock, 64 tasks, turns", kind = "turns", count = 1, delayed = 1,
      tasks = 64, zklock_factor = 500 },
    { name = "combined", label = "one lock, 64 tasks, combined", kind = "combined", count = 1,
      delayed = 1, tasks = 64, zklock_factor = 500 },
}

-- Waiters that acquire the lock `laps` times each, in options.loopers sessions.
local LOOPS = {
    { name = "8x1", waiters = 1, laps = 30, delayed = 5 },
    { name = "8x8", waiters = 8, laps = 4, delayed = 2 },
}


local function cycles_row(options, each, delay, more)
    local row = { name = each.name, label = each.label, measure = "cycles", can = each.name,
                  clients = CLIENTS, kind = each.kind, tasks = each.tasks, delay = delay,
                  count = math.ceil(options.scale * (delay > 0 and each.delayed or each.count)),
                  zklock_factor = each.zklock_factor }
    for name, value in pairs(more or {}) do row[name] = value end
    return row
end


local function grants_row(name, label, sessions, waiters, laps, delay)
    return { name = name, label = label, measure = "grants", can = "line", clients = CLIENTS,
             sessions = sessions, waiters = waiters, laps = laps, delay = delay }
end


local function add_rows(rows, options, delay)
    for _, each in ipairs(CYCLES) do
        if delay == 0 or each.delayed then rows[#rows + 1] = cycles_row(options, each, delay) end
    end
    for _, sessions in ipairs(options.sessions) do
        rows[#rows + 1] = grants_row("handoff", "hand-off, S = " .. sessions, sessions, 1, 1, delay)
    end
    for _, each in ipairs(LOOPS) do
        local sessions, waiters = options.loopers, math.min(options.loopers, each.waiters)
        local laps = math.ceil(options.scale * (delay > 0 and each.delayed or each.laps))
        rows[#rows + 1] = grants_row(each.name, ("%d × %d"):format(sessions, waiters), sessions,
                                 waiters, laps, delay)
    end
end


local function add_rows_of_ensemble(rows, options)
    for i = 1, 2 do
        rows[#rows + 1] = cycles_row(options, CYCLES[i], 0, { name = "ensemble", servers = 3 })
    end
    local row = grants_row("ensemble", "hand-off, S = " .. options.loopers, options.loopers, 1, 1)
    row.servers = 3
    rows[#rows + 1] = row
end


require "bench.harness.run" {
    name = "peers", about = "a lock, beside other clients",
    options = { rows = { "free", "many", "try", "reentry", "read", "kept", "turns", "combined",
                         "handoff", "8x1", "8x8", "memory", "held", "nginx", "outage",
                         "ensemble" },
                clients = false, sessions = { 2, 8, 32, 64 }, delays = { 0, 10 }, rounds = 5,
                patience = 6, processes = 2, silence = 12, locks = 20000, seconds = 2, batch = 16,
                loopers = 8, scale = 1, heap = false, json = false, against = false, quick = false,
                no_fsync = false },
    quick = { rounds = 1, sessions = { 2, 4 }, delays = { 0, 2 }, processes = 1, silence = 1.5,
              locks = 200, seconds = 0.3, loopers = 3, scale = 0.05 },
    words = { clients = CLIENTS },
    rows = function(options)
        local rows = {}
        for _, delay in ipairs(options.delays) do add_rows(rows, options, delay) end
        rows[#rows + 1] = { name = "memory", label = "memory", measure = "memory", can = "keep",
                            clients = CLIENTS, scale = options.scale }
        rows[#rows + 1] = { name = "held", label = "held", measure = "held" }
        rows[#rows + 1] = { name = "nginx", label = "in nginx", measure = "nginx" }
        rows[#rows + 1] = { name = "outage", label = "outage", measure = "outage", can = "wait",
                            clients = CLIENTS }
        add_rows_of_ensemble(rows, options)
        return rows
    end,
}
