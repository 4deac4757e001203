--- Opens the session of a verb, and checks its options.

local core = require "zklock.core"
local hosts_of = require "zklock.value.hosts"
local is_interrupt = require "zklock.value.is_interrupt"
local misuse = require "zklock.value.misuse"
local options = require "zklock.value.options"
local refusal = require "zklock.command.refusal"
local status = require "zklock.command.status"
local zklock = require "zklock"

local max, min, pcall, tostring = math.max, math.min, pcall, tostring
local now = core.now

local needs_auth = { creator = true, read = true } -- the ACLs that name a creator

local LEAST, MOST = 0.001, 1e9 -- seconds of a wait; 0 would be a try

local CREDENTIALS = "; --auth SCHEME:TEXT or ZK_AUTH gives credentials"
local NAMED = 3 -- unreadable paths that a message names

local _M = {}


---@return number? seconds
---@return string? problem
function _M.parse_seconds(text)
    local number = tonumber(text)
    if number and number >= 0 and number < math.huge then return number end
    return nil, ("%s is not a number of seconds"):format(misuse.show(text))
end


--- Returns the result of fn(...). Its error of misuse becomes a usage error.
function _M.check(fn, ...)
    local ok, result = pcall(fn, ...)
    if ok then return result end
    if refusal.is(result) or is_interrupt(result) then error(result, 0) end
    refusal.raise(status.USAGE, "%s", (tostring(result):gsub("^[^\n]-:%d+: ", "")))
end


--- Returns the servers of the command line. Refuses servers in memory, because no other process
-- sees a lock there.
function _M.hosts(given)
    local hosts = given.hosts
    if not hosts then
        refusal.raise(status.USAGE, "no servers; give --hosts HOST:PORT,… or set ZK_HOSTS")
    end
    if _M.check(hosts_of.split, hosts).in_memory then
        refusal.raise(status.USAGE, "%s is a server inside one process; only repl can use it",
            hosts)
    end
    return hosts
end


function _M.options(given)
    if needs_auth[given.acl] and not given.auth then
        refusal.raise(status.USAGE, "--acl %s needs credentials%s",
            given.acl, CREDENTIALS)
    end
    return { timeout = given.timeout, auth = given.auth, acl = given.acl }
end


function _M.fail(message, code)
    refusal.raise(status.of(code), "%s%s", message, code == "auth" and CREDENTIALS or "")
end


---@param paths string[] that may not be read
---@return string? message
function _M.unreadable_text(paths)
    local count = #paths
    if count == 0 then return nil end
    local named = table.concat(paths, ", ", 1, min(count, NAMED))
    if count > NAMED then named = ("%s and %d more"):format(named, count - NAMED) end
    return ("auth: %s: the server refuses: not authorised to read it%s"):format(named, CREDENTIALS)
end


---@return number seconds
function _M.seconds_left(deadline)
    return max(min(deadline - now(), MOST), LEAST)
end


--- Opens a session, or ends the verb. Tries for `seconds`, again if a session ends at once.
---@param seconds number? default 5
---@return zklock.Session
function _M.open(given, seconds)
    local hosts, opts, was_connected = _M.hosts(given), _M.options(given), nil
    local deadline = seconds and now() + seconds
    _M.check(options.connect, opts)
    if seconds then
        opts.on_state = function(state) was_connected = was_connected or state == "connected" end
    end
    opts.connect_timeout = seconds and min(seconds, MOST)
    while true do
        local session, message, code = zklock.connect(hosts, opts)
        if session then return session end
        if not was_connected or code ~= "connection" or now() >= deadline then
            _M.fail(message, code)
        end
        was_connected, opts.connect_timeout = false, _M.seconds_left(deadline)
    end
end


function _M.path(text)
    return _M.check(options.path, text)
end


return _M
