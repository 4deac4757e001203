--- A crowd: processes of one client, whose sessions contend for one lock.
--
-- Each process is a program that greets with "ready PID VERSION" (of its client), obeys commands,
-- one a line, and answers "ok …" or "error: …":
--
--   open COUNT            opens sessions until it has COUNT, besides number 0, the first holder's
--   line KIND PATH LAPS   the lock: mutex, turns, write (of a read-write lock), semaphore (of one
--                         permit); each waiter of it is served LAPS times, and comes back between
--   hold                  session 0 acquires it
--   join SESSION COUNT DEADLINE
--                         COUNT waiters more, the first in that session, each other one in the next
--                         session. They give up at DEADLINE, if it is not 0. A client that tells
--                         answers when all are in line, watched, or have ended
--   release               session 0 releases it
--   serve                 answers when all waiters have ended: the time at which the last had, how
--                         many were served, had a timeout, had another answer
--   cycles WHERE KIND PATH COUNT TASKS
--                         COUNT cycles, or TASKS times as many at the same time, each task with a
--                         path of its own below PATH; to the server through the proxy or directly
--                         (WHERE: proxy, server). Answers with seconds, and with processor seconds
--                         of the process. KIND: free (acquire and release), kept (the session keeps
--                         its node), try (session 0 holds the lock), reentry (by the holder), read
--                         (session 0 reads); and of one lock for all tasks, turns (acquire and
--                         release) and combined (an item)
--   spread PATH COUNT TASKS HOSTS...
--                         as cycles of kind "free", directly to the servers of several ensembles,
--                         of which each path chooses one; answers with seconds
--   keep PATH COUNT       its sessions take COUNT locks, of paths below PATH, and keep them
--   collect               frees memory that it does not use; answers with the bytes of its heap
--                         that are free and still its own
--   connect TIMEOUT       a session more, with that timeout, directly to the server
--   wait PATH SECONDS     that session acquires, with that limit; answers with the seconds until it
--                         knew, and with granted, timeout, or an error
--   quit
--
-- A client need not have all (clients.lua). Times are seconds of CLOCK_BOOTTIME. A process that
-- waits for a command may be deaf to its sessions, so the other processes are told to serve before
-- session 0 releases.

local core = require "zklock.core"
local process_of = require "bench.process"
local rig = require "spec.rig"

local PATIENCE = 120 -- seconds

local crowd = {}

local Crowd = {}
Crowd.__index = Crowd


--- Starts COUNT processes of a client (clients.lua), with these arguments; nodes(path) counts the
-- ephemeral nodes below a path. await() waits for their start.
function crowd.start(client, program, count, nodes)
    local self = setmetatable({ client = client, name = client.name, processes = {}, sessions = 0,
                                nodes = not client.tells and nodes or nil }, Crowd)
    -- In a session of their own: Ctrl-C is for the benchmark, and they end with it.
    for i = 1, count do self.processes[i] = rig.servant("setsid " .. program) end
    return self
end


function Crowd:await()
    self.pids = {}
    for i, process in ipairs(self.processes) do
        self.pids[i], self.version = process:greet():match("^ready (%d+) (.+)")
    end
    return self
end


-- The answers of all processes.
local function tell_all(self, ...)
    local answers = {}
    for _, process in ipairs(self.processes) do process:tell(...) end
    for i, process in ipairs(self.processes) do answers[i] = process:answer() end
    return answers
end


-- The process of a session, and its number there. Sessions are dealt out like cards.
local function place_of(self, session)
    local count = #self.processes
    return self.processes[(session - 1) % count + 1], math.ceil(session / count)
end


function Crowd:open(sessions)
    self.sessions = sessions
    tell_all(self, "open %d", math.ceil(sessions / #self.processes))
end


--- The lock, and how many sessions contend for it. Session 0 of the first process holds it.
function Crowd:line(kind, sessions, laps)
    self:open(sessions)
    kind = self.client.kinds[kind] or kind
    self.path = ("/bench-%s/%s"):format(self.name, kind)
    tell_all(self, "line %s %s %d", kind, self.path, laps)
    self.processes[1]:command("hold")
end


-- Calls join(), and waits for COUNT nodes more below the path, where the client does not tell.
local function until_in_line(self, count, join, deadline)
    local before = self.nodes and self.nodes(self.path)
    join()
    if not before then return end
    local there = rig.eventually(function() return self.nodes(self.path) >= before + count end,
                                 deadline and deadline - core.now() or PATIENCE)
    if not (there or deadline) then error(self.name .. ": not all are in line", 0) end
end


--- So many waiters of each session join the line: one of each, in turn, then the next of each. A
-- waiter's predecessor belongs to another process, then.
function Crowd:join(waiters)
    for i = 0, waiters * self.sessions - 1 do
        local process, number = place_of(self, i % self.sessions + 1)
        until_in_line(self, 1, function() process:command("join %d 1 0", number) end)
    end
end


--- Has so many waiters of all processes come at once. Gives the seconds until all are in line. They
-- give up at the deadline, if there is one.
function Crowd:throng(count, deadline)
    local processes, begin = self.processes, core.now()
    until_in_line(self, count, function()
        for i, process in ipairs(processes) do
            local share = math.floor(count / #processes) + (i <= count % #processes and 1 or 0)
            process:tell("join 1 %d %.6f", share, deadline or 0)
        end
        for _, process in ipairs(processes) do process:answer() end
    end, deadline)
    return core.now() - begin
end


-- The answers to "serve": when the last waiter ended, and how they ended.
local function ends(self)
    local last, sums = 0, { 0, 0, 0 }
    for _, process in ipairs(self.processes) do
        local words, i = process:answer():gmatch("%S+"), 0
        last = math.max(last, tonumber(words()))
        for count in words do
            i = i + 1
            sums[i] = sums[i] + tonumber(count)
        end
    end
    return last, { served = sums[1], timeouts = sums[2], others = sums[3] }
end


--- Session 0 releases. Gives the seconds until all have been served, and { served, timeouts, others
-- }.
function Crowd:serve()
    local first = self.processes[1]
    for i = 2, #self.processes do self.processes[i]:tell("serve") end
    local begin = core.now()
    first:command("release")
    first:tell("serve")
    local last, tally = ends(self)
    return last - begin, tally
end


--- Waits until all have given up, then releases. Gives the time at which the last waiter had, and
-- { served, timeouts, others }.
function Crowd:give_up()
    for _, process in ipairs(self.processes) do process:tell("serve") end
    local last, tally = ends(self)
    self.processes[1]:command("release")
    return last, tally
end


--- Bytes that its processes occupy.
function Crowd:memory()
    local sum = 0
    for i, free in ipairs(tell_all(self, "collect")) do
        sum = sum + process_of.resident(self.pids[i]) - tonumber(free)
    end
    return sum
end


--- Cycles of the first process (see above): seconds, and its processor seconds.
function Crowd:cycles(where, kind, path, count, tasks)
    local own_kind = self.client.kinds[kind] or kind
    local answer = self.processes[1]:command("cycles %s %s %s %d %d", where, own_kind, path, count,
                                             tasks)
    local seconds, cpu = answer:match("^(%S+) (%S+)$")
    return tonumber(seconds), tonumber(cpu)
end


function Crowd:stop()
    for _, process in ipairs(self.processes) do process:stop() end
end


return crowd
