--- The verb hold leaves a process that holds a lock. docs/command.md has its promises.

local background = require "zklock.child"
local connect = require "zklock.command.connect"
local core = require "zklock.core"
local handle = require "zklock.command.handle"
local jobs = require "zklock.command.job"
local refusal = require "zklock.command.refusal"
local run = require "zklock.command.run"
local status = require "zklock.command.status"
local zklock = require "zklock"

local huge, max, min = math.huge, math.max, math.min
local pcall, tonumber, tostring = pcall, tonumber, tostring
local now = core.now

local ANSWER = 5 -- seconds for a server's answer
local LOOK = 1 -- seconds between looks at the folder of the socket

local hold = {
    summary = "Hold a lock in the background.",
    description = "Waits for the lock at PATH, leaves a process in the background that holds it, "
        .. "and prints the handle by which zklock check asks it, and zklock release ends it, on "
        .. "this machine. Exit status: 0 it is held; 64 usage; 69 no server answers, or says "
        .. "whether the lock is taken; 70 another failure; 75 the lock is taken; 77 the server "
        .. "refuses; 78 argparse is not installed.",
    example = "handle=$(zklock hold /locks/deploy --for 2h)",
}


-- --- the command line ---------------------------------------------------------------

local UNITS = { [""] = 1, s = 1, m = 60, min = 60, h = 3600, d = 86400 }

local function parse_duration(text)
    local number, unit = text:match "^([%d.]+)(%l*)$"
    local seconds = (tonumber(number) or 0) * (UNITS[unit] or 0)
    if seconds > 0 and seconds < huge then return seconds end
    return nil, text .. " is no duration, such as 90s, 30m, 2h or 1d"
end


function hold.describe(parser)
    parser:argument("PATH", "The lock's path."):argname "PATH":target "path"
    parser:option("--for", "The lock is given up after so long: 90s, 30m, 2h, 1d."):argname "TIME"
        :target "seconds":count(1):convert(parse_duration)
    parser:option("--token-file", "The file that gets the fencing token."):argname "FILE"
    run.describe_lock(parser)
end


-- --- the process in the background ----------------------------------------------------

---@class zklock.command.Holder: zklock.command.Keeper
---@field job zklock.command.Job
---@field lease zklock.Lease
---@field ends_at number
---@field is_confirmed boolean? the handle was printed
---@field asked "check" | "release" | nil the request of a client that waits
---@field is_over boolean?
local Holder = {}
Holder.__index = Holder

function Holder:confirmed() self.is_confirmed = true end

-- The parent ended before it printed the handle, without which nobody could release the lock.
function Holder:signal() self.is_over = self.is_over or not self.is_confirmed end

-- Nobody could release the lock any more.
function Holder:unreachable() self.is_over = true end

function Holder:check() self.asked = "check" end

function Holder:release() self.asked = "release" end

function Holder.may_resume() return true end


-- A signal gives the lock up before it ends this process.
local GIVEN_UP = { released = true, closed = true }

-- The state of the lock, as handle.lua reads it.
function Holder:verdict()
    local held, message, code = self.lease:check(ANSWER)
    if held then return "held" end
    if GIVEN_UP[code] then return "lost " .. self.job.path .. ": a signal has ended the hold" end
    return ("%s %s"):format(code == "lost" and code or "unknown", message)
end


function Holder:look()
    local asked = self.asked
    if not asked then return end
    local verdict, child = self:verdict(), self.job.child
    self.asked = nil
    if asked == "release" then
        self.lease:release{ wait = ANSWER }
        self.is_over = true
        child:stop()
    end
    child:answer(verdict)
end


-- Holds the lock, or reports its loss, until the time is over or a client releases it.
function Holder:keep()
    while not self.is_over and now() < self.ends_at do
        self.job:step(max(min(self.ends_at - now(), LOOK), 0))
    end
end


-- Empties the file before the wait, so that no token of an earlier grant stays in it.
local function open_token_file(path)
    if not path then return end
    local file, reason = io.open(path, "w")
    if not file then refusal.raise(status.SOFTWARE, "--token-file %s", reason) end
    return file
end


local function write_token(file, lease)
    if not file then return end
    local ok, reason = file:write(lease:token_string(), "\n")
    if ok then ok, reason = file:close() end
    if not ok then refusal.raise(status.SOFTWARE, "--token-file: %s", reason) end
end


-- Returns the folder of the socket at which clients ask. The handle has its path, because clients
-- may have another TMPDIR.
local function listen(child)
    local top = os.getenv "TMPDIR"
    local own = top and top:find "^/" and child:listen(top)
    if own then return own end
    local folder, reason = child:listen "/tmp"
    if not folder then refusal.raise(status.SOFTWARE, "/tmp: %s", reason) end
    return folder
end


local function carry_out(job)
    local given, child = job.given, job.child
    local file = open_token_file(given.token_file)
    local holder = setmetatable({ job = job, lease = run.acquire(job) }, Holder)
    job.keeper, holder.ends_at = holder, now() + given.seconds
    local folder = listen(child)
    write_token(file, holder.lease)
    child:leave()
    child:tell(handle.of(folder))
    holder:keep()
    child:stop()
    return status.OK
end


-- --- the process in the foreground ----------------------------------------------------

-- Until the process in the background is told "printed", it gives the lock up at a signal.
local function report(process, out)
    local text, exit_status, is_killed = process:outcome()
    if not text then
        if is_killed then
            refusal.raise(exit_status, "the process that was to hold the lock was killed")
        end
        return exit_status
    end
    local ok, problem = pcall(function() out:write(text, "\n"):flush() end)
    if not ok then
        refusal.raise(status.SOFTWARE, "the handle cannot be printed, and the lock is given up: %s",
            tostring(problem))
    end
    process:tell "printed"
    return status.OK
end


function hold.run(given, out, err)
    local path = connect.path(given.path)
    connect.hosts(given)
    local process, in_background = background.fork() -- before the session has threads
    if not process then
        refusal.raise(status.SOFTWARE, "no process can be started: %s", in_background)
    end
    if not in_background then return report(process, out) end
    zklock.close_on_signal "TERM"
    return jobs.attend(given, err, path, process, carry_out)
end


return hold
