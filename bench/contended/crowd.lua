--- A crowd: processes of one client, whose sessions contend for one lock.
--
-- Each process is a program that greets with "ready VERSION" (of its client), obeys commands, one
-- a line, and answers "ok …" or "error: …":
--
--   open COUNT            it has so many sessions from now on, and one more for the first holder
--   line KIND PATH LAPS   the lock: mutex, turns, write (of a read-write lock), semaphore (of one
--                         permit); each waiter will be served LAPS times, and come back between
--   hold                  the session for the first holder acquires it
--   join SESSION          one waiter more; answers when it is in line
--   crowd COUNT DEADLINE  so many waiters more that give up then; answers when all are in line,
--                         or should have given up
--   throng COUNT ALL DEADLINE
--                         so many waiters more, all at once: each is served once, or (DEADLINE not
--                         0) gives up then; answers when all are in line, have their watches, or
--                         have ended. ALL: of all processes
--   tally                 how many of these were served, had a timeout, had another answer
--   release               the first holder lets go
--   serve                 answers when its waiters have been served, or have given up, with the
--                         time at which the last had
--
-- For bench/peers.lua it also obeys these, or answers "error: …" where its client cannot:
--
--   cycles WHERE KIND PATH COUNT TASKS
--                         COUNT cycles, or TASKS times as many at the same time, then each task on
--                         a path of its own below PATH; to the server through the proxy or directly
--                         (WHERE: proxy, server). Answers with seconds, and with processor seconds
--                         of the process. KIND: free (acquire and release), kept (of a lock that
--                         stays), try (of one that another session has), reentry (by the holder),
--                         read (while another session reads); and of one lock that all tasks want,
--                         turns (acquire and release) and combined (an item)
--   spread PATH COUNT TASKS HOSTS...
--                         as cycles of kind "free", directly to the servers of several ensembles,
--                         of which each path chooses one; answers with seconds
--   keep PATH COUNT       its sessions take so many locks more, of paths below PATH, and keep them
--   memory                answers with the bytes that it occupies
--   connect TIMEOUT       a session more, with that timeout, directly to the server
--   wait PATH SECONDS     it acquires with that limit; answers with the seconds until it knew, and
--                         what: granted, timeout, or an error
--
--   quit
--
-- Times are seconds of CLOCK_BOOTTIME. A process that waits for a command may be deaf to its
-- sessions: the others are told to serve before the first holder lets go.

local core = require "zklock.core"
local rig = require "spec.rig"

local crowd = {}

local Crowd = {}
Crowd.__index = Crowd


--- Starts a crowd of so many processes of a client (clients.lua); await() waits for their start,
-- after which self.version is that of the client.
function crowd.start(client, program, count)
    local self = setmetatable({ client = client, name = client.name, processes = {}, sessions = 0 },
                              Crowd)
    -- In a session of their own: Ctrl-C is for the benchmark, and they end with it.
    for i = 1, count do self.processes[i] = rig.servant("setsid " .. program) end
    return self
end


function Crowd:await()
    for _, process in ipairs(self.processes) do
        self.version = process:greet():match("^ready (.+)")
    end
end


local function tell_all(self, ...)
    for _, process in ipairs(self.processes) do process:tell(...) end
    for _, process in ipairs(self.processes) do process:answer() end
end


-- The process of a session, and its number there: sessions are dealt out like cards.
local function place_of(self, session)
    local count = #self.processes
    return self.processes[(session - 1) % count + 1], math.ceil(session / count)
end


--- The lock, and how many sessions contend for it. The first holder, a session more, has it.
function Crowd:line(kind, sessions, laps)
    self.sessions = sessions
    tell_all(self, "open %d", math.ceil(sessions / #self.processes))
    tell_all(self, "line %s /bench-%s/%s %d", kind, self.name, kind, laps)
    self.processes[1]:command("hold")
end


--- So many waiters of each session join the line: one of each, in turn, then the next of each.
-- Who is ahead of a waiter in line is of another process, then.
function Crowd:join(waiters)
    for _ = 1, waiters do
        for session = 1, self.sessions do
            local process, number = place_of(self, session)
            process:command("join %d", number)
        end
    end
end


--- So many waiters that give up at a time.
function Crowd:join_until(deadline, count)
    local processes = math.min(#self.processes, self.sessions)
    for i = 1, processes do
        local share = math.floor(count / processes) + (i <= count % processes and 1 or 0)
        self.processes[i]:command("crowd %d %.6f", share, deadline)
    end
end


--- So many waiters of all processes, all at once: the processes do not wait for one another. Gives
-- the seconds until all are in line. `deadline`: when they give up; nil: each is served once.
function Crowd:throng(count, deadline)
    local processes, begin = self.processes, core.now()
    for i, process in ipairs(processes) do
        local share = math.floor(count / #processes) + (i <= count % #processes and 1 or 0)
        process:tell("throng %d %d %.6f", share, count, deadline or 0)
    end
    for _, process in ipairs(processes) do process:answer() end
    return core.now() - begin
end


--- What came of them: { served, timeouts, others }.
function Crowd:tally()
    local sums = { 0, 0, 0 }
    for _, process in ipairs(self.processes) do
        local counts = { process:command("tally"):match("^(%d+) (%d+) (%d+)$") }
        for i = 1, #sums do sums[i] = sums[i] + tonumber(counts[i]) end
    end
    return { served = sums[1], timeouts = sums[2], others = sums[3] }
end


--- Bytes that its processes occupy.
function Crowd:memory()
    local sum = 0
    for _, process in ipairs(self.processes) do sum = sum + tonumber(process:command("memory")) end
    return sum
end


local function last_end(self)
    local last = 0
    for _, process in ipairs(self.processes) do
        last = math.max(last, tonumber(process:answer()))
    end
    return last
end


--- The first holder lets go: gives the seconds until all have been served.
function Crowd:serve()
    local first = self.processes[1]
    for i = 2, #self.processes do self.processes[i]:tell("serve") end
    local begin = core.now()
    first:tell("release")
    first:tell("serve")
    first:answer()
    return last_end(self) - begin
end


--- Waits until all have given up, then lets go: gives the time at which the last had.
function Crowd:give_up()
    for _, process in ipairs(self.processes) do process:tell("serve") end
    local last = last_end(self)
    self.processes[1]:command("release")
    return last
end


--- Cycles of the first process (see above): seconds, and its processor seconds.
function Crowd:cycles(where, kind, count, tasks)
    local own_kind = self.client.kinds and self.client.kinds[kind] or kind
    local answer = self.processes[1]:command("cycles %s %s /%s-%s-%d %d %d", where, own_kind,
                                             kind, self.name, tasks, count, tasks)
    local seconds, cpu = answer:match("^(%S+) (%S+)$")
    return tonumber(seconds), tonumber(cpu)
end


function Crowd:stop()
    for _, process in ipairs(self.processes) do process:stop() end
end


return crowd
