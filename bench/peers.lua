--- The cost of a lock with zklock, Apache Curator, kazoo and go-zookeeper, and of a lock's requests
-- by libzookeeper alone, on a server that keeps its log on the disk.
--
--   make bench WHAT=peers                                        all, in about ten minutes
--   make bench WHAT=peers BENCH="--help"                         the options
--   make bench WHAT=peers BENCH="--rows free,try --rounds 3"     some rows
--   make bench WHAT=peers BENCH="--json a.json"                  and later: --against a.json

local CLIENTS = { "zklock", "LuaJIT", "Curator", "kazoo", "go-zookeeper", "serial", "pipelined" }

-- zklock makes `zklock_factor` times as many cycles where its cycle needs no request.
local CYCLES = {
    { name = "free", kind = "free", count = 100, delayed = 20 },
    { name = "many", label = "16 free at once", kind = "free", count = 20, delayed = 10,
      tasks = 16 },
    { name = "try", label = "try, taken", kind = "free", tries = true, count = 200, delayed = 20 },
    { name = "reentry", label = "re-entry", kind = "reentry", count = 5000 },
    { name = "read", kind = "read", count = 100, delayed = 20 },
    { name = "kept", kind = "kept", count = 20, delayed = 5, zklock_factor = 500 },
    { name = "turns", label = "one lock, 8 tasks, turns", kind = "turns", count = 5, delayed = 2,
      tasks = 8, is_one = true, zklock_factor = 500 },
    { name = "turns", label = "one lock, 64 tasks, turns", kind = "turns", count = 1, delayed = 1,
      tasks = 64, is_one = true, zklock_factor = 500 },
    { name = "combined", label = "one lock, 64 tasks, combined", kind = "combined", count = 1,
      delayed = 1, tasks = 64, is_one = true, zklock_factor = 500 },
    { name = "ensemble", label = "free", can = "free", kind = "free", count = 100, servers = 3 },
    { name = "ensemble", label = "16 free at once", can = "many", kind = "free", count = 20,
      tasks = 16, servers = 3 },
}

for _, row in ipairs(CYCLES) do row.measure = "cycles" end


-- The waiters of a session acquire the lock `laps` times each.
local function grants(name, label, sessions, waiters, laps, delayed, servers)
    return { name = name, label = label, measure = "grants", can = "line", sessions = sessions,
             waiters = waiters, laps = laps, delayed = delayed, servers = servers }
end


local function handoffs(options)
    local rows = {}
    for i, sessions in ipairs(options.sessions) do
        rows[i] = grants("handoff", "hand-off, S = " .. sessions, sessions, 1, 1, 1)
    end
    return rows
end


require "bench.harness.run" {
    name = "peers", about = "a lock, beside other clients", clients = CLIENTS,
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
        local all = options.loopers
        return { CYCLES, handoffs(options), {
            grants("8x1", all .. " × 1", all, 1, 30, 5),
            grants("8x8", ("%d × %d"):format(all, all), all, all, 4, 2),
            { name = "memory", measure = "memory", can = "keep" },
            { name = "held", measure = "held", clients = { "zklock" } },
            { name = "nginx", label = "in nginx", measure = "nginx", clients = {} },
            { name = "outage", measure = "outage", can = "wait" },
            grants("ensemble", "hand-off, S = " .. all, all, 1, 1, nil, 3),
        } }
    end,
}
