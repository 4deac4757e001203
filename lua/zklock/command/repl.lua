--- zklock repl: Lua at a prompt, with a session.

local connect = require "zklock.command.connect"
local interpreter = require "zklock.seckill.interpreter"
local options = require "zklock.options"
local shell = require "zklock.seckill.shell"
local status = require "zklock.command.status"

local ipairs, pcall, require = ipairs, pcall, require

local repl = {
    summary = "Lua at a prompt, with a session.",
    description = "Opens a session with --hosts, which may be memory:NAME, or with a ZooKeeper of "
        .. "its own if there are none, and reads Lua. help() there says what there is. History is "
        .. "rlwrap's, or the interpreter's own.",
    example = "zklock repl --hosts memory:try",
}


function repl.describe()
end


-- The words of a command line for a shell.
local function quoted(words)
    local all = {}
    for i, word in ipairs(words) do all[i] = shell.quote(word) end
    return table.concat(all, " ")
end


-- What the interpreter is started with: it finds its modules where this one does.
local function command(given, hosts)
    local environment = {
        "env", "-u", "LUA_INIT", "-u", "LUA_PATH_5_4", "-u", "LUA_CPATH_5_4",
        "LUA_PATH=" .. package.path, "LUA_CPATH=" .. package.cpath,
        "ZKLOCK_REPL_HOSTS=" .. hosts, ("ZKLOCK_REPL_TIMEOUT=%s"):format(given.timeout or ""),
        "ZKLOCK_REPL_AUTH=" .. (given.auth or ""),
    }
    if not shell.lacks "rlwrap" and shell.succeeds "test -t 0" then
        environment[#environment + 1] = "rlwrap"
        environment[#environment + 1] = "-r" -- completes words that were seen
    end
    for _, word in ipairs{ interpreter.own(), "-i", "-e", 'require "zklock.command.prompt"' } do
        environment[#environment + 1] = word
    end
    return quoted(environment)
end


local function read(given, hosts)
    return shell.succeeds(command(given, hosts)) and status.OK or status.FAILED
end


function repl.run(given)
    if given.hosts then
        connect.checked(options.hosts, given.hosts)
        return read(given, given.hosts)
    end
    local servers = require("zklock.seckill.throwaway").open()
    local ok, result = pcall(function() return read(given, servers:zookeeper()) end)
    servers:close()
    if not ok then error(result, 0) end
    return result
end


return repl
