--- Runs specs in a world of virtual time, as one of its processes. So a wait takes no real time,
-- and a seed decides the time of packets and the order of tasks. It needs ZKLOCK_SERVER=memory.
-- Tests that need a real process, date or collector carry the tag #real.
--
--   SEED=7 ZKLOCK_SERVER=memory lua5.4 spec/in_world.lua --exclude-tags=server,real FILE...

local zklock = require "zklock"

local SEED = tonumber(os.getenv "SEED") or 1

local world = assert(zklock.world(function(world)
    world:process("spec", function() require "busted.runner" { standalone = false } end)
end, { seed = SEED, limit = { steps = 1e9, seconds = 4e6 } }))

world.story = nil
world.keeps_errors = true -- of callbacks; specs look at them
local ok, problem = world:run() -- busted ends the process itself after a failure
if not ok then
    io.stderr:write("\n", tostring(problem), "\n")
    os.exit(1)
end
