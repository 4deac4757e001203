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

-- Turns are for many waiters in few sessions.
local STEADY = {
    { sessions = 2, waiters = 8, clients = { "zklock", "turns", "Curator" } },
    { sessions = 16, waiters = 1, clients = { "zklock", "Curator" } },
}
local GRANTS, GRANTS_DELAYED = 320, 96 -- of a round


local function add_lines(rows, options, delay)
    for _, kind in ipairs(options.kinds) do
        for _, sessions in ipairs(options.sessions) do
            rows[#rows + 1] = { name = "line", label = ("%s, %d sessions"):format(kind, sessions),
                                measure = "grants", can = "line", kind = kind, sessions = sessions,
                                waiters = 1, laps = 1, clients = { "zklock", "Curator" },
                                delay = delay }
        end
    end
end


local function add_steady(rows, delay)
    local grants = delay == 0 and GRANTS or GRANTS_DELAYED
    for _, each in ipairs(STEADY) do
        local sessions, waiters = each.sessions, each.waiters
        rows[#rows + 1] = { name = "steady", label = ("%d × %d"):format(sessions, waiters),
                            measure = "grants", can = "line", clients = each.clients,
                            sessions = sessions, waiters = waiters,
                            laps = math.ceil(grants / (sessions * waiters)), delay = delay }
    end
end


require "bench.harness.run" {
    name = "contended", about = "a contended lock, beside Curator",
    options = { rows = { "line", "steady", "timeouts" }, clients = false,
                kinds = { "mutex", "write", "semaphore" }, sessions = { 2, 8, 32, 64 },
                delays = { 0, 10 }, rounds = 5, patience = 6, processes = 4, batch = 16,
                waiters = 500, json = false, against = false, no_fsync = false },
    words = { kinds = KINDS, clients = { "zklock", "LuaJIT", "turns", "Curator" } },
    rows = function(options)
        local rows = {}
        for _, delay in ipairs(options.delays) do add_lines(rows, options, delay) end
        for _, delay in ipairs(options.delays) do add_steady(rows, delay) end
        rows[#rows + 1] = { name = "timeouts", label = options.waiters .. " give up", can = "line",
                            measure = "queue", kind = "mutex", clients = { "zklock", "Curator" },
                            waiters = options.waiters, processes = options.processes,
                            sessions = options.processes, only_gives_up = true }
        return rows
    end,
}
