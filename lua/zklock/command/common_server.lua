--- The ZooKeeper of prompts without --hosts. A user's first prompt starts it, and writes its
-- address to a file for later prompts. It ends with that first prompt.

local hosts_of = require "zklock.value.hosts"
local printable = require "zklock.command.printable"
local shell = require "zklock.system.shell"
local variable = require "zklock.system.variable"
local zklock = require "zklock"
local zookeeper = require "zklock.throwaway.zookeeper"

local pcall, tostring = pcall, tostring

local PATIENCE = 3 -- seconds that a server may take to answer

local _M = {}


local function address_file()
    local folder = variable "XDG_RUNTIME_DIR" or variable "TMPDIR" or "/tmp"
    return folder .. "/zklock-repl-" .. tostring(shell.first_line "id -u")
end


-- Reads only the user's own file, because others may write to the folder.
local function read_address(file)
    local name = shell.quote(file)
    return shell.first_line(("test -O %s && test ! -L %s && cat %s"):format(name, name, name))
end


local function read_server(file, err)
    local text = read_address(file)
    if not text then return nil end
    local ok, hosts = pcall(hosts_of.split, text)
    if ok and not hosts.in_memory then return text end
    err:write("zklock: ", printable.line(file), " does not name a server, and is written anew\n")
end


-- If this fails, the next prompt starts its own server.
local function write_address(file, hosts)
    local name = shell.quote(file)
    shell.succeeds(("umask 077; { new=$(mktemp %s.XXXXXX) && echo %s >\"$new\" && "
        .. "{ mv -f \"$new\" %s || rm \"$new\"; }; } 2>/dev/null")
        :format(name, shell.quote(hosts), name))
end


local function answers(hosts)
    local session = zklock.connect(hosts, { connect_timeout = PATIENCE })
    return session and session:close()
end


--- Calls fn(hosts, is_shared) while there is a server, and returns its result.
---@param err file* for complaints
function _M.with(err, fn)
    local file = address_file()
    local found = read_server(file, err)
    if found and answers(found) then return fn(found, true) end
    return zookeeper.with(function(hosts)
        write_address(file, hosts)
        local ok, result = pcall(fn, hosts)
        if read_address(file) == hosts then os.remove(file) end
        if not ok then error(result, 0) end
        return result
    end)
end


return _M
