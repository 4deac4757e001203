--- bin/zklock as a process that a spec talks to, and what it leaves behind.

local files = require "spec.files"
local rig = require "spec.rig"

local LUA = os.getenv("ZKLOCK_LUA") or "lua5.4"

local commands = { LUA = LUA }
local folder -- of the spec's files
local number, started = 0, {}


--- Before the tests of a file.
function commands.open()
    folder = rig.shell("mktemp -d"):match("[^\n]+")
end


--- After them.
function commands.close() rig.shell("rm -rf %s", folder) end


--- A file that no other test uses.
function commands.fresh()
    number = number + 1
    return ("%s/%d"):format(folder, number)
end


---@field prefix string? of the command line
local Process = {}
Process.__index = Process
commands.Process = Process


--- Starts `zklock TEXT`: a line of a shell's, %s replaced. It says all on one stream, and then
-- its status. What signals do does not depend on who runs the specs: nohup.
function commands.start(text, ...)
    local script = files.write(commands.fresh(), ("echo $$\nexec setpriv --pdeathsig KILL "
        .. "env --default-signal=HUP,INT,QUIT,TERM %s %s bin/zklock %s\n"):format(
        Process.prefix or "", LUA, text:format(...)))
    local self = setmetatable({}, Process)
    self.output = assert(io.popen(("sh %s 2>&1; echo \"status $?\""):format(script)))
    self.pid = self.output:read("*n", "*l")
    started[self] = true
    return self
end


--- Its client, which connects again, may cut the second connection off before that has ended it.
function commands.end_session(server, id)
    rig.wait_for("the end of a session", function()
        return not rig.foreign(server:host() .. "@" .. id, ""):find("connection lost", 1, true)
    end)
end


--- After a test: one that failed leaves some.
function commands.end_all()
    for process in pairs(started) do process:signal("KILL") end
    started = {}
end


function Process:line() return self.output:read("*l") end


--- A line that has the text; those before are passed over.
function Process:find(text)
    for line in self.output:lines() do
        if line:find(text, 1, true) then return line end
    end
    error("it never said: " .. text, 2)
end


function Process:signal(name)
    rig.signal(name, self.pid)
end


--- Its exit status, a shell's, and what it still said.
function Process:finish()
    local rest, status = self.output:read("*a"):match("^(.*)status (%d+)\n$")
    self.output:close()
    started[self] = nil
    return tonumber(status), rest
end


--- The status and the output of `zklock TEXT`, from its beginning to its end.
function commands.outcome(text, ...)
    local output = rig.shell("%s bin/zklock %s 2>&1; echo \" $?\"", LUA, text:format(...))
    local said, status = output:match("^(.-)\n? (%d+)\n$")
    return tonumber(status), said
end


--- "S", "R", "T" and the like; nil: it has ended.
function commands.state(pid)
    local letter = rig.shell("ps -o state= -p %d", pid):match("%a")
    return letter ~= "Z" and letter or nil
end


function commands.lives(pid) return commands.state(pid) ~= nil end


function commands.gone(pid)
    rig.wait_for("the end of a process", function() return not commands.lives(pid) end)
end


--- What a file has, once it has something.
function commands.said(path)
    return rig.wait_for("a line in a file", function()
        local text = files.read(path)
        return text and text:match("^(.-)\n")
    end)
end


return commands
