--- Many waiters of some processes come to one lock at once, behind a holder. They get in line, and
-- each is served once; then as many come again, and all give up at once. A row has
--
--   kind            mutex or turns
--   waiters, processes, sessions (of all processes)
--   only_gives_up   true if nobody is served

local core = require "zklock.core"
local tables = require "bench.harness.tables"
local traffic = require "bench.harness.traffic"
local zklock = require "zklock"

local WARM = 50 -- waiters of each process
-- Waiters that give up get GRACE seconds and FACTOR times the served waiters' time to get in line.
local GRACE, FACTOR = 2, 3
local TRIES = 8
local PATIENCE = 300 -- seconds
local POLL = 0.02 -- seconds

local queue = { is_cold = true }


function queue.contenders(world, row) return world:able_clients(row) end


-- Waits until no node is left; returns the seconds after `since`.
local function await_no_nodes(world, since)
    while world:count_ephemerals() > 0 do
        if core.now() > since + PATIENCE then error("nodes are left", 0) end
        zklock.sleep(POLL)
    end
    return core.now() - since
end


-- Notes the traffic since the last call, in megabytes, and in requests and bytes for each waiter.
local function note_traffic(world, row, figures, name)
    local counts = traffic.take(world.proxy, 0)
    figures[name .. "_MB"] = counts.bytes / 1e6
    figures[name .. "_requests"] = counts.requests / row.waiters
    figures[name .. "_bytes"] = counts.bytes / row.waiters
end


local function measure_served(world, row, crowd, figures)
    crowd:prepare_line(row.kind, row.sessions, 1)
    local before = crowd:memory()
    traffic.take(world.proxy, 0)
    figures.queue_s = crowd:throng(row.waiters)
    note_traffic(world, row, figures, "queue")
    figures.kB = (crowd:memory() - before) / 1024 / row.waiters
    local tally
    figures.drain_s, tally = crowd:serve()
    figures.served = tally.grants
    note_traffic(world, row, figures, "drain")
end


-- Lets all waiters get in line; returns the time when they give up. If this time comes before all
-- are in line, they come again, and wait twice as long.
local function queue_until(world, row, crowd, wait)
    for _ = 1, TRIES do
        crowd:prepare_line(row.kind, row.sessions, 1)
        traffic.take(world.proxy, 0)
        local deadline = core.now() + wait
        crowd:throng(row.waiters, deadline)
        if core.now() < deadline then return deadline end
        crowd:await_giving_up()
        wait = 2 * wait
    end
    error("they do not get in line in time", 0)
end


local function measure_giving_up(world, row, crowd, figures)
    local deadline = queue_until(world, row, crowd, GRACE + FACTOR * (figures.queue_s or 0))
    note_traffic(world, row, figures, "again")
    local last, tally = crowd:await_giving_up()
    figures.late_ms = 1000 * (last - deadline)
    figures.gone_s = await_no_nodes(world, deadline)
    figures.timeouts = tally.timeouts
    note_traffic(world, row, figures, "leave")
end


-- A fresh crowd each time.
function queue.one(world, row, contender)
    local crowd = world:start_crowd(contender.name, row.processes, "-Xss256k")
    local figures = {}
    crowd:prepare_line(row.kind, row.sessions, 1)
    crowd:throng(WARM * row.processes)
    crowd:serve()
    if not row.only_gives_up then measure_served(world, row, crowd, figures) end
    measure_giving_up(world, row, crowd, figures)
    crowd:stop()
    return figures
end


function queue.show(results)
    local served = {}
    for _, each in ipairs(results) do
        if not each.row.only_gives_up then served[#served + 1] = each end
    end
    if served[1] then
        tables.list("waiters are served", served, {
            "in line, s", "queue_s", "MB", "queue_MB", "requests each", "queue_requests",
            "kB each", "kB", "served", "served", "in, s", "drain_s", "MB", "drain_MB",
            "requests each", "drain_requests" })
    end
    tables.list("waiters give up", results, {
        "to queue: requests each", "again_requests", "bytes each", "again_bytes",
        "timeouts", "timeouts", "answered after, ms", "late_ms", "gone after, s", "gone_s",
        "to leave: requests each", "leave_requests", "bytes each", "leave_bytes",
        "MB", "leave_MB" })
end


return queue
