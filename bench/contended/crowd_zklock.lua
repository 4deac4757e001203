--- The zklock process of a crowd; crowd.lua says which commands it obeys.
--
--   crowd_zklock.lua HOSTS BATCH      BATCH: grants of a turn, of the kind "turns"

local core = require "zklock.core"
local zklock = require "zklock"

local HOSTS, BATCH = arg[1], tonumber(arg[2])
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

local sessions = {} -- the waiters', from 1; number 0 is the first holder's
local kind, path, laps
local held -- by the first holder
local waiting, queued = 0, 0 -- waiters that have not ended; those that have been in line
local last = 0 -- when the latest of them was served, or gave up


local function await(what, condition)
    local deadline = core.now() + PATIENCE
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


local commands = {}


function commands.open(count)
    for number = #sessions + 1, tonumber(count) do
        sessions[number] = assert(zklock.connect(HOSTS, { timeout = TIMEOUT }))
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


function commands.release()
    held:release()
    held = nil
end


function commands.serve()
    await("the waiters' end", function() return waiting == 0 end)
    return ("%.6f"):format(last)
end


local function obey(line)
    local words = {}
    for word in line:gmatch("%S+") do words[#words + 1] = word end
    return commands[table.remove(words, 1)](table.unpack(words))
end


zklock.run(function()
    sessions[0] = assert(zklock.connect(HOSTS, { timeout = TIMEOUT }))
    print("ready")
    io.stdout:flush()
    for line in io.lines() do
        if line == "quit" then break end
        print("ok " .. (obey(line) or ""))
        io.stdout:flush()
    end
    for number = 0, #sessions do sessions[number]:close() end
    print("ok")
end)
