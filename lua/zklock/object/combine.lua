--- A combiner carries out items of many coroutines in one hold of a lock (flat combining, group
-- commit). Submitters queue entries and pause; a runner takes the lock. Where nothing can run
-- beside the caller, each submitter takes the lock itself.

local callers = require "zklock.waiting.callers"
local carry_out = require "zklock.object.combine.batch"
local current_task = require "zklock.waiting.nginx_task"
local entries = require "zklock.object.combine.entry"
local failure = require "zklock.value.failure"
local misuse = require "zklock.value.misuse"
local new_queue = require "zklock.object.combine.queue"
local options = require "zklock.value.options"
local owners = require "zklock.waiting.owner"
local runners = require "zklock.object.combine.runner"
local runtime = require "zklock.waiting.runtime"
local scope = require "zklock.waiting.scope"
local wait = require "zklock.waiting.wait"

local ipairs, pairs = ipairs, pairs
local max, now = math.max, runtime.now
local setmetatable, tostring = setmetatable, tostring
local brief = misuse.brief
local running = coroutine.running

---@class zklock.Combiner
---@field lock zklock.Lock
---@field fn fun(lease: zklock.Lease, items: any[]): any[]
---@field most integer
---@field max_waiters? integer limit of waiting items, and of contenders before a hold
---@field timeout? number seconds, the default of submit
---@field max_hold? number seconds, of each hold
---@field queue zklock.EntryQueue
---@field weak { runner: zklock.Runner? }
---@field inside table<thread, zklock.Lease> coroutines that run fn; weak


-- True in a coroutine that runs fn, or that such a coroutine resumed. An interrupted call leaves
-- its lease in `inside`.
local function is_inside(self)
    local runner, task, own = runners.of(self), current_task(), running() or "main"
    if runner and (runner.thread == own or task and runner.task == task) then return true end
    local inside = {} -- a copy, because a finalizer may change the set
    for thread, lease in pairs(self.inside) do inside[thread] = lease end
    for thread, lease in pairs(inside) do
        local calls = thread == own or callers.is_caller(thread)
        if calls and lease:state() ~= "released" then return true end
    end
    return false
end


local function is_held_by(self, owner)
    for _, part in ipairs(self.lock.parts or { self.lock }) do
        for _, holder in ipairs(part.session.handle:holders(part.path, owner)) do
            if holder == owner then return true end
        end
    end
    return false
end


local function carry_out_one(self, lease, item)
    local results, answer = carry_out(self.fn, self.inside, lease, { item })
    return entries.result_of(answer or { value = results[1] })
end


-- The caller may hold the lock already.
local function submit_alone(self, item, timeout)
    local lease, message, code = self.lock:acquire{
        timeout = timeout, max_waiters = self.max_waiters, max_hold = self.max_hold,
    }
    if not lease then return nil, message, code end
    return scope(lease, carry_out_one, self, lease, item)
end


local function wait_for_answer(entry, self, timeout)
    local session, path = self.lock.session, self.lock.path
    return wait.wait(session, entry.request, timeout, entries.take, entry, path, timeout)
end


local function unless_alone(entry, self, due, ...)
    if not (entry.answer and entry.answer.is_alone) then return ... end
    return submit_alone(self, entry.item, due and max(due - now(), 0))
end


local function attend(entry, self, timeout)
    local due = timeout and now() + timeout
    self.queue:add(entry)
    if not runners.of(self) and not runners.start(self) then
        entry:close()
        return submit_alone(self, entry.item, timeout)
    end
    return unless_alone(entry, self, due, wait_for_answer(entry, self, timeout))
end


-- The last submitter that leaves ends the runner's wait for the lock.
local function submit_together(self, item, owner, timeout)
    local entry = entries.new(self.lock.session, item, owner, timeout, function()
        local runner = runners.of(self)
        if runner and not self.queue:first() then runner:stop_waiting() end
    end)
    return scope(entry, attend, entry, self, timeout)
end


local function is_crowded(self)
    local most = self.max_waiters
    return most and self.queue:has_at_least(most)
end


local function submit(self, item, timeout)
    local session, path = self.lock.session, self.lock.path
    if item == nil then misuse.refuse("submit takes an item, not nil") end
    timeout = options.timeout(timeout, self.timeout)
    if session:gone() then return failure(session:gone(), path) end
    local driver, refusal, why = wait.driver(session)
    if not driver then return nil, refusal, why end
    if is_inside(self) then return failure("would_deadlock", path, "submit inside its fn") end
    local owner = owners.key()
    if is_held_by(self, owner) or callers.stopped_holders(driver, self.lock) then
        return submit_alone(self, item, timeout)
    end
    if timeout == 0 then
        if runners.of(self) then return failure("busy", path) end
        return submit_alone(self, item, timeout)
    end
    if is_crowded(self) then
        return failure("busy", path, "as many wait as max_waiters allows")
    end
    return submit_together(self, item, owner, timeout)
end


local shared = { read = true, permit = true }

-- True if no other contender can share the lock, or one part of the multi-lock.
local function is_exclusive(lock)
    for _, part in ipairs(lock.parts or { lock }) do
        if not shared[part.contends_as] then return true end
    end
    return false
end


---@param lock zklock.Lock
return function(lock, fn, opts)
    options.callable(fn, "fn of combine")
    opts = options.combine(opts)
    if not is_exclusive(lock) then
        misuse.refuse("combine needs an exclusive lock, not %s", brief(tostring(lock)))
    end
    local self = {
        lock = lock,
        fn = fn,
        most = opts.most,
        max_waiters = opts.max_waiters,
        timeout = opts.timeout,
        max_hold = opts.max_hold,
        queue = new_queue(),
        weak = setmetatable({}, { __mode = "v" }),
        inside = setmetatable({}, { __mode = "kv" }),
    }
    return function(item, timeout) return submit(self, item, timeout) end
end
