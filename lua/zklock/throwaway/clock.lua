--- A wall clock that jumps under programs started with `clock:program(name)`, by Debian's
-- libfaketime. Their monotonic clock remains the machine's.

local missing = require "zklock.system.missing"
local shell = require "zklock.system.shell"


local LIBRARY = "ls /usr/lib/*/faketime/libfaketime.so.1 /usr/lib*/faketime/libfaketime.so.1 "
    .. "/usr/local/lib/faketime/libfaketime.so.1 2>/dev/null"

-- The C library's allocator is loaded first, because libfaketime hangs with Redis's jemalloc.
-- libfaketime reads the file at each query of the time. Without FORCE_MONOTONIC_FIX=0 it changes
-- Java's waits by the monotonic clock.
local PROGRAM = [[#!/bin/sh
echo $$ >>%s
exec env LD_PRELOAD=libc_malloc_debug.so.0:%s FAKETIME_TIMESTAMP_FILE=%s FAKETIME_NO_CACHE=1 \
    FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_FORCE_MONOTONIC_FIX=0 NO_FAKE_STAT=1 %s "$@"
]]

-- libfaketime shares memory with a program's children, which stays when the program is killed.
local REMOVE = "while read -r pid; do "
    .. "rm -f /dev/shm/faketime_shm_$pid /dev/shm/sem.faketime_sem_$pid; done <%s"


---@class zklock.throwaway.Clock
---@field folder string
---@field library string
local Clock = {}
Clock.__index = Clock


local clock = {}

local count = 0 -- of this process's clocks


local function write(path, text)
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
end


---@return string? message
function clock.missing()
    if shell.first_line(LIBRARY) then return nil end
    return "no wall clock can be made to jump: apt install libfaketime"
end


---@param reaper zklock.system.Reaper
---@return zklock.throwaway.Clock
function clock.new(reaper)
    local library = shell.first_line(LIBRARY) or missing.raise(clock.missing())
    count = count + 1
    local folder = ("%s/clock-%d"):format(reaper.folder, count)
    assert(shell.succeeds("mkdir " .. shell.quote(folder)))
    local self = setmetatable({ folder = folder, library = library }, Clock)
    write(folder .. "/pids", "")
    reaper:later(REMOVE:format(shell.quote(folder .. "/pids")))
    self:jump(0)
    return self
end


---@param name string  or path
---@return string path  of the same last name
function Clock:program(name)
    local found = shell.first_line("command -v " .. shell.quote(name))
    if not found then error(name .. " is not installed", 0) end
    local path = self.folder .. "/" .. found:match "[^/]*$"
    write(path, PROGRAM:format(shell.quote(self.folder .. "/pids"), shell.quote(self.library),
        shell.quote(self.folder .. "/now"), shell.quote(found)))
    assert(shell.succeeds("chmod +x " .. shell.quote(path)))
    return path
end


--- Sets the clock so many seconds ahead of the machine's.
---@param seconds integer
function Clock:jump(seconds)
    local path = self.folder .. "/now"
    write(path .. ".new", ("%+d\n"):format(seconds))
    assert(os.rename(path .. ".new", path)) -- atomic for readers
end


return clock
