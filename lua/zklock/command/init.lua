--- The command line. Each verb is a module in this folder, or is added by bin/zklock.
--
-- A verb is a table. `describe(parser)` declares its options to argparse. `run(given, out, err)`
-- carries it out and returns the exit status. With `tail`, its last arguments are another command,
-- which comes as given.tail. They begin behind PATH ("path"), behind PATH and NAME ("name"), or at
-- once ("all"). `valued` has its own options that take a value. `describe_tail(parser)` declares
-- options of the tail, for shells to complete; it may raise.

local arguments = require "zklock.command.arguments"
local connect = require "zklock.command.connect"
local core = require "zklock.core"
local is_interrupt = require "zklock.value.is_interrupt"
local output = require "zklock.command.output"
local printable = require "zklock.command.printable"
local refusal = require "zklock.command.refusal"
local status = require "zklock.command.status"
local variable = require "zklock.system.variable"
local version = require("zklock")._VERSION

local ipairs, pairs, pcall, require = ipairs, pairs, pcall, require

local VERBS = { "run", "elect", "join", "hold", "check", "release", "ls", "show", "graph",
                "members", "break", "doctor", "repl", "completion" }

-- Options that take a value, and that may stand before or behind each verb.
local VALUED = { ["--hosts"] = true, ["--timeout"] = true, ["--auth"] = true, ["--acl"] = true }

local MISSING = [[
zklock: the command needs argparse: luarocks install argparse (Debian: lua-argparse)
]]

local _M = {}


local function load_verbs(more)
    local verbs, names = {}, {}
    for i, name in ipairs(VERBS) do
        verbs[name], names[i] = require("zklock.command." .. name), name
    end
    for _, each in ipairs(more or {}) do
        verbs[each.name], names[#names + 1] = require(each.module), each.name
    end
    return verbs, names
end


-- show(text) ends the parse. argparse itself would print, and exit with 0 even on a full disk.
local function describe(argparse, verbs, names, show)
    local function helps(parser)
        return parser:add_help{ action = function() show(parser:get_help()) end }
    end
    local parser = helps(argparse("zklock", "Distributed locks on ZooKeeper."))
        :help_max_width(80):usage_max_width(80)
        :require_command(true):command_target "verb"
        :epilog "zklock VERB --help has an example of each."
    parser:option("--hosts", "Servers and chroot, host:port,host:port/chroot; by default "
        .. "$ZK_HOSTS."):argname "HOSTS"
    parser:option("--timeout", "Session timeout in seconds; the server may change it. By default "
        .. "10."):argname "SECONDS":convert(connect.parse_seconds)
    parser:option("--auth", "Credentials, such as digest:user:password; by default $ZK_AUTH, "
        .. "which other users do not see in ps."):argname "SCHEME:TEXT"
    parser:option("--acl", "Access to the nodes made: open (anybody), creator (clients with the "
        .. "same --auth), or read (anybody may read, too). By default open."):argname "ACL"
        :choices{ "open", "creator", "read" }
    parser:flag("--version", "Print the version.")
        :action(function() show("zklock " .. version) end)
    local commands = {}
    for _, name in ipairs(names) do
        local verb = verbs[name]
        local command = helps(parser:command(name)):summary(verb.summary)
            :description(verb.description):help_max_width(80):usage_max_width(80)
        if verb.example then command:epilog("Example: " .. verb.example) end
        verb.describe(command)
        commands[name] = command
    end
    return parser, commands
end


local function union(...)
    local all = {}
    for _, set in ipairs{ ... } do
        for key in pairs(set) do all[key] = true end
    end
    return all
end


local function second_argument(given, first, ended, valued)
    if ended then return given[first + 1] and first + 1 end
    return (arguments.first(given, first + 1, valued))
end


local function divide(given, verbs)
    local index = arguments.first(given, 1, VALUED)
    local verb = verbs[index and given[index]]
    if not verb or not verb.tail then return given, {} end
    if verb.tail == "all" then return arguments.split(given, index) end
    local valued = union(VALUED, verb.valued or {})
    local last, ended = arguments.first(given, index + 1, valued)
    if last and verb.tail == "name" then last = second_argument(given, last, ended, valued) end
    if not last then return given, {} end
    return arguments.split(given, last)
end


local function parse(argparse, given, more)
    local verbs, names = load_verbs(more)
    local head, tail = divide(given, verbs)
    local shown
    local parser, commands = describe(argparse, verbs, names, function(text)
        shown = text
        error(text, 0)
    end)
    local parsed, ok, result = pcall(parser.pparse, parser, head)
    if shown then return nil, shown end
    if not parsed then error(ok, 0) end
    if not ok then refusal.raise(status.USAGE, "%s\nzklock --help says more", result) end
    result.tail, result.parser = tail, parser
    result.verbs, result.commands = verbs, commands
    return result
end


local function carry_out(argparse, given, out, err, more)
    local chosen, shown = parse(argparse, given, more)
    if not chosen then
        out:write(shown, "\n")
        return status.OK
    end
    chosen.named = chosen.hosts ~= nil
    chosen.hosts = chosen.hosts or variable "ZK_HOSTS"
    chosen.auth = chosen.auth or variable "ZK_AUTH"
    core.interruptible(true) -- so that the verb closes what it has opened
    return chosen.verbs[chosen.verb].run(chosen, out, err)
end


---@param given string[]
---@param out file*
---@param err file*
---@param more { name: string, module: string }[]?  verbs outside this folder
---@return integer status
---@return integer? signal of which the process has to die
---@return boolean? of_group the process group has to get the signal, too
function _M.main(given, out, err, more)
    local found, argparse = pcall(require, "argparse")
    if not found then
        err:write(MISSING)
        return status.INCOMPLETE
    end
    local ok, result = pcall(function()
        local checked = output.to(out)
        local number = carry_out(argparse, given, checked, err, more)
        checked:flush()
        return number
    end)
    if ok then return result end
    if is_interrupt(result) then return status.SIGNAL + 2, 2 end
    if refusal.is(result) then
        if result.text ~= "" then err:write("zklock: ", printable.lines(result.text), "\n") end
        return result.status, result.signal, result.of_group
    end
    err:write("zklock: ", printable.lines(tostring(result)), "\n")
    return status.SOFTWARE
end


return _M
