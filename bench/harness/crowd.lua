--- A crowd is several processes of one client, with sessions that contend for one lock.
--
-- Each process is a program that greets with "ready PID VERSION" (the client's version), obeys
-- commands, one a line, and answers "ok …" or "error: …":
--
--   open COUNT            opens sessions until it has COUNT, besides session 0, the first holder's
--   line KIND PATH LAPS   sets the lock: mutex, turns, write (of a read-write lock), semaphore (of
--                         one permit); each waiter will acquire it LAPS times
--   hold                  session 0 acquires the lock
--   join SESSION COUNT DEADLINE
--                         starts COUNT waiters, the first in SESSION, each further waiter in the
--                         next session. They give up at DEADLINE, unless it is 0. A client that
--                         `tells` answers once all are in line with their watches, or have ended
--   release               session 0 releases the lock
--   serve                 answers when all waiters have ended: the time of the last end, and the
--                         numbers of waiters that were served, had a timeout, had another answer
--   cycles WHERE KIND PATH COUNT TASKS
--                         COUNT cycles of each task, all tasks at the same time. Several tasks have
--                         paths of their own below PATH. WHERE: to the server through the proxy, or
--                         directly (server). Answers with seconds, and with processor seconds of
--                         the process. KIND: free (acquire and release), kept (the session keeps
--                         its node), try (session 0 holds the lock), reentry (by the holder), read
--                         (session 0 reads); and with one lock for all tasks, turns (acquire and
--                         release) and combined (an item)
--   spread PATH COUNT TASKS HOSTS...
--                         like cycles of kind "free", directly to the servers of several ensembles;
--                         a path chooses its ensemble. Answers with seconds
--   keep PATH COUNT       its sessions acquire COUNT locks, of paths below PATH, and hold them
--   collect               frees unused memory; answers with the free bytes that remain in its heap
--   connect TIMEOUT       opens a further session, with that timeout, directly to the server
--   wait PATH SECONDS     that session acquires, with that limit; answers with the seconds it took,
--                         and with granted, timeout, or an error
--   quit
--
-- A client need not know all commands (clients.lua). Times are seconds of CLOCK_BOOTTIME. A process
-- that waits for a command may not attend to its sessions, so the other processes are told to serve
-- before session 0 releases.

local core = require "zklock.core"
local process_figures = require "bench.process"
local rig = require "spec.rig"

local PATIENCE = 120 -- seconds

local crowd = {}

local Crowd = {}
Crowd.__index = Crowd


--- Starts `count` processes of a client (clients.lua) by the command `program`. nodes(path) counts
-- the ephemeral nodes below a path. await() waits for the processes' start.
function crowd.start(client, program, count, nodes)
    local self = setmetatable({ client = client, name = client.name, processes = {}, sessions = 0,
                                nodes = not client.tells and nodes or nil }, Crowd)
    -- setsid keeps Ctrl-C from the processes, which end with the benchmark.
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


-- Sends all processes a command; returns their answers.
local function tell_all(self, ...)
    local answers = {}
    for _, process in ipairs(self.processes) do process:tell(...) end
    for i, process in ipairs(self.processes) do answers[i] = process:answer() end
    return answers
end


-- The process that owns a session, and the session's number there. The processes get sessions in
-- turn.
local function process_of_session(self, session)
    local count = #self.processes
    return self.processes[(session - 1) % count + 1], math.ceil(session / count)
end


function Crowd:open(sessions)
    self.sessions = sessions
    tell_all(self, "open %d", math.ceil(sessions / #self.processes))
end


--- Sets the lock and the number of sessions that contend for it; session 0 of the first process
-- acquires it.
function Crowd:prepare_line(kind, sessions, laps)
    self:open(sessions)
    kind = self.client.kinds[kind] or kind
    self.path = ("/bench-%s/%s"):format(self.name, kind)
    tell_all(self, "line %s %s %d", kind, self.path, laps)
    self.processes[1]:command("hold")
end


-- Calls join(). If the client does not tell, waits for `count` further nodes below the path.
local function join_and_wait(self, count, join, deadline)
    local before = self.nodes and self.nodes(self.path)
    join()
    if not before then return end
    local are_there = rig.eventually(function()
        return self.nodes(self.path) >= before + count
    end, deadline and deadline - core.now() or PATIENCE)
    if not (are_there or deadline) then error(self.name .. ": not all are in line", 0) end
end


--- Lets that many waiters of each session join the line. The sessions take turns, so that a
-- waiter's predecessor belongs to another process.
function Crowd:join(waiters)
    for i = 0, waiters * self.sessions - 1 do
        local process, number = process_of_session(self, i % self.sessions + 1)
        join_and_wait(self, 1, function() process:command("join %d 1 0", number) end)
    end
end


--- Lets `count` waiters of all processes come at once, and give up at the deadline, if there is
-- one. Returns the seconds until all are in line.
function Crowd:throng(count, deadline)
    local processes, begin = self.processes, core.now()
    join_and_wait(self, count, function()
        for i, process in ipairs(processes) do
            local share = math.floor(count / #processes) + (i <= count % #processes and 1 or 0)
            process:tell("join 1 %d %.6f", share, deadline or 0)
        end
        for _, process in ipairs(processes) do process:answer() end
    end, deadline)
    return core.now() - begin
end


-- Waits for the answers to "serve". Returns the latest time, and the sums { served, timeouts,
-- others }.
local function await_ends(self)
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


--- Session 0 releases. Returns the seconds until all have been served, and { served, timeouts,
-- others }.
function Crowd:serve()
    local first = self.processes[1]
    for i = 2, #self.processes do self.processes[i]:tell("serve") end
    local begin = core.now()
    first:command("release")
    first:tell("serve")
    local last, tally = await_ends(self)
    return last - begin, tally
end


--- Waits until all have given up, then releases. Returns the time when the last waiter gave up, and
-- { served, timeouts, others }.
function Crowd:await_giving_up()
    for _, process in ipairs(self.processes) do process:tell("serve") end
    local last, tally = await_ends(self)
    self.processes[1]:command("release")
    return last, tally
end


--- Bytes that its processes use.
function Crowd:memory()
    local sum = 0
    for i, free_bytes in ipairs(tell_all(self, "collect")) do
        sum = sum + process_figures.resident(self.pids[i]) - tonumber(free_bytes)
    end
    return sum
end


--- Runs cycles in the first process (see above). Returns seconds, and its processor seconds.
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
