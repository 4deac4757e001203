--- zklock.run, for many coroutines of plain Lua at once. It is the driver of every wait inside it.
--
-- A run inside a task has no loop of its own. Its functions become coroutines of the scheduler that
-- runs, and the task waits until all have ended.

local core = require "zklock.core"
local coroutines = require "zklock.waiting.coroutines"
local keys_of = require "zklock.value.keys"
local misuse = require "zklock.value.misuse"
local schedulers = require "zklock.waiting.scheduler"
local scope = require "zklock.waiting.scope"
local sessions = require "zklock.waiting.sessions"

local error, ipairs, pcall, select = error, ipairs, pcall, select
local setmetatable, type = setmetatable, type
local huge, max = math.huge, math.max
local unpack = table.unpack or unpack
local driving = schedulers.driving
local now, this_thread = core.now, core.thread

local _M = {}

---@class zklock.Tasks: zklock.Scheduler
---@field driver table
---@field spare? table an empty list, for the next round's `ready`
---@field forks integer count of forks that it has noticed
local Tasks = setmetatable({}, { __index = schedulers.Scheduler })
Tasks.__index = Tasks


function _M.is_active()
    return driving() ~= nil
end


--- Returns a function that tells whether the caller's run has ended, so that nothing in it is
-- resumed. Nil outside of a run.
function _M.end_of_run()
    local scheduler = driving()
    if not scheduler then return nil end
    local run = scheduler:current_run()
    return function() return run.over end
end


local function spawn(scheduler, fn)
    local run = scheduler:current_run().root
    run:start(fn)
    return true, function() return run.over end
end


function _M.driver()
    local scheduler = driving()
    return scheduler and scheduler.driver
end


function _M.sleep(seconds)
    local message, code = coroutines.refusal()
    if message then return nil, message, code end
    driving():sleep_until(now() + seconds)
    return true
end


-- Calls for a session of the parent process raise an error.
local function is_parents(request)
    return not pcall(request.done, request)
end


-- After a fork no request of the parent's sessions ends, so each wait for one does.
function Tasks:end_waits()
    for _, run in ipairs(keys_of(self.runs)) do
        for _, pause in ipairs(run:pauses()) do
            if pause.request and is_parents(pause.request) then self:wake(pause) end
        end
    end
end


function Tasks:deliver_or_wait()
    if sessions.dispatch() == 0 and #self.ready == 0 then
        local sleeper = self.sleepers:first()
        sessions.await(sleeper and max(sleeper.due - now(), 0) or huge)
    end
    if self.forks ~= sessions.forks() then
        self.forks = sessions.forks()
        self:end_waits()
    end
    local time = now()
    self:wake_sleepers(time)
    self:bury_when_due(time)
end


function Tasks:resume_ready()
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


function Tasks:loop(run)
    while run.live > 0 do
        self:resume_ready()
        if run.live > 0 then self:deliver_or_wait() end
    end
end


local function new_scheduler(outer)
    local self = schedulers.init(setmetatable({ forks = sessions.forks() }, Tasks), outer)
    self.driver = {
        wait = function(session, request, deadline)
            if session.thread ~= this_thread() then
                misuse.refuse("context: a wait in a second thread; open a session in each thread")
            end
            return self:wait(request, deadline)
        end,
        spawn = function(_, fn) return spawn(self, fn) end,
        refusal = coroutines.refusal,
    }
    return self
end


local function are_functions(...)
    for i = 1, select("#", ...) do
        if type((select(i, ...))) ~= "function" then return false end
    end
    return true
end


local function drive(run, fn, ...)
    local scheduler = run.scheduler
    if are_functions(...) then
        run:start(fn)
        for i = 1, select("#", ...) do run:start((select(i, ...))) end
    else
        run:start(fn, ...)
    end
    if run.waiter then run.waiter:wait_and_close() else scheduler:loop(run) end
    if run.problem then error(run.problem[1], 0) end
    return unpack(run.results, 1, run.results.n)
end


--- See zklock.run. With `inside`, a scheduler around the caller, if any, runs the functions.
function _M.run(inside, fn, ...)
    local around = driving()
    if inside and around then
        local message, code = coroutines.refusal()
        if message then return nil, message, code end
    end
    local scheduler = inside and around or new_scheduler(around)
    local waiter = scheduler == around and scheduler:new_pause() or nil
    local run = scheduler:new_run(waiter and waiter.run, waiter)
    return scope(run, drive, run, fn, ...)
end


return _M
