--- Memory of a waiting claim, from many claims in one line, without Lua objects around them.
--
--   make bench WHAT=claims

local core = require "zklock.core"
local process = require "bench.process"
local rig = require "spec.rig"
local zklock = require "zklock"

local WARM, COUNT = 1000, 3000

local session = assert(zklock.connect(rig.shared().hosts, { timeout = 30 }))
local held = assert(session:mutex("/claims"):acquire())
local lock_options = core.acquire_options{ path = "/claims", kind = "mutex", reentrant = true }
local requests = {} -- kept here, because a collected request is cancelled


-- Lets claims wait until there are `count`; returns the resident memory.
local function memory_of(count)
    for i = #requests + 1, count do
        requests[i] = session.handle:acquire(lock_options, "claim " .. i, nil, nil, {})
        if i % 100 == 0 then -- so that few of the lists of names are in memory at the same time
            rig.wait_for("rest", function() return session:stats().in_flight == 0 end, 60)
        end
    end
    collectgarbage()
    collectgarbage()
    return process.resident("self")
end


local before = memory_of(WARM)
print(("%.0f bytes of resident memory for each waiting claim, all told: ours, its name in the " ..
       "list, its two watches in libzookeeper"):format(
           (memory_of(COUNT) - before) / (COUNT - WARM)))
held:release()
session:close()
