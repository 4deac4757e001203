--- The zklock process of a crowd; bench/harness/crowd.lua says which commands it obeys.
--
--   zklock.lua PROXY SERVER BATCH
--
-- BATCH is the number of grants of a turn, for the kind "turns"; with 0 turns end by time.

local core = require "zklock.core"
local obey = require "bench.obey"
local spread_locks = require "docs.throughput.locks"
local zklock = require "zklock"

local PROXY, SERVER, BATCH = arg[1], arg[2], tonumber(arg[3])
if BATCH == 0 then BATCH = nil end
local TIMEOUT = 30 -- seconds, of the sessions
local PATIENCE = 300 -- seconds

local LOCKS = {
    mutex = function(session, path) return session:mutex(path) end,
    turns = function(session, path)
        return session:mutex(path, { order = "turns", batch = BATCH })
    end,
    write = function(session, path) return session:rwlock(path):write() end,
    semaphore = function(session, path) return session:semaphore(path, 1) end,
}

local AT_ONCE = 256 -- locks that are acquired together
local LEAST_RATE = 100 -- locks a second

local sessions = {} -- the waiters', from 1; number 0 is the first holder's
local kind, path, laps
local held -- by the first holder
local waiting, queued = 0, 0 -- waiters that have not ended; those that have been in line, or ended
local last_end = 0 -- time when the latest waiter ended
local tally = { served = 0, timeouts = 0, others = 0 }

local commands = {}


local function connect(hosts) return assert(zklock.connect(hosts, { timeout = TIMEOUT })) end


local function await(what, condition, patience)
    local deadline = core.now() + (patience or PATIENCE)
    while not condition() do
        if core.now() > deadline then error("waited in vain: " .. what, 2) end
        zklock.sleep(0.002)
    end
end


local function all_ended() return waiting == 0 end


-- --- a line --------------------------------------------------------------------------------

function commands.open(count)
    for number = #sessions + 1, tonumber(count) do sessions[number] = connect(PROXY) end
end


function commands.line(...)
    kind, path, laps = ...
    laps = tonumber(laps)
end


function commands.hold()
    held = assert(LOCKS[kind](sessions[0], path):acquire(PATIENCE))
end


function commands.release()
    held:release()
    held = nil
end


local function note_in_line() queued = queued + 1 end


local function note_end(lease, code)
    local outcome = lease and "served" or code == "timeout" and "timeouts" or "others"
    tally[outcome] = tally[outcome] + 1
    queued, last_end = queued + 1, core.now()
    waiting = waiting - 1
end


-- A waiter is a coroutine, and the scheduler drives it. The waiters of a session share the lock and
-- the options, because they are many.
local function wait_in_line(lock, options, deadline)
    if deadline > 0 then
        options = { timeout = math.max(0.001, deadline - core.now()), on_queued = note_in_line }
    end
    local lease, _, code = lock:acquire(options)
    if lease then lease:release() end
    for _ = 2, lease and laps or 0 do
        lease, _, code = lock:acquire(PATIENCE)
        if not lease then break end
        lease:release()
    end
    note_end(lease, code)
end


-- True if the watches of all waiters are set. The keys of `locks` are numbers of sessions.
local function are_watched(locks)
    for number in pairs(locks) do
        if sessions[number]:stats().in_flight > 0 then return false end
    end
    return true
end


function commands.join(first, count, deadline)
    first, count, deadline = tonumber(first), tonumber(count), tonumber(deadline)
    local options, locks = { timeout = PATIENCE, on_queued = note_in_line }, {}
    queued, waiting = 0, waiting + count
    for i = 0, count - 1 do
        local number = (first + i - 1) % #sessions + 1
        locks[number] = locks[number] or LOCKS[kind](sessions[number], path)
        coroutine.wrap(wait_in_line)(locks[number], options, deadline)
    end
    await("all in line", function() return queued >= count end)
    await("their watches", function() return are_watched(locks) end)
end


function commands.serve()
    await("the waiters' end", all_ended)
    local answer = ("%.6f %d %d %d"):format(last_end, tally.served, tally.timeouts, tally.others)
    tally = { served = 0, timeouts = 0, others = 0 }
    return answer
end


-- --- cycles --------------------------------------------------------------------------------

local cyclers = {} -- sessions, by WHERE


local function cycler(where)
    cyclers[where] = cyclers[where] or connect(where == "proxy" and PROXY or SERVER)
    return cyclers[where]
end


-- Waits for the last release, so that all the work is within the time.
local function acquire_and_release(lock, is_last)
    assert(lock:acquire(PATIENCE)):release(is_last and { wait = PATIENCE } or nil)
end


local function try(lock)
    local lease, message, code = lock:acquire(0)
    assert(not lease and code == "busy", message)
end


local submits = {} -- of combined locks, by path


-- A function that submits an item; all tasks of a path share it.
local function combined(session, below)
    submits[below] = submits[below] or session:mutex(below, { order = "turns" }):combine(
        function(_, items) return items end)
    return submits[below]
end


local function submit(fn) assert(fn(1, PATIENCE)) end


-- Kinds of cycles, where they differ from "free": the lock, a cycle, the holder meanwhile, whether
-- all tasks want one lock.
local FREE = { lock = LOCKS.mutex, cycle = acquire_and_release }
local CYCLES = {
    free = FREE,
    try = { cycle = try, holder = "other" },
    reentry = { holder = "self" },
    read = { lock = function(session, below) return session:rwlock(below):read() end,
             holder = "other" },
    kept = { lock = function(session, below) return session:mutex(below, { keep = 60 }) end },
    turns = { lock = function(session, below) return session:mutex(below, { order = "turns" }) end,
              is_one = true },
    combined = { lock = combined, cycle = submit, is_one = true },
}
for _, row in pairs(CYCLES) do setmetatable(row, { __index = row ~= FREE and FREE or nil }) end


local function run_cycles(row, session, below, count)
    local lock, lease = row.lock(session, below), nil
    if row.holder == "other" then lease = assert(row.lock(sessions[0], below):acquire(PATIENCE)) end
    if row.holder == "self" then lease = assert(lock:acquire(PATIENCE)) end
    local begin, cpu = core.now(), os.clock()
    for i = 1, count do row.cycle(lock, i == count) end
    local seconds = core.now() - begin
    cpu = os.clock() - cpu
    if lease then lease:release{ wait = PATIENCE } end
    return seconds, cpu
end


-- Runs task(i) for each i up to `count` in coroutines. Returns seconds, processor seconds.
local function run_tasks(count, task, patience)
    local begin, cpu = core.now(), os.clock()
    waiting = waiting + count
    for i = 1, count do
        coroutine.wrap(function()
            task(i)
            last_end, waiting = core.now(), waiting - 1
        end)()
    end
    await("the end of the tasks", all_ended, patience)
    return last_end - begin, os.clock() - cpu
end


function commands.cycles(where, name, below, count, tasks)
    local row, session = CYCLES[name], cycler(where)
    count, tasks = tonumber(count), tonumber(tasks)
    if tasks == 1 then return ("%.6f %.6f"):format(run_cycles(row, session, below, count)) end
    return ("%.6f %.6f"):format(run_tasks(tasks, function(task)
        run_cycles(row, session, row.is_one and below or below .. "/" .. task, count)
    end))
end


-- By the recipe of docs/throughput.md.
function commands.spread(below, count, tasks, ...)
    local all = assert(spread_locks.connect({ ... }, { timeout = TIMEOUT }))
    local seconds = run_tasks(tonumber(tasks), function(task)
        local lock = all:mutex(below .. "/" .. task)
        for i = 1, tonumber(count) do acquire_and_release(lock, i == tonumber(count)) end
    end)
    all:close()
    return ("%.6f"):format(seconds)
end


-- --- memory, outages -----------------------------------------------------------------------

local kept = {} -- leases
local spare     -- the session that `connect` opened


-- Acquires AT_ONCE locks at a time.
function commands.keep(below, count)
    local next_one = 0
    count = tonumber(count)
    run_tasks(AT_ONCE, function()
        while next_one < count do
            next_one = next_one + 1
            local number = next_one
            local lock = sessions[number % #sessions + 1]:mutex(below .. "/" .. number)
            kept[#kept + 1] = assert(lock:acquire(PATIENCE))
        end
    end, PATIENCE + count / LEAST_RATE)
end


function commands.collect()
    collectgarbage()
    collectgarbage()
    return "0"
end


function commands.connect(timeout)
    spare = assert(zklock.connect(SERVER, { timeout = tonumber(timeout) }))
end


function commands.wait(below, seconds)
    local begin = core.now()
    local lease, _, code = spare:mutex(below):acquire(tonumber(seconds))
    local took = core.now() - begin
    spare:close()
    return ("%.6f %s"):format(took, lease and "granted" or code)
end


local stat = assert(io.open("/proc/self/stat"))
local pid = stat:read("*n")
stat:close()

zklock.run(function()
    sessions[0] = connect(PROXY)
    obey(commands, ("ready %d %s"):format(pid, zklock._VERSION))
    for number = 0, #sessions do sessions[number]:close() end
    for _, session in pairs(cyclers) do session:close() end
    print("ok")
end)
