--- Figures of a process, from /proc.

local files = require "spec.files"
local rig = require "spec.rig"

local TICKS_PER_SECOND = tonumber(rig.shell("getconf CLK_TCK"))

local process = {}


local function read(pid, name) return assert(files.read(("/proc/%s/%s"):format(pid, name))) end


--- Bytes of resident memory.
---@param pid integer|"self"
function process.resident(pid)
    return 1024 * tonumber(read(pid, "status"):match("VmRSS:%s+(%d+) kB"))
end


--- Seconds of processor time.
function process.cpu(pid)
    local user, system = read(pid, "stat"):match("^.*%)" .. (" %S+"):rep(11) .. " (%d+) (%d+)")
    return (user + system) / TICKS_PER_SECOND
end


function process.command(pid) return read(pid, "cmdline") end


return process
