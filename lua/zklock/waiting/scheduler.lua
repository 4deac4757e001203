--- Resumes coroutines of plain Lua, those of zklock.run (zklock.waiting.tasks) or of a world. A
-- scheduler has no clock and waits for nothing.
--
-- A task is the coroutine of one function given to zklock.run. It may start further coroutines, as
-- with coroutine.wrap(fn)(), which are driven too. A coroutine that waits yields, and is resumed
-- when its request is done.
--
-- An error may come between any two instructions (Ctrl-C raises one), so a scheduler needs no
-- clean-up when it stops. It counts as driving only while a coroutine that it resumed runs, and
-- `latest` refers to it weakly.

local agenda = require "zklock.waiting.agenda"
local keys_of = require "zklock.value.keys"
local scope = require "zklock.waiting.scope"

local close = coroutine.close -- Lua 5.4
local create, resume, running = coroutine.create, coroutine.resume, coroutine.running
local status, yield = coroutine.status, coroutine.yield
local error, ipairs = error, ipairs
local select, setmetatable = select, setmetatable
local sort = table.sort

local SLICE = 0.1 -- seconds between looks for tasks that other code closed

local _M = {}

---@class zklock.Scheduler
---@field loop_thread thread that runs the loop
---@field outer? zklock.Scheduler whose coroutine made this one
---@field resumed? thread which it resumed last
---@field ready table[] entries to resume, with a thread and perhaps arguments
---@field sleepers zklock.Agenda of pauses
---@field run_of table<thread, zklock.Run>
---@field runs table the runs that have not ended, as a set
---@field closed thread[] tasks whose waits were closed since the last look
---@field bury_at number time of the next look for tasks that other code closed
---@field made integer count of pauses and runs so far
local Scheduler = {}
Scheduler.__index = Scheduler

local latest = setmetatable({}, { __mode = "v" }) -- [1] is the scheduler that resumed last


-- Lua 5.1 has no thread for the main program.
local function this_thread()
    return running() or "main"
end


--- The scheduler to which the running coroutine can yield, which resumed it or one of its callers.
function _M.driving()
    local scheduler, thread = latest[1], this_thread()
    while scheduler do
        local resumed = scheduler.resumed
        if resumed == thread then return scheduler end
        if resumed and status(resumed) == "normal" then
            return scheduler.loop_thread ~= thread and scheduler or nil
        end
        scheduler = scheduler.outer
    end
end


-- Sorts by creation, so that the order of pairs() decides nothing.
local function in_order(list)
    sort(list, function(a, b) return a.number < b.number end)
    return ipairs(list)
end


-- --- pauses ---------------------------------------------------------------------------

-- A pause is one wait of a coroutine. Wakers hold the pause, not the thread. A pause that is over
-- has no thread, so nothing is resumed by mistake.
---@class zklock.Pause
---@field scheduler zklock.Scheduler
---@field run zklock.Run
---@field request? zklock.Request that ends it
---@field thread thread|false
---@field woken boolean
---@field due? number end of a sleep, or of the request
---@field place? integer of a sleeper, in the agenda
---@field number integer
local Pause = {}
Pause.__index = Pause


function Pause:wait(thread)
    self.thread = thread
    self.run.paused[thread] = self
    while not self.woken do yield() end
end


--- Called however the wait ends, also by an error, or when the coroutine is closed.
function Pause:close()
    local thread = self.thread
    if not thread then return end
    self.run.paused[thread] = nil
    self.thread = false
    if self.woken then return end
    local scheduler = self.scheduler
    scheduler.sleepers:remove(self)
    if not self.run.tasks[thread] then return end
    scheduler.closed[#scheduler.closed + 1] = thread -- the task may have been closed
end

Pause.__close = Pause.close


--- Waits until the pause is woken.
function Pause:wait_and_close()
    return scope(self, self.wait, self, this_thread())
end


-- --- runs --------------------------------------------------------------------------------

-- A run is one call of zklock.run, with its functions.
---@class zklock.Run
---@field scheduler zklock.Scheduler
---@field outer? zklock.Run around it, in the same scheduler
---@field root zklock.Run the outermost run around it
---@field inner table set of the runs in it
---@field waiter? zklock.Pause of the task that waits for its end; nil: it has the loop itself
---@field paused table thread -> its pause
---@field tasks table thread -> its number among the tasks so far, until it has ended
---@field live integer count of tasks that have not ended
---@field started integer count of tasks so far
---@field results table of the first task
---@field problem? table { the error of a task }
---@field over boolean it or a run around it has ended, so its coroutines are not resumed
local Run = {}
Run.__index = Run


-- This run and the runs in it, at any depth.
---@return zklock.Run[]
function Run:with_inner()
    local runs = { self }
    for _, run in ipairs(runs) do -- the list grows meanwhile
        for _, inner in ipairs(keys_of(run.inner)) do runs[#runs + 1] = inner end
    end
    return runs
end


function Run:stop()
    for _, run in ipairs(self:with_inner()) do run.over = true end
end


function Run:new_task(fn)
    local thread = create(fn)
    self.live, self.started = self.live + 1, self.started + 1
    self.tasks[thread] = self.started
    self.scheduler.run_of[thread] = self
    return thread
end


function Run:start(fn, ...)
    local thread = self:new_task(fn)
    self.scheduler:add{ thread = thread, arguments = { n = select("#", ...), ... } }
end


-- Keeps only the results of the first task.
function Run:task_ended(thread, ...)
    local number = self.tasks[thread]
    if not number then return end
    if number == 1 then self.results = { n = select("#", ...), ... } end
    self.tasks[thread] = nil
    self.live = self.live - 1
    if self.live == 0 and self.waiter then self.scheduler:wake(self.waiter) end
end


function Run:fail(problem)
    if not self.waiter then error(problem, 0) end
    self.problem = { problem }
    self:close()
    self.scheduler:wake(self.waiter)
end


local function tasks_of(self, wanted)
    local found = {}
    for _, thread in ipairs(keys_of(self.tasks)) do
        if status(thread) == wanted then
            found[#found + 1] = { number = self.tasks[thread] or 0, thread = thread }
        end
    end
    return found
end


-- Ends tasks that other code closed, of which no event tells.
function Run:bury()
    for _, each in in_order(tasks_of(self, "dead")) do self:task_ended(each.thread) end
end


--- The pauses of its coroutines.
function Run:pauses()
    local pauses = {}
    for _, thread in ipairs(keys_of(self.paused)) do pauses[#pauses + 1] = self.paused[thread] end
    return pauses
end


local function close_suspended(entries)
    for _, each in in_order(entries) do
        if each.thread and status(each.thread) == "suspended" then close(each.thread) end
    end
end


--- Ends the remaining tasks and the coroutines that they started, and gives up their waits.
function Run:close()
    self:stop()
    if close then
        close_suspended(tasks_of(self, "suspended"))
        close_suspended(self:pauses())
    end
    self.scheduler:forget(self)
end

Run.__close = Run.close


-- --- the scheduler -----------------------------------------------------------------------

function Scheduler:current_run()
    return self.run_of[this_thread()] or self.run_of[self.resumed]
end


--- Makes a pause for the running coroutine. A coroutine that a task started joins the task's run.
function Scheduler:new_pause(request)
    local thread = this_thread()
    local run = self.run_of[thread]
    if not run or run.over then
        run = self.run_of[self.resumed]
        self.run_of[thread] = run
    end
    self.made = self.made + 1
    return setmetatable({
        scheduler = self,
        number = self.made,
        run = run,
        request = request,
        thread = false,
        woken = false,
    }, Pause), thread
end


--- Makes an entry ready. Takes a finished table, because a finalizer that runs while a table is
-- made could add another entry after `#ready` was read.
function Scheduler:add(entry)
    local ready = self.ready
    ready[#ready + 1] = entry
end


function Scheduler:wake(pause)
    pause.woken = true
    self:add(pause)
end


function Scheduler:forget_sleepers(run)
    for _, each in ipairs(run:with_inner()) do
        for _, pause in ipairs(each:pauses()) do self.sleepers:remove(pause) end
    end
end


-- Forgets a run, and closes the requests of its waits. Coroutines that cannot be closed are
-- collected.
function Scheduler:forget(run)
    self:forget_sleepers(run)
    local runs, pauses = run:with_inner(), {}
    for _, each in ipairs(runs) do
        for _, pause in ipairs(each:pauses()) do pauses[#pauses + 1] = pause end
        each.paused = {}
    end
    for _, pause in in_order(pauses) do
        if pause.request then pause.request:close() end
    end
    for _, each in ipairs(runs) do
        each.tasks, each.inner = {}, {}
        self.runs[each] = nil
    end
    if run.outer then run.outer.inner[run] = nil end
end


--- Resumes a task that yielded by itself, after all other ready tasks.
function Scheduler:resume_later(thread)
    self:add{ thread = thread }
end


-- Closes the variables of a coroutine that an error ended, since Lua 5.4. Returns that error, or
-- the last one of a __close.
local function close_failed(thread, problem)
    if not close then return problem end
    local ok, last = close(thread)
    if ok then return problem end -- Lua 5.4.0 to 5.4.2 forgot the coroutine's own error
    return last
end


function Scheduler:after_resume(run, thread, ok, ...)
    if ok and self.run_of[thread].paused[thread] then return end
    if not ok then return run:fail(close_failed(thread, (...))) end
    if status(thread) == "dead" then return run:task_ended(thread, ...) end
    if run.tasks[thread] then self:resume_later(thread) end
end


function Scheduler:resume(thread, ...)
    local run = self.run_of[thread]
    if status(thread) == "dead" then return run:task_ended(thread) end -- closed by other code
    if status(thread) ~= "suspended" or run.over then return end
    self.resumed = thread
    latest[1] = self
    self:after_resume(run, thread, resume(thread, ...))
end


local function wake(request)
    local pause = request.pause
    pause.scheduler:wake(pause)
end


function Scheduler:wait(request, deadline)
    local pause, thread = self:new_pause(request)
    request.pause = pause
    if request.told then return end
    pause.due = deadline
    request.callback = wake
    pause:wait(thread)
end


function Scheduler:sleep_until(due)
    local sleeper = self:new_pause()
    sleeper.due = due
    self.sleepers:add(sleeper)
    sleeper:wait_and_close()
end


function Scheduler:wake_sleepers(time)
    local sleepers = self.sleepers
    local first = sleepers:first()
    while first and first.due <= time do
        self:wake(first)
        sleepers:shift()
        first = sleepers:first()
    end
end


function Scheduler:bury()
    for _, run in in_order(keys_of(self.runs)) do run:bury() end
end


--- Notes the end of tasks that other code closed. Looks only at those in `closed`; false if there
-- are none.
function Scheduler:bury_closed()
    local closed = self.closed
    if not closed[1] then return false end
    self.closed = {}
    for _, thread in ipairs(closed) do
        if status(thread) == "dead" then self.run_of[thread]:task_ended(thread) end
    end
    return true
end


--- Notes the end of tasks that other code closed. Looks at all tasks if that is due, else at those
-- in `closed`. False if it looked at none.
function Scheduler:bury_when_due(time)
    if time < self.bury_at then return self:bury_closed() end
    self.bury_at = time + SLICE
    self.closed = {}
    self:bury()
    return true
end


local NOTHING = { n = 0 }

--- Makes a run inside `outer`. Its end wakes `waiter`.
function Scheduler:new_run(outer, waiter)
    self.made = self.made + 1
    local run = setmetatable({
        scheduler = self,
        number = self.made,
        outer = outer,
        inner = {},
        waiter = waiter,
        paused = {},
        tasks = {},
        live = 0,
        started = 0,
        results = NOTHING,
        over = outer ~= nil and outer.over,
    }, Run)
    run.root = outer and outer.root or run
    if outer then outer.inner[run] = true end
    self.runs[run] = true
    return run
end


local function weak_keys()
    return setmetatable({}, { __mode = "k" })
end


--- Makes the table a scheduler, with the running coroutine as its loop.
function _M.init(self, outer)
    self.loop_thread = this_thread()
    self.outer = outer
    self.ready = {}
    self.sleepers = agenda()
    self.closed = {}
    self.run_of = weak_keys()
    self.runs = {}
    self.made = 0
    self.bury_at = 0
    return self
end


_M.Run, _M.Scheduler = Run, Scheduler

return _M
