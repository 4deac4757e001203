--- The verb repl reads Lua at a prompt, with a session.

local connect = require "zklock.command.connect"
local hosts_of = require "zklock.value.hosts"
local interpreter = require "zklock.system.interpreter"
local options = require "zklock.value.options"
local shell = require "zklock.system.shell"
local variable = require "zklock.system.variable"

local ipairs, pcall, require = ipairs, pcall, require

local repl = {
    summary = "Lua at a prompt, with a session.",
    description = "Opens a session with --hosts, which may be memory:NAME, or, if there are none, "
        .. "with a ZooKeeper of its own, which the next prompts find, and reads Lua. help() there "
        .. "says what there is. History is the Lua module readline's, or rlwrap's.",
    example = "zklock repl --hosts memory:try",
}


function repl.describe()
end


local function quote_all(words)
    local all = {}
    for i, word in ipairs(words) do all[i] = shell.quote(word) end
    return table.concat(all, " ")
end


-- rlwrap stands in for the module readline, and needs a terminal with a known width.
local function needs_rlwrap()
    return not pcall(require, "readline") and not shell.lacks "rlwrap"
        and shell.succeeds "test -t 0 && stty size | grep -q ' [1-9]'"
end


-- Credentials of --auth only. ZK_AUTH stays in the environment, which ps does not show.
local function auth_of_option(given)
    return given.auth ~= variable "ZK_AUTH" and given.auth or ""
end


local function command_text(given, hosts, is_shared)
    local version = _VERSION:gsub("^Lua (%d)%.(%d)$", "_%1_%2")
    local environment = {
        "env", "-u", "LUA_INIT", "-u", "LUA_INIT" .. version,
        "-u", "LUA_PATH" .. version, "-u", "LUA_CPATH" .. version,
        "LUA_PATH=" .. package.path, "LUA_CPATH=" .. package.cpath,
        "ZKLOCK_REPL_HOSTS=" .. hosts, ("ZKLOCK_REPL_TIMEOUT=%s"):format(given.timeout or ""),
        "ZKLOCK_REPL_AUTH=" .. auth_of_option(given), "ZKLOCK_REPL_ACL=" .. (given.acl or ""),
        "ZKLOCK_REPL_SHARED=" .. (is_shared and "yes" or ""),
    }
    if needs_rlwrap() then
        environment[#environment + 1] = "rlwrap"
        environment[#environment + 1] = "-r" -- completes words that were seen
    end
    for _, word in ipairs{ interpreter.own(), "-e", 'require "zklock.command.prompt"' } do
        environment[#environment + 1] = word
    end
    return "exec " .. quote_all(environment) -- leaves no shell, which Ctrl-C would end
end


local function read(given, hosts, is_shared)
    return shell.status(command_text(given, hosts, is_shared))
end


function repl.run(given, _, err)
    connect.check(options.connect, connect.options(given))
    if given.hosts then
        connect.check(hosts_of.split, given.hosts)
        return read(given, given.hosts)
    end
    local common_server = require "zklock.command.common_server" -- not needed by other verbs
    return common_server.with(err, function(...) return read(given, ...) end)
end


return repl
