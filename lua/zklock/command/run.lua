--- The verb run runs a command while it holds a lock. docs/command.md has its promises.

local columns = require "zklock.command.columns"
local connect = require "zklock.command.connect"
local core = require "zklock.core"
local jobs = require "zklock.command.job"
local sorted_names = require "zklock.value.sorted_names"
local status = require "zklock.command.status"
local tree = require "zklock.command.tree"

local max, pairs, tonumber = math.max, pairs, tonumber
local now = core.now

local SLOW = 2 -- seconds for the minder to obey

local signals = { KILL = 9 } -- for --suspect
for name, number in pairs(core.signals) do signals[name] = number end

local run = {
    summary = "Run a command while holding a lock.",
    description = "Waits for the lock at PATH, runs the command, gives the lock up. The command "
        .. "has ZKLOCK_TOKEN, ZKLOCK_PATH and ZKLOCK_SESSION in its environment. Options end at "
        .. "PATH. " .. jobs.statuses_text("the lock",
        " 76 it was lost while the command ran;"),
    example = "zklock run -n /locks/nightly ./backup.sh --full",
    tail = "path",
    valued = {
        ["-w"] = true, ["--wait"] = true, ["--permits"] = true, ["-E"] = true,
        ["--conflict-exit-code"] = true, ["--grace"] = true, ["-c"] = true, ["--command"] = true,
        ["--suspect"] = true,
    },
}


-- --- the command line ---------------------------------------------------------------

local function parse_exit_status(text)
    local number = tonumber(text)
    if number and number >= 0 and number <= 255 and number % 1 == 0 then return number end
    return nil, text .. " is no exit status, 0 to 255"
end


local function parse_permits(text)
    local wanted, limit = text:match("^(%d+)/(%d+)$")
    wanted, limit = tonumber(wanted), tonumber(limit)
    if wanted and wanted >= 1 and wanted <= limit and limit < 2 ^ 31 then
        return { wanted, limit }
    end
    return nil, text .. " is not K/N, such as 1/3: one of three"
end


local function parse_signal(text)
    local name = text:upper():gsub("^SIG", "")
    if signals[name] then return name end
    return nil, ("%s is none of the signals %s"):format(text,
        table.concat(sorted_names(signals), ", "))
end


function run.describe_command(parser)
    parser:option("--suspect", "Signal to send to the command, such as TERM, when the lease is "
        .. "suspect, because others may soon get the lock."):argname "SIGNAL":convert(parse_signal)
    jobs.describe(parser, "the lock is lost", { { "PATH", "The lock's path." } })
end


function run.describe_lock(parser)
    parser:mutex(
        parser:option("-w --wait", "Give up after so many seconds in all; by default it waits for "
            .. "ever, for a server, too."):argname "SECONDS":convert(connect.parse_seconds),
        parser:flag("-n --nonblock --nb", "Give up at once if the lock is taken, and after 5 s "
            .. "without an answer."))
    parser:mutex(
        parser:flag("-s --shared", "As a reader, together with other readers."),
        parser:flag("-x -e --exclusive", "As a writer, alone. Default: a mutex, which also blocks "
            .. "readers and writers."),
        parser:option("--permits", "K of the N permits of a semaphore."):argname "K/N"
            :convert(parse_permits))
    parser:option("-E --conflict-exit-code", "Exit status if the lock is taken; by default 75.")
        :argname "STATUS":convert(parse_exit_status)
    parser:flag("-q --quiet", "Do not say on stderr who holds the lock.")
end


function run.describe(parser)
    run.describe_lock(parser)
    run.describe_command(parser)
end


local function lock_of(session, given)
    local path = given.path
    if given.elects then return session:mutex(path, { data = given.data }) end
    if given.shared then return session:rwlock(path):read() end
    if given.exclusive then return session:rwlock(path):write() end
    if given.permits then return session:semaphore(path, given.permits[2]) end
    return session:mutex(path)
end


-- --- the command while the lock is held -----------------------------------------------

-- A hold lasts from a grant until the command and its children have ended.
---@class zklock.command.Hold: zklock.command.Keeper
---@field job zklock.command.Job
---@field lease zklock.Lease
---@field told_state string? of the lease
---@field sure_until number time before which the lease cannot be lost
---@field lost boolean? the command is being ended, because the lease is lost
---@field warned boolean? the lease is suspect, and the command got the signal of --suspect, if any
---@field told_to_end boolean? a signal to end this process came while the command was being ended
---@field kill_at number? when this process kills the command, if the minder has not
local Hold = {}
Hold.__index = Hold

-- The command decides what a signal does, unless it is being ended.
function Hold:signal(number)
    self.told_to_end = self.told_to_end or self.lost and jobs.ENDS[number]
    self.job.child:signal(number)
end


function Hold:late()
    if self.lost then return end
    self.lost = true
    self.job:say("this process stood still for too long to know that %s is held; the command "
        .. "must end", self.job.given.path)
end


local MESSAGES = {
    suspect = "%s: the lease is suspect; unless a server confirms it, it may be lost in %.0f s",
    held = "%s: the lease is certain again",
    lost = "%s: the lease is lost; the command must end",
}


function Hold:tell(state)
    self.job:say(MESSAGES[state], self.job.path, max(self.sure_until - now(), 0))
end


-- Moves the limits at which the minder ends the command by itself, if this process is stopped or
-- gone. A lease is lost half a session timeout after its certain time, or later.
function Hold:look()
    local lease, child, timeout = self.lease, self.job.child, self.job.session:timeout()
    local state = lease:state()
    if state ~= self.told_state and not self.lost then
        if self.told_state then self:tell(state) end
        self.lost = state == "lost"
        self.told_state = state
    end
    if self.lost then
        if self.kill_at then return end
        local grace = self.job.grace
        self.kill_at = now() + grace + SLOW
        child:limit(0, grace)
    elseif state == "held" then
        local sure_for = lease:remaining() + timeout / 2
        self.sure_until = now() + sure_for
        child:limit(sure_for - timeout / 4, sure_for)
    else
        local sure_for = self.sure_until - now()
        local limit = max(sure_for, timeout / 8) -- this process looks again before that
        child:limit(limit, limit, sure_for)
    end
end


-- After a stop of this process the lease is suspect for a while, but the server can be asked.
function Hold:may_resume()
    if self.lost then return false end
    return self.told_state == "held" or self.lease:check(self.job.session:timeout() / 16)
end


function Hold:warn()
    local name, suspect = self.job.given.suspect, self.told_state == "suspect" and not self.lost
    if name and suspect and not self.warned then
        self.job:say("%s: the command gets SIG%s", self.job.path, name)
        self.job:signal(signals[name])
    end
    self.warned = suspect
end


function Hold:step()
    self.job:step(self.job.session:timeout() / 16)
    self:warn()
    if self.job.over or not self.kill_at or now() < self.kill_at then return end
    if not self.job.child:kill() then self.kill_at = now() + SLOW end
end


function Hold:was_lost()
    if self.lost or self.lease:state() == "lost" then return true end
    return self.lease:state() == "suspect" and not self.lease:check()
end


function Hold:supervise()
    local job = self.job
    self:look()
    job:launch(self, self.lease:token_string(), job.session:timeout() / 2)
    repeat self:step() until job.over
    return self:was_lost() and status.LOST or job.status
end


-- --- a run --------------------------------------------------------------------------

-- ZooKeeper knows the age of the holder's node, not of its hold.
local function tell_holder(job, lock)
    local queue = lock:queue()
    local first, name = tree.holder(queue or {})
    if not first or first.mine then return end
    job:say("%s: held by %s%s, for %s at most; zklock waits", job.path, name,
        first.token and (" (token %d)"):format(first.token) or "", columns.age(first.since) or "?")
end


--- Waits for the lock, also after an expiry, because the session is opened anew.
---@param job zklock.command.Job
---@return zklock.Lease
function run.acquire(job)
    local given, lock = job.given, lock_of(job.session, job.given)
    if not given.quiet then job:explain_later(function() tell_holder(job, lock) end) end
    local opts = {
        permits = given.permits and given.permits[1],
        on_queued = function() job.taken = true end,
    }
    while true do
        opts.timeout = job.tries and 0 or given.wait and connect.seconds_left(job.deadline)
        local lease, message, code = lock:acquire(opts)
        if lease then return lease end
        if code ~= "expired" then job:fail_wait(message, code) end
    end
end


-- After a loss, a leader contends again from the end of the line. False if it does not.
local function prepare_next_lead(job, hold)
    if not job.given.elects or not hold.lost or hold.told_to_end or job.gone then return false end
    hold.lease:release()
    job.keeper = nil
    job:say("%s: it queues again", job.given.path)
    return true
end


local function carry_out(job)
    local hold, result
    repeat
        local lease = run.acquire(job)
        hold = setmetatable({ job = job, lease = lease, sure_until = now() }, Hold)
        result = hold:supervise()
    until not prepare_next_lead(job, hold)
    return result
end


function run.run(given, _, err)
    return jobs.run(given, err, connect.path(given.path), carry_out)
end


return run
