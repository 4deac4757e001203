--- A session is the connection to ZooKeeper that locks live in.

local Caller = require "zklock.waiting.caller"
local Election = require "zklock.object.election"
local Lock = require "zklock.object.lock"
local Member = require "zklock.object.member"
local RWLock = require "zklock.object.rwlock"
local Request = require "zklock.waiting.request"
local Watcher = require "zklock.object.watcher"
local core = require "zklock.core"
local current_task = require "zklock.waiting.nginx_task"
local deliver = require "zklock.object.delivery"
local failure = require "zklock.value.failure"
local key_reader = require "zklock.value.lock_key"
local metrics = require "zklock.object.metrics"
local misuse = require "zklock.value.misuse"
local multi = require "zklock.object.multi"
local options = require "zklock.value.options"
local owners = require "zklock.waiting.owner"
local paths = require "zklock.value.path"
local strict_methods = require "zklock.value.strict_methods"
local runtime = require "zklock.waiting.runtime"
local sorted_names = require "zklock.value.sorted_names"
local wait = require "zklock.waiting.wait"

local ipairs, pcall, setmetatable = ipairs, pcall, setmetatable
local this_thread = core.thread

local CLOSE_BOUND = 5 -- seconds that close() may take
local SCOPE_BOUND = 1 -- seconds, at the end of a scope

core.on_misuse(misuse.refuse)

---@class zklock.Session
local Session = {}
Session.__index = Session
Session.__name = "zklock.session"


-- Calls the user's function. Counts its error, and does not raise it.
function Session:protect(fn, ...)
    local ok, problem = pcall(fn, ...)
    if ok then return end
    self.runtime:meet_error(problem)
    metrics.count_callback_error()
    self.callback_errors = self.callback_errors + 1
    self.callback_error = problem
end


-- Calls a callback by the driver; `key` as for wait.call().
function Session:call(key, fn, ...)
    wait.call(self, key, self.protect, self, fn, ...)
end


-- The number of a name of locks in metrics. Names become labels, so their count is limited.
function Session:meter(name)
    if self:gone() == "closed" then return nil end
    local meters = self.meters
    if not meters[name] then
        if self.meter_count == core.meters_max then
            misuse.refuse("metrics: a session has at most %d names; name the purpose of locks, " ..
                          "not each lock", core.meters_max)
        end
        meters[name] = self.handle:meter(name)
        self.meter_count = meters[name]
    end
    return meters[name]
end


--- Delivers completed requests and callbacks. Never waits. Only the thread that opened the session
-- may call it, because this Lua state may be running there.
---@return integer count of what was delivered
function Session:dispatch()
    if this_thread() ~= self.thread then
        misuse.refuse("context: dispatch() in a second thread; open a session in each thread")
    end
    if self:gone() == "closed" then return 0 end
    return deliver(self)
end


--- Returns a descriptor that is readable while dispatch() has something to deliver.
---@return integer? descriptor
---@return string? message
---@return zklock.Code? code "too_many": the process has no descriptor left; "unsupported"
function Session:fd()
    if self:gone() == "closed" then return failure("closed", self.hosts) end
    local flaw = self.runtime:no_descriptors()
    if flaw then return failure("unsupported", self.hosts, flaw) end
    local descriptor, reason = self.handle:fd()
    if descriptor then return descriptor end
    return failure("too_many", self.hosts, reason, "no descriptor is free")
end


---@return zklock.SessionState
function Session:state()
    return self.handle:state()
end


---@return string? id hexadecimal; nil while there is none
function Session:id()
    return self.handle:id()
end


---@return number seconds negotiated; before the first connection those asked for
function Session:timeout()
    local negotiated = self.handle:timeout()
    return negotiated > 0 and negotiated or self.asked_timeout
end


---@return zklock.Stats
function Session:stats()
    local stats = self.handle:stats()
    stats.callback_errors = self.callback_errors
    stats.callback_error = self.callback_error
    stats.callbacks_pending = self.runtime:unsent(self)
    stats.untold_events = stats.untold_events + self.untold_events
    stats.recovered, stats.recover_error = self.handle:recovery()
    return stats
end


-- The code of all calls of a session that the parent process opened ("forked"), or that the
-- collector took before a finalizer uses it ("closed"); else nil.
function Session:gone()
    return self.handle:gone()
end


local function take_result(request)
    return request.handle:result()
end


local function close(self, bound)
    if self:gone() == "closed" then return true end
    if self:gone() then return failure(self:gone(), self.hosts) end
    local current = runtime.current()
    if self.runtime == runtime.real and current ~= self.runtime then current:refuse(self) end
    self.runtime:close(self, bound)
    return true
end


--- Releases every lease, and ends all waits, in at most 5 s. With `drain` it first waits for
-- holders and waiters, and begins no acquire meanwhile.
---@param opts? zklock.CloseOptions
---@return true? ok
---@return string? message
---@return zklock.Code? code "context", "interrupted", "forked"
function Session:close(opts)
    opts = options.close(opts)
    if opts.drain and not self:gone() and self:state() ~= "closed" then
        local refusal, code = wait.refusal(self)
        if refusal then return nil, refusal, code end
        local drain = self.handle:drain(opts.drain_waiters, opts.drain)
        local result = self:await(drain, opts.drain, take_result)
        if result == "interrupted" then return failure(result, self.hosts) end
    end
    return close(self, CLOSE_BOUND)
end


function Session:__close()
    close(self, SCOPE_BOUND)
end


function Session:interrupt_key(key)
    local count = 0
    for _, id in ipairs(sorted_names(self.requests)) do
        local request = self.requests[id]
        local waits = request and request.owner == key
        if waits and request:interrupt() then count = count + 1 end
    end
    return count
end


--- Ends the owner's waits with "interrupted".
---@param owner? any default: the current one
---@return integer? count
---@return string? message
---@return zklock.Code? code "forked"
function Session:interrupt(owner)
    if self:gone() then return failure(self:gone(), self.hosts) end
    return self:interrupt_key(owners.key(owner))
end


-- Releases the leases of an nginx request, and drops waits of its killed light threads.
local function release_task(self, task)
    local count = self.handle:release_all(task.name)
    wait.abandon(task)
    return count
end


--- Releases every lease of the owner.
---@param owner? any default: the current one; in nginx all light threads of the request or timer
---@return integer? count
---@return string? message
---@return zklock.Code? code "forked"
function Session:release_all(owner)
    if self:gone() then return failure(self:gone(), self.hosts) end
    local task = owner == nil and current_task()
    if task then return release_task(self, task) end
    return self.handle:release_all(owners.key(owner))
end


---@param path string
---@param opts? zklock.MutexOptions
---@return zklock.Lock
function Session:mutex(path, opts)
    path, opts = options.path(path), options.mutex(opts)
    return Lock.new(self, path, "mutex", opts)
end


---@param path string
---@param opts? zklock.RWLockOptions
---@return zklock.RWLock
function Session:rwlock(path, opts)
    return RWLock.new(self, options.path(path), options.rwlock(opts))
end


--- Several locks of this session as one. It takes all of them or none.
---@param locks zklock.Lock[]
---@return zklock.Lock
function Session:multi(locks)
    return multi(self, locks)
end


--- An election, in which candidates queue for the mutex on that path and its holder leads.
---@param path string
---@param opts? zklock.ElectionOptions
---@return zklock.Election
function Session:election(path, opts)
    path, opts = options.path(path), options.election(opts)
    return Election.new(self, Lock.new(self, path, "mutex", opts), opts.max_hold)
end


---@param path string
---@param limit integer permits in all, the same for all users of the path
---@param opts? zklock.SemaphoreOptions
---@return zklock.Lock lock its acquire and with take { permits = n }, all or none
function Session:semaphore(path, limit, opts)
    path, opts = options.path(path), options.semaphore(limit, opts)
    opts.limit = limit
    return Lock.new(self, path, "permit", opts)
end


--- Wraps fn to run with its arguments, holding the mutex `prefix .. key`.
---@param prefix string
---@param key integer|integer[]|fun(...): string|integer|table places of arguments, or a function
---@param fn fun(...): ...
---@param opts? number|zklock.LockedOptions
---@return fun(...): ... fn returns fn's results; or nil, message, code
function Session:locked(prefix, key, fn, opts)
    options.prefix(prefix)
    local key_of = key_reader(key)
    options.callback(fn, "fn of locked")
    opts = options.locked(opts)
    local of_lock = opts.metrics and { metrics = opts.metrics }
    return function(...)
        return Lock.run(self:mutex(prefix .. key_of(...), of_lock), opts, fn, ...)
    end
end


--- Moves a live session to other servers of the same ensemble.
---@param hosts string as for zklock.connect, with the same chroot
---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return true? ok
---@return string? message
---@return zklock.Code? code "conflict", "timeout", "unsupported", "closed"
Session.set_hosts = require "zklock.object.move"


--- Reads a node. A holder reads all that earlier holders wrote.
---@param path string
---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return string? data
---@return integer|string version for lease:guard; or message
---@return zklock.Code? code "no_node", "auth", "timeout"
function Session:get(path, timeout)
    options.node(path)
    if self:gone() then return failure(self:gone(), path) end
    timeout = options.timeout(timeout, self:timeout())
    return self:await(self.handle:get(path, timeout), timeout, wait.take, path, "data")
end


local function watch(self, verb, path, fn)
    if self:gone() then return failure(self:gone(), path) end
    local watcher, code
    local function stop() watcher:stop() end
    watcher, code = Watcher.new(self, verb, path, fn)
    if not watcher then return failure(code, path) end
    return stop
end


--- Calls fn(data, version) with the data of a node, soon and after each change; fn(nil) without the
-- node; fn(nil, message, code) when it may not be read, its watch gave way to a lock, or, in a last
-- call, the session expires and does not reopen.
---@param path string
---@param fn fun(data: string?, version: integer|string|nil, code: zklock.Code?)
---@return fun()? stop ends the calls
---@return string? message
---@return zklock.Code? code "too_many", "closed", "expired", "auth", "forked"
function Session:watch(path, fn)
    options.node(path)
    options.callback(fn, "fn of watch")
    return watch(self, "watch", path, fn)
end


--- Calls fn(list) with the children of a folder, by name, soon and after each change of them or
-- their data; fn(nil, message, code) when they may not be read, are too many to watch, or, in a
-- last call, the session expires and does not reopen.
---@param folder string
---@param fn fun(list: zklock.Listed[]?, message: string?, code: zklock.Code?)
---@return fun()? stop ends the calls
---@return string? message
---@return zklock.Code? code "too_many", "closed", "expired", "auth", "forked"
function Session:members(folder, fn)
    options.folder(folder)
    options.callback(fn, "fn of members")
    return watch(self, "members", folder, fn)
end


--- Makes an ephemeral node in the folder, and makes it again whenever it is gone.
---@param folder string
---@param opts zklock.JoinOptions
---@return zklock.Member? member
---@return string? message
---@return zklock.Code? code "conflict": that name is taken; "timeout", "too_many", ...
function Session:join(folder, opts)
    options.folder(folder)
    opts = options.join(opts)
    local path = paths.join(folder, opts.name)
    if self:gone() then return failure(self:gone(), path) end
    local timeout = opts.timeout or self:timeout()
    local refusal, code = wait.refusal(self)
    if refusal then return nil, refusal, code end
    local member, why, which = self:await(self.handle:join(path, opts.data, timeout), timeout,
                                          Member.new, self, path)
    if not member then return nil, why, which end
    self.watchers[member.id] = member -- without a reference the collector would make it leave
    return member
end


function Session:await(handle, timeout, take, ...)
    local refusal, code = wait.refusal(self)
    if refusal then
        handle:drop()
        return nil, refusal, code
    end
    return wait.wait(self, Request.new(self, handle, owners.key()), timeout, take, ...)
end


function Session:__tostring()
    if self:gone() then return ("zklock.session (%s, %s)"):format(self:gone(), self.hosts) end
    local id = self:id()
    return ("zklock.session (%s, %s%s)"):format(self:state(), self.hosts, id and ", 0x" .. id or "")
end


strict_methods(Session, Session, "session")


local function weak_values()
    return setmetatable({}, { __mode = "v" })
end


local function open(hosts, opts, current)
    local scheme, credentials = nil, nil
    if opts.auth then scheme, credentials = opts.auth:match("^(%w+):(.*)$") end
    local of_runtime = current:session_options(opts)
    return core.session{
        hosts = hosts.hosts,
        in_memory = hosts.in_memory,
        chroot = hosts.chroot,
        timeout = opts.timeout,
        margin = opts.margin,
        auth_scheme = scheme,
        auth = credentials,
        acl = opts.acl,
        containers = opts.parents == "container",
        reopen = opts.reopen,
        steps = of_runtime.steps,
        identity = of_runtime.identity,
        recover = opts.recover,
        grace = opts.grace,
        world = of_runtime.world,
        process = of_runtime.process,
    }
end


local function new(handle, hosts, opts, current)
    local self = setmetatable({
        handle = handle,
        runtime = current,
        thread = this_thread(),
        hosts = hosts.text,
        chroot = hosts.chroot,
        asked_timeout = opts.timeout,
        connect_timeout = opts.connect_timeout,
        on_state = opts.on_state,
        on_event = opts.on_event,
        meters = {}, -- name -> its number
        meter_count = 0,
        requests = weak_values(), -- id -> Request
        watchers = {}, -- id -> Watcher or Member
        followers = {}, -- a set
        drain = opts.drain, -- seconds, in nginx
        leases = weak_values(), -- id of a grant -> list of its leases with callbacks
        last_listener = 0, -- number of the last lease with callbacks
        state_caller = Caller.new(),
        event_caller = Caller.new(),
        callback_errors = 0,
        untold_events = 0, -- besides the events that C counts
    }, Session)
    current:add(self)
    return self
end


local function connect_failure(handle, result, detail, timeout)
    if result == "timeout" or result == "expired" then
        local trouble, complaint = handle:trouble()
        detail = trouble or result == "expired" and "the server ended the session" or
            complaint or ("waited %g s"):format(timeout)
        return "connection", detail
    end
    if result == "no_node" then return result, "the chroot does not exist" end
    return result, detail
end


-- Returns hosts or a folder, and the reason why no session can be opened with it.
local function find_unsupported(hosts, opts)
    if opts.tls then
        return hosts.text, "zklock has no TLS of its own; docs/tls.md has a recipe with stunnel"
    end
    local flaw = opts.recover and not hosts.in_memory and core.folder(opts.recover)
    if flaw then return opts.recover, flaw end
end


-- See zklock.connect.
function Session.connect(hosts, opts)
    local refusal, code = wait.refusal()
    if refusal then return nil, refusal, code end
    local subject, flaw = find_unsupported(hosts, opts)
    if subject then return failure("unsupported", subject, flaw) end
    local current = runtime.current()
    flaw = current:refuse_hosts(hosts)
    if flaw then return failure("context", hosts.text, flaw) end
    local timeout, handle, message = opts.connect_timeout, open(hosts, opts, current)
    if not handle then return failure("connection", hosts.text, message) end
    local self = new(handle, hosts, opts, current)
    local result, detail
    result, detail, code = self:await(handle:ready(timeout), timeout, take_result)
    if result == "ok" then
        current:connected()
        return self
    end
    current:close(self, 0)
    if not result then return nil, detail, code end
    result, detail = connect_failure(handle, result, detail, timeout)
    return failure(result, hosts.text, detail)
end


return Session
