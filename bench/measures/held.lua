--- Many locks that zklock's processes hold at once (NUM-01): the time to acquire them, the server's
-- memory for each, and the cost of another lock meanwhile. Measured once, because they are many.

local core = require "zklock.core"
local process = require "bench.process"
local tables = require "bench.harness.tables"

local LOCKS_OF_SESSION = 5000 -- a session's limit is about 6000
local CYCLES = 100

local held = {}


function held.run(world, row)
    local crowd = world:start_crowd("zklock", world.options.processes)
    local locks, pid = world.options.locks, world.server:pid()
    local function cycle_ms_of_another_lock()
        return 1000 * crowd:cycles("server", { kind = "free" }, "/beside-held", CYCLES, 1) / CYCLES
    end
    crowd:open(#crowd.processes * math.ceil(locks / #crowd.processes / LOCKS_OF_SESSION))
    cycle_ms_of_another_lock() -- warm
    local figures, before = { before_ms = cycle_ms_of_another_lock() }, process.resident(pid)
    local begin = core.now()
    figures.locks = crowd:keep("/held", locks)
    figures.seconds = core.now() - begin
    figures.server_kB = (process.resident(pid) - before) / 1024 / figures.locks
    figures.ms = cycle_ms_of_another_lock()
    crowd:stop() -- releases the locks, one by one
    return world:note_result(row, { { name = "zklock" } }, { { figures } })
end


function held.show(results)
    tables.list("locks held at once", results, {
        "locks", "locks", "taken in, s", "seconds", "kB a lock, in the server", "server_kB",
        "ms a cycle of another lock, before", "before_ms", "meanwhile", "ms" })
end


return held
