--- Judges how the library checks a user's arguments (see options_fuzz.c). judge(call, ...) raises
-- an error when a promise is broken.

local Session = require "zklock.object.session"
local hosts = require "zklock.value.hosts"
local options = require "zklock.value.options"
local owners = require "zklock.waiting.owner"
local writes = require "zklock.value.writes"

local to_time = ... -- seconds as C takes them; UBSan watches

-- Never opened. mutex() asks it for the number of a name, and whether it is gone.
local handle = { meter = function() return 1 end, gone = function() return nil end }
local session = setmetatable({ handle = handle, meters = {}, meter_count = 0 }, Session)


-- The user's calls, compiled below as lines of a file user.lua.
local user_calls = {
    connect = "options.connect(...)",
    mutex = "session:mutex(...)",
    acquire = "options.acquire(...)",
    release = "options.release(...)",
    timeout = "options.timeout(..., 1)",
    path = "options.path(...)",
    hosts = "hosts.split(...)",
    callback = 'options.callback(..., "the argument")',
    guard = "writes(...)",
    permits = "options.permits(..., 10)",
}

for call, text in pairs(user_calls) do
    local env = { hosts = hosts, options = options, session = session, writes = writes }
    local body = "local result, message, code = " .. text .. " return result, message, code"
    user_calls[call] = assert(load(body, "@user.lua", "t", env))
end


local known = {
    connect = "acl auth connect_timeout drain grace identity margin on_event on_state parents " ..
        "recover reopen timeout tls",
    mutex = "batch data jitter keep metrics order reentrant token",
    acquire = "max_hold max_waiters on_queued owner timeout",
    permits = "max_hold max_waiters on_queued owner permits timeout",
    release = "wait",
}

local function is_known(call, name)
    return known[call] and (" " .. known[call] .. " "):find(" " .. name .. " ", 1, true)
end


-- The beginnings of refusals, which name the fault; the user's text may follow.
local refusals = {
    connect = { '^acl = "%a+" needs auth, because ', "^grace needs recover, " },
    mutex = { "^a lock path must be ", "^the lock path .* must ", "^the lock path .* contains ",
              '^jitter belongs to order = "none": ', '^batch belongs to order = "turns": ',
              '^token belongs to order = "fifo": ',
              '^keep belongs to order = "fifo" or "turns": ' },
    guard = { "^guard takes a list of one write or more, such as ", "^guard writes at most ",
              "^write %d+ of guard", "^unknown option .* in guard; known: timeout, ",
              "^timeout must be " },
    permits = { "^acquire takes seconds or a table of options, not ", "^permits must be " },
    acquire = { "^acquire takes seconds or a table of options, not " },
    release = {},
    timeout = { "^timeout must be ",
                "^unknown option .* in the table of a timeout; known: timeout$" },
    path = { "^a lock path must be ", "^the lock path .* must ", "^the lock path .* contains " },
    hosts = { '^hosts must be .*; expected "host:port', '^no host in .*; expected "host:port',
              '^bad hosts .*; expected "host:port', "^the chroot " },
    callback = { "^the argument must be a function, not " },
}

local function names_an_option(call, text, given)
    local name = text:match("^([%w_]+) must ")
    if name then return is_known(call, name) and type(given) == "table" and given[name] ~= nil end
    local options_of = call == "permits" and "acquire" or call
    local list =
        text:match("^unknown option .+ in the options of " .. options_of .. "; known: (.*)$")
    if list then return list:gsub(",", "") == known[call] end
    return text:find("^the options of " .. options_of .. " must be a table, not ")
end

local function check_refusal(call, message, given)
    assert(type(message) == "string", "the message is no text")
    local text = message:match("^user%.lua:1: (.*)$")
    assert(text, "it blames another line than the user's: " .. message)
    for _, pattern in ipairs(refusals[call]) do
        if text:find(pattern) then return end
    end
    local in_short = (call == "acquire" or call == "permits") and type(given) == "number"
    if in_short then given = { timeout = given } end
    assert(known[call] and names_an_option(call, text, given),
           "it does not say what is allowed: " .. message)
end


local function is_duration(value)
    return type(value) == "number" and value >= 0 and to_time(value) >= 0
end

local function is_text(value)
    return type(value) == "string" and #value <= 4096 and not value:find("\0", 1, true)
end

-- Types of an accepted option; nil is allowed for all.
local allowed = {
    acl = function(value) return value == "open" or value == "creator" or value == "read" end,
    auth = function(value) return type(value) == "string" and not value:find("\0", 1, true) end,
    batch = function(value) return value >= 1 and value <= 1024 and value % 1 == 0 end,
    connect_timeout = function(value) return is_duration(value) and value > 0 end,
    data = is_text,
    drain = is_duration,
    grace = function(value) return value >= 0 and to_time(value) >= 0 end,
    identity = function(value) return is_text(value) and not value:find("%c") end,
    jitter = function(value) return value >= 0 and to_time(value) >= 0 end,
    permits = function(value) return value >= 1 and value <= 10 and value % 1 == 0 end,
    max_hold = function(value) return is_duration(value) and value > 0 end,
    max_waiters = function(value) return value >= 1 and value < 2 ^ 31 and value % 1 == 0 end,
    margin = function(value) return value > 0 and value <= 0.5 end,
    on_event = function(value) return type(value) == "function" end,
    on_queued = function(value) return type(value) == "function" end,
    on_state = function(value) return type(value) == "function" end,
    order = function(value) return value == "fifo" or value == "none" or value == "turns" end,
    owner = function(value) return not owners.key(value):find("\0", 1, true) end,
    parents = function(value) return value == "container" or value == "persistent" end,
    recover = function(value) return is_text(value) and value:sub(1, 1) == "/" end,
    reentrant = function(value) return type(value) == "boolean" end,
    reopen = function(value) return type(value) == "boolean" end,
    timeout = is_duration,
    tls = function(value) return value ~= nil end,
    wait = is_duration,
}

local function check_accepted(call, result)
    for name, value in pairs(result) do
        assert(is_known(call, name), "it passes what is not known")
        assert(allowed[name](value), "it passes what is not allowed: " .. name)
    end
end


-- A batch belongs to turns, and turns have a batch.
local function check_mutex(lock, given)
    local batch = lock.batch and lock.batch > 0 and lock.batch or nil
    check_accepted("mutex", { data = lock.data, reentrant = lock.reentrant, batch = batch })
    local order = type(given) == "table" and rawget(given, "order")
    assert((lock.batch ~= nil) == (order == "turns"), "it passes a batch of another order")
end


local function check_result(call, arguments, result)
    if call == "connect" or call == "acquire" or call == "release" or call == "permits" then
        check_accepted(call, result)
    elseif call == "guard" then
        for _, write in ipairs(result) do
            assert(("set create delete check"):find(write[1], 1, true), "it passes another write")
            assert(write[2]:sub(1, 1) == "/" and type(write[3]) == "string", "another form")
            assert(write[4] >= -1 and write[4] % 1 == 0, "it passes another version")
        end
    elseif call == "mutex" then
        check_mutex(result, arguments[2])
    elseif call == "timeout" then
        assert(is_duration(result), "it passes a bad timeout")
    elseif call == "path" then
        assert(result:find("^/[^%c]*[^/%c]$") and not result:find("//", 1, true), "a bad path")
    end
end


local function judge(call, arguments, ok, ...)
    if ok then return check_result(call, arguments, ...) end
    check_refusal(call, (...), arguments[call == "mutex" and 2 or 1])
end

return function(call, ...)
    judge(call, { ... }, pcall(user_calls[call], ...))
end
