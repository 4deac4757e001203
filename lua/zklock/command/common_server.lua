--- The ZooKeeper of prompts that name none: a user's first one starts it and tells in a file where
--- it is; those that begin while it lives find it. It ends with the prompt that started it.

local shell = require "zklock.system.shell"
local zklock = require "zklock"
local zookeeper = require "zklock.throwaway.zookeeper"

local getenv, tostring = os.getenv, tostring

local PATIENCE = 3 -- seconds for a server that may be gone

local _M = {}


-- Of this user alone, on this machine.
local function place()
    local folder = getenv "XDG_RUNTIME_DIR" or getenv "TMPDIR" or "/tmp"
    return folder .. "/zklock-repl-" .. tostring(shell.first_line "id -u")
end


-- What the user's own file says: others may write to the folder, too.
local function told(file)
    local name = shell.quote(file)
    return shell.first_line(("test -O %s && test ! -L %s && cat %s"):format(name, name, name))
end


-- A file that cannot be written is no harm: the next prompt has a server of its own.
local function tell(file, hosts)
    local name = shell.quote(file)
    shell.succeeds(("umask 077; { new=$(mktemp %s.XXXXXX) && echo %s >\"$new\" && "
        .. "{ mv -f \"$new\" %s || rm \"$new\"; }; } 2>/dev/null")
        :format(name, shell.quote(hosts), name))
end


local function answers(hosts)
    local session = zklock.connect(hosts, { connect_timeout = PATIENCE })
    return session and session:close()
end


--- Calls fn(hosts) while there is one; gives what it gives.
function _M.with(fn)
    local file = place()
    local found = told(file)
    if found and answers(found) then return fn(found) end
    return zookeeper.with(function(hosts)
        tell(file, hosts)
        local ok, result = pcall(fn, hosts)
        if told(file) == hosts then os.remove(file) end
        if not ok then error(result, 0) end
        return result
    end)
end


return _M
