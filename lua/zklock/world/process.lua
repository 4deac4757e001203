--- A process of a world of virtual time: its coroutines, its sessions, its callbacks. It is the
-- driver of every wait in it.

local failure = require "zklock.failure"
local here = require "zklock.here"
local schedulers = require "zklock.scheduler"
local sessions = require "zklock.sessions"

local ipairs, select, setmetatable = ipairs, select, setmetatable
local max = math.max
local unpack = table.unpack or unpack

---@class zklock.Process
---@field world zklock.World
---@field name string
---@field number integer
---@field run zklock.Run its coroutines
---@field turns integer how often one of them ran
---@field turned_at number when that was last
---@field sessions zklock.Session[]
---@field closing table<zklock.Session, zklock.Pause> who waits for its end
---@field calls table[] callbacks that are to run, in order
---@field calling boolean one does
---@field stopped boolean
---@field over boolean it has ended, or was killed
---@field held table[] what was to be resumed while it was stopped
---@field unheard zklock.Session[] what had news then
local Process = {}
Process.__index = Process


-- --- its coroutines -----------------------------------------------------------------------

local Run = setmetatable({}, { __index = schedulers.Run })
Run.__index = Run


function Run:ended(thread)
    if not self.tasks[thread] then return end
    self.tasks[thread] = nil
    self.live = self.live - 1
    if self.live == 0 then self.process:ended() end
end


function Run:fail(problem)
    self.process.world:fail(problem, self.process)
end


--- Nothing of it goes on.
function Process:end_it()
    self.over = true
    self.run:stop()
    self.world.live = self.world.live - 1
end


--- All of its coroutines have ended, so it exits: its sessions are closed.
function Process:ended()
    self:end_it()
    self.world:note(self, "ends")
    for _, session in ipairs(self.sessions) do session.handle:close_soon(1) end
end


--- What runs fn() in it now, or goes on with a coroutine of it.
function Process:resume(thread, ...)
    here.act(self)
    self.world:resume(thread, ...)
    here.act(nil)
    self.turns, self.turned_at = self.turns + 1, self.world:now()
end


-- --- its sessions -------------------------------------------------------------------------

function Process:add(session)
    self.sessions[#self.sessions + 1] = session
    self.world.longest = max(self.world.longest, session.asked_timeout)
    self.world.sessions[self.world.core:number(session.handle)] = session
end


--- A session of it is open: from its first one on, faults happen to it.
function Process:connected()
    self.world.faults:begin(self)
end


--- Delivers what happened in a session of it.
function Process:hear(session)
    if self.over then return end
    if self.stopped then
        self.unheard[#self.unheard + 1] = session
        return
    end
    here.act(self)
    sessions.deliver(session)
    here.act(nil)
    local closing = self.closing[session]
    if closing and session.handle:ended() then self.world:wake(closing) end
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


--- Runs the callbacks of what was delivered, each after the one before it, in a coroutine. It is
-- nobody's choice when they begin: who listens changes no schedule.
function Process:make_calls()
    if self.calling or not self.calls[1] or self.over then return end
    self.calling = true
    self.run:start(call_all, self)
    local ready = self.world.ready
    local entry = ready[#ready]
    ready[#ready] = nil
    here.act(self)
    self.world:resume(entry.thread, self)
    here.act(nil)
end


--- Goes on after a stop.
function Process:go_on()
    local ready, held, unheard = self.world.ready, self.held, self.unheard
    self.stopped, self.held, self.unheard = false, {}, {}
    for _, entry in ipairs(held) do ready[#ready + 1] = entry end
    for _, session in ipairs(unheard) do self:hear(session) end
end


--- Closes a session at most within `bound` seconds; waits for that where a coroutine may.
function Process:close(session, bound)
    session.handle:close_soon(bound)
    local waits = here.process() == self and schedulers.driving() == self.world
    if not waits or session.handle:ended() or self.over then return end
    local pause = self.world:new_pause()
    self.closing[session] = pause
    pause:rest()
    self.closing[session] = nil
end


-- --- the driver ---------------------------------------------------------------------------

local function driver_of(self)
    local world = self.world
    return {
        wait = function(_, request, deadline)
            world:note_wait(self, request)
            return world:wait(request, deadline)
        end,
        spawn = function(fn)
            self.run:start(fn)
            return true, function() return self.over end
        end,
        -- At once, as where a coroutine registers it, or after those before it.
        call = function(_, _, fn, ...)
            local waits = self.calling or self.calls[1]
            if not waits and schedulers.driving() == world then return fn(...) end
            self.calls[#self.calls + 1] = { fn = fn, n = select("#", ...), ... }
        end,
        sleep = function(seconds)
            world:note(self, "sleeps %g s", seconds)
            world:sleep_until(world:now() + seconds)
            return true
        end,
        refusal = function()
            if schedulers.driving() == world then return end
            return select(2, failure("context", self.name, "only a coroutine of it can wait"))
        end,
    }
end


--- A step of a lock of it, for the story.
function Process:note_step(step)
    self.world:note_step(self, step)
end


function Process.new(world, number, name, fn)
    local self = setmetatable({
        world = world,
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
        held = {},
        unheard = {},
        tokens = { count = 0, uses = {} },
        owners = { numbers = setmetatable({}, { __mode = "k" }), last = 0 },
    }, Process)
    self.driver = driver_of(self)
    self.run = setmetatable(world:new_run(), Run)
    self.run.process = self
    self.run:start(fn)
    return self
end


--- A coroutine of it is ready again at once, and so it can be stopped there.
function Process:pause()
    local ready, pause = self.world.ready, self.world:new_pause()
    ready[#ready + 1] = pause -- its turn wakes it
    pause:rest()
end


return Process
