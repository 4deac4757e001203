--- Runs bin/zklock as a process that a spec talks to, on the shared server of ZK_HOSTS.

local assert = require "luassert"
local files = require "spec.files"
local rig = require "spec.rig"

local LUA = os.getenv("ZKLOCK_LUA") or "lua5.4"

local commands = { LUA = LUA }
local folder -- of the test's files
local number, started = 0, {}


--- A command that says "in", and sleeps.
commands.SLEEP = "sh -c 'echo in; exec sleep 600'"

--- Says "in" and its session, then each signal that it gets, and ends by USR1 alone.
commands.IMMORTAL = [[sh -c '
    for each in HUP INT QUIT TERM USR2; do trap "echo $each" $each; done
    trap "exit 0" USR1; echo in $ZKLOCK_SESSION
    while :; do sleep 0.02; done']]


--- Kills the processes that a failed test leaves, closes the sessions, and removes the files.
function commands.end_all()
    for process in pairs(started) do process:signal("KILL") end
    started = {}
    rig.close_sessions()
    if folder then rig.shell("rm -rf %s", folder) end
    folder = nil
end


function commands.fresh_path()
    folder = folder or rig.shell("mktemp -d"):match("[^\n]+")
    number = number + 1
    return ("%s/%d"):format(folder, number)
end


--- Returns a function for lines of that verb, with a timeout that outlasts the load of a machine.
function commands.verb(name)
    return function(text, ...) return ("--timeout 20 %s "):format(name) .. text:format(...) end
end


local Process = {}
Process.__index = Process


--- Starts `zklock TEXT`, a formatted line for a shell, behind commands.prefix if set. All output
-- comes on one stream, then the status. Signals act as usual, also if the caller ignores them.
function commands.start(text, ...)
    local script = files.write(commands.fresh_path(), ("echo $$\nexec setpriv --pdeathsig KILL "
        .. "env --default-signal %s %s bin/zklock %s\n"):format(
        commands.prefix or "", LUA, text:format(...)))
    commands.prefix = nil
    local self = setmetatable({}, Process)
    self.output = assert(io.popen(("sh %s 2>&1; echo \"status $?\""):format(script)))
    self.pid = self.output:read("*n", "*l")
    started[self] = true
    return self
end


--- Makes the next start() ignore the signal. Runs also the part of bin/zklock for a shell.
function commands.ignore(name)
    local program = files.write(commands.fresh_path(),
        (files.read("bin/zklock"):gsub("\nexec lua5.4 ", "\nexec " .. LUA .. " ")))
    commands.prefix = ("env --ignore-signal=%s sh -c 'shift 2; exec sh %s \"$@\"' sh"):format(name,
        program)
end


--- Starts `zklock TEXT`, waits until its command says "in", and returns the process and that line.
function commands.launch(text, ...)
    local self = commands.start(text, ...)
    return self, self:wait_until_in()
end


--- Ends a session by a second connection. The session's client may reconnect first, which cuts the
-- second connection off.
function commands.end_session(server, id)
    rig.wait_for("the end of a session", function()
        return not rig.foreign(server:host() .. "@" .. id, ""):find("connection lost", 1, true)
    end)
end


function Process:line() return self.output:read("*l") end


--- Skips to a line that contains the text, and returns it.
function Process:find(text)
    for line in self.output:lines() do
        if line:find(text, 1, true) then return line end
    end
    error("it never said: " .. text, 2)
end


function Process:wait_until_in()
    local line
    repeat line = self:line() or error("its command never began", 2) until line:find "^in"
    return line
end


function Process:signal(name)
    rig.signal(name, self.pid)
end


function Process:signal_through(name)
    self:signal(name)
    self:find(name)
end


--- Sends the signal, if any, and waits for the end with the expected shell status. Returns the rest
-- of the output.
function Process:ends(expected, signal)
    if signal then self:signal(signal) end
    local rest, status = self.output:read("*a"):match("^(.*)status (%d+)\n$")
    self.output:close()
    started[self] = nil
    assert.equal(expected, tonumber(status), rest)
    return rest
end


--- Runs `zklock TEXT` to its end; returns the status and the output.
function commands.outcome(text, ...)
    local output = rig.shell("%s bin/zklock %s 2>&1; echo \" $?\"", LUA, text:format(...))
    local said, status = output:match("^(.-)\n? (%d+)\n$")
    return tonumber(status), said
end


--- Runs `zklock TEXT`, checks the status, and returns the output.
function commands.ends(expected, text, ...)
    local status, said = commands.outcome(text, ...)
    assert.equal(expected, status, text .. ": " .. said)
    return said
end


function commands.expect(text, ...)
    for _, each in ipairs{ ... } do
        assert.is_truthy(text:find(each, 1, true), each .. " is not in: " .. text)
    end
end


--- Returns the lines of a table, and checks that a terminal is wide enough.
function commands.rows(text)
    local rows = {}
    for row in text:gmatch("[^\n]+") do
        assert.is_true(#row:gsub("[\128-\191]", "") <= 80, row)
        rows[#rows + 1] = row
    end
    return rows
end


--- Returns "S", "R", "T" and the like, or nil after the end.
function commands.state(pid)
    local letter = rig.shell("ps -o state= -p %d", pid):match("%a")
    return letter ~= "Z" and letter or nil
end


function commands.wait_for_state(state, ...)
    for _, pid in ipairs{ ... } do
        rig.wait_for("the state of a process", function() return commands.state(pid) == state end)
    end
end


--- Waits for a file's first line, and returns it.
function commands.first_line(path)
    return rig.wait_for("a line in a file", function()
        local text = files.read(path)
        return text and text:match("^(.-)\n")
    end)
end


return commands
