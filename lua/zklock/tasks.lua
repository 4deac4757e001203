--- zklock.run: many coroutines of plain Lua at once. It is the driver of every
-- wait inside it.
--
-- A coroutine that waits yields; it is resumed here when its request is done.
-- That holds also for coroutines which a task made itself, so a task may start
-- others with coroutine.wrap(fn)(): they are driven too.

local core = require "zklock.core"
local failure = require "zklock.failure"
local misuse = require "zklock.misuse"
local scope = require "zklock.scope"

local close = coroutine.close -- Lua 5.4
local create, resume, running = coroutine.create, coroutine.resume, coroutine.running
local status, yield = coroutine.status, coroutine.yield
local error, pairs, select, setmetatable, type = error, pairs, select, setmetatable, type
local huge, min = math.huge, math.min
local insert, remove, unpack = table.insert, table.remove, table.unpack or unpack
local now, poll = core.now, core.poll

local SLICE = 0.1 -- seconds; between slices Ctrl-C works

local _M = {}

---@class zklock.Scheduler
local Scheduler = {}
Scheduler.__index = Scheduler

local current -- the scheduler that runs; nil: none


-- The thread, also where Lua 5.1 has none for the main one.
local function this_thread()
    return running() or "main"
end


--- True when the running coroutine can yield to a scheduler.
function _M.active()
    return current ~= nil and current.host ~= this_thread()
end


-- A pause: what a coroutine waits for. Whoever is to resume it holds the pause;
-- once that is over it has no thread, and resumes nobody by mistake.
local Pause = {}
Pause.__index = Pause


function Pause:over()
    if self.request then return self.request:done() end
    return self.woken
end


function Pause:wait()
    local thread = this_thread()
    self.thread = thread
    self.scheduler.paused[thread] = true
    while not self:over() do yield() end
end


--- However the wait ends: also by an error, or because the coroutine is closed.
function Pause:close()
    if not self.thread then return end
    self.scheduler.paused[self.thread] = nil
    self.thread = nil
    if self.request then
        self.scheduler.waiting[self] = nil
        self.scheduler:watch(self.session, -1)
    end
end

Pause.__close = Pause.close


local function pause(self)
    return scope(self, self.wait, self)
end


--- The driver's verb.
function _M.wait(session, request)
    local scheduler = current
    local self = setmetatable({
        scheduler = scheduler,
        session = session,
        request = request,
    }, Pause)
    request:on_done(function() scheduler:wake(self) end)
    scheduler:watch(session, 1)
    scheduler.waiting[self] = true
    pause(self)
end


function _M.sleep(seconds)
    local due = now() + seconds
    if _M.active() then return current:sleep(due) end
    while now() < due do poll({}, min(SLICE, due - now())) end
end


-- Counts the waits in a session; one with waits is polled.
function Scheduler:watch(session, change)
    local count = (self.sessions[session] or 0) + change
    self.sessions[session] = count > 0 and count or nil
end


function Scheduler:wake(waiter)
    waiter.woken = true
    self.ready[#self.ready + 1] = waiter
end


-- The sleeper that is due next is the last.
function Scheduler:sleep(due)
    local sleepers, at = self.sleepers, #self.sleepers
    local sleeper = setmetatable({ scheduler = self, due = due }, Pause)
    while at > 0 and sleepers[at].due <= due do at = at - 1 end
    insert(sleepers, at + 1, sleeper)
    pause(sleeper)
end


-- A task's results are kept for run(); an error ends the run.
function Scheduler:finish(thread, ok, ...)
    if not ok then error((...), 0) end
    if status(thread) ~= "dead" or not self.tasks[thread] then return end
    if thread == self.first then self.results = { n = select("#", ...), ... } end
    self.tasks[thread] = nil
    self.live = self.live - 1
end


function Scheduler:resume(thread, ...)
    if status(thread) ~= "suspended" then return end
    self:finish(thread, resume(thread, ...))
    -- A task that yields by itself means: later.
    if self.tasks[thread] and not self.paused[thread] then
        self.ready[#self.ready + 1] = { thread = thread }
    end
end


function Scheduler:spawn(fn)
    local thread = create(fn)
    self.tasks[thread] = true
    self.live = self.live + 1
    return thread
end


-- Takes what happened; waits for it, or for the first sleeper, if nobody is ready.
function Scheduler:look()
    local handles, sleepers = {}, self.sleepers
    for session in pairs(self.sessions) do handles[#handles + 1] = session.handle end
    local next_due = #sleepers > 0 and sleepers[#sleepers].due or huge
    poll(handles, #self.ready > 0 and 0 or min(SLICE, next_due - now()))
    local sessions = {} -- dispatching may change the set
    for session in pairs(self.sessions) do sessions[#sessions + 1] = session end
    for _, session in pairs(sessions) do session:dispatch() end
    while #sleepers > 0 and sleepers[#sleepers].due <= now() do
        self:wake(remove(sleepers))
    end
end


function Scheduler:work()
    local ready = self.ready
    self.ready = {}
    for i = 1, #ready do
        local thread = ready[i].thread
        if thread then self:resume(thread) end
    end
end


function Scheduler:loop()
    while self.live > 0 do
        self:work()
        if self.live > 0 then self:look() end
    end
end


--- Ends what still runs: after an error, or an interrupt.
function Scheduler:close()
    current = self.outer
    for waiter in pairs(self.waiting) do waiter.request:close() end
    if not close then return end
    for thread in pairs(self.tasks) do
        if status(thread) == "suspended" then close(thread) end
    end
end

Scheduler.__close = Scheduler.close


local function are_functions(...)
    for i = 1, select("#", ...) do
        if type((select(i, ...))) ~= "function" then return false end
    end
    return true
end


local function drive(scheduler, fn, ...)
    scheduler.first = scheduler:spawn(fn)
    local threads = { scheduler.first }
    if are_functions(...) then
        for i = 1, select("#", ...) do threads[i + 1] = scheduler:spawn((select(i, ...))) end
        for i = 1, #threads do scheduler:resume(threads[i]) end
    else
        scheduler:resume(scheduler.first, ...)
    end
    scheduler:loop()
    local results = scheduler.results
    return unpack(results, 1, results.n)
end


--- Runs fn and every further function as a coroutine of its own, until all have
-- ended; gives what fn gives. Arguments that are not all functions go to fn.
-- An error in one ends the others and is raised here, unchanged.
function _M.run(fn, ...)
    if type(fn) ~= "function" then misuse.refuse("run takes functions") end
    if ngx then return failure("context", "zklock.run", "in nginx: ngx.thread.spawn") end
    local scheduler = setmetatable({
        outer = current,
        host = this_thread(),
        ready = {},
        sleepers = {},
        sessions = {},
        waiting = {}, -- pauses with a request
        paused = {}, -- threads in a pause of ours
        tasks = {},
        live = 0,
    }, Scheduler)
    current = scheduler
    return scope(scheduler, drive, scheduler, fn, ...)
end


return _M
