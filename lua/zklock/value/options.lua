--- Checks and completes the options of each function of the API.

local check = require "zklock.value.check"
local core = require "zklock.core"
local misuse = require "zklock.value.misuse"
local path_rules = require "zklock.value.path"
local sorted_names = require "zklock.value.sorted_names"

local huge = math.huge
local getmetatable, pairs, select, type = getmetatable, pairs, select, type
local concat = table.concat
local complete, one_of = check.complete, check.one_of
local flaw = path_rules.flaw
local refuse, show = misuse.refuse, misuse.show
local timeout_least = core.timeout_least

local _M = {}

local NOTHING = {} -- in place of no options
local DELAY_MAX = 1e6 -- seconds


-- --- fields of one function --------------------------------------------------------------

local function session_timeout(value, name)
    check.type(value, "number", name)
    if not (value >= timeout_least and value < huge) then
        refuse("%s must be seconds, at least %g, not %s", name, timeout_least, show(value))
    end
end

local function batch(value, name)
    check.whole(value, name, core.batch_max) -- a token counts no more grants of one turn
end

local function margin(value, name)
    check.type(value, "number", name)
    if not (value > 0 and value <= 0.5) then
        refuse("%s must be in (0, 0.5], not %s", name, show(value))
    end
end

local function folder(value, name)
    check.text(value, name)
    if value:sub(1, 1) ~= "/" then
        refuse("%s must be the absolute path of a folder, not %s", name, show(value))
    end
end

local function auth(value, name)
    check.type(value, "string", name)
    if not value:find("^%w+:.") or value:find("\0", 1, true) then
        refuse('%s must be "scheme:credentials", such as "digest:user:password", without NUL', name)
    end
end


-- --- options by function -------------------------------------------------------------------

---@alias zklock.SessionState "connecting"|"connected"|"suspended"|"expired"|"closed"

---@class zklock.ConnectOptions
---@field timeout? number seconds, at least 0.1: session timeout asked for; default 10
---@field connect_timeout? number seconds; default 5
---@field auth? string "scheme:credentials"
---@field acl? "open"|"creator"|"read" of the nodes made; default "open"
---@field parents? "container"|"persistent" how missing parents are made; default "container"
---@field margin? number the part of the timeout for which a heartbeat counts, in (0, 0.5]
---@field reopen? boolean a new session after an expiry; default true
---@field identity? string stored in every lock node; default "host:pid"
---@field on_state? fun(state: zklock.SessionState)
---@field on_event? fun(event: zklock.Event)
---@field drain? number seconds that an nginx worker drains before it exits; default 0.5
---@field recover? string folder of a record by which sessions of dead processes are ended
---@field grace? number seconds before `recover` ends a dead process's session; default 0
---@field tls? any "unsupported", but docs/tls.md has a recipe

local connect_fields = {
    timeout = session_timeout,
    connect_timeout = check.positive,
    auth = auth,
    acl = one_of("open", "creator", "read"),
    parents = one_of("container", "persistent"),
    margin = margin,
    reopen = check.flag,
    drain = check.duration,
    identity = check.utf8_text,
    on_state = check.callback,
    on_event = check.callback,
    recover = folder,
    grace = check.pause,
    tls = check.anything,
}

local connect_defaults = {
    timeout = 10,
    connect_timeout = 5,
    acl = "open",
    parents = "container",
    margin = 0.5,
    reopen = true,
    drain = 0.5,
    grace = 0,
}

function _M.connect(given)
    local opts = complete(given, connect_fields, connect_defaults, "the options of connect")
    if opts.acl ~= "open" and not opts.auth then
        refuse('acl = "%s" needs auth, because it names a creator', opts.acl)
    end
    if given and given.grace and not opts.recover then
        refuse("grace needs recover, which waits for so long")
    end
    return opts
end


---@return integer[]
function _M.signals(...)
    local numbers, names = {}, { ... }
    for i = 1, select("#", ...) do
        numbers[i] = core.signals[names[i]] or
            refuse("a signal must be %s, not %s", concat(sorted_names(core.signals), ", "),
                   show(names[i]))
    end
    if #numbers == 0 then refuse('no signal: expected close_on_signal("TERM")') end
    return numbers
end


function _M.delay(seconds)
    check.pause(seconds, "the delay", DELAY_MAX)
    return seconds
end


function _M.path(path)
    check.type(path, "string", "a lock path")
    check.size(path, "a lock path", check.PATH_SIZE)
    local why = flaw(path)
    if why then refuse("the lock path %s %s", show(path), why) end
    return path
end


function _M.prefix(prefix)
    check.type(prefix, "string", "the prefix")
    check.size(prefix, "the prefix", check.PATH_SIZE)
    local why = flaw(prefix .. "x")
    if why then refuse("the prefix %s %s", show(prefix), why) end
    return prefix
end


---@class zklock.MutexOptions
---@field order? "fifo"|"turns"|"none" default "fifo"
---@field reentrant? boolean default true
---@field data? string shown by lock:queue()
---@field batch? integer grants of a turn, 1 to 1024, with "turns"
---@field token? "turns" makes tokens of a fifo lock comparable with those of turns
---@field keep? number seconds that the node stays after the last release
---@field jitter? number seconds, the longest pause of a waiter, with "none"
---@field metrics? string the name of the lock in stats() and metrics()

local mutex_fields = {
    order = one_of("fifo", "none", "turns"),
    reentrant = check.flag,
    data = check.data,
    batch = batch,
    jitter = check.pause,
    token = one_of("turns"),
    keep = check.positive,
    metrics = check.label,
}


local mutex_defaults = { order = "fifo", reentrant = true }

function _M.mutex(given)
    local opts = complete(given, mutex_fields, mutex_defaults, "the options of mutex")
    if opts.jitter and opts.order ~= "none" then
        refuse('jitter belongs to order = "none": by order = "%s" one waiter is woken at a time',
            opts.order)
    end
    if opts.keep and opts.order == "none" then
        refuse('keep belongs to order = "fifo" or "turns": by order = "none" ' ..
               "no holder learns that others wait")
    end
    if opts.token and opts.order == "none" then
        refuse('token belongs to order = "fifo": by order = "none" tokens compare with no others')
    end
    if opts.keep or opts.order == "turns" then opts.token = "turns" end
    if opts.order == "turns" then
        opts.batch = opts.batch or core.batch_by_time
    elseif opts.batch then
        refuse('batch belongs to order = "turns": by order = "%s" each has its own turn',
            opts.order)
    end
    return opts
end


---@class zklock.ElectionOptions
---@field data? string of a candidate, shown to all while it leads
---@field max_hold? number seconds after which the lead is lost

local election_fields = { data = check.data, max_hold = check.positive }

--- An election's mutex is not reentrant, because a leader does not contend again.
function _M.election(given)
    return complete(given, election_fields, { reentrant = false }, "the options of election")
end


-- A lock that several may hold at once cannot be kept.
local function refuse_keep(given, what)
    if type(given) ~= "table" or given.keep == nil then return end
    refuse("keep belongs to a mutex, not to a %s", what)
end


---@class zklock.RWLockOptions
---@field reentrant? boolean default true
---@field data? string
---@field metrics? string

local rwlock_fields = { reentrant = check.flag, data = check.data, metrics = check.label }

local rwlock_defaults = { reentrant = true }

function _M.rwlock(given)
    refuse_keep(given, "read-write lock")
    return complete(given, rwlock_fields, rwlock_defaults, "the options of rwlock")
end


---@class zklock.SemaphoreOptions
---@field data? string
---@field metrics? string

local semaphore_fields = { data = check.data, metrics = check.label }

function _M.semaphore(limit, given)
    check.whole(limit, "the limit of a semaphore", 2147483647) -- 31 bits in a node's name
    refuse_keep(given, "semaphore")
    return complete(given, semaphore_fields, {}, "the options of semaphore")
end


---@class zklock.AcquireOptions
---@field timeout? number seconds; nil: for ever, 0: try
---@field owner? any default: the running coroutine
---@field on_queued? fun(position: integer)
---@field max_waiters? integer "busy" if so many wait already
---@field max_hold? number seconds after which the grant is lost

local acquire_fields = {
    timeout = check.duration,
    owner = check.anything,
    on_queued = check.callback,
    max_waiters = check.count,
    max_hold = check.positive,
}

function _M.acquire(given)
    if given == nil then return NOTHING end
    if type(given) == "number" then
        check.duration(given, "timeout")
        return { timeout = given }
    end
    if type(given) ~= "table" then
        refuse("acquire takes seconds or a table of options, not %s", show(given))
    end
    return complete(given, acquire_fields, {}, "the options of acquire")
end


---@class zklock.LockedOptions: zklock.AcquireOptions
---@field metrics? string one name for all keys

local locked_fields = { metrics = check.label }
for name, checker in pairs(acquire_fields) do locked_fields[name] = checker end

function _M.locked(given)
    if type(given) ~= "table" then return _M.acquire(given) end
    return complete(given, locked_fields, {}, "the options of locked")
end


local OWN_LABELS = { le = true, lock = true, outcome = true, state = true, type = true }

function _M.labels(given)
    if given == nil then return NOTHING end
    check.type(given, "table", "the labels of metrics")
    local labels = {}
    for name, value in pairs(given) do
        local fits = type(name) == "string" and name:find("^%a[%w_]*$") and not OWN_LABELS[name]
        if not fits then
            refuse("a label of metrics must be a name of letters, digits and _, other than " ..
                   "%s, not %s", concat(sorted_names(OWN_LABELS), ", "), show(name))
        end
        if type(value) ~= "number" then check.label(value, "the label " .. name) end
        labels[name] = value
    end
    return labels
end


---@class zklock.CombineOptions
---@field most? integer items of one hold, default 100
---@field max_waiters? integer "busy" if so many items or contenders wait already
---@field timeout? number seconds, the default of submit; nil: for ever
---@field max_hold? number seconds after which a hold is lost

local combine_fields = {
    most = check.count,
    max_waiters = check.count,
    timeout = check.duration,
    max_hold = check.positive,
}

local combine_defaults = { most = 100 }

function _M.combine(given)
    return complete(given, combine_fields, combine_defaults, "the options of combine")
end


---@class zklock.PermitOptions: zklock.AcquireOptions
---@field permits? integer of a semaphore, default 1

local permits_fields = { permits = check.anything } -- checked below, where the limit is known
for name, checker in pairs(acquire_fields) do permits_fields[name] = checker end

function _M.permits(given, limit)
    if type(given) ~= "table" then
        return { timeout = _M.acquire(given).timeout, permits = 1 }
    end
    local opts = complete(given, permits_fields, { permits = 1 }, "the options of acquire")
    check.whole(opts.permits, "permits", limit)
    return opts
end


---@class zklock.TimeoutOptions
---@field timeout? number seconds

local timeout_fields = { timeout = check.duration }

--- Returns the seconds of a `timeout`, which is given as a number, a table, or nil for the default.
function _M.timeout(given, default)
    if type(given) == "number" then
        check.duration(given, "timeout")
    elseif type(given) == "table" then
        given = complete(given, timeout_fields, NOTHING, "the table of a timeout").timeout
    elseif given ~= nil then
        refuse("timeout must be seconds, or a table { timeout = seconds }, not %s", show(given))
    end
    if given == nil then return default end
    return given
end


function _M.locks(given)
    if type(given) ~= "table" or #given == 0 then
        refuse("multi takes a list of one lock or more")
    end
    for key in pairs(given) do
        if not check.is_index(key, #given) then
            refuse("unknown option %s in multi; it takes a list of locks", show(key))
        end
    end
    return given
end


function _M.condition_name(name)
    if type(name) ~= "string" or name == "" or name:find("/", 1, true) then
        refuse('a condition\'s name must be a string that is not empty, without "/", not %s',
               show(name))
    end
    check.size(name, "a condition's name", check.PATH_SIZE)
    local why = flaw("/-" .. name)
    if why then refuse("the condition's name %s %s", show(name), why) end
    return name
end


function _M.node(path)
    check.node(path, "the path")
    return path
end


function _M.folder(path)
    check.node(path, "the folder")
    return path
end


local function member_name(value, name)
    check.utf8_text(value, name)
    local why = value == "" and "must not be empty" or
        value:find("/", 1, true) and "must not contain /" or flaw("/" .. value)
    if why then refuse("%s %s %s", name, show(value), why) end
end


---@class zklock.JoinOptions
---@field name string of the node
---@field data? string in the node; default ""
---@field timeout? number seconds, default: the session timeout

local join_fields = { name = member_name, data = check.data, timeout = check.duration }

function _M.join(given)
    local opts = complete(given, join_fields, { data = "" }, "the options of join")
    if not opts.name then refuse("join needs { name = ... }: the name of its node") end
    return opts
end


function _M.member_data(data)
    check.data(data, "data")
    return data
end


---@class zklock.CloseOptions
---@field drain? number seconds to wait first, until no owner holds or waits
---@field drain_waiters? boolean false: waiters get "closed" at once

local close_fields = { drain = check.duration, drain_waiters = check.flag }

function _M.close(given)
    return complete(given, close_fields, { drain_waiters = true }, "the options of close")
end


---@class zklock.ReleaseOptions
---@field wait? number seconds to wait until the node is gone

local release_fields = { wait = check.duration }

function _M.release(given)
    if given == nil then return NOTHING end
    return complete(given, release_fields, {}, "the options of release")
end


function _M.callable(fn, what)
    local class = type(fn) == "table" and getmetatable(fn)
    if type(class) ~= "table" or not class.__call then _M.callback(fn, what) end
    return fn
end


function _M.callback(fn, what)
    check.callback(fn, what)
    return fn
end


return _M
