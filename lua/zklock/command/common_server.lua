--- The ZooKeeper of prompts that name none: a user's first one starts it and tells in a file where
--- it is; those that begin while it lives find it. It ends with the prompt that started it.

local shell = require "zklock.seckill.shell"
local throwaway = require "zklock.seckill.throwaway"
local zklock = require "zklock"

local getenv, tostring = os.getenv, tostring

local PATIENCE = 3 -- seconds for a server that may be gone

local _M = {}


-- Of this user alone, on this machine.
local function place()
    local folder = getenv "XDG_RUNTIME_DIR" or getenv "TMPDIR" or "/tmp"
    return folder .. "/zklock-repl-" .. tostring(shell.first_line "id -u")
end


-- What the user's own file says: others may write to the folder, too.
local function told()
    local file = shell.quote(place())
    return shell.first_line(("test -O %s && test ! -L %s && cat %s"):format(file, file, file))
end


local function answers(hosts)
    local session = zklock.connect(hosts, { connect_timeout = PATIENCE })
    return session and session:close()
end


-- A file that cannot be written is no harm: the next prompt has a server of its own.
local function tell(hosts)
    local file = shell.quote(place())
    shell.succeeds(("umask 077; { new=$(mktemp %s.XXXXXX) && echo %s >\"$new\" && "
        .. "{ mv -f \"$new\" %s || rm \"$new\"; }; } 2>/dev/null")
        :format(file, shell.quote(hosts), file))
end


--- Calls fn(hosts) while there is one; gives what it gives.
function _M.with(fn)
    local hosts = told()
    if hosts and answers(hosts) then return fn(hosts) end
    local servers = throwaway.open()
    local ok, result = pcall(function()
        hosts = servers:zookeeper()
        tell(hosts)
        return fn(hosts)
    end)
    if told() == hosts then os.remove(place()) end
    servers:close()
    if not ok then error(result, 0) end
    return result
end


return _M
