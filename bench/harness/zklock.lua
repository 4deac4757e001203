--- zklock as a process of a crowd. It obeys some of the commands in spec/neighbours/neighbour.lua:
-- connect, session, take, state, release, start, finish, keep, collect, drop. "take" answers once
-- the lock is held, and there is a further command:
--
--   queue   answers once all tasks since the last "queue" are in line with their watches, or have
--           ended
--
-- Kinds of locks, whose last release a task waits for: free (a mutex), reentry (by the holder),
-- read, kept (the session keeps its node), turns, combined (each grant is an item). Kinds without
-- that wait: mutex, write, semaphore (of one permit), batches:COUNT (in turns of COUNT grants;
-- without a number they end by time).

local core = require "zklock.core"
local obey = require "bench.obey"
local zklock = require "zklock"

local PATIENCE = 300 -- seconds
local KEEP = 60 -- seconds, of a kept lock
local AT_ONCE = 256 -- locks that are acquired together
local LEAST_RATE = 100 -- locks a second

local hands = {} -- sessions by name
local held = {} -- leases by the hand's name
local kept = {} -- leases
-- `unqueued` tasks of `sessions` have been started since the last "queue"; `queued` of them are in
-- line, or have ended. The figures are those of all tasks since the last "finish".
local tasks = { running = 0 }

local commands = {}


-- --- kinds ---------------------------------------------------------------------------------

local LOCKS = {
    write = function(session, path) return session:rwlock(path):write() end,
    read = function(session, path) return session:rwlock(path):read() end,
    semaphore = function(session, path) return session:semaphore(path, 1) end,
    kept = function(session, path) return session:mutex(path, { keep = KEEP }) end,
    turns = function(session, path) return session:mutex(path, { order = "turns" }) end,
    batches = function(session, path, batch)
        return session:mutex(path, { order = "turns", batch = batch })
    end,
}

local UNAWAITED = { mutex = true, write = true, semaphore = true, batches = true }

local submits = {} -- of combined locks, by path


-- Has the methods of a lock, and each grant is an item. All tasks of a path share the items.
function LOCKS.combined(session, path)
    submits[path] = submits[path] or LOCKS.turns(session, path):combine(function(_, items)
        return items
    end)
    local granted = { release = function() end }
    return { acquire = function()
        assert(submits[path](1, PATIENCE))
        return granted
    end }
end


local function new_lock(session, kind, path)
    local name, batch = kind:match("^(%a+):?(%d*)$")
    local new = LOCKS[name] or session.mutex
    return new(session, path, name == "batches" and tonumber(batch) or nil)
end


-- --- one step at a time --------------------------------------------------------------------

function commands.connect(name, hosts, timeout)
    hands[name] = assert(zklock.connect(hosts, { timeout = tonumber(timeout) }))
end


function commands.session(name) return hands[name]:id() end


function commands.take(name, kind, path)
    held[name] = assert(new_lock(hands[name], kind, path):acquire(PATIENCE))
end


function commands.state(name) return held[name]:state() end


function commands.release(name) held[name]:release() end


function commands.drop(name)
    hands[name]:close()
    hands[name] = nil
end


local function await(what, condition, poll, patience)
    local deadline = core.now() + (patience or PATIENCE)
    while not condition() do
        if core.now() > deadline then error("waited in vain: " .. what, 2) end
        zklock.sleep(poll)
    end
end


-- --- tasks ---------------------------------------------------------------------------------

local function begin_figures()
    tasks.first, tasks.cpu_before = core.now(), os.clock()
end


local function reset_figures()
    tasks.first, tasks.last, tasks.cpu = 0, 0, 0
    tasks.grants, tasks.timeouts, tasks.problem = 0, 0, ""
end


local function reset_queue() tasks.unqueued, tasks.queued, tasks.sessions = 0, 0, {} end


reset_figures()
reset_queue()


local function note_in_line() tasks.queued = tasks.queued + 1 end


local function note_lap(job, lap, lease, code)
    if lease then
        tasks.grants = tasks.grants + 1
        lease:release(lap == job.laps and job.last_release or nil)
    elseif code == "timeout" or code == "busy" then
        tasks.timeouts = tasks.timeouts + 1
    else
        tasks.problem = code
    end
end


local function note_end()
    tasks.last, tasks.cpu = core.now(), os.clock() - tasks.cpu_before
    tasks.running, tasks.queued = tasks.running - 1, tasks.queued + 1
end


-- Shared by the waiters of a line, because they are many.
local FIRST = { timeout = PATIENCE, on_queued = note_in_line }

local function options_of(job, lap)
    if job.deadline == 0 then return lap == 1 and FIRST or PATIENCE end
    local limit = math.max(0, job.deadline - core.now())
    return lap == 1 and { timeout = limit, on_queued = note_in_line } or limit
end


-- A task is a coroutine, and the scheduler drives it. More local variables would cost a waiter a
-- kilobyte, as a stack of more than 80 slots has 160.
local function run_task(job, lock)
    local lap = 0
    repeat
        lap = lap + 1
        local lease, _, code = lock:acquire(options_of(job, lap))
        note_lap(job, lap, lease, code)
    until lap == job.laps
    note_end()
end


local function run_inside(job, lock)
    local lease = assert(lock:acquire(PATIENCE))
    begin_figures()
    run_task(job, lock)
    lease:release{ wait = PATIENCE }
end


function commands.start(name, kind, path, laps, count, deadline)
    local session, run = hands[name], kind == "reentry" and run_inside or run_task
    count = tonumber(count)
    local is_awaited = not UNAWAITED[kind:match("^%a+")]
    local job = { laps = tonumber(laps), deadline = tonumber(deadline),
                  last_release = is_awaited and { wait = PATIENCE } or nil }
    local lock = not path:find("#", 1, true) and new_lock(session, kind, path)
    if tasks.running == 0 then begin_figures() end
    tasks.running, tasks.unqueued = tasks.running + count, tasks.unqueued + count
    tasks.sessions[session] = true
    for i = 1, count do
        coroutine.wrap(run)(job, lock or new_lock(session, kind, (path:gsub("#", i))))
    end
end


-- True if the watches of all waiters are set.
local function are_watched()
    for session in pairs(tasks.sessions) do
        if session:stats().in_flight > 0 then return false end
    end
    return true
end


function commands.queue()
    await("all in line", function() return tasks.queued >= tasks.unqueued end, 0.002)
    await("their watches", are_watched, 0.002)
    reset_queue()
end


function commands.finish()
    await("the tasks' end", function() return tasks.running == 0 end, 0.02)
    local answer = ("%.6f %.6f %.6f %d %d %s"):format(tasks.last - tasks.first, tasks.last,
        tasks.cpu, tasks.grants, tasks.timeouts, tasks.problem)
    reset_figures()
    reset_queue()
    return answer
end


-- --- memory --------------------------------------------------------------------------------

-- Acquires AT_ONCE locks at a time.
function commands.keep(name, path, count)
    count = tonumber(count)
    local last, finish = 0, #kept + count
    local function acquire_some()
        while last < count do
            last = last + 1
            local lease = assert(hands[name]:mutex(path .. "/" .. last):acquire(PATIENCE))
            kept[#kept + 1] = lease
        end
    end
    for _ = 1, AT_ONCE do coroutine.wrap(acquire_some)() end
    await("the locks", function() return #kept == finish end, 0.002,
          PATIENCE + count / LEAST_RATE)
end


function commands.collect()
    collectgarbage()
    collectgarbage()
    return "0"
end


local stat = assert(io.open("/proc/self/stat"))
local pid = stat:read("*n")
stat:close()

zklock.run(function()
    obey(commands, ("ready %d %s"):format(pid, zklock._VERSION))
    for _, session in pairs(hands) do session:close() end
    print("ok")
end)
