--- The zklock process of a crowd; crowd.lua says which commands it obeys.
--
--   crowd_zklock.lua PROXY SERVER BATCH
--
-- BATCH: grants of a turn, of the kind "turns"; 0: turns end by time.

local core = require "zklock.core"
local spread_locks = require "docs.throughput.locks"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: std max

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

local AT_ONCE = 256 -- locks that are asked for together
local LEAST_RATE = 100 -- of them, a second

local sessions = {} -- the waiters', from 1; number 0 is the first holder's
local kind, path, laps
local held -- by the first holder
local waiting, queued = 0, 0 -- waiters that have not ended; those that have been in line
local last = 0 -- when the latest of them was served, or gave up


local function await(what, condition, patience)
    local deadline = core.now() + (patience or PATIENCE)
    while not condition() do
        if core.now() > deadline then error("waited in vain: " .. what, 2) end
        zklock.sleep(0.002)
    end
end


local function lock_of(number)
    return LOCKS[kind](sessions[number], path)
end


local function in_line()
    queued = queued + 1
end


-- A waiter is a coroutine, and the scheduler drives it.
local function start(fn, ...)
    waiting = waiting + 1
    coroutine.wrap(function(...)
        fn(...)
        last = core.now()
        waiting = waiting - 1
    end)(...)
end


local function be_served(number)
    local lock = lock_of(number)
    for _ = 1, laps do assert(lock:acquire{ on_queued = in_line }):release() end
end


local function give_up(number, deadline)
    local options = { timeout = math.max(0.001, deadline - core.now()), on_queued = in_line }
    local lease, message, code = lock_of(number):acquire(options)
    assert(not lease and code == "timeout", message)
end


-- --- a throng ------------------------------------------------------------------------------

local tally = { served = 0, timeouts = 0, others = 0 }
local ended = 0


local function note_end(lease, code)
    local outcome = lease and "served" or code == "timeout" and "timeouts" or "others"
    tally[outcome] = tally[outcome] + 1
    ended, last = ended + 1, core.now()
    waiting = waiting - 1
end


-- What the waiters of a session have in common is made once: they are many.
local function be_one_of_many(lock, options, deadline)
    if deadline > 0 then
        options = { timeout = math.max(0.001, deadline - core.now()), on_queued = in_line }
    end
    local lease, _, code = lock:acquire(options)
    if lease then lease:release() end
    note_end(lease, code)
end


local function are_watched()
    for number = 1, #sessions do
        if sessions[number]:stats().in_flight > 0 then return false end
    end
    return true
end


local commands = {}


function commands.open(count)
    for number = #sessions + 1, tonumber(count) do
        sessions[number] = assert(zklock.connect(PROXY, { timeout = TIMEOUT }))
    end
end


function commands.line(...)
    kind, path, laps = ...
    laps = tonumber(laps)
end


function commands.hold()
    held = assert(lock_of(0):acquire(PATIENCE))
end


function commands.join(number)
    number = tonumber(number)
    queued = 0
    start(be_served, number)
    await("its place", function() return queued == 1 end)
    await("its watches", function() return sessions[number]:stats().in_flight == 0 end)
end


function commands.crowd(count, deadline)
    count, deadline = tonumber(count), tonumber(deadline)
    queued = 0
    for i = 1, count do start(give_up, i % #sessions + 1, deadline) end
    await("all in line", function() return queued >= count or core.now() > deadline end)
end


function commands.throng(count, _, deadline)
    count, deadline = tonumber(count), tonumber(deadline)
    local options, locks = { timeout = PATIENCE, on_queued = in_line }, {}
    for number = 1, #sessions do locks[number] = lock_of(number) end
    queued, ended = 0, 0
    for outcome in pairs(tally) do tally[outcome] = 0 end
    waiting = waiting + count
    for i = 1, count do
        coroutine.wrap(be_one_of_many)(locks[i % #sessions + 1], options, deadline)
    end
    await("all in line", function() return queued + ended >= count end)
    await("their watches", are_watched)
end


function commands.tally()
    return ("%d %d %d"):format(tally.served, tally.timeouts, tally.others)
end


function commands.release()
    held:release()
    held = nil
end


function commands.serve()
    await("the waiters' end", function() return waiting == 0 end)
    return ("%.6f"):format(last)
end


-- --- for bench/peers.lua -------------------------------------------------------------------

local cyclers = {} -- sessions, by WHERE
local kept = {}    -- leases
local spare        -- the session of `connect`


local function cycler(where)
    if not cyclers[where] then
        local hosts = where == "proxy" and PROXY or SERVER
        cyclers[where] = assert(zklock.connect(hosts, { timeout = TIMEOUT }))
    end
    return cyclers[where]
end


-- The last release is waited for: all the work is within the time.
local function acquire_and_release(lock, is_last)
    assert(lock:acquire(PATIENCE)):release(is_last and { wait = PATIENCE } or nil)
end


local function try(lock)
    local lease, message, code = lock:acquire(0)
    assert(not lease and code == "busy", message)
end


local function read_side(session, below) return session:rwlock(below):read() end


local function in_turns(session, below) return session:mutex(below, { order = "turns" }) end


local function lasting(session, below) return session:mutex(below, { keep = 60 }) end


local submits = {} -- of combined locks, by path


-- A function for one item; all tasks of a path have the same.
local function combined(session, below)
    submits[below] = submits[below] or in_turns(session, below):combine(function(_, items)
        return items
    end)
    return submits[below]
end


local function submit(fn) assert(fn(1, PATIENCE)) end


-- Of each kind: its lock, a cycle, who holds the lock meanwhile, whether its tasks want one lock.
local CYCLES = {
    free = { lock = LOCKS.mutex, cycle = acquire_and_release },
    try = { lock = LOCKS.mutex, cycle = try, holder = "other" },
    reentry = { lock = LOCKS.mutex, cycle = acquire_and_release, holder = "self" },
    read = { lock = read_side, cycle = acquire_and_release, holder = "other" },
    kept = { lock = lasting, cycle = acquire_and_release },
    turns = { lock = in_turns, cycle = acquire_and_release, is_one = true },
    combined = { lock = combined, cycle = submit, is_one = true },
}


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


local function run_tasks(row, session, below, count, tasks)
    local begin, cpu = core.now(), os.clock()
    for task = 1, tasks do
        start(run_cycles, row, session, row.is_one and below or below .. "/" .. task, count)
    end
    await("the end of the cycles", function() return waiting == 0 end)
    return last - begin, os.clock() - cpu
end


function commands.cycles(where, name, below, count, tasks)
    local run = tonumber(tasks) == 1 and run_cycles or run_tasks
    return ("%.6f %.6f"):format(run(CYCLES[name], cycler(where), below, tonumber(count),
                                    tonumber(tasks)))
end


-- As cycles of kind "free", by the recipe of docs/throughput.md.
function commands.spread(below, count, tasks, ...)
    local all = assert(spread_locks.connect({ ... }, { timeout = TIMEOUT }))
    count = tonumber(count)
    local begin = core.now()
    for task = 1, tonumber(tasks) do
        local lock = all:mutex(below .. "/" .. task)
        start(function()
            for i = 1, count do acquire_and_release(lock, i == count) end
        end)
    end
    await("the end of the cycles", function() return waiting == 0 end)
    local seconds = last - begin
    all:close()
    return ("%.6f"):format(seconds)
end


-- Some at a time: a session has one request out for each.
function commands.keep(below, count)
    local next_one = 0
    count = tonumber(count)
    local function take_some()
        while next_one < count do
            next_one = next_one + 1
            local number = next_one
            local session = sessions[number % #sessions + 1]
            local lease = assert(session:mutex(below .. "/" .. number):acquire(PATIENCE))
            kept[#kept + 1] = lease
        end
    end
    for _ = 1, AT_ONCE do start(take_some) end
    await("so many locks", function() return waiting == 0 end, PATIENCE + count / LEAST_RATE)
end


function commands.memory()
    collectgarbage()
    collectgarbage()
    for line in io.lines("/proc/self/status") do
        local kilobytes = line:match("^VmRSS:%s+(%d+) kB")
        if kilobytes then return ("%d"):format(1024 * kilobytes) end
    end
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


-- --- commands are lines ---------------------------------------------------------------------

local function obey(line)
    local words = {}
    for word in line:gmatch("%S+") do words[#words + 1] = word end
    return commands[table.remove(words, 1)](unpack(words))
end


zklock.run(function()
    sessions[0] = assert(zklock.connect(PROXY, { timeout = TIMEOUT }))
    print("ready " .. zklock._VERSION)
    io.stdout:flush()
    for line in io.lines() do
        if line == "quit" then break end
        print("ok " .. (obey(line) or ""))
        io.stdout:flush()
    end
    for number = 0, #sessions do sessions[number]:close() end
    for _, session in pairs(cyclers) do session:close() end
    print("ok")
end)
