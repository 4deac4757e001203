--- The reaper: a shell that lives a moment longer than the demo. When the demo
--- ends, in whatever way, it kills the processes that are left and removes the
--- run's folder. So nothing stays behind after Ctrl-C, an error or kill -9.

local shell = require "zklock.seckill.shell"

local popen = io.popen


-- Reads "+ pid" and "- pid" until the demo closes its end of the pipe, or is
-- no more. $0 is the folder.
local SCRIPT = [[
trap '' INT TERM HUP
pids=
while read -r sign pid; do
    case $sign in
    +) pids="$pids $pid" ;;
    -) rest=
       for p in $pids; do [ "$p" = "$pid" ] || rest="$rest $p"; done
       pids=$rest ;;
    esac
done
[ -z "$pids" ] || kill -KILL $pids
rm -rf -- "$0"
]]


---@class zklock.seckill.Reaper
---@field folder string  a new folder; goes with the reaper
local Reaper = {}
Reaper.__index = Reaper


local reaper = {}


---@return zklock.seckill.Reaper
function reaper.open()
    local folder = shell.first_line 'mktemp -d "${TMPDIR:-/tmp}/zklock-seckill.XXXXXX"'
    if not folder then error("cannot make a temporary folder", 0) end
    local pipe = assert(popen(
        ("exec sh -c %s %s >/dev/null 2>&1"):format(shell.quote(SCRIPT), shell.quote(folder)),
        "w"))
    pipe:setvbuf "line"
    return setmetatable({ folder = folder, pipe = pipe }, Reaper)
end


--- A process was started: it must not outlive the demo.
---@param pid string
function Reaper:hold(pid)
    self.pipe:write("+ ", pid, "\n")
end


--- The process has ended: its number may soon be another's.
---@param pid string
function Reaper:let_go(pid)
    self.pipe:write("- ", pid, "\n")
end


--- Kills what is left, removes the folder, and returns when that is done.
function Reaper:close()
    if not self.pipe then return end
    self.pipe:close()
    self.pipe = nil
end


return reaper
