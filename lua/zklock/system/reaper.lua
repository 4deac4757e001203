--- The reaper is a shell that outlives this process for a moment. However this process ends, even
-- by kill -9, it kills the processes left, runs the last commands, and removes the folder.

local shell = require "zklock.system.shell"

local popen = io.popen


-- Reads "+ pid", "- pid" and "! command" until this process has closed the pipe. $0 is the folder.
local SCRIPT = [[
trap '' INT TERM HUP
pids= commands=
while read -r sign about; do
    case $sign in
    +) pids="$pids $about" ;;
    -) rest=
       for p in $pids; do [ "$p" = "$about" ] || rest="$rest $p"; done
       pids=$rest ;;
    !) commands="$commands
$about" ;;
    esac
done
[ -z "$pids" ] || kill -s KILL -- $pids
[ -z "$commands" ] || sh -c "$commands"
rm -rf -- "$0"
]]


---@class zklock.system.Reaper
---@field folder string  temporary; the reaper removes it
---@field held table<string, zklock.system.Process>  by pid
local Reaper = {}
Reaper.__index = Reaper


local reaper = {}


---@return zklock.system.Reaper
function reaper.open()
    if (os.getenv "TMPDIR" or ""):find "\n" then
        error("TMPDIR must be a path without newlines", 0)
    end
    local folder = shell.first_line 'mktemp -d "${TMPDIR:-/tmp}/zklock-seckill.XXXXXX"'
    if not folder then error("cannot make a temporary folder", 0) end
    local pipe = assert(popen(
        ("exec sh -c %s %s >/dev/null 2>&1"):format(shell.quote(SCRIPT), shell.quote(folder)),
        "w"))
    pipe:setvbuf "line"
    return setmetatable({ folder = folder, pipe = pipe, held = {} }, Reaper)
end


--- Registers a process to be killed at the end. Keeps its object, because collecting that would
-- wait for its end.
---@param pid string
---@param process zklock.system.Process?
function Reaper:hold(pid, process)
    self.held[pid] = process
    self.pipe:write("+ ", pid, "\n")
end


--- Forgets a process that has ended, because its number may soon be another's.
---@param pid string
function Reaper:let_go(pid)
    self.held[pid] = nil
    self.pipe:write("- ", pid, "\n")
end


---@param command string
function Reaper:later(command)
    self.pipe:write("! ", command, "\n")
end


--- Returns when the processes are killed and the folder is removed.
function Reaper:close()
    if not self.pipe then return end
    self.pipe:close()
    self.pipe = nil
end


return reaper
