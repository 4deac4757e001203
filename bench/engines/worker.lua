--- A process of the benchmark of engines. It obeys commands, one a line, and answers "ok …" or
-- "error: …":
--
--   open ID ENGINE NAME=VALUE …        opens a client of that engine
--   run ID LOCK ORDER LAPS COUNT FIRST BEGIN END FILE
--                                      COUNT contenders, numbered from FIRST, ask from BEGIN on
--   hold ID FIRST COUNT                acquires and holds COUNT locks
--   release ID                         releases the held locks
--   quit
--
-- ORDER is "fair", "unfair" or "default". A contender acquires the lock, releases it at once, and
-- asks again, until END; each begins a millisecond after the contender before it. If LAPS is not 0,
-- all come at BEGIN and ask LAPS times, and the first wait counts from BEGIN on. LOCK is a name;
-- "own" is another lock for each contender. FILE gets a line for each grant: contender, time of the
-- request, time of the grant. The answer is the number of requests by this client's own count
-- (ZooKeeper, SQLite).
--
-- Times are seconds of CLOCK_BOOTTIME.

local core = require "zklock.core"
local engine = require "zklock.engine"
local obey = require "bench.obey"
local zklock = require "zklock"

local now = core.now
local unpack = table.unpack or unpack -- luacheck: std max

local PATIENCE = 60 -- seconds
local NOW = 0       -- lets the other coroutines go on
local STEP = 0.001  -- seconds between the beginnings of two contenders
local AT_ONCE = 32  -- coroutines that acquire locks to hold, or release them

local clients = {}


-- Requests of a ZooKeeper session, except heartbeats.
local ASKED = { "creates", "sets", "deletes", "lists", "gets", "exists", "watch_removals" }


local function requests_of_session(session)
    local stats, sum = session:stats(), 0
    for _, kind in ipairs(ASKED) do sum = sum + stats[kind] end
    return sum
end


-- Counts the statements of an SQL client, because SQLite has no server to ask.
local function count_statements(client)
    local sql, try = client.engine.sql, client.engine.sql.try
    function sql.try(...)
        client.statements = client.statements + 1
        return try(...)
    end
end


local function requests_of(client)
    local session = client.engine.session
    return session and requests_of_session(session) or client.statements
end


-- Acquires and releases the lock; returns the times of the request and of the grant.
local function take(lock)
    local asked = now()
    local lease = assert(lock:acquire(PATIENCE))
    local granted = now()
    assert(lease:release())
    return asked, granted
end


-- With sql-optimistic nobody waits. A grant is a write that is not refused.
local function write(lock)
    local asked = now()
    while true do
        local written, message, code = lock:acquire():release()
        if written then return asked, now() end
        if code ~= "lost" then error(message) end
        zklock.sleep(NOW)
    end
end


local function new_lock(client, name, order)
    local options = order ~= "default" and { fair = order == "fair" } or nil
    return assert(client.engine:mutex(name, options))
end


local function contend(job, lock, number)
    local turn = job.client.optimistic and write or take
    local begin = job.begin + (job.laps == 0 and STEP * (number - 1) or 0)
    zklock.sleep(math.max(begin - now(), 0))
    local laps = 0
    repeat
        local asked, granted = turn(lock)
        if job.laps > 0 and laps == 0 then asked = begin end
        job.file:write(("%d %.6f %.6f\n"):format(number, asked, granted))
        laps = laps + 1
        zklock.sleep(NOW)
    until laps == job.laps or job.laps == 0 and now() >= job.finish
end


local function contend_all(job, name, order, first, count)
    local tasks = {}
    for i = 1, count do
        local number = first + i - 1
        local own = name == "own" and ("own-%d"):format(number) or name
        local lock = new_lock(job.client, own, order)
        tasks[i] = function() contend(job, lock, number) end
    end
    zklock.run(unpack(tasks))
end


local commands = {}


function commands.open(id, name, ...)
    local options = {}
    for _, word in ipairs{ ... } do
        local key, value = word:match("^(%w+)=(.*)$")
        options[key] = tonumber(value) or value
    end
    local client = { engine = assert(engine.open(name, options)), statements = 0,
                     optimistic = name == "sql-optimistic" }
    if client.engine.sql then count_statements(client) end
    clients[id] = client
end


function commands.run(id, name, order, laps, count, first, begin, finish, path)
    local client = clients[id]
    local job = { client = client, laps = tonumber(laps), begin = tonumber(begin),
                  finish = tonumber(finish), file = assert(io.open(path, "w")) }
    local before = requests_of(client)
    contend_all(job, name, order, tonumber(first), tonumber(count))
    job.file:close()
    return ("%d"):format(requests_of(client) - before)
end


-- Runs fn(i) for each i up to `count`, in some coroutines that share the work.
local function share(count, fn)
    local tasks, last = {}, 0
    for task = 1, math.min(AT_ONCE, count) do
        tasks[task] = function()
            while last < count do
                last = last + 1
                fn(last)
            end
        end
    end
    zklock.run(unpack(tasks))
end


function commands.hold(id, first, count)
    local client, leases = clients[id], {}
    share(tonumber(count), function(i)
        local lock = new_lock(client, ("held-%d"):format(first + i - 1), "default")
        leases[i] = assert(lock:acquire(PATIENCE))
    end)
    client.held = leases
end


function commands.release(id)
    local leases = clients[id].held
    share(#leases, function(i) assert(leases[i]:release()) end)
    clients[id].held = nil
end


-- So that the processes do not wait in step.
math.randomseed(tonumber(arg[1]))
obey(commands, "ready")
for _, client in pairs(clients) do client.engine:close() end
print("ok")
