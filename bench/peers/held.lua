--- Many locks that are held at once, of zklock's processes: how long they take, what each occupies
-- in the server, and what another lock costs meanwhile. Once: they are many (NUM-01).

local core = require "zklock.core"

local OF_A_SESSION = 5000 -- its limit is about 6000
local CYCLES = 100

local row = { name = "held", label = "held" }


-- Kilobytes of resident memory.
local function resident(pid)
    for line in io.lines(("/proc/%d/status"):format(pid)) do
        local kilobytes = line:match("^VmRSS:%s+(%d+) kB")
        if kilobytes then return tonumber(kilobytes) end
    end
end


function row.measure(world)
    local crowd = world:start_crowd("zklock", world.options.processes)
    crowd:await()
    local processes, locks = crowd.processes, world.options.locks
    local share = math.ceil(locks / #processes)
    for _, process in ipairs(processes) do
        process:command("open %d", math.ceil(share / OF_A_SESSION))
    end
    local function another_lock()
        return 1000 * crowd:cycles("server", "free", CYCLES, 1) / CYCLES
    end
    another_lock() -- warm
    local pid = world.server:pid()
    local figures, before, begin = { before_ms = another_lock() }, resident(pid), core.now()
    for i, process in ipairs(processes) do process:tell("keep /held-%d %d", i, share) end
    for _, process in ipairs(processes) do process:answer() end
    figures.locks = share * #processes
    figures.seconds = core.now() - begin
    figures.server_kB = (resident(pid) - before) / figures.locks
    figures.ms = another_lock()
    io.stderr:write(("%d locks held after %.0f s\n"):format(figures.locks, figures.seconds))
    crowd:stop() -- which gives them up, one by one
    return world:result(row, "held", { { crowd = crowd, kind = "mutex" } }, { { figures } })
end


return row
