--- zklock.run: many coroutines of plain Lua at once. It is the driver of every
-- wait inside it.
--
-- A coroutine that waits yields; it is resumed here when its request is done.
-- That holds also for coroutines which a task made itself, so a task may start
-- others with coroutine.wrap(fn)(): they are driven too.
--
-- A run inside a task has no loop of its own: its functions are coroutines of the
-- scheduler that runs, and the task waits until all of them have ended.
--
-- An error may come between any two instructions (Ctrl-C raises one). So a
-- scheduler does not have to be taken back: it counts while a coroutine that it
-- resumed runs, and nothing refers to it but the run that made it.

local core = require "zklock.core"
local members = require "zklock.members"
local scope = require "zklock.scope"
local sessions = require "zklock.sessions"

local close = coroutine.close -- Lua 5.4
local create, resume, running = coroutine.create, coroutine.resume, coroutine.running
local status, yield = coroutine.status, coroutine.yield
local error, ipairs = error, ipairs
local select, setmetatable, type = select, setmetatable, type
local huge, max = math.huge, math.max
local insert, remove, unpack = table.insert, table.remove, table.unpack or unpack
local now = core.now

local SLICE = 0.1 -- seconds, between looks for tasks that were closed

local _M = {}

---@class zklock.Scheduler
---@field host thread that runs the loop
---@field outer? zklock.Scheduler whose coroutine made this one
---@field resumed? thread the latest
---@field ready table[] what is to be resumed: has a thread, perhaps arguments
---@field sleepers zklock.Pause[] the one that is due next is the last
---@field driver table
---@field spare? table the list that was ready before, empty
---@field paused table thread -> its pause
---@field run_of table thread -> its run
---@field runs table the runs that have not ended, as a set
local Scheduler = {}
Scheduler.__index = Scheduler

local latest = setmetatable({}, { __mode = "v" }) -- [1]: the scheduler that last resumed


-- The thread, also where Lua 5.1 has none for the main one.
local function this_thread()
    return running() or "main"
end


-- The scheduler that the running coroutine can yield to: the coroutine that the scheduler
-- resumed is the running one, or waits for one that it started itself.
local function driving()
    local scheduler, thread = latest[1], this_thread()
    while scheduler do
        local resumed = scheduler.resumed
        if resumed == thread then return scheduler end
        if resumed and status(resumed) == "normal" then
            return scheduler.host ~= thread and scheduler or nil
        end
        scheduler = scheduler.outer
    end
end


--- True when the running coroutine can yield to a scheduler.
function _M.active()
    return driving() ~= nil
end


-- It ends, or one around it does.
local function is_over(run)
    while run do
        if run.over then return true end
        run = run.outer
    end
    return false
end


-- --- pauses ---------------------------------------------------------------------------

-- A pause: what a coroutine waits for. The code that is to resume the coroutine keeps the
-- pause, not the thread: a pause that is over has no thread, so nothing is resumed by mistake.
---@class zklock.Pause
---@field scheduler zklock.Scheduler
---@field run zklock.Run
---@field request? zklock.Request with which it ends
---@field thread thread|false
---@field woken boolean
---@field due? number of a sleeper
local Pause = {}
Pause.__index = Pause


function Pause:wait(thread)
    self.thread = thread
    self.scheduler.paused[thread] = self
    while not self.woken do yield() end
end


--- However the wait ends: also by an error, or because the coroutine is closed.
function Pause:close()
    local thread = self.thread
    if not thread then return end
    self.scheduler.paused[thread] = nil
    self.thread = false
end

Pause.__close = Pause.close


local function pause(self)
    return scope(self, self.wait, self, this_thread())
end


-- A request is done: it was what a pause waits for.
local function wake(request)
    local self = request.pause
    self.scheduler:wake(self)
end


-- The pause ends with the request.
local function wait(scheduler, request)
    local self, thread = scheduler:new_pause(request)
    request.pause = self
    if request.told then return end
    request.callback = wake
    self:wait(thread)
end


-- Of the running coroutine, which the scheduler drives.
local function run_in(scheduler)
    return scheduler.run_of[this_thread()] or scheduler.run_of[scheduler.resumed]
end


--- Nil outside of a run. In one: a function that tells whether it, or one around it, has ended;
-- then what was started in it is not resumed any more.
function _M.end_of_run()
    local scheduler = driving()
    if not scheduler then return nil end
    local run = run_in(scheduler)
    return function() return is_over(run) end
end


-- Starts fn as a task of the outermost run around.
local function spawn(scheduler, fn)
    local run = run_in(scheduler)
    while run.outer do run = run.outer end
    run:start(fn)
    return true, function() return is_over(run) end
end


--- The driver for the running coroutine, if it can yield to a scheduler.
function _M.driver()
    local scheduler = driving()
    return scheduler and scheduler.driver
end


--- Sleeps, while others go on.
function _M.sleep(seconds)
    local scheduler = driving()
    local sleeper = scheduler:new_pause()
    sleeper.due = now() + seconds
    local sleepers, at = scheduler.sleepers, #scheduler.sleepers
    while at > 0 and sleepers[at].due <= sleeper.due do at = at - 1 end
    insert(sleepers, at + 1, sleeper)
    pause(sleeper)
end


-- --- runs --------------------------------------------------------------------------------

-- The functions of one call of zklock.run.
---@class zklock.Run
---@field scheduler zklock.Scheduler
---@field outer? zklock.Run the one around it, in the same scheduler
---@field waiter? zklock.Pause of the task that waits for its end; nil: the loop is its own
---@field tasks table thread -> its place among the functions, until it has ended
---@field live integer how many have not
---@field results table of the first
---@field problem? table { the error of one }
---@field over boolean its coroutines are not resumed any more
local Run = {}
Run.__index = Run


function Run:is_within(run)
    return self == run or self.outer ~= nil and self.outer:is_within(run)
end


function Run:start(fn, ...)
    local thread = create(fn)
    self.live = self.live + 1
    self.tasks[thread] = self.live
    self.scheduler.run_of[thread] = self
    self.scheduler:add{ thread = thread, arguments = { n = select("#", ...), ... } }
end


-- A task has ended. Only what the first one gives is kept.
function Run:ended(thread, ...)
    local place = self.tasks[thread]
    if not place then return end
    if place == 1 then self.results = { n = select("#", ...), ... } end
    self.tasks[thread] = nil
    self.live = self.live - 1
    if self.live == 0 and self.waiter then self.scheduler:wake(self.waiter) end
end


-- One of its coroutines met an error.
function Run:fail(problem)
    if not self.waiter then error(problem, 0) end
    self.problem = { problem }
    self:close()
    self.scheduler:wake(self.waiter)
end


-- A task that another one closed has ended, and told nobody.
function Run:bury()
    for _, thread in ipairs(members(self.tasks)) do
        if status(thread) == "dead" then self:ended(thread) end
    end
end


--- Ends what still runs: after an error, or an interrupt. What it waits for is given up.
function Run:close()
    self.over = true
    if close then
        for _, thread in ipairs(members(self.tasks)) do
            if status(thread) == "suspended" then close(thread) end
        end
    end
    self.scheduler:forget(self)
end

Run.__close = Run.close


-- --- the scheduler -----------------------------------------------------------------------

-- A coroutine that a task started is one of the task's run.
function Scheduler:new_pause(request)
    local thread = this_thread()
    local run = self.run_of[thread]
    if not run or is_over(run) then
        run = self.run_of[self.resumed]
        self.run_of[thread] = run
    end
    return setmetatable({
        scheduler = self,
        run = run,
        request = request,
        thread = false,
        woken = false,
    }, Pause), thread
end


-- To be resumed. What is added is made before: a finalizer may add something meanwhile.
function Scheduler:add(entry)
    local ready = self.ready
    ready[#ready + 1] = entry
end


function Scheduler:wake(waiter)
    waiter.woken = true
    self:add(waiter)
end


-- Lets go of a run, and of all in it: where coroutines cannot be closed, they are collected.
function Scheduler:forget(run)
    local others = {}
    for _, sleeper in ipairs(self.sleepers) do
        if not sleeper.run:is_within(run) then others[#others + 1] = sleeper end
    end
    self.sleepers = others
    for _, thread in ipairs(members(self.paused)) do
        local waiter = self.paused[thread]
        if waiter and waiter.run:is_within(run) then
            if waiter.request then waiter.request:close() end
            self.paused[thread] = nil
        end
    end
    for _, each in ipairs(members(self.runs)) do
        if each:is_within(run) then
            each.tasks = {}
            self.runs[each] = nil
        end
    end
end


-- A coroutine of the run stopped.
function Scheduler:stopped(run, thread, ok, ...)
    if ok and self.paused[thread] then return end
    if not ok then return run:fail((...)) end
    if status(thread) == "dead" then return run:ended(thread, ...) end
    -- A task that yields by itself means: later.
    if run.tasks[thread] then self:add{ thread = thread } end
end


function Scheduler:resume(thread, ...)
    local run = self.run_of[thread]
    if status(thread) ~= "suspended" or is_over(run) then return end
    self.resumed = thread
    latest[1] = self
    self:stopped(run, thread, resume(thread, ...))
end


-- Takes what happened; waits for it, or for the first sleeper, if nobody is ready.
function Scheduler:look()
    if sessions.dispatch() == 0 and #self.ready == 0 then
        local sleeper = self.sleepers[#self.sleepers]
        sessions.await(sleeper and max(sleeper.due - now(), 0) or huge)
    end
    local sleepers, time = self.sleepers, now()
    while #sleepers > 0 and sleepers[#sleepers].due <= time do self:wake(remove(sleepers)) end
    if time < self.bury_at then return end
    self.bury_at = time + SLICE
    for _, run in ipairs(members(self.runs)) do run:bury() end
end


function Scheduler:work()
    local ready = self.ready
    self.ready, self.spare = self.spare or {}, nil
    for i = 1, #ready do
        local thread, arguments = ready[i].thread, ready[i].arguments
        ready[i] = nil
        if thread and arguments then self:resume(thread, unpack(arguments, 1, arguments.n))
        elseif thread then self:resume(thread) end
    end
    self.spare = ready
end


function Scheduler:loop(run)
    while run.live > 0 do
        self:work()
        if run.live > 0 then self:look() end
    end
end


local function weak_keys()
    return setmetatable({}, { __mode = "k" })
end


local function new_scheduler(outer)
    local self = setmetatable({
        host = this_thread(),
        outer = outer,
        ready = {},
        sleepers = {},
        paused = {},
        run_of = weak_keys(),
        runs = {},
        bury_at = 0,
    }, Scheduler)
    self.driver = {
        wait = function(_, request) return wait(self, request) end,
        spawn = function(fn) return spawn(self, fn) end,
    }
    return self
end


local function are_functions(...)
    for i = 1, select("#", ...) do
        if type((select(i, ...))) ~= "function" then return false end
    end
    return true
end


local NOTHING = { n = 0 }

local function drive(run, fn, ...)
    local scheduler = run.scheduler
    scheduler.runs[run] = true
    if are_functions(...) then
        run:start(fn)
        for i = 1, select("#", ...) do run:start((select(i, ...))) end
    else
        run:start(fn, ...)
    end
    if run.waiter then pause(run.waiter) else scheduler:loop(run) end
    if run.problem then error(run.problem[1], 0) end
    return unpack(run.results, 1, run.results.n)
end


--- See zklock.run. `inside`: if it is called in a coroutine of a scheduler, that is to run them.
function _M.run(inside, fn, ...)
    local around = driving()
    local scheduler = inside and around or new_scheduler(around)
    local waiter = scheduler == around and scheduler:new_pause() or nil
    local run = setmetatable({
        scheduler = scheduler,
        outer = waiter and waiter.run,
        waiter = waiter,
        tasks = {},
        live = 0,
        results = NOTHING,
        over = false,
    }, Run)
    return scope(run, drive, run, fn, ...)
end


return _M
