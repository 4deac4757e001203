--- What a contended lock serves, in strict order of arrival and in turns: two sessions, eight
-- coroutines each, all of them always come back. Both orders run in turn, pair by pair, on one
-- server in one run; the ratio of each pair is what counts, for the machine's speed drifts.
--
--   make bench-contended                               both networks
--   make bench-contended BENCH="--pairs 30 --batch 64"

local core = require "zklock.core"
local median = require "bench.median"
local rig = require "spec.rig"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: globals unpack

local SESSIONS, COROUTINES = 2, 8

local wanted = { pairs = 9, batch = 16 }
for i = 1, #arg, 2 do
    local name = arg[i]:match("^%-%-(%a+)$")
    if not wanted[name] then error("known: --pairs N, --batch N", 0) end
    wanted[name] = tonumber(arg[i + 1]) or error(arg[i] .. " takes a number", 0)
end


local function count_requests(sessions)
    local sum = 0
    for _, session in ipairs(sessions) do
        local stats = session:stats()
        sum = sum + stats.creates + stats.sets + stats.deletes + stats.lists + stats.gets
            + stats.syncs
    end
    return sum
end


-- Each coroutine acquires and releases so often: grants a second, and requests a grant.
local function contend(sessions, path, options, count)
    local tasks = {}
    for i = 1, SESSIONS * COROUTINES do
        local lock = sessions[i % SESSIONS + 1]:mutex(path, options)
        tasks[i] = function()
            for _ = 1, count do assert(lock:acquire{ owner = i }):release() end
        end
    end
    local before, begin = count_requests(sessions), core.now()
    zklock.run(unpack(tasks))
    local grants = SESSIONS * COROUTINES * count
    return grants / (core.now() - begin), (count_requests(sessions) - before) / grants
end


local function measure(name, hosts, count)
    local sessions = {}
    for i = 1, SESSIONS do sessions[i] = assert(zklock.connect(hosts, { timeout = 30 })) end
    local fifo, turns, ratios, fifo_requests, turns_requests = {}, {}, {}, {}, {}
    local in_turns = { order = "turns", batch = wanted.batch }
    contend(sessions, "/bench-fifo", nil, 1)
    contend(sessions, "/bench-turns", in_turns, 1)
    for i = 1, wanted.pairs do
        fifo[i], fifo_requests[i] = contend(sessions, "/bench-fifo", nil, count)
        turns[i], turns_requests[i] = contend(sessions, "/bench-turns", in_turns, count)
        ratios[i] = turns[i] / fifo[i]
    end
    for _, session in ipairs(sessions) do session:close() end
    local ratio = median(ratios) -- sorts
    print(("%-12s %8.0f /s %5.2f %10.0f /s %5.2f %8.1f   (%.1f to %.1f)"):format(
        name, median(fifo), median(fifo_requests), median(turns), median(turns_requests),
        ratio, ratios[1], ratios[#ratios]))
end


local server = rig.shared()
local proxy = rig.proxy(server.hosts)
proxy:command("delay 10")
print(("grants a second, requests a grant; %d sessions of %d coroutines, batches of %d, median " ..
       "of %d pairs"):format(SESSIONS, COROUTINES, wanted.batch, wanted.pairs))
print("network              fifo               turns           ratio   (least to most)")
measure("loopback", server.hosts, 40)
measure("10 ms away", proxy.hosts, 8)
