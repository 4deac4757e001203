--- A world of virtual time. Programs that use zklock run in its processes, in one thread, and a
-- seed chooses the next step. Time goes on when no coroutine can run. Clients, network and servers
-- are in src/world.

local Process = require "zklock.world.process"
local agenda = require "zklock.waiting.agenda"
local choices = require "zklock.world.choices"
local core = require "zklock.core"
local coroutines = require "zklock.waiting.coroutines"
local failure = require "zklock.value.failure"
local faults = require "zklock.world.faults"
local go_on = require("zklock.world.loop").go_on
local current = require "zklock.world.current"
local inflict = require "zklock.world.inflict"
local misuse = require "zklock.value.misuse"
local options = require "zklock.world.options"
local check_function = require("zklock.value.options").callback
local strict_methods = require "zklock.value.strict_methods"
local schedulers = require "zklock.waiting.scheduler"
local stories = require "zklock.world.story"
local text_of = require "zklock.world.problem"

local create, resume = coroutine.create, coroutine.resume
local running, status, yield = coroutine.running, coroutine.status, coroutine.yield
local error, ipairs, pairs = error, ipairs, pairs
local select, setmetatable = select, setmetatable
local min = math.min

local WEAK = { __mode = "k" }
local SLACK = 100 -- packets in a row without a change at a server
local POLL, POLL_MAX = 0.0001, 1 -- seconds of a pause of a coroutine that polls
local POLLS = 1000 -- pauses until they are twice as long
local NO_PROCESS = { name = "" } -- in the story
local FINGERPRINTS = 2 ^ 47 -- of schedules; 33 times a smaller number is exact
local MESSAGES = 2000 -- kept, at most

---@class zklock.Message a packet between a process and a server
---@field process string
---@field up boolean to the server
---@field sent number
---@field arrived? number nil if it got lost
---@field text string

---@class zklock.Branch where chance begins to decide, by another seed
---@field after integer steps
---@field seed integer

---@class zklock.World: zklock.Scheduler
---@field core userdata
---@field memory table the verbs of its servers, as core.memory
---@field processes zklock.Process[]
---@field by_name table<string, zklock.Process>
---@field sessions table<integer, zklock.Session>
---@field events zklock.Agenda of { due, fn }
---@field happened zklock.Fault[] faults
---@field public problem? any why the schedule is wrong
---@field nobody zklock.InWorld for code of no process
---@field public story? string[] what happened, a line each
---@field step_count integer of turns and faults
---@field branch? zklock.Branch
---@field branched_at? number when the branch was taken
---@field mark? zklock.Mark
---@field settings table of the faults of a branch, as zklock.world.options has them
---@field messages? zklock.Message[] of a world that is over
---@field turn_count integer of coroutines
---@field chain_length integer of events at one time, each scheduled by the one before
---@field sections integer locks that were granted
---@field fingerprint integer of the steps, see do_step()
---@field in_step boolean
---@field active_at number of the last turn, news or event
---@field look_at number when to look for a deadlock
---@field doubted_at number? the time of the last activity before the first look
---@field turn_time number the time of the last turn
---@field first_thread thread? the coroutine of the first turn at that time
---@field turns table<thread, integer>? by coroutine, if there were more turns at that time
---@field polls table<thread, integer> count by coroutine
---@field keeps_errors boolean? errors of callbacks do not make the schedule wrong
---@field over boolean
---@field finished? boolean all processes have ended, so the functions of finally() are called
---@field order? zklock.Schedule nil if the seed decides
---@field meddled? boolean in this step the program reached into servers or other processes
---@field has_called? boolean in this step a callback ran
local World = setmetatable({}, { __index = schedulers.Scheduler })
World.__index = World
World.__name = "zklock.world"
for name, method in pairs(stories) do World[name] = method end


-- --- the end of a world -------------------------------------------------------------------

function World:fail(problem, process)
    if self.problem ~= nil then return end
    if problem == nil then problem = "an error that is nil" end
    self.problem = problem
    self.over = true
    if process then self:tell(process, "fails: %s", text_of(problem)) end
end


local function messages(self)
    local list = {}
    for i, each in ipairs(self.core:messages()) do
        local session = self.sessions[each.number]
        list[i] = {
            process = session and session.runtime.name, up = each.up, sent = each.sent,
            arrived = each.arrived, text = each.text,
        }
    end
    return list
end


-- Calls fn(self, ...) in a coroutine that is the world's loop. Its error is the schedule's.
local function within(self, fn, ...)
    if current.world() then misuse.refuse("a world of virtual time has no other one in it") end
    local loop = create(fn)
    self.loop_thread, self.outer = loop, schedulers.driving()
    current.enter(loop, self)
    local ok, problem = resume(loop, self, ...)
    if not ok then self:fail(problem)
    elseif status(loop) ~= "dead" then
        self:fail("only the coroutines of a process yield")
    end
    if self.over and self.core then
        self.ended_at = self.core:now()
        self.messages = messages(self)
        self.core:end_it()
        self.core = nil
    end
end


local function enter_branch(self)
    self.core:reseed(self.branch.seed)
    self.faults = faults.drawn(self, self.settings, self.faults.begun)
    self.branch, self.order, self.branched_at = nil, nil, self:now()
end


local function run(self)
    while not self.over do
        if self.branch and self.step_count >= self.branch.after then enter_branch(self) end
        if self.order then self.order:step() else go_on(self) end
    end
end


-- --- for the test -------------------------------------------------------------------------

--- Seconds since the world began.
---@return number
function World:now()
    return self.core and self.core:now() or self.ended_at
end


--- As math.random, by the seed.
---@param m? integer
---@param n? integer
---@return number
function World:random(m, n)
    if not self.core then misuse.refuse("the world is over") end
    if m == nil and n == nil then return self.core:fraction("program") end
    options.range(m, n)
    if n == nil then m, n = 1, m end
    return m - 1 + self.core:draw("program", n - m + 1)
end


--- Adds a line of the program's to the story.
---@param text any
function World:note(text)
    self:tell(current.process() or NO_PROCESS, "%s", text_of(text))
end


--- A process whose main coroutine is fn().
---@param name string unique
---@param fn fun()
function World:process(name, fn)
    options.name(name)
    check_function(fn, "what a process runs")
    if self.over then misuse.refuse("the world is over") end
    if self.by_name[name] then misuse.refuse("there is a process %s", misuse.show(name)) end
    local process = Process.new(self, #self.processes + 1, name, fn)
    self.live = self.live + 1
    self.processes[process.number] = process
    self.by_name[name] = process
end


-- Calls fn() at that time. Returns the event.
function World:schedule(at, fn)
    local event = { due = at, fn = fn, chain_length = self.chain_length }
    self.events:add(event)
    return event
end


--- Calls fn() at that time; fn does not wait.
---@param time number seconds since the world began
---@param fn fun()
function World:at(time, fn)
    options.time(time)
    check_function(fn, "what happens at a time")
    if self.over then misuse.refuse("the world is over") end
    self:schedule(time, fn)
end


--- Calls fn() when all processes have ended; fn does not wait.
---@param fn fun()
function World:finally(fn)
    check_function(fn, "what is done finally")
    self.finals[#self.finals + 1] = fn
end


--- A point at which the process may be stopped, and another may go first.
function World:pause()
    local process = current.process()
    if not process or schedulers.driving() ~= self then
        misuse.refuse("world:pause() is for a coroutine of a process")
    end
    process:pause()
end


local function find(self, name)
    local process = self.by_name[name]
    if not process then misuse.refuse("there is no process %s", misuse.show(name)) end
    return process
end


-- Calls fn(self, ...) as a step. Equal sequences of step numbers give equal fingerprints.
function World:do_step(number, fn, ...)
    self.fingerprint = (self.fingerprint * 33 + number) % FINGERPRINTS
    self.step_count = self.step_count + 1
    if self.mark then self:mark_step(self.processes[number]) end
    self.in_step = true
    fn(self, ...)
    self.in_step = false
end


function World:inflict(fault)
    fault.at = self:now()
    self.happened[#self.happened + 1] = fault
    self:do_step(#self.processes + fault.turn, inflict[fault.kind], self.by_name[fault.process],
        fault.lasts)
end


-- Inflicts a fault for the test. Returns false if the process has ended, or is stopped.
local function by_test(self, kind, name, seconds)
    local process = find(self, name)
    if self.over or process.over or kind == "stop" and process.stopped then return false end
    self.active_at, self.meddled = self:now(), true
    return inflict[kind](self, process, seconds) ~= false
end


--- Stops the process for so long. The time of servers goes on.
---@param name string
---@param seconds number
---@return boolean done false if it has ended, or is stopped
function World:stop(name, seconds)
    options.time(seconds)
    local done, process = by_test(self, "stop", name, seconds), current.process()
    if process and process.stopped and schedulers.driving() == self then process:pause() end
    return done
end


-- Lets a stopped process stay so for so long from now on, unless it is stopped for longer.
function World:stop_longer(name, seconds)
    return by_test(self, "longer_stop", name, seconds)
end


-- A coroutine of the user's own yields to the user's code, so only an error ends it.
local function vanish(self)
    while running() == self.resumed do yield() end
    error("the process has been killed", 0)
end


--- Ends the process. Its sessions live until they expire.
---@param name string
---@return boolean done false if it has ended
function World:kill(name)
    local done, process = by_test(self, "kill", name), current.process()
    if process and process.over and schedulers.driving() == self then vanish(self) end
    return done
end


--- Cuts the process off from the network, for so long or until it is healed.
---@param name string
---@param seconds? number
---@return boolean done false if it has ended
function World:cut(name, seconds)
    if seconds ~= nil then options.time(seconds) end
    return by_test(self, "cut", name, seconds)
end


---@param name string
---@return boolean done false if it has ended, or was not cut off
function World:heal(name)
    return by_test(self, "heal", name)
end


--- The server ends the process's sessions.
---@param name string
---@return boolean done false if it has ended
function World:expire(name)
    return by_test(self, "expire", name)
end


-- --- coroutines that poll ---------------------------------------------------------------

-- Returns the end of a pause of a coroutine that polls, which is to yield by itself or to sleep for
-- no time. Its pauses become longer.
function World:next_poll(thread)
    local polls = (self.polls[thread] or 0) + 1
    self.polls[thread] = polls
    return self:now() + min(POLL * 2 ^ (polls / POLLS), POLL_MAX)
end


function World:resume_later(thread)
    self.sleepers:add{ thread = thread, due = self:next_poll(thread) }
end


-- --- step by step -------------------------------------------------------------------------

--- The possible next steps in words.
---@return string[]
function World:choices()
    local texts = {}
    if self.over then return texts end
    for i, choice in ipairs(choices(self)) do texts[i] = choice.text end
    return texts
end


--- Takes a step of world:choices().
---@param number integer
---@return boolean goes_on false if the world is over
function World:choose(number)
    if self.over then return false end
    local choice = choices(self)[number]
    if not choice then misuse.refuse("there is no choice %s", misuse.show(number)) end
    within(self, function()
        choice.fn()
        while not self.over and not choices(self)[1] do go_on(self) end -- ends the world
    end)
    return not self.over
end


--- Takes the step that the seed chooses.
---@return boolean goes_on false if the world is over
function World:step()
    if self.over then return false end
    within(self, go_on, nil, 1)
    return not self.over
end


--- Takes the steps that the seed chooses until the world is over.
---@return true? ok
---@return any problem
function World:run()
    if not self.over then within(self, run) end
    if self.problem == nil then return true end
    return nil, self.problem
end


-- --- the beginning of a world -------------------------------------------------------------

local function refuse_wait()
    return select(2, failure("context", "a world of virtual time",
                             "only the coroutines of its processes wait"))
end


-- As core.memory, for the world's own servers.
local function verbs_of(self, core_world)
    local verbs = {}
    for _, verb in ipairs{ "expire", "cut", "heal", "name", "delay", "reset", "children" } do
        verbs[verb] = function(...)
            self.meddled = true
            return core_world[verb](core_world, ...)
        end
    end
    return verbs
end


--- Why there can be no world here, as message and code.
local function problem_here()
    if ngx then return select(2, failure("context", "zklock.world", "not in nginx")) end
    if coroutines.problem then
        return select(2, failure("unsupported", "zklock.world", coroutines.problem))
    end
    if current.world() then
        return select(2, failure("context", "zklock.world", "a world has no other one in it"))
    end
end


-- fn(world) adds the processes.
local function new(fn, opts)
    local core_world = core.world(opts.seed, opts.faults.delay, opts.story and MESSAGES or 0)
    local self = schedulers.init(setmetatable({
        core = core_world,
        seed = opts.seed,
        limit = opts.limit,
        processes = {},
        by_name = {},
        sessions = {},
        events = agenda(),
        finals = {},
        happened = {},
        longest_timeout = 1, -- seconds, of a session
        slack = SLACK * opts.faults.delay, -- seconds
        turn_count = 0,
        step_count = 0,
        in_step = false,
        chain_length = 0,
        sections = 0,
        fingerprint = 0,
        polls = setmetatable({}, WEAK),
        active_at = 0,
        over = false,
        live = 0, -- processes
        story = opts.story and {} or nil,
        branch = opts.branch,
        mark = opts.mark,
        settings = opts.faults,
        no_driver = {
            refusal = refuse_wait,
            sleep = function() return nil, refuse_wait() end,
            wait = function() error("zklock: a wait outside of a process", 0) end,
        },
    }, World))
    self.memory = verbs_of(self, core_world)
    self.nobody = current.nobody(self)
    self.faults = opts.list and faults.replayed(self, opts.list)
        or opts.decided and faults.decided(self, opts.faults)
        or faults.drawn(self, opts.faults)
    within(self, function() fn(self) end)
    return self
end


function World:__tostring()
    return ("zklock.world (seed %s, %g s, %s)"):format(self.seed, self:now(),
        self.problem ~= nil and "wrong: " .. text_of(self.problem) or
        self.over and "over" or "goes on")
end


-- Methods for the test.
local methods = {}
for _, name in ipairs{ "at", "choices", "choose", "cut", "expire", "finally", "heal", "kill",
                       "note", "now", "pause", "process", "random", "run", "step", "stop" } do
    methods[name] = World[name]
end
strict_methods(methods, World, "world")
for name, method in pairs(methods) do World[name] = method end


local _M = { new = new, problem_here = problem_here }


--- See zklock.world.
function _M.world(fn, given)
    check_function(fn, "what a world begins with")
    local opts = options.world(given)
    local message, code = problem_here()
    if message then return nil, message, code end
    return new(fn, opts)
end


return _M
