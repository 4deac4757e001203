--- A cycle of each client on a lock that is free, and on one that a session of another process
-- keeps: milliseconds of each, and of a write with its answer.

local core = require "zklock.core"
local rig = require "spec.rig"
local tables = require "bench.harness.tables"

local PATIENCE, KEEP = 60, 600 -- seconds

local made = 0

local borrowed = {}


--- A path below which nobody has been, with its node.
function borrowed.fresh(session)
    made = made + 1
    local path = "/kept/" .. made
    assert(session:mutex(path):acquire(PATIENCE)):release{ wait = PATIENCE }
    return path
end


--- Two sessions of this process, which all rows share, and which end with the proxy.
function borrowed.sessions(world)
    local function open() return rig.session(world.proxy.hosts, { timeout = 30 }) end
    world.keepers = world.keepers or { open(), open() }
    return world.keepers
end


-- The session keeps the lock, and hears those that want it.
local function keep(session, path)
    assert(session:mutex(path, { keep = KEEP }):acquire(PATIENCE)):release()
    rig.wait_for("its watch", function() return session:stats().in_flight == 0 end)
end


function borrowed.one(world, row, contender)
    local session = borrowed.sessions(world)[1]
    local free, lent = borrowed.fresh(session), borrowed.fresh(session)
    local function cycle(path) return 1000 * contender.crowd:cycles("proxy", "free", path, 1, 1) end
    keep(session, lent)
    world.proxy:command("delay %g", row.delay)
    local lease = assert(session:mutex(free):acquire(PATIENCE))
    local begin = core.now()
    lease:release{ wait = PATIENCE }
    local figures = { write = 1000 * (core.now() - begin), free = cycle(free), kept = cycle(lent) }
    figures.more = figures.kept - figures.free
    world.proxy:command("delay 0")
    return figures
end


function borrowed.show(results)
    tables.list("a lock that another session keeps", results, {
        "free, ms", "free", "kept, ms", "kept", "more, ms", "more", "a write, ms", "write" })
end


return borrowed
