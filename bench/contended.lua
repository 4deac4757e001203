--- Grants of a contended lock: zklock, beside Apache Curator.
--
--   make bench WHAT=contended                            all, in about four minutes
--   make bench WHAT=contended BENCH="--help"             the options
--   make bench WHAT=contended BENCH="--rows line --sessions 4,16 --kinds mutex"
--
--   line       one waiter in each session, granted once. A hand-off's cost must not depend on the
--              number of sessions in line
--   steady     all waiters come back again and again, in order of arrival and in turns
--   timeouts   many wait for a mutex, none is granted, and all give up at the same time

local KINDS = { "mutex", "turns", "write", "semaphore" } -- Curator's turns are a mutex


local function lines(options)
    local rows = {}
    for _, kind in ipairs(options.kinds) do
        for _, sessions in ipairs(options.sessions) do
            rows[#rows + 1] = { name = "line", label = ("%s, %d sessions"):format(kind, sessions),
                                measure = "grants", can = "line", kind = kind, sessions = sessions,
                                waiters = 1, laps = 1, delayed = 1 }
        end
    end
    return rows
end


require "bench.harness.run" {
    name = "contended", about = "a contended lock, beside Curator",
    clients = { "zklock", "Curator" },
    options = { rows = { "line", "steady", "timeouts" }, clients = false,
                kinds = { "mutex", "write", "semaphore" }, sessions = { 2, 8, 32, 64 },
                delays = { 0, 10 }, rounds = 5, patience = 6, processes = 4, batch = 16,
                waiters = 500, json = false, against = false, no_fsync = false },
    words = { kinds = KINDS, clients = { "zklock", "LuaJIT", "turns", "Curator" } },
    rows = function(options)
        local processes = options.processes
        return { lines(options), {
            -- Turns are for many waiters in few sessions.
            { name = "steady", label = "2 × 8", measure = "grants", can = "line", sessions = 2,
              waiters = 8, laps = 20, delayed = 6, clients = { "zklock", "turns", "Curator" } },
            { name = "steady", label = "16 × 1", measure = "grants", can = "line", sessions = 16,
              waiters = 1, laps = 20, delayed = 6 },
            { name = "timeouts", label = options.waiters .. " give up", measure = "queue",
              can = "line", kind = "mutex", waiters = options.waiters, processes = processes,
              sessions = processes, only_gives_up = true },
        } }
    end,
}
