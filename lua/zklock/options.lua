--- Checks what the user gives. Bad input is a programming error: it raises,
-- and says what is allowed.

local core = require "zklock.core"
local misuse = require "zklock.misuse"
local path_rules = require "zklock.path"
local sorted_names = require "zklock.sorted_names"

local huge = math.huge
local getmetatable, ipairs, pairs = getmetatable, ipairs, pairs
local select, tonumber, type = select, tonumber, type
local concat = table.concat
local flaw = path_rules.flaw
local refuse, show = misuse.refuse, misuse.show
local timeout_least = core.timeout_least

local _M = {}

-- Bytes of identity and data. A packet of more than 1 MB would make the server
-- cut the connection of everybody in the session.
local TEXT_SIZE = 4096
local PATH_SIZE = 256 * 1024 -- likewise, of a path


local function check_type(value, expected, what)
    if type(value) ~= expected then
        refuse("%s must be a %s, not %s", what, expected, show(value))
    end
end


-- A field's check gets the value and the field's name.
local check = {}

local function check_size(value, name, limit)
    if #value > limit then
        refuse("%s must be at most %d bytes long, not %d", name, limit, #value)
    end
end

function check.text(value, name)
    check_type(value, "string", name)
    if value:find("%c") then refuse("%s must not contain control characters", name) end
    check_size(value, name, TEXT_SIZE)
end

function check.data(value, name)
    check_type(value, "string", name)
    if value:find("\0", 1, true) then refuse("%s must not contain NUL", name) end
    check_size(value, name, TEXT_SIZE)
end

function check.flag(value, name)
    check_type(value, "boolean", name)
end

function check.callback(value, name)
    check_type(value, "function", name)
end

function check.anything()
end

function check.duration(value, name)
    check_type(value, "number", name)
    if not (value >= 0) then
        refuse("%s must be seconds, 0 or more, not %s", name, show(value))
    end
end

function check.positive(value, name)
    check_type(value, "number", name)
    if not (value > 0 and value < huge) then
        refuse("%s must be seconds, more than 0, not %s", name, show(value))
    end
end

function check.session_timeout(value, name)
    check_type(value, "number", name)
    if not (value >= timeout_least and value < huge) then
        refuse("%s must be seconds, at least %g, not %s", name, timeout_least, show(value))
    end
end

local function check_count(value, name, limit)
    check_type(value, "number", name)
    if not (value >= 1 and value <= limit and value % 1 == 0) then
        refuse("%s must be a whole number, 1 to %d, not %s", name, limit, show(value))
    end
end

function check.count(value, name)
    check_count(value, name, 2147483647)
end

function check.batch(value, name)
    check_count(value, name, core.batch_max) -- a token counts the grants of a turn
end

function check.pause(value, name)
    check_type(value, "number", name)
    if not (value >= 0 and value < huge) then
        refuse("%s must be seconds, 0 or more, and finite, not %s", name, show(value))
    end
end

function check.margin(value, name)
    check_type(value, "number", name)
    if not (value > 0 and value <= 0.5) then
        refuse("%s must be in (0, 0.5], not %s", name, show(value))
    end
end

function check.folder(value, name)
    check.text(value, name)
    if value:sub(1, 1) ~= "/" then
        refuse("%s must be the absolute path of a folder, not %s", name, show(value))
    end
end

local function one_of(...)
    local allowed = { ... }
    return function(value, name)
        for _, each in ipairs(allowed) do
            if value == each then return end
        end
        refuse('%s must be "%s", not %s', name, concat(allowed, '" or "'), show(value))
    end
end

function check.auth(value, name)
    check_type(value, "string", name)
    if not value:find("^%w+:.") or value:find("\0", 1, true) then
        refuse('%s must be "scheme:credentials", such as "digest:user:password", without NUL', name)
    end
end


local LABEL_SIZE = 100

function check.label(value, name)
    check.text(value, name)
    if value == "" then refuse("%s must not be empty", name) end
    check_size(value, name, LABEL_SIZE)
end


local NOTHING = {} -- given


-- A copy of `given` with every field known, checked and defaulted.
local function complete(given, fields, defaults, what)
    local result = {}
    for name, default in pairs(defaults) do result[name] = default end
    if given == nil then return result end
    if type(given) ~= "table" then
        refuse("%s must be a table, not %s", what, show(given))
    end
    for name, value in pairs(given) do
        local checker = fields[name]
        if not checker then
            refuse("unknown option %s in %s; known: %s", show(name), what,
                   concat(sorted_names(fields), ", "))
        end
        checker(value, name)
        result[name] = value
    end
    return result
end


local connect_fields = {
    timeout = check.session_timeout,
    connect_timeout = check.positive,
    auth = check.auth,
    acl = one_of("open", "creator", "read"),
    parents = one_of("container", "persistent"),
    margin = check.margin,
    reopen = check.flag,
    drain = check.duration,
    identity = check.text,
    on_state = check.callback,
    on_event = check.callback,
    recover = check.folder,
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
        refuse('acl = "%s" needs auth: the creator must be somebody', opts.acl)
    end
    if given and given.grace and not opts.recover then
        refuse("grace is how long recover waits: it needs recover")
    end
    return opts
end


--- The numbers of signals that may close sessions.
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


--- Seconds that answers take.
function _M.delay(seconds)
    check.pause(seconds, "the delay")
    return seconds
end


function _M.path(path)
    if type(path) ~= "string" then
        refuse("a lock path must be a string, not %s", show(path))
    end
    check_size(path, "a lock path", PATH_SIZE)
    local why = flaw(path)
    if why then refuse("the lock path %s %s", show(path), why) end
    return path
end


--- What the lock paths of session:locked() begin with.
function _M.prefix(prefix)
    check_type(prefix, "string", "the prefix")
    check_size(prefix, "the prefix", PATH_SIZE)
    local why = flaw(prefix .. "x")
    if why then refuse("the prefix %s %s", show(prefix), why) end
    return prefix
end


local function bad_host(entry)
    if entry == "" then return "an entry is empty" end
    if entry:find("[%s%c]") then return "it contains a space" end
    local port = entry:match("^[^:%[%]]+(.*)$") or entry:match("^%[[%x.]*:[%x:.]*%](.*)$")
    if not port or port ~= "" and port:sub(1, 1) ~= ":" then
        return ("%s is no host, host:port or [v6]:port"):format(show(entry))
    end
    if port == ":" then return ("%s has no port after the :"):format(show(entry)) end
    local number = port:find("^:%d+$") and tonumber(port:sub(2))
    if port ~= "" and not (number and number >= 1 and number <= 65535) then
        return ("the port of %s is not a number from 1 to 65535"):format(show(entry))
    end
end


--- The name of a server in memory.
function _M.server(name)
    check_type(name, "string", "the name of a server in memory")
    check_size(name, "the name of a server in memory", TEXT_SIZE)
    if not name:find("^%a[%w._-]*$") then
        refuse("the name of a server in memory must be a letter, then letters, digits, " ..
               '"-", "_" or ".", not %s', show(name))
    end
    return name
end


-- "memory:" and a port is a host of that name.
local function memory_name(hosts)
    local name = hosts:match("^memory:(.*)$")
    if name and not name:find("^%d") then return _M.server(name) end
end


local function check_hosts(hosts, text, form)
    if hosts == "" then refuse("no host in %s; %s", show(text), form) end
    for entry in (hosts .. ","):gmatch("([^,]*),") do
        local why = bad_host(entry)
        if why then refuse("bad hosts %s: %s; %s", show(text), why, form) end
    end
end


--- Splits "host:port,host:port/chroot", or "memory:name/chroot".
function _M.hosts(text)
    local form = 'expected "host:port,host:port/chroot"'
    if type(text) ~= "string" then
        refuse("hosts must be a string, not %s; %s", show(text), form)
    end
    local hosts, chroot = text:match("^([^/]*)(.*)$")
    if chroot == "/" then chroot = "" end
    local memory = memory_name(hosts)
    if not memory then check_hosts(hosts, text, form) end
    check_size(chroot, "the chroot", PATH_SIZE)
    local why = chroot ~= "" and flaw(chroot)
    if why then refuse("the chroot %s %s", show(chroot), why) end
    return { text = text, hosts = memory or hosts, chroot = chroot, in_memory = memory ~= nil }
end


local mutex_fields = {
    order = one_of("fifo", "none", "turns"),
    reentrant = check.flag,
    data = check.data,
    batch = check.batch,
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
               "nobody hears that others wait")
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


local election_fields = { data = check.data }

--- Those of the mutex: a candidate that leads does not contend again.
function _M.election(given)
    return complete(given, election_fields, { reentrant = false }, "the options of election")
end


-- What others hold beside it cannot be kept.
local function refuse_keep(given, what)
    if type(given) ~= "table" or given.keep == nil then return end
    refuse("keep belongs to a mutex, not to a %s", what)
end


local rwlock_fields = { reentrant = check.flag, data = check.data, metrics = check.label }

local rwlock_defaults = { reentrant = true }

function _M.rwlock(given)
    refuse_keep(given, "read-write lock")
    return complete(given, rwlock_fields, rwlock_defaults, "the options of rwlock")
end


local semaphore_fields = { data = check.data, metrics = check.label }

--- The limit and the options of semaphore().
function _M.semaphore(limit, given)
    check_count(limit, "the limit of a semaphore", 2147483647) -- it has 31 bits in a node's name
    refuse_keep(given, "semaphore")
    return complete(given, semaphore_fields, {}, "the options of semaphore")
end


local acquire_fields = {
    timeout = check.duration,
    owner = check.anything,
    on_queued = check.callback,
    max_waiters = check.count,
    max_hold = check.positive,
}

--- What acquire() takes: nothing, seconds, or a table.
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


local locked_fields = { metrics = check.label }
for name, checker in pairs(acquire_fields) do locked_fields[name] = checker end

--- What locked() takes: the same, and the name of its locks in the metrics.
function _M.locked(given)
    if type(given) ~= "table" then return _M.acquire(given) end
    return complete(given, locked_fields, {}, "the options of locked")
end


local OWN_LABELS = { le = true, lock = true, outcome = true, state = true, type = true }

--- The labels of zklock.metrics().
function _M.labels(given)
    if given == nil then return NOTHING end
    check_type(given, "table", "the labels of metrics")
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


local permits_fields = { permits = check.anything } -- the limit is known below
for name, checker in pairs(acquire_fields) do permits_fields[name] = checker end

--- The same of a semaphore of that limit.
function _M.permits(given, limit)
    if type(given) ~= "table" then
        return { timeout = _M.acquire(given).timeout, permits = 1 }
    end
    local opts = complete(given, permits_fields, { permits = 1 }, "the options of acquire")
    check_count(opts.permits, "permits", limit)
    return opts
end


local timeout_fields = { timeout = check.duration }

--- A last parameter `timeout`: seconds, or a table that has them; or its default.
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


-- A packet of more than 1 MB would make the server cut the connection.
local GUARD_SIZE = 512 * 1024

-- What a write of a guard has behind its path.
local write_forms = {
    set = { text = '{ "set", path, data [, version] }', data = true, version = 4, length = 4 },
    create = { text = '{ "create", path, data }', data = true, length = 3 },
    delete = { text = '{ "delete", path [, version] }', version = 3, length = 3 },
    check = { text = '{ "check", path [, version] }', version = 3, length = 3 },
}

local function check_node(path, name)
    check_type(path, "string", name)
    check_size(path, name, PATH_SIZE)
    local why = path ~= "/" and flaw(path)
    if why then refuse("%s %s %s", name, show(path), why) end
end

local function check_version(value, name)
    if value == nil then return end
    check_type(value, "number", name)
    if not (value >= 0 and value < 2 ^ 31 and value % 1 == 0) then
        refuse("%s must be a node's version, a whole number from 0, not %s", name, show(value))
    end
end

local function is_place(key, length)
    return type(key) == "number" and key >= 1 and key <= length and key % 1 == 0
end

local function check_fields(given, form, what)
    for key in pairs(given) do
        if not is_place(key, form.length) then
            refuse("%s has an unknown field %s; its form is %s", what, show(key), form.text)
        end
    end
end

-- { kind, path, data, version } and its bytes.
local function write(given, what)
    check_type(given, "table", what)
    local form = write_forms[given[1]]
    if not form then
        refuse('%s must begin with "set", "create", "delete" or "check", not %s', what,
               show(given[1]))
    end
    check_fields(given, form, what)
    check_node(given[2], what .. "'s path")
    local data = form.data and given[3] or ""
    if form.data then check_type(given[3], "string", what .. "'s data") end
    local version = form.version and given[form.version]
    check_version(version, what .. "'s version")
    return { given[1], given[2], data, version or -1 }, #given[2] + #data + 64
end

--- What guard() takes: a list of writes, and `timeout`.
function _M.guard(given)
    if type(given) ~= "table" or #given == 0 then
        refuse("guard takes a list of one write or more, such as %s", write_forms.set.text)
    end
    local writes, total, timeout = {}, 0, nil
    for key, value in pairs(given) do
        if key == "timeout" then
            check.duration(value, key)
            timeout = value
        elseif not is_place(key, #given) then
            refuse("unknown option %s in guard; known: timeout, and a list of writes", show(key))
        end
    end
    for i, each in ipairs(given) do
        local size
        writes[i], size = write(each, ("write %d of guard"):format(i))
        total = total + size
    end
    if total > GUARD_SIZE then
        refuse("guard writes at most %d bytes at once, not %d", GUARD_SIZE, total)
    end
    return writes, timeout
end


--- What session:multi() takes: a list, of what is the caller's to check.
function _M.locks(given)
    if type(given) ~= "table" or #given == 0 then
        refuse("multi takes a list of one lock or more")
    end
    for key in pairs(given) do
        if not is_place(key, #given) then
            refuse("unknown option %s in multi; it takes a list of locks", show(key))
        end
    end
    return given
end


--- One part of a path: a condition's name.
function _M.segment(name)
    if type(name) ~= "string" or name == "" or name:find("/", 1, true) then
        refuse('a condition\'s name must be a string that is not empty, without "/", not %s',
               show(name))
    end
    return name
end


--- The path of any node.
function _M.node(path)
    check_node(path, "the path")
    return path
end


local close_fields = { drain = check.duration, drain_waiters = check.flag }

function _M.close(given)
    return complete(given, close_fields, { drain_waiters = true }, "the options of close")
end


local release_fields = { wait = check.duration }

function _M.release(given)
    if given == nil then return NOTHING end
    return complete(given, release_fields, {}, "the options of release")
end


--- A function, or what can be called like one.
function _M.callable(fn, what)
    local class = type(fn) == "table" and getmetatable(fn)
    if type(class) ~= "table" or not class.__call then _M.callback(fn, what) end
    return fn
end


function _M.callback(fn, what)
    if type(fn) ~= "function" then
        refuse("%s must be a function, not %s", what, show(fn))
    end
    return fn
end


return _M
