--- Two sessions of this process that acquire a lock in strict alternation, kept and not. A row has
-- the `count` of their cycles.

local borrowed = require "bench.measures.borrowed"
local core = require "zklock.core"
local tables = require "bench.harness.tables"

local PATIENCE = 60 -- seconds

local CONTENDERS = { { name = "not kept", options = { token = "turns" } },
                     { name = "kept", options = { keep = 600 } } }

local alternated = {}


function alternated.contenders() return CONTENDERS end


function alternated.one(world, row, contender)
    local sessions, locks = borrowed.sessions(world), {}
    local path = borrowed.new_path(sessions[1])
    for i = 1, 2 do locks[i] = sessions[i]:mutex(path, contender.options) end
    world.proxy:command("delay %g", row.delay)
    local begin = core.now()
    for i = 1, row.count do assert(locks[i % 2 + 1]:acquire(PATIENCE)):release() end
    local seconds = core.now() - begin
    world.proxy:command("delay 0")
    return { ms = 1000 * seconds / row.count }
end


function alternated.show(results)
    tables.grid("two sessions in alternation: ratio; ms a cycle", tables.lines(results),
                tables.ratio)
end


return alternated
