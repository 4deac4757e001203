--- zklock run: a command while a lock is held. docs/command.md says what it promises.

local connect = require "zklock.command.connect"
local core = require "zklock.core"
local minder = require "zklock.child"
local refusal = require "zklock.command.refusal"
local status = require "zklock.command.status"
local zklock = require "zklock"

local max, pcall, tonumber = math.max, pcall, tonumber
local now = core.now

local GRACE = 5 -- seconds between SIGTERM and SIGKILL
local SLOW = 2 -- seconds that the minder has for what it was told
local SLICE = 0.5 -- seconds of a wait in which nothing happens

local KILLED = status.SIGNAL + 9

local run = {
    summary = "Run a command while holding a lock.",
    description = "Waits for the lock at PATH, runs the command, gives the lock up. The command "
        .. "has ZKLOCK_TOKEN, ZKLOCK_PATH and ZKLOCK_SESSION in its environment. Options end at "
        .. "PATH. Exit status: the command's; 75 the lock is taken, or the wait timed out; 76 it "
        .. "was lost while the command ran; 69 no server answers; 64 usage.",
    example = "zklock run -n /locks/nightly ./backup.sh --full",
    tail = "path",
    valued = {
        ["-w"] = true, ["--wait"] = true, ["--permits"] = true, ["-E"] = true,
        ["--conflict-exit-code"] = true, ["--grace"] = true, ["-c"] = true, ["--command"] = true,
    },
}


-- --- the command line ---------------------------------------------------------------

local function exit_status(text)
    local number = tonumber(text)
    if number and number >= 0 and number <= 255 and number % 1 == 0 then return number end
    return nil, text .. " is no exit status, 0 to 255"
end


local function permits(text)
    local some, all = text:match("^(%d+)/(%d+)$")
    some, all = tonumber(some), tonumber(all)
    if some and some >= 1 and some <= all and all < 2 ^ 31 then return { some, all } end
    return nil, text .. " is not K/N, such as 1/3: one of three"
end


-- What ends the options, of elect, too.
local function describe_command(parser)
    parser:option("--grace", ("Seconds that the command has between SIGTERM and SIGKILL when "
        .. "the lock is lost; by default %g."):format(GRACE))
        :argname "SECONDS":convert(connect.seconds)
    parser:option("-c --command", "A command for the shell; it may stand behind PATH, too.")
        :argname "TEXT"
    parser:argument("PATH", "The lock's path."):argname "PATH":target "path"
    parser:argument("COMMAND", "The command."):argname "COMMAND":args "*"
end

run.describe_command = describe_command


function run.describe(parser)
    local seconds = connect.seconds
    parser:mutex(
        parser:option("-w --wait", "Give up after so many seconds."):argname "SECONDS"
            :convert(seconds),
        parser:flag("-n --nonblock --nb", "Give up at once if the lock is taken."))
    parser:mutex(
        parser:flag("-s --shared", "As a reader: with other readers."),
        parser:flag("-x -e --exclusive", "As a writer, alone. Default: a mutex, which also blocks "
            .. "readers and writers."),
        parser:option("--permits", "K of the N permits of a semaphore."):argname "K/N"
            :convert(permits))
    parser:option("-E --conflict-exit-code", "Exit status if the lock is taken, or the wait "
        .. "times out; by default 75."):argname "STATUS":convert(exit_status)
    describe_command(parser)
end


local function shell(text)
    return { os.getenv "SHELL" or "/bin/sh", "-c", text }
end


-- What is to be run: a list of words.
local function command_of(given)
    local tail, first = given.tail, given.tail[1]
    if given.command then
        if not first then return shell(given.command) end
        refusal.raise(status.USAGE, "a command twice: -c, and %s", first)
    end
    if first == "-c" or first == "--command" then
        if tail[2] and not tail[3] then return shell(tail[2]) end
        refusal.raise(status.USAGE, "%s takes one argument, a command for the shell", first)
    end
    if first == "--" then table.remove(tail, 1) end
    if tail[1] then return tail end
    refusal.raise(status.USAGE, "no command to run behind %s", given.path)
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

-- From a grant until nothing is left of the command.
---@class zklock.command.Hold
---@field run zklock.command.Run
---@field lease zklock.Lease
---@field state string? the lease's, as it was told last
---@field sure_until number the lease is not lost before
---@field lost boolean? the command is ended for it
---@field told_to_end boolean? a signal that ends this process came while the command was ended
---@field forced_at number? when what is left of the command is killed without the minder
---@field stopping boolean? the command is to stop, and then this process
---@field resuming boolean? it goes on when the lease is certain
---@field status integer? the command's
---@field over boolean? nothing is left of the command
---@field gone boolean? the minder has ended
local Hold = {}
Hold.__index = Hold

local news = {} -- kind -> function(hold, number), see src/child/child.c
Hold.news = news

local ENDS = { [1] = true, [2] = true, [3] = true, [15] = true } -- HUP, INT, QUIT, TERM

-- The command decides what becomes of it, but for one that is being ended.
function news.signal(self, number)
    self.told_to_end = self.told_to_end or self.lost and ENDS[number]
    self.run.child:signal(number)
end

function news.notice(self, number) self.run.child:signal(number) end

function news.stop(self, number)
    self.stopping = true
    self.run.child:signal(number)
end

news["continue"] = function(self) self.resuming = true end

-- The whole job stops: it goes on when somebody continues this process.
function news.stopped(self, as_job)
    if as_job == 0 and not self.stopping then return end
    self.stopping = false
    self.run.child:suspend(as_job == 1)
    self.resuming = true
end

function news.exited(self, number) self.status = number end

function news.killed(self, number) self.status = status.SIGNAL + number end

function news.over(self) self.over = true end

function news.failed()
    refusal.raise(status.SOFTWARE, "no process can be started")
end

function news.late(self)
    if self.lost then return end
    self.lost = true
    self.run:say("this process stood still for too long to know that %s is held: the command is "
        .. "ended", self.run.given.path)
end

-- The minder was killed: so was the command, but perhaps not all that it had started.
function news.gone(self)
    self.gone = true
    if self.status then return end
    self.run.child:kill()
    self.status = KILLED
    self.run:say("the process between this one and the command is gone: the command is killed")
end


local tells = {
    suspect = "%s: the lease is suspect: no server has confirmed it for a while",
    held = "%s: the lease is certain again",
    lost = "%s: the lease is lost: the command is ended",
}


-- Moves the limits at which the minder ends the command by itself: it does when this process is
-- stopped or gone. A lease is not lost before half a session timeout behind the end of what is
-- certain.
function Hold:look()
    local lease, child, timeout = self.lease, self.run.child, self.run.session:timeout()
    local state = lease:state()
    if state ~= self.state and not self.lost then
        if self.state then self.run:say(tells[state], self.run.given.path) end
        self.lost = state == "lost"
        self.state = state
    end
    if self.lost then
        if self.forced_at then return end
        local grace = self.run.given.grace or GRACE
        self.forced_at = now() + grace + SLOW
        child:limit(0, grace)
    elseif state == "held" then
        local sure = lease:remaining() + timeout / 2
        self.sure_until = now() + sure
        child:limit(sure - timeout / 4, sure)
    else
        local sure = self.sure_until - now()
        local rest = max(sure, timeout / 8) -- this process looks again before
        child:limit(rest, rest, sure)
    end
end


-- The command goes on after a stop, if the lock is still held: after one of this process the lease
-- is suspect for a while, but the server can be asked.
function Hold:resume()
    if not self.resuming or self.lost then return end
    local limit = self.run.session:timeout() / 16
    if self.state ~= "held" and not self.lease:check(limit) then return end
    self.resuming = false
    self.run.child:resume()
end


function Hold:step()
    local session, child = self.run.session, self.run.child
    child:wait(session:fd(), session:timeout() / 16)
    session:dispatch()
    self:look()
    self:resume()
    self.run:attend()
    if self.forced_at and now() >= self.forced_at then child:kill() end
end


-- Was the lock held to the end?
function Hold:was_lost()
    if self.lost or self.lease:state() == "lost" then return true end
    return self.lease:state() == "suspect" and not self.lease:check()
end


-- Runs the command; gives the exit status.
function Hold:supervise()
    local session = self.run.session
    self:look()
    self.run.child:launch(self.lease:token_string(), session:id() or "", session:timeout() / 2)
    repeat self:step() until self.status
    while self.lost and not (self.over or self.gone) do self:step() end
    return self:was_lost() and status.LOST or self.status
end


-- --- a run --------------------------------------------------------------------------

---@class zklock.command.Run
---@field given table the command line
---@field child userdata of zklock.child: the command and its minder
---@field err file*
---@field session zklock.Session?
---@field hold zklock.command.Hold? nil while it waits for the lock
local Run = {}
Run.__index = Run


function Run:say(text, ...)
    self.err:write("zklock: ", text:format(...), "\n")
    self.err:flush()
end


-- While there is no command: a signal ends the wait, and the lock is not wanted any more.
local waiting = {}

function waiting.signal(_, number) refusal.raise(status.SIGNAL + number, "") end

function waiting.stop(self) self.child:suspend(false) end

function waiting.gone()
    refusal.raise(status.SOFTWARE, "the process that was to start the command is gone")
end


function Run:attend()
    for kind, number in self.child.next, self.child do
        local hold = self.hold
        local handle = (hold and hold.news or waiting)[kind]
        if handle then handle(hold or self, number) end
    end
end


-- What the library waits by.
function Run:driver()
    return {
        wait = function(session, request)
            while not request:done() do
                self.child:wait(session:fd(), SLICE)
                session:dispatch()
                self:attend()
            end
        end,
    }
end


-- An expiry ends a wait, but not the wish: the session is opened anew.
function Run:acquire()
    local given, lock = self.given, lock_of(self.session, self.given)
    local begun = now()
    local opts = { permits = given.permits and given.permits[1], timeout = given.wait }
    if given.nonblock then opts.timeout = 0 end
    while true do
        local lease, message, code = lock:acquire(opts)
        if code ~= "expired" then return lease, message, code end
        if given.wait then opts.timeout = max(begun + given.wait - now(), 0) end
    end
end


-- What a failed acquire ends with. A lock that is taken is told by the status alone, as flock does.
-- A try that learned nothing does not say that it is; a wait does, unless it ends without a server.
function Run:refused(message, code)
    if code ~= "busy" and code ~= "timeout" then connect.fail(message, code) end
    local tried = self.given.nonblock or self.given.wait == 0
    local unknown = code == "timeout" and (tried or self.session:state() ~= "connected")
    if unknown then refusal.raise(status.UNAVAILABLE, "%s", message) end
    refusal.raise(self.given.conflict_exit_code or status.TIMEOUT, "")
end


-- A leader whose command was ended for a loss contends anew, at the end of the line: of what it may
-- still have it gives up its place.
function Run:is_to_contend_again()
    local hold = self.hold
    if not self.given.elects or not hold.lost or hold.told_to_end or hold.gone then return false end
    hold.lease:release()
    self.hold = nil
    self:say("%s: it contends again", self.given.path)
    return true
end


-- Gives the exit status.
function Run:carry_out()
    local result
    self.session = connect.open(self.given)
    repeat
        local lease, message, code = self:acquire()
        if not lease then self:refused(message, code) end
        self.hold = setmetatable({ run = self, lease = lease, sure_until = now() }, Hold)
        result = self.hold:supervise()
    until not self:is_to_contend_again()
    return result
end


function run.run(given, _, err)
    connect.path(given.path)
    connect.hosts(given)
    local words = command_of(given)
    local child, reason = minder.start(words, given.path) -- before the session has threads
    if not child then refusal.raise(status.SOFTWARE, "no process can be started: %s", reason) end
    local self = setmetatable({ given = given, child = child, err = err }, Run)
    zklock.driver(self:driver())
    local ok, result = pcall(self.carry_out, self)
    if self.session then self.session:close() end
    if not ok then error(result, 0) end
    return result
end


return run
