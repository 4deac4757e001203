--- The milliseconds of a cycle of each client on a free lock, and on a lock that a session of this
-- process keeps; and of a write with its answer.

local core = require "zklock.core"
local rig = require "spec.rig"
local tables = require "bench.harness.tables"

local PATIENCE, KEEP = 60, 600 -- seconds

local path_count = 0

local borrowed = {}


--- A new path, with its node.
function borrowed.new_path(session)
    path_count = path_count + 1
    local path = "/kept/" .. path_count
    assert(session:mutex(path):acquire(PATIENCE)):release{ wait = PATIENCE }
    return path
end


--- Two sessions of this process, which all rows share, and which end with the proxy.
function borrowed.sessions(world)
    local function open() return rig.session(world.proxy.hosts, { timeout = 30 }) end
    world.keepers = world.keepers or { open(), open() }
    return world.keepers
end


-- Returns once the session keeps the lock, and has its watch for others that want the lock.
local function keep(session, path)
    assert(session:mutex(path, { keep = KEEP }):acquire(PATIENCE)):release()
    rig.wait_for("its watch", function() return session:stats().in_flight == 0 end)
end


function borrowed.one(world, row, contender)
    local session = borrowed.sessions(world)[1]
    local free, kept = borrowed.new_path(session), borrowed.new_path(session)
    local function cycle(path) return 1000 * contender.crowd:cycles("proxy", row, path, 1, 1) end
    keep(session, kept)
    world.proxy:command("delay %g", row.delay)
    local lease = assert(session:mutex(free):acquire(PATIENCE))
    local begin = core.now()
    lease:release{ wait = PATIENCE }
    local figures = { write = 1000 * (core.now() - begin), free = cycle(free), kept = cycle(kept) }
    figures.more = figures.kept - figures.free
    world.proxy:command("delay 0")
    return figures
end


function borrowed.show(results)
    tables.list("a lock that another session keeps", results, {
        "free, ms", "free", "kept, ms", "kept", "more, ms", "more", "a write, ms", "write" })
end


return borrowed
