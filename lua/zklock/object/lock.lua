--- A lock is a mutex, one side of a read-write lock, a semaphore, or several locks as one. Grants
-- follow the order of arrival over all processes, except in a mutex with order = "none".

local Condition = require "zklock.object.condition"
local Lease = require "zklock.object.lease"
local Request = require "zklock.waiting.request"
local callers = require "zklock.waiting.callers"
local combine = require "zklock.object.combine"
local core = require "zklock.core"
local failure = require "zklock.value.failure"
local misuse = require "zklock.value.misuse"
local options = require "zklock.value.options"
local owners = require "zklock.waiting.owner"
local strict_methods = require "zklock.value.strict_methods"
local runtime = require "zklock.waiting.runtime"
local scope = require "zklock.waiting.scope"
local section = require "zklock.object.section"
local take_queue = require "zklock.value.queue"
local token_uses = require "zklock.object.token_uses"
local wait = require "zklock.waiting.wait"

local now = runtime.now
local ipairs, setmetatable, type = ipairs, setmetatable, type
local max = math.max

---@class zklock.Lock
---@field public path string
---@field kind "mutex"|"read"|"write"|"permit"|"multi"
---@field contends_as "mutex"|"read"|"write"|"permit"|"unfair"
---@field limit? integer of a semaphore
---@field batch? integer grants of a turn, or core.batch_by_time
---@field counting? boolean its tokens count the grants of a node
local Lock = {}
Lock.__index = Lock
Lock.__name = "zklock.lock"


local USES = {
    fifo = 'a mutex with order = "fifo"', turns = 'a mutex with order = "turns"',
    none = 'a mutex with order = "none"', counting = 'a mutex with token = "turns"',
    rwlock = "a read-write lock", semaphore = "a semaphore of %d permits",
}


local EPHEMERAL = "it, or a node above it, is an ephemeral node; use another path"
local IN_ORDER = { fifo = true, counting = true, turns = true }

local function advice(self, use)
    local mutex = self.contends_as == "mutex" or self.kind == "multi"
    if mutex and IN_ORDER[use] then
        return 'take this lock in a second session, each of the two with token = "turns"'
    end
    if self.limit and use == "semaphore" then return "all users of a path give the same limit" end
    return "a path has one kind of lock and one order; use another path"
end


local function describe(self, use, limit, ours, part)
    if not use then return EPHEMERAL end
    local path = self.parts and self.parts[part] and self.parts[part].path or "it"
    local used = ours and ("this session uses %s as "):format(path) or path .. " is used as "
    return used .. USES[use]:format(limit) .. ": " .. advice(self, use)
end


local function timeout_detail(handle, timeout)
    local text = timeout == 0 and "nobody said whether it is taken"
        or ("waited %g s"):format(timeout)
    local stops = handle:stops()
    if stops == 0 then return text end
    local often = stops == 1 and "once" or ("%d times"):format(stops)
    return ("%s; this process was stopped %s, and gets no lock soon after a stop")
        :format(text, often)
end


local function take(handle, owner, lock, timeout)
    local lease, code, detail = handle:lease()
    if lease then
        if lock.session.on_event then token_uses.record(lock) end
        return Lease.new(lock, lease, owner)
    end
    local is_try = timeout == 0
    if code == "timeout" then detail = timeout_detail(handle, timeout) end
    if code == "busy" and not is_try then detail = "as many wait as max_waiters allows" end
    if code == "conflict" then detail = describe(lock, handle:conflict()) end
    if code == "no_node" then detail = "the chroot does not exist" end
    return failure(code, lock.path, detail)
end


-- Unregisters first, because taking the lease frees the handle that a finalizer could interrupt.
local function take_lease(request, ...)
    request.requests[request.id] = nil
    return take(request.handle, request.owner, ...)
end


local function drop(handle, ...)
    handle:drop()
    return ...
end


-- The verbs of a single lock; a multi-lock has its own.
local verbs = {}

-- Begins to contend. `stopped` has the keys of holders that the wait would stop.
function verbs.ask(self, owner, timeout, stopped, opts)
    return self.session.handle:acquire(self.acquire_options, owner, timeout, stopped, opts)
end


local function attempt(self, opts, max_wait, begun)
    local session, owner = self.session, owners.key(opts.owner)
    local driver, message, code = wait.driver(session)
    if not driver then return nil, message, code end
    local left = max_wait and max(max_wait - (now() - begun), 0)
    local request = Request.new(session, nil, owner)
    request.on_queued = opts.on_queued
    session.runtime:note_acquire(request, self.path)
    local stopped = opts.timeout ~= 0 and callers.stopped_holders(driver, self) or nil
    local handle, id, done = self.verbs.ask(self, owner, left, stopped, opts)
    if done then -- the owner holds the lock already
        return drop(handle, take(handle, owner, self, opts.timeout))
    end
    request.handle, request.id = handle, id
    request.requests[id] = request
    return wait.wait_by(driver, session, request, left, take_lease, self, opts.timeout)
end


local LOSSES = 8 -- in a row, after which a multi-lock pauses before it contends again
local PAUSE = 0.1 -- seconds


-- Returns nil, message, "timeout" after the pause, or another code if something ends it.
local function pause(self, owner)
    local session = self.session
    local request = Request.new(session, session.handle:pause(PAUSE), owners.key(owner))
    return wait.wait(session, request, PAUSE, wait.take, self.path)
end


-- A multi-lock that lost its place in one of its lines ("lost") contends again.
local function acquire(self, opts)
    local session, max_wait = self.session, opts.timeout
    if session.handle:gone() then return failure(session:gone(), self.path) end
    local begun = max_wait and now()
    if max_wait == 0 then max_wait = session.connect_timeout end
    local losses = 0
    while true do
        local lease, message, code = attempt(self, opts, max_wait, begun)
        if code ~= "lost" then return lease, message, code end
        losses = losses + 1
        if losses >= LOSSES then
            lease, message, code = pause(self, opts.owner)
            if code ~= "timeout" then return lease, message, code end
        end
    end
end


local function checked_options(self, arg)
    if self.limit then return options.permits(arg, self.limit) end
    return options.acquire(arg)
end


--- Waits for the lock.
---@param opts? number|zklock.AcquireOptions|zklock.PermitOptions seconds; nil: for ever, 0: try
---@return zklock.Lease? lease
---@return string? message
---@return zklock.Code? code
function Lock:acquire(opts, more)
    if type(more) == "table" then
        misuse.refuse("acquire takes seconds or a table: { timeout = seconds }")
    end
    return acquire(self, checked_options(self, opts))
end


local function with(self, opts, fn, ...)
    local lease, message, code = acquire(self, opts)
    if not lease then return nil, message, code end
    return section(lease, fn, ...)
end


--- lock:with([timeout|options,] fn, ...) runs fn(lease, ...) holding the lock, and releases it
-- however fn ends. An error passes unchanged.
---@overload fun(self: zklock.Lock, fn: (fun(lease: zklock.Lease, ...): ...), ...): true?, ...
---@param opts? number|zklock.AcquireOptions|zklock.PermitOptions
---@param fn fun(lease: zklock.Lease, ...): ...
---@param ... any
---@return true? ok
---@return any ... fn's results; or message, code, and after "lost" fn's results
function Lock:with(given, fn, ...)
    if type(given) == "function" then return with(self, checked_options(self), given, fn, ...) end
    if type(fn) ~= "function" then
        misuse.refuse("with takes ([timeout or options,] function, arguments...)")
    end
    return with(self, checked_options(self, given), fn, ...)
end


function verbs.revoke(self, timeout)
    local session = self.session
    if session:gone() then return failure(session:gone(), self.path) end
    timeout = options.timeout(timeout, session:timeout())
    local deadline = now() + timeout
    local queue, message, code = self:queue(timeout)
    if not queue then return nil, message, code end
    local count = 0
    for _, entry in ipairs(queue) do
        if not (entry.held or entry.kept) then break end
        local left = max(deadline - now(), 0)
        local handle = session.handle:revoke(self.path .. "/" .. entry.name, left)
        local ok
        ok, message, code = session:await(handle, left, wait.take, self.path)
        if not ok then return nil, message, code end
        count = count + 1
    end
    return count
end


function verbs.queue(self, timeout)
    local session = self.session
    if session:gone() then return failure(session:gone(), self.path) end
    timeout = options.timeout(timeout, session:timeout())
    local request = session.handle:queue(self.path, self.contends_as, timeout)
    return session:await(request, timeout, take_queue, self.path)
end


--- Asks each present holder to give way, by its lease:on_revoke or Curator's makeRevocable(). The
-- holder decides whether it does.
---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return integer? count of the holders that were asked
---@return string? message
---@return zklock.Code? code
function Lock:revoke(timeout)
    return self.verbs.revoke(self, timeout)
end


--- Lists the contenders of all clients that zklock knows, first in line first.
---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return zklock.Contender[]? queue
---@return string? message
---@return zklock.Code? code
function Lock:queue(timeout)
    return self.verbs.queue(self, timeout)
end


--- A condition in which a holder waits for another holder's signal. All users of the lock share the
-- condition of a name.
---@param name string
---@return zklock.Condition? condition
---@return string? message
---@return zklock.Code? code "unsupported"
function Lock:condition(name)
    if self.batch or self.contends_as ~= "mutex" and self.contends_as ~= "write" then
        return failure("unsupported", self.path,
                       'only a mutex with order = "fifo" or a write lock has conditions')
    end
    return Condition.new(self, name)
end


--- Carries out items of many coroutines in one hold. fn(lease, items) gets items in order of
-- arrival, and returns a list with a result for each.
---@param fn fun(lease: zklock.Lease, items: any[]): any[]
---@param opts? zklock.CombineOptions
---@return fun(item: any, timeout?: number|zklock.TimeoutOptions): any, string?, zklock.Code? submit
-- returns the item's result; or nil, message, code: "unknown" if it may be carried out, "lost" if
-- the lock was lost before its end, and after any other code it is not carried out
function Lock:combine(fn, opts)
    return combine(self, fn, opts)
end


function Lock:__tostring()
    if self.limit then return ("zklock.semaphore (%s, %d)"):format(self.path, self.limit) end
    return ("zklock.%s (%s)"):format(self.kind, self.path)
end


strict_methods(Lock, Lock, "lock")


-- Runs fn(...) while holding the lock. It does not report a loss.
---@return any ... fn's results; or nil, message, code without the lock
function Lock.run(lock, opts, fn, ...)
    local lease, message, code = acquire(lock, opts)
    if not lease then return nil, message, code end
    return scope(lease, fn, ...)
end


local function acquire_options(session, path, kind, opts)
    return core.acquire_options{
        path = path,
        kind = kind,
        reentrant = opts.reentrant,
        data = opts.data,
        jitter = opts.jitter,
        limit = opts.limit,
        batch = opts.batch,
        counting = opts.token == "turns",
        keep = opts.keep,
        meter = opts.metrics and session:meter(opts.metrics),
    }
end


function Lock.new(session, path, kind, opts)
    local contends_as = opts.order == "none" and "unfair" or kind
    return setmetatable({
        verbs = verbs,
        session = session,
        path = path,
        kind = kind,
        contends_as = contends_as,
        limit = opts.limit,
        batch = opts.batch,
        counting = opts.token == "turns",
        -- A multi-lock uses the options of its parts.
        acquire_options = kind ~= "multi" and acquire_options(session, path, contends_as, opts),
    }, Lock)
end


return Lock
