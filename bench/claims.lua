--- What a waiting claim costs in memory: many of them in one line, without any
-- Lua around them.
--
--   make bench-claims

local core = require "zklock.core"
local rig = require "spec.rig"
local zklock = require "zklock"

local COUNT = 3000

local function resident()
    collectgarbage()
    collectgarbage()
    for line in io.lines("/proc/self/status") do
        local kilobytes = line:match("^VmRSS:%s+(%d+) kB")
        if kilobytes then return tonumber(kilobytes) * 1024 end
    end
end


local server = rig.shared()
local session = assert(zklock.connect(server.hosts, { timeout = 30 }))
local held = assert(session:mutex("/claims"):acquire())
local of_lock = core.acquire_options{ path = "/claims", kind = "mutex", reentrant = true }
local requests = {} -- anchors them: a request that is collected is cancelled

local function enqueue(first, last)
    for i = first, last do
        requests[i] = session.handle:acquire(of_lock, "claim " .. i, nil, nil, {})
        if i % 100 == 0 then -- each list of names is short-lived, but large
            rig.wait_for("rest", function() return session:stats().in_flight == 0 end, 60)
        end
    end
end

enqueue(1, 1000) -- warm-up
local before = resident()
enqueue(1001, COUNT)
local each = (resident() - before) / (COUNT - 1000)
print(("%.0f bytes of resident memory for each waiting claim, all told: ours, its name in the " ..
       "list, its two watches in libzookeeper"):format(each))
held:release()
session:close()
assert(#requests == COUNT)
