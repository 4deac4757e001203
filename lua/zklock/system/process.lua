--- A child process, which prints lines of a word and its arguments, and can be killed, stopped and
-- continued.

local shell = require "zklock.system.shell"

local popen = io.popen


---@class zklock.system.Process
---@field name string
---@field pid string
---@field group string?  "-123", a process group of its own
local Process = {}
Process.__index = Process


local process = {}


-- A shell prints its pid, which the program takes over, and its parent's, which is the group's.
local TELL_PID = 'echo "pid $$ $PPID"; exec "$0" "$@"'


local KILL = "kill -s KILL -- %s 2>/dev/null"


-- `timeout` ends a process that hangs, also a stopped one (-k), so that every read from it ends; 0
-- is no limit. With --foreground, Ctrl-C reaches the process, too; without, it has a group.
local function command_line(words, limit, is_group)
    local quoted = {}
    for i, word in ipairs(words) do quoted[i] = shell.quote(word) end
    return ("exec timeout %s -k 1 %d sh -c %s %s </dev/null")
        :format(is_group and "" or "--foreground", limit or 0, shell.quote(TELL_PID),
            table.concat(quoted, " "))
end


---@param name string        for messages
---@param words string[]     the program and its arguments
---@param limit integer?     seconds after which it is ended; without, the reaper ends it
---@param reaper zklock.system.Reaper
---@param is_group boolean?  its own children end with it, and Ctrl-C reaches none of them
---@return zklock.system.Process
function process.start(name, words, limit, reaper, is_group)
    local pipe = assert(popen(command_line(words, limit, is_group), "r"))
    local self = setmetatable({ name = name, pipe = pipe, reaper = reaper }, Process)
    local group
    self.pid, group = self:expect "pid":match "^(%d+) (%d+)$"
    self.group = is_group and "-" .. group or nil
    reaper:hold(self.group or self.pid, self)
    return self
end


local function read(self)
    local line = self.pipe:read "*l"
    if not line then return nil end
    return line:match "^%s*(%S*)%s*(.*)$"
end


--- Skips other lines, but raises an error that the process reports.
---@param wanted string
---@return string arguments  what followed the word
function Process:expect(wanted)
    while true do
        local word, arguments = read(self)
        if word == wanted then return arguments end
        if word == "error" then error(self.name .. ": " .. arguments, 0) end
        if not word then
            error(("%s ended before it said %q"):format(self.name, wanted), 0)
        end
    end
end


---@param signal "KILL" | "STOP" | "CONT"
---@return boolean sent  false: it has ended
function Process:signal(signal)
    return shell.succeeds(("kill -%s %s 2>/dev/null"):format(signal, self.pid))
end


--- Asks /proc, because Ctrl-C is not heard while a command runs.
---@return boolean
function Process:lives()
    local file = io.open(("/proc/%s/stat"):format(self.pid))
    if file then file:close() end
    return file ~= nil
end


--- Waits for the end of the process, and raises an error that it reported.
---@return string? word  its last one
function Process:finish()
    local complaint, last
    if self.group then shell.succeeds(KILL:format(self.group)) end -- its children
    for word, arguments in read, self do
        last = word
        if word == "error" then complaint = arguments end
    end
    self.pipe:close()
    self.reaper:let_go(self.group or self.pid)
    if complaint then error(self.name .. ": " .. complaint, 0) end
    return last
end


function Process:kill()
    shell.succeeds(KILL:format(self.group or self.pid))
    for _ in read, self do end
    self.pipe:close()
    self.reaper:let_go(self.group or self.pid)
end


return process
