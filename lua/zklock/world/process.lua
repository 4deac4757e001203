--- A process of a world, with coroutines, sessions and callbacks. It is the driver of its waits.

local coroutines = require "zklock.waiting.coroutines"
local failure = require "zklock.value.failure"
local current = require "zklock.world.current"
local schedulers = require "zklock.waiting.scheduler"
local sessions = require "zklock.waiting.sessions"

local ipairs, pairs, select, setmetatable = ipairs, pairs, select, setmetatable
local max = math.max
local running = coroutine.running
local unpack = table.unpack or unpack

local WEAK = { __mode = "k" }
local LEAST = 1e-9 -- seconds; a shorter sleep takes no time

---@class zklock.Process
---@field world zklock.World
---@field name string
---@field number integer
---@field run zklock.Run its coroutines
---@field turns integer of its coroutines; the end of a stop is a turn, too
---@field turned_at number the time of the last turn
---@field sessions zklock.Session[]
---@field closing table<zklock.Session, zklock.Pause[]> coroutines that wait for a session's end
---@field calls table[] callbacks to run, in order
---@field calling boolean a callback runs
---@field stopped boolean
---@field stopped_until? number
---@field over boolean it has ended, or was killed
---@field delayed table[] coroutines that became ready during a stop
---@field unheard zklock.Session[] with news that came during a stop
---@field cut_until number
---@field cut_sessions table<zklock.Session, true> that went offline with the process
---@field fault_ends table<"stop"|"cut", table> events of the world
local Process = setmetatable({}, { __index = current.InWorld })
Process.__index = Process


-- --- coroutines ---------------------------------------------------------------------------

local Run = setmetatable({}, { __index = schedulers.Run })
Run.__index = Run


function Run:task_ended(thread)
    if not self.tasks[thread] then return end
    self.tasks[thread] = nil
    self.live = self.live - 1
    if self.live == 0 then self.process:all_ended() end
end


function Run:fail(problem)
    if not self.process.over then self.process.world:fail(problem, self.process) end
end


--- Ends the process. Nothing of it is to come any more, for which the world would wait.
function Process:finish()
    local world = self.world
    self.over = true
    self.run:stop()
    world:forget_sleepers(self.run)
    for _, run in ipairs(self.run:with_inner()) do world.runs[run] = nil end
    for _, event in pairs(self.fault_ends) do world.events:remove(event) end
    world.live = world.live - 1
end


--- Calls fn() when a fault of the kind ends, and no more when an earlier one ends. No `due`: never.
function Process:end_fault(kind, due, fn)
    local before = self.fault_ends[kind]
    if before then self.world.events:remove(before) end
    self.fault_ends[kind] = due and self.world:schedule(due, fn)
end


--- The process exits, because its coroutines have ended, and closes its sessions.
function Process:all_ended()
    if self.over then return end
    self:finish()
    self.world:tell(self, "ends")
    for _, session in ipairs(self.sessions) do session.handle:close_soon(1) end
end


function Process:resume(now, thread, ...)
    local world = self.world
    current.act_in(self)
    world:do_step(self.number, world.resume, thread, ...)
    current.act_in(nil)
    self.turns, self.turned_at, world.active_at = self.turns + 1, now, now
end


-- --- sessions -----------------------------------------------------------------------------

function Process:add(session)
    self.sessions[#self.sessions + 1] = session
    self.world.longest_timeout = max(self.world.longest_timeout, session.asked_timeout)
    self.world.sessions[self.world.core:number(session.handle)] = session
    if self.cut_until > self.world:now() then self:cut(session, false) end
end


function Process:cut(session, silently)
    if self.world.core:cut(session.handle, silently) then self.cut_sessions[session] = true end
end


--- From its first open session on, the process is exposed to faults.
function Process:connected()
    self.world.faults:begin(self)
end


function Process:hear(session, now)
    if self.over then return end
    if self.stopped then
        self.unheard[#self.unheard + 1] = session
        return
    end
    self.world.active_at = now
    current.act_in(self)
    sessions.deliver(session)
    current.act_in(nil)
    if session.handle:ended() then
        for _, pause in ipairs(self.closing[session] or {}) do self.world:wake(pause) end
        self.closing[session] = nil
    end
    self:make_calls()
end


local function call_all(self)
    while self.calls[1] do
        local calls = self.calls
        self.calls = {}
        for _, call in ipairs(calls) do call.fn(unpack(call, 1, call.n)) end
    end
    self.calling = false
end


--- Runs the callbacks of delivered news, one after the other, in a coroutine. The first begins at
-- once, so a listener changes no schedule.
function Process:make_calls()
    if self.calling or not self.calls[1] or self.over then return end
    self.calling, self.world.has_called = true, true
    local task = self.run:new_task(call_all)
    current.act_in(self)
    self.world:resume(task, self)
    current.act_in(nil)
end


--- Goes on after a stop.
function Process:go_on()
    local ready, delayed, unheard = self.world.ready, self.delayed, self.unheard
    self.stopped, self.delayed, self.unheard = false, {}, {}
    local now = self.world:now()
    self.turns, self.turned_at = self.turns + 1, now -- faults begin anew
    for _, entry in ipairs(delayed) do ready[#ready + 1] = entry end
    for _, session in ipairs(unheard) do self:hear(session, now) end
end


--- Closes a session within `bound` seconds. A coroutine waits for the end if it can yield.
function Process:close(session, bound)
    session.handle:close_soon(bound)
    local waits = current.process() == self and schedulers.driving() == self.world
        and coroutines.yieldable()
    if not waits or session.handle:ended() or self.over then return end
    local pause, closing = self.world:new_pause(), self.closing[session] or {}
    closing[#closing + 1], self.closing[session] = pause, closing
    pause:wait_and_close()
end


-- --- the driver ---------------------------------------------------------------------------

--- Calls a callback of a session, at once if no callback is waiting.
function Process:call(_, _, fn, ...)
    local waits = self.calling or self.calls[1]
    if not waits and schedulers.driving() == self.world then return fn(...) end
    self.calls[#self.calls + 1] = { fn = fn, n = select("#", ...), ... }
    if current.process() == self then return end
    self.world:schedule(self.world:now(), function() self:make_calls() end)
end


function Process:driver()
    return self.own_driver
end


local function driver_of(self)
    local world = self.world
    return {
        wait = function(_, request, deadline)
            world:note_wait(self, request)
            return world:wait(request, deadline)
        end,
        spawn = function(_, fn)
            self.run:start(fn)
            return true, function() return self.over end
        end,
        sleep = function(seconds)
            local message, code = coroutines.refusal()
            if message then return nil, message, code end
            world:tell(self, "sleeps %g s", seconds)
            local due = seconds >= LEAST and world:now() + seconds or world:next_poll(running())
            world:sleep_until(due)
            return true
        end,
        refusal = function()
            if schedulers.driving() == world then return coroutines.refusal() end
            return select(2, failure("context", self.name, "only a coroutine of it can wait"))
        end,
    }
end


function Process:session_options(opts)
    return {
        steps = opts.on_event ~= nil or self.world.story ~= nil,
        identity = opts.identity or self.name,
        world = self.world.core,
        process = self.number,
    }
end


function Process:granted()
    self.world.sections = self.world.sections + 1
end


function Process:meet_error(problem)
    if not self.world.keeps_errors then self.world:fail(problem, self) end
end


function Process.note_acquire(_, request, path)
    request.path = path
end


function Process:note_event(event)
    self.world:note_event(self, event)
end


function Process.new(world, number, name, fn)
    local self = setmetatable({
        world = world,
        owners = { names = setmetatable({}, WEAK), last = 0 },
        tokens = { count = 0, uses = {} },
        number = number,
        name = name,
        turns = 0,
        turned_at = world:now(),
        sessions = {},
        closing = {},
        calls = {},
        calling = false,
        stopped = false,
        over = false,
        delayed = {},
        unheard = {},
        cut_until = 0,
        cut_sessions = {},
        fault_ends = {},
    }, Process)
    self.own_driver = driver_of(self)
    self.run = setmetatable(world:new_run(), Run)
    self.run.process = self
    self.run:start(fn)
    return self
end


function Process:pause()
    local ready, pause = self.world.ready, self.world:new_pause()
    ready[#ready + 1] = pause -- its turn wakes it
    pause:wait_and_close()
end


return Process
