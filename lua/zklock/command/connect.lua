--- The session of a verb.

local hosts_of = require "zklock.hosts"
local misuse = require "zklock.misuse"
local options = require "zklock.options"
local refusal = require "zklock.command.refusal"
local status = require "zklock.command.status"
local zklock = require "zklock"

local pcall, tostring = pcall, tostring

local _M = {}


--- For argparse: a number of seconds.
---@return number? seconds
---@return string? problem
function _M.seconds(text)
    local number = tonumber(text)
    if number and number >= 0 and number < math.huge then return number end
    return nil, ("%s is not a number of seconds"):format(misuse.show(text))
end


--- What fn(...) gives. What it refuses as misuse is the fault of the command line.
function _M.checked(fn, ...)
    local ok, result = pcall(fn, ...)
    if ok then return result end
    if refusal.is(result) then error(result, 0) end
    refusal.raise(status.USAGE, "%s", (tostring(result):gsub("^[^\n]-:%d+: ", "")))
end


--- The servers that the command line or the environment names. Another process does not see those
--- in memory: a lock there would exclude nobody.
function _M.hosts(given)
    local hosts = given.hosts
    if not hosts then
        refusal.raise(status.USAGE, "no servers: give --hosts HOST:PORT,… or set ZK_HOSTS")
    end
    if _M.checked(hosts_of.split, hosts).in_memory then
        refusal.raise(status.USAGE, "%s is a server inside one process: only repl can use it",
            hosts)
    end
    return hosts
end


--- The options of zklock.connect().
function _M.options(given)
    return { timeout = given.timeout, auth = given.auth, acl = given.acl }
end


--- Ends the verb with a failure of the library's.
function _M.fail(message, code)
    refusal.raise(status.of(code), "%s", message)
end


--- A session; the verb ends if there is none to be had.
---@return zklock.Session
function _M.open(given)
    local hosts = _M.hosts(given)
    _M.checked(options.connect, _M.options(given))
    local session, message, code = zklock.connect(hosts, _M.options(given))
    if session then return session end
    _M.fail(message, code)
end


--- A lock path; the verb ends if it is none.
function _M.path(text)
    return _M.checked(options.path, text)
end


return _M
