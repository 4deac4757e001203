--- A crowd is several processes of one client, with sessions that contend for one lock.
--
-- Each process is a program that obeys the commands in spec/neighbours/neighbour.lua (zklock.lua,
-- bench/bare.c, and the programs of the neighbours). Session 0 of the first process is the first
-- holder's. A process that waits for a command may not attend to its sessions, so the other
-- processes are told to finish before session 0 releases.

local core = require "zklock.core"
local process_figures = require "bench.process"
local rig = require "spec.rig"

local PATIENCE = 120 -- seconds
local TIMEOUT = 30 -- seconds, of the sessions
local PAST = 1 -- a deadline that makes tries of the acquires

local crowd = {}

local Crowd = {}
Crowd.__index = Crowd


--- Starts `count` processes of a client (clients.lua) by the command `program`. Options: nodes, a
-- function that counts the ephemeral nodes below a path; batch, grants of a turn; hosts, by the
-- words "server" and "proxy".
function crowd.start(client, program, count, options)
    local self = setmetatable({ client = client, name = client.name, hosts = options.hosts,
                                nodes = not client.tells and options.nodes or nil,
                                batch = options.batch, processes = {}, opened = {}, pids = {} },
                              Crowd)
    -- setsid keeps Ctrl-C from the processes, which end with the benchmark.
    for i = 1, count do self.processes[i] = rig.servant("setsid " .. program) end
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


-- Opens a session of each process, unless it has a session of that name.
local function connect(self, name, where)
    if self.opened[name] then return end
    tell_all(self, "connect %s %s %d", name, self.hosts[where], TIMEOUT)
    self.opened[name] = true
end


--- Opens sessions until each process has its share, besides session 0.
function Crowd:open(sessions)
    self.sessions = sessions
    for number = 0, math.ceil(sessions / #self.processes) do connect(self, number, "proxy") end
end


--- The client's name for a kind.
function Crowd:kind_of(kind)
    local own = self.client.kinds[kind] or self.client.kind or kind
    return own == "batches" and ("batches:%s"):format(self.batch or "") or own
end


--- Session 0 of the first process acquires the lock. `kind` is the client's name.
function Crowd:hold(kind, path)
    local process = self.processes[1]
    process:command("take 0 %s %s - -", kind, path)
    rig.wait_for("the first holder", function()
        return process:command("state 0"):match("^held")
    end, PATIENCE)
end


--- Sets the lock, the number of sessions that contend for it, and the laps of each waiter; session
-- 0 acquires the lock. Turns are batches here.
function Crowd:prepare_line(kind, sessions, laps)
    self:open(sessions)
    self.kind, self.laps = self:kind_of(kind == "turns" and "batches" or kind), laps
    self.path = ("/bench-%s/%s"):format(self.name, kind)
    self:hold(self.kind, self.path)
end


-- Lets `count` waiters join in that session. The processes get sessions in turn, so that the next
-- session belongs to another process. Returns the process.
local function tell_start(self, session, count, deadline)
    local processes = self.processes
    local process = processes[(session - 1) % #processes + 1]
    process:tell("start %d %s %s %d %d %.6f", math.ceil(session / #processes), self.kind,
                 self.path, self.laps, count, deadline or 0)
    return process
end


-- Calls join(), and waits until `count` more waiters are in line: until the client tells, or there
-- are as many further nodes below the path.
local function join_and_wait(self, count, join, deadline)
    local before = self.nodes and self.nodes(self.path)
    join()
    if not before then return tell_all(self, "queue") end
    local are_there = rig.eventually(function()
        return self.nodes(self.path) >= before + count
    end, deadline and deadline - core.now() or PATIENCE)
    if not (are_there or deadline) then error(self.name .. ": not all are in line", 0) end
end


--- Lets that many waiters of each session join the line, one after the other. The sessions take
-- turns, so that a waiter's predecessor belongs to another process.
function Crowd:join(waiters)
    for i = 0, waiters * self.sessions - 1 do
        join_and_wait(self, 1, function() tell_start(self, i % self.sessions + 1, 1):answer() end)
    end
end


--- Lets `count` waiters of all sessions come at once, and give up at the deadline, if there is one.
-- Returns the seconds until all are in line.
function Crowd:throng(count, deadline)
    local sessions, begin, started = self.sessions, core.now(), {}
    join_and_wait(self, count, function()
        for i = 1, sessions do
            local share = math.floor(count / sessions) + (i <= count % sessions and 1 or 0)
            started[i] = tell_start(self, i, share, deadline)
        end
        for _, process in ipairs(started) do process:answer() end
    end, deadline)
    return core.now() - begin
end


--- The answer of a process to "finish".
function crowd.figures(process)
    local seconds, last, cpu, grants, timeouts, problem =
        process:answer():match("^(%S+) (%S+) (%S+) (%d+) (%d+) ?(.*)$")
    return { seconds = tonumber(seconds), last = tonumber(last), cpu = tonumber(cpu),
             grants = tonumber(grants), timeouts = tonumber(timeouts), problem = problem }
end


-- Waits for the answers of all. Returns the latest time, and the sums { grants, timeouts }.
local function await_ends(self)
    local last, grants, timeouts = 0, 0, 0
    for _, process in ipairs(self.processes) do
        local figures = crowd.figures(process)
        last = math.max(last, figures.last)
        grants, timeouts = grants + figures.grants, timeouts + figures.timeouts
    end
    return last, { grants = grants, timeouts = timeouts }
end


--- Session 0 releases. Returns the seconds until all have been served, and { grants, timeouts }.
function Crowd:serve()
    local first = self.processes[1]
    for i = 2, #self.processes do self.processes[i]:tell("finish") end
    local begin = core.now()
    first:command("release 0")
    first:tell("finish")
    local last, tally = await_ends(self)
    return last - begin, tally
end


--- Waits until all have given up, then releases. Returns the time when the last waiter gave up, and
-- { grants, timeouts }.
function Crowd:await_giving_up()
    for _, process in ipairs(self.processes) do process:tell("finish") end
    local last, tally = await_ends(self)
    self.processes[1]:command("release 0")
    return last, tally
end


--- Acquires `count` locks or a few more, as many in each session, and holds them; returns their
-- number. The processes acquire at the same time.
function Crowd:keep(path, count)
    local processes, share = self.processes, math.ceil(count / self.sessions)
    for number = 1, math.ceil(self.sessions / #processes) do
        for i, process in ipairs(processes) do
            process:tell("keep %d %s-%d-%d %d", number, path, i, number, share)
        end
        for _, process in ipairs(processes) do process:answer() end
    end
    return share * self.sessions
end


--- Bytes that its processes use.
function Crowd:memory()
    local sum = 0
    for i, free_bytes in ipairs(tell_all(self, "collect")) do
        sum = sum + process_figures.resident(self.pids[i]) - tonumber(free_bytes)
    end
    return sum
end


--- Runs `count` cycles of each task in the first process, to the server through the proxy, or
-- directly (`where`). A row has
--
--   kind     of lock
--   tries    true if another session holds the lock, and each cycle is a try in vain
--   is_one   true if all tasks want the same lock; else they have paths of their own below `path`
--
-- Returns seconds, and processor seconds of the process.
function Crowd:cycles(where, row, path, count, tasks)
    local process, own_kind = self.processes[1], self:kind_of(row.kind)
    local is_held = row.tries or row.kind == "read"
    connect(self, where, where)
    if is_held then
        connect(self, 0, "proxy")
        self:hold(own_kind, path)
    end
    if tasks > 1 and not row.is_one then path = path .. "/#" end
    process:tell("start %s %s %s %d %d %d\nfinish", where, own_kind, path, count, tasks,
                 row.tries and PAST or 0)
    process:answer()
    local figures = crowd.figures(process)
    if is_held then process:command("release 0") end
    if (row.tries and figures.timeouts or figures.grants) < count * tasks then
        error(("%s: %s %s"):format(self.name, row.kind, figures.problem), 0)
    end
    return figures.seconds, figures.cpu
end


function Crowd:stop()
    for _, process in ipairs(self.processes) do process:stop() end
end


return crowd
