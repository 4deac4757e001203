--- A job runs a command behind a small process, its minder, and passes signals of this process on
-- to the command. It works for a keeper, which is a hold of a lock or a membership in a folder.

local connect = require "zklock.command.connect"
local core = require "zklock.core"
local minder = require "zklock.child"
local printable = require "zklock.command.printable"
local refusal = require "zklock.command.refusal"
local status = require "zklock.command.status"
local variable = require "zklock.system.variable"
local zklock = require "zklock"

local huge, ipairs, max, min, pcall = math.huge, ipairs, math.max, math.min, pcall
local now = core.now

local GRACE = 5 -- seconds between SIGTERM and SIGKILL
local PATIENCE = 5 -- seconds of a wait until stderr tells of it
local SLICE = 0.5 -- seconds of a wait without news

local KILLED = status.SIGNAL + 9

-- look() is called repeatedly, may_resume() after the command was suspended. A keeper's function
-- for a kind of news replaces the job's function; late() is called when the minder sends SIGTERM at
-- a limit.
---@class zklock.command.Keeper
---@field look fun(self)
---@field may_resume fun(self): boolean?
---@field signal? fun(self, number: integer)
---@field late? fun(self)

---@class zklock.command.Job
---@field given table the command line
---@field path string of the node or the lock
---@field tries boolean? does not wait
---@field deadline number of the wait for a server and the lock or name
---@field taken boolean? a server said that the lock or name is taken
---@field explain fun()? says why the job waits, if the wait lasts
---@field waits_since number? start of the wait for a lock or name that is taken
---@field silent_since number? start of the time without a server, before there is a command
---@field silence_told boolean? stderr was told of that time
---@field grace number seconds
---@field err file*
---@field child userdata of zklock.child; the command and its minder, or a process in the background
---@field session zklock.Session?
---@field keeper zklock.command.Keeper? nil while there is no command
---@field stopping boolean? SIGTSTP came, so this process is suspended after the command is
---@field resuming boolean? the command goes on when the keeper permits
---@field ending boolean? or at once, because it got a signal to end
---@field status integer? the command's exit status
---@field killed_by integer? the signal that killed the command
---@field typed boolean? it may have been typed, and only the command has got it
---@field got table<integer, true> signals that this process got while there is a command
---@field over boolean? the command and its children have ended
---@field gone boolean? the minder has ended
local Job = {}
Job.__index = Job

local _M = {
    ENDS = { [1] = true, [2] = true, [3] = true, [15] = true }, -- HUP, INT, QUIT, TERM
}


-- --- the command line ---------------------------------------------------------------

---@param what string "the lock"
---@param more string? about the exit status 76
function _M.statuses_text(what, more)
    return ("Exit status: the command's, 128 + n if signal n ended it; 64 usage; 69 no server "
        .. "answers, or says whether %s is taken; 70 another failure; 75 %s is taken;%s 77 the "
        .. "server refuses; 78 argparse is not installed; 126, 127 as of a shell."):format(what,
        what, more or "")
end


--- Declares the last options of a verb, and the arguments { name, text } before the command.
---@param when string the case in which the minder ends the command
---@param arguments string[][]
function _M.describe(parser, when, arguments)
    parser:option("--grace", ("Seconds that the command has between SIGTERM and SIGKILL when "
        .. "%s, and that children of a command have when a signal ended it; by default %g.")
        :format(when, GRACE))
        :argname "SECONDS":convert(connect.parse_seconds)
    parser:option("-c --command", "A command for the shell; it may stand behind PATH, too.")
        :argname "TEXT"
    for _, each in ipairs(arguments) do
        local name, text = each[1], each[2]
        parser:argument(name, text):argname(name):target(name:lower())
    end
    parser:argument("COMMAND", "The command."):argname "COMMAND":args "*"
end


local function shell(text)
    return { variable "SHELL" or "/bin/sh", "-c", text }
end


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
    refusal.raise(status.USAGE, "no command to run behind %s", given.name or given.path)
end


-- --- news, see src/child/child.c ------------------------------------------------------

local function end_command(self, number)
    self.status = number
    self.session:interrupt()
end


local news = {} -- kind -> function(job, number)

-- The command decides what a signal does.
function news.signal(self, number) self.child:signal(number) end

news.notice = news.signal

function news.stop(self, number)
    self.stopping, self.resuming = true, false
    self.child:signal(number)
end

news["continue"] = function(self) self.stopping, self.resuming = false, true end

-- Suspends this process, or by the signal its whole process group. The command goes on when this
-- process is continued.
function news.stopped(self, signal)
    if signal == 0 and not self.stopping then return end
    self.stopping = false
    self.child:suspend(signal)
    self.resuming = true
end

function news.exited(self, number) end_command(self, number) end

function news.killed(self, number)
    self.killed_by = number
    end_command(self, status.SIGNAL + number)
end

function news.typed(self, number)
    self.typed = not self.got[number]
    news.killed(self, number)
end

-- With 1, a signal ended the command, and some of its processes have outlived the grace.
function news.over(self, number)
    self.over = true
    if number == 1 then
        self:say("%s: the command has ended, but some of its processes still run", self.path)
    end
end

function news.failed()
    refusal.raise(status.SOFTWARE, "no process can be started")
end

-- The minder and the command were killed, but perhaps not all of its children.
function news.gone(self)
    self.gone = true
    if self.status then return end
    self:say("the process between zklock and the command is gone; the command must end")
    end_command(self, self.child:kill() and KILLED or status.SOFTWARE)
end


-- Handlers before there is a command. A signal ends the wait.
local news_of_wait = {}

function news_of_wait.signal(_, number) refusal.raise_signal(number) end

function news_of_wait.stop(self) self.child:suspend(0) end

function news_of_wait.gone()
    refusal.raise(status.SOFTWARE, "the process that was to start the command is gone")
end


--- Sends a signal that nobody has typed.
function Job:signal(number)
    self.got[number] = true
    self.child:signal(number)
end


local function handle_one(self, kind, number)
    local keeper = self.keeper
    local own, handle = keeper and keeper[kind], (keeper and news or news_of_wait)[kind]
    if keeper and kind == "signal" then
        self.got[number] = true
        self.ending = self.ending or self.resuming and _M.ENDS[number]
    end
    if own then own(keeper, number)
    elseif handle then handle(self, number) end
end


-- SIGCONT comes before the reports of stops that it ends.
function Job:handle_news()
    local continued = false
    for kind, number in self.child.next, self.child do
        if kind == "continue" then continued = true
        elseif kind == "stop" then continued = false end
        if kind ~= "stopped" or not continued then handle_one(self, kind, number) end
    end
end


-- --- waits --------------------------------------------------------------------------

local function receive(self, session, seconds)
    self.child:wait(session:fd(), seconds)
    session:dispatch()
end


local function note_silence(self, session)
    if self.keeper or self.tries or session:state() == "connected" then
        self.silent_since, self.silence_told = nil, nil
        return
    end
    self.silent_since = self.silent_since or now()
    if self.silence_told or now() < self.silent_since + PATIENCE then return end
    self.silence_told = true
    local trouble, complaint = session.handle:trouble()
    local why = trouble or complaint
    self:say("%s: no ZooKeeper server has answered for %g s%s; zklock waits for one", session.hosts,
        PATIENCE, why and (" (%s)"):format(why) or "")
end


--- Calls explain() if a wait for a lock or name that is taken lasts.
---@param explain fun() may wait itself
function Job:explain_later(explain)
    self.explain, self.waits_since = explain, nil
end


local function explain_if_due(self)
    local fn = self.explain
    if not (fn and self.taken) or self.keeper then return end
    self.waits_since = self.waits_since or now()
    if now() < self.waits_since + PATIENCE then return end
    self.explain = nil
    fn()
end


local function wait_once(self, session, seconds)
    receive(self, session, seconds)
    note_silence(self, session)
    explain_if_due(self)
    self:handle_news()
end


function Job:driver()
    return {
        wait = function(session, request)
            while not request:done() do wait_once(self, session, SLICE) end
        end,
    }
end


---@param condition fun(): boolean?
---@return boolean? is_met false at the deadline
function Job:wait_until(condition)
    local deadline = self.deadline
    while not condition() and now() < deadline do
        wait_once(self, self.session, max(min(SLICE, deadline - now()), 0))
    end
    return condition()
end


-- --- the command -----------------------------------------------------------------------

function Job:say(text, ...)
    self.err:write("zklock: ", printable.line(text:format(...)), "\n")
    self.err:flush()
end


--- Starts the command, when no process of its previous start is left. If this process is itself
-- the command of a zklock, which may end it last of all, the command ends with it.
---@param token string? in its environment
---@param seconds number that the command may outlive this process
function Job:launch(keeper, token, seconds)
    self.keeper = keeper
    if os.getenv "ZKLOCK_PATH" then seconds = 0 end
    self.stopping, self.resuming, self.ending, self.status, self.over = nil, nil, nil, nil, nil
    self.killed_by, self.typed, self.got = nil, nil, {}
    self.child:launch(token, self.session:id() or "", seconds, self.grace)
end


--- Handles news. Returns when there was some, or after so many seconds.
function Job:step(seconds)
    local keeper = self.keeper
    receive(self, self.session, seconds)
    self:handle_news()
    if self.over then return end
    keeper:look()
    local may_resume = self.resuming and (self.ending or keeper:may_resume())
    if may_resume and self.resuming then -- SIGTSTP may have come meanwhile
        self.resuming, self.ending = false, nil
        self.child:resume()
    end
end


--- Ends the verb after a wait in vain. If a connected server has said that the lock or name is
-- taken, only the status tells it, as with flock.
function Job:fail_wait(message, code)
    if code ~= "busy" and code ~= "timeout" then connect.fail(message, code) end
    local known = code == "busy" or self.taken and self.session:state() == "connected"
    if known then refusal.raise(self.given.conflict_exit_code or status.TIMEOUT, "") end
    if self.tries then connect.fail(message, code) end
    refusal.raise(status.UNAVAILABLE, "%s: waited %g s, and no server says whether it is taken",
        self.path, self.given.wait)
end


---@param child userdata of zklock.child, on which all waits are made
---@param path string of the node or the lock
---@return integer
function _M.attend(given, err, path, child, carry_out)
    local self = setmetatable({
        given = given,
        path = path,
        tries = given.nonblock or given.wait == 0,
        deadline = now() + (given.wait or huge),
        grace = given.grace or GRACE,
        err = err,
        child = child,
        got = {},
    }, Job)
    zklock.driver(self:driver())
    local ok, result = pcall(function()
        self.session = connect.open(given, not self.tries and (given.wait or huge) or nil)
        return carry_out(self)
    end)
    if self.session then self.session:close() end
    if not ok then error(result, 0) end
    return result
end


---@param path string of the node or the lock, also in the environment
---@return integer
function _M.run(given, err, path, carry_out)
    connect.hosts(given)
    local words = command_of(given)
    local child, reason = minder.start(words, path) -- before the session has threads
    if not child then refusal.raise(status.SOFTWARE, "no process can be started: %s", reason) end
    return _M.attend(given, err, path, child, function(job)
        local ok, result = pcall(carry_out, job)
        if not ok then
            child:kill() -- before another client gets the lock
            error(result, 0)
        end
        local number = job.killed_by
        if number and result == status.SIGNAL + number then
            refusal.raise_signal(number, job.typed)
        end
        return result
    end)
end


return _M
