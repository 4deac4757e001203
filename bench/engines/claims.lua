--- Row "claims" measures the numbers that the seed articles claim (NUM-01, NUM-02, NUM-04).

local core = require "zklock.core"
local engine = require "zklock.engine"
local markdown = require "bench.markdown"
local process = require "bench.process"
local rig = require "spec.rig"
local rounds = require "bench.harness.rounds"

local number, milliseconds = markdown.number, markdown.milliseconds

local CONTENDERS = 64
local COMMANDS = 50000 -- of redis-benchmark
local BUSY = { contenders = 8 } -- on one lock, while many others are held
local TRIES = 3 -- for each round
local FAST_FAIL = { 0.005, 0.05 } -- seconds (CFG-10)
local SILENT = 2 -- of five masters, at most: three are a majority


local function id_of(world, label)
    return world:ids(function(contender) return contender.label == label end)[1]
end


-- NUM-01, NUM-02: grants a second of all contenders together, each with a lock of its own.
local function measure_own_locks(world)
    local ids = world:ids(function(contender)
        return not contender.lock and contender.engine ~= "sql-optimistic"
    end)
    local shape = { contenders = CONTENDERS, seconds = world.options.seconds, own = true }
    local figures, rows = world:rounds(ids, shape), {}
    for _, id in ipairs(ids) do
        rows[#rows + 1] = {
            world.contenders[id].label, markdown.range(rounds.median_of(figures[id], "rate")),
            number((rounds.median_of(figures[id], "requests"))),
        }
    end
    print(("\n**%d contenders, each with a lock of its own**"):format(CONTENDERS))
    markdown.table({ "", "grants a second, of all locks", "requests a grant" }, rows)
end


-- NUM-02: Redis without any lock.
local function measure_bare_redis(world)
    local host, port = world.servers:address("redis"):match("^(.*):(%d+)$")
    local output = rig.shell("redis-benchmark -h %s -p %s -t set -c 50 -n %d -q", host, port,
                             COMMANDS)
    local rate = tonumber(output:match("SET: ([%d.]+) requests per second"))
    print(("\nRedis alone: %.0f SET a second, of 50 connections (redis-benchmark)"):format(rate))
end


local memory_of = {
    zookeeper = function(world) return process.resident(world.servers.ensemble:pid()) end,
    ["redis-expire"] = function(world) return world.servers:redis_memory() end,
}


-- NUM-01: the cost of many held locks, and of another lock meanwhile.
local function held_locks_row(world, label)
    local id, locks = id_of(world, label), world.options.locks
    if not id then return nil end
    local shape = { contenders = BUSY.contenders, seconds = world.options.seconds }
    local before, memory = world:measure(id, shape), memory_of[label](world)
    local seconds = world.crowd:hold(id, locks)
    local bytes = memory_of[label](world) - memory
    local meanwhile = world:measure(id, shape)
    world.crowd:release(id)
    return { label, number(seconds), ("%.0f"):format(bytes / locks), number(before.rate),
             number(meanwhile.rate) }
end


local function measure_held_locks(world)
    local rows = {}
    for _, label in ipairs{ "zookeeper", "redis-expire" } do
        rows[#rows + 1] = held_locks_row(world, label)
    end
    if not rows[1] then return end
    print(("\n**%d locks held at once, by %d processes**"):format(world.options.locks,
                                                                   world.options.processes))
    markdown.table({ "", "taken in, s", "bytes a lock, in the server",
                     "grants a second of another lock, before", "meanwhile" }, rows)
end


-- Median seconds until a grant, with open connections.
local function time_to_acquire(addresses, fast_fail, tries)
    local client = assert(engine.open("redlock", { redis = addresses, fast_fail = fast_fail }))
    local lock, times = client:mutex "quorum", {}
    for i = 1, tries do
        local asked = core.now()
        local lease = assert(lock:acquire(10))
        times[i] = core.now() - asked
        lease:release()
    end
    client:close()
    return (rounds.median(times))
end


-- NUM-04: three of five masters, with 5 or 50 ms for each.
local function measure_quorum(world)
    local rows, masters = {}, world.servers.throwaway.redis_servers
    local addresses, tries = world.servers:address "masters", TRIES * world.options.rounds
    for silent = 0, SILENT do
        if silent > 0 then masters[#masters + 1 - silent].process:signal "STOP" end
        local row = { ("%d of %d"):format(silent, #masters) }
        for i, fast_fail in ipairs(FAST_FAIL) do
            row[i + 1] = milliseconds(time_to_acquire(addresses, fast_fail, tries))
        end
        rows[#rows + 1] = row
    end
    for silent = 1, SILENT do masters[#masters + 1 - silent].process:signal "CONT" end
    print "\n**redlock, one contender: ms until it has the lock**"
    markdown.table({ "masters that are silent", "5 ms for each", "50 ms for each" }, rows)
end


local function is_measured(world, name)
    return world:ids(function(contender) return contender.engine == name end)[1] ~= nil
end


return function(world)
    world:start_crowd()
    measure_own_locks(world)
    if is_measured(world, "redis-set") then measure_bare_redis(world) end
    measure_held_locks(world)
    if is_measured(world, "redlock") then measure_quorum(world) end
end
