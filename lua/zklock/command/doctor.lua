--- The verb doctor tells which parts work, and gives advice about the rest.

local columns = require "zklock.command.columns"
local connect = require "zklock.command.connect"
local core = require "zklock.core"
local hosts_of = require "zklock.value.hosts"
local options = require "zklock.value.options"
local printable = require "zklock.command.printable"
local status = require "zklock.command.status"
local tree = require "zklock.command.tree"
local zklock = require "zklock"

local ipairs, pcall = ipairs, pcall
local abs, min = math.abs, math.min
local now = core.now

local PATH = "/zklock-doctor"
local DEFAULT_TIMEOUT = 10 -- seconds, the default session timeout
local PROBES = 5 -- reads of a server; the quickest counts
local MAX_SKEW = 2 -- seconds that two clocks may differ by
local WORD_TIMEOUT = 2 -- seconds for a server's answer to a four-letter word

local ADVICE = {
    connection = "is it running, and does a firewall let you through?",
    auth = "give --auth or set ZK_AUTH, or have an administrator admit you to the path",
    no_node = "make the chroot's node, or correct it in --hosts",
    conflict = "choose another PATH",
    timeout = "the ensemble has no quorum, or is overloaded",
}

local function with_advice(message, code)
    return ("%s; %s"):format(message, ADVICE[code] or "see docs/reference/codes.md")
end

local doctor = {
    summary = "Check the installation, servers and a lock.",
    description = "Prints a line for each check, of the installation, each server by itself, the "
        .. "ensemble, and a lock that is taken and given up at PATH. If the lock is held, doctor "
        .. "names its holder, and does not wait. Exit status: 1 if something does not work.",
    example = "zklock doctor --hosts zk1:2181,zk2:2181,zk3:2181/shop",
}


function doctor.describe(parser)
    parser:argument("PATH", "Where a lock is tried; by default " .. PATH .. ".")
        :argname "PATH":target "path":args "?"
end


---@class zklock.command.Doctor
---@field given table the command line
---@field out file*
---@field hosts table as zklock.value.hosts splits it
---@field failed boolean?
---@field parents string? option of the session, if a server has no containers
local Doctor = {}
Doctor.__index = Doctor


function Doctor:say(sign, subject, text, ...)
    self.out:write(("%-4s %-10s %s\n"):format(sign, subject, printable.line(text:format(...))))
    self.out:flush()
end


function Doctor:fail(subject, text, ...)
    self.failed = true
    self:say("FAIL", subject, text, ...)
end


-- --- the installation ---------------------------------------------------------------

local LOOPS = { "cqueues", "luv", "copas" }

local function is_installed(name)
    local searchpath = rawget(package, "searchpath")
    if not searchpath then return pcall(require, name) end
    return (searchpath(name, package.path) or searchpath(name, package.cpath)) ~= nil
end


function Doctor:check_installation()
    local found = {}
    for _, name in ipairs(LOOPS) do
        if is_installed(name) then found[#found + 1] = name end
    end
    local jit = rawget(_G, "jit")
    self:say("ok", "Lua", "%s, zklock %s; waits block, and in these loops they do not: %s",
        jit and jit.version or _VERSION, zklock._VERSION,
        found[1] and table.concat(found, ", ") or "none is installed")
    self:say("ok", "library", "built for libzookeeper %s", core.libzookeeper)
end


-- --- each server --------------------------------------------------------------------

-- Version and mode of a server in words; in an ensemble also its version alone. By default servers
-- answer srvr.
local function introduction(server)
    local text = core.ask(server, "srvr", WORD_TIMEOUT)
    local version, mode = text:match("version: ([%d.]+)"), text:match("Mode: (%w+)")
    if not (version and mode) then
        return "does not say what it is (srvr is not in its 4lw.commands.whitelist)"
    end
    return ("%s, %s"):format(version, mode), mode ~= "standalone" and version
end


local function latency(session)
    local best = math.huge
    for _ = 1, PROBES do
        local begun = now()
        if not session:get("/") then return nil end
        best = min(best, now() - begun)
    end
    return best
end


function Doctor:check_version(name, version)
    local major, minor, patch = version:match "^(%d+)%.(%d+)%.?(%d*)"
    if not major or major * 1e6 + minor * 1e3 + (tonumber(patch) or 0) >= 3009004 then return end
    self:say("note", name, "servers before 3.9.4 can lose writes when they are killed around an "
        .. "election; see \"Writes that servers lose\" in docs/production.md")
end


function Doctor:check_server(name)
    local session, message, code = zklock.connect(name .. self.hosts.chroot,
        connect.options(self.given))
    if not session then
        self:fail(name, "%s", with_advice(message, code))
        return
    end
    local asked = self.given.timeout or DEFAULT_TIMEOUT
    local granted, best = session:timeout(), latency(session)
    session:close()
    local text, version = introduction(name)
    self:say("ok", name, "%s, %s, session timeout %g s", text,
        best and ("%.1f ms"):format(best * 1000) or "no answer to a read", granted)
    if version then self:check_version(name, version) end
    if abs(granted - asked) > 0.001 then
        self:say("note", name, "%g s were asked for; see minSessionTimeout, maxSessionTimeout and "
            .. "tickTime in its zoo.cfg", asked)
    end
    self:check_ticks(name, granted)
    return true
end


-- The lease clock needs two ticks. A server tells its tick if its whitelist has "conf".
function Doctor:check_ticks(name, granted)
    local tick = tonumber(core.ask(name, "conf", WORD_TIMEOUT):match("tickTime=(%d+)"))
    if not tick or granted * 1000 >= 2 * tick then return end
    self:fail(name, "%g s are less than two ticks of %g s: a lease may be held for longer than its "
        .. "session lives; ask for a longer timeout, and raise minSessionTimeout in its zoo.cfg",
        granted, tick / 1000)
end


-- --- operations ----------------------------------------------------------------------

local WITHOUT = {
    create2 = "no lock can be taken",
    createContainer = "folders of locks are persistent nodes, and stay",
    removeWatches = "watches stay until their nodes change",
    multi = "no multi-lock, condition or guard",
}

local COLUMNS = {
    { title = "OPERATION", width = 15 },
    { title = "KNOWN TO", width = 8, whole = true },
    { title = "UNKNOWN TO", width = 10, whole = true },
    { title = "NOT TRIED AT", width = 12, whole = true },
}

local function row_of(trials, index)
    local row = { name = trials[1][index].name, known = {}, unknown = {}, silent = {} }
    for _, of_server in ipairs(trials) do
        local known = of_server[index].known
        local names = known and row.known or known == false and row.unknown or row.silent
        names[#names + 1] = of_server.server
    end
    return row
end


function Doctor:report_unknown(operation)
    if operation == "createContainer" then self.parents = "persistent" end
    local text = ("%s is unknown to some: %s"):format(operation,
        WITHOUT[operation] or "zklock needs it")
    if operation == "create2" then self:fail("servers", "%s", text)
    else self:say("note", "servers", "%s", text) end
end


-- Each operation was tried in its own session, at a node that does not exist.
function Doctor:report_operations(trials)
    if not trials[1] then return end
    local rows = {}
    for i = 1, #trials[1] do rows[i] = row_of(trials, i) end
    local function list(names)
        return names[1] and (#names == #trials and "all" or table.concat(names, ","))
    end
    self.out:write("\n", columns.table(COLUMNS, rows, function(row)
        return { row.name, list(row.known), list(row.unknown), list(row.silent) }
    end), "\n")
    for _, row in ipairs(rows) do
        if row.unknown[1] then self:report_unknown(row.name) end
    end
end


function Doctor:check_servers()
    local count, trials = 0, {}
    for name in self.hosts.hosts:gmatch("[^,]+") do
        if self:check_server(name) then
            local trial = core.trials(name, self.given.timeout or DEFAULT_TIMEOUT)
            trial.server = name
            if trial[1] then trials[#trials + 1] = trial end
        end
        count = count + 1
    end
    self:report_operations(trials)
    if count == 2 then
        self:say("note", "servers", "two, both of which must live; three survive the loss of one")
    end
end


-- --- a lock -------------------------------------------------------------------------

local function made_at(lock)
    local queue = lock:queue()
    return queue and queue[1] and queue[1].since
end


-- Compares clocks. The server noted its time between `from` and `to` of this machine.
function Doctor:check_clock(server_time, from, to)
    if not server_time then return end
    local skew = server_time < from and from - server_time or min(to - server_time, 0)
    if abs(skew) <= MAX_SKEW then
        self:say("ok", "clock", "as the server's, to a second or two")
        return
    end
    self:say("note", "clock", "%s %s the server's; locks do not depend on it, but SINCE and logs "
        .. "do, so run an NTP client", columns.duration(abs(skew)), skew > 0 and "ahead of"
        or "behind")
end


function Doctor:fail_lock(message, code)
    self:fail("lock", "%s", with_advice(message, code))
end


function Doctor:report_holder(path, queue)
    local first = queue[1]
    local _, holder = tree.holder(queue)
    self:say("ok", "lock", "%s is %s by %s (in the queue for %s), so neither it nor the clocks are "
        .. "tried", path, first.held == "unknown" and "held, or kept," or "held", holder,
        columns.age(first.since) or "?")
end


function Doctor:try_lock(session, is_second)
    local path = self.given.path or PATH
    local lock, queue, queue_code = tree.lock(session, path)
    if not lock then return self:fail_lock(queue, queue_code) end
    if queue[1] then return self:report_holder(path, queue) end
    lock = session:mutex(path)
    local from, begun = os.time(), now()
    local lease, message, code = lock:acquire(0)
    if code == "busy" and not is_second then return self:try_lock(session, true) end
    if not lease then return self:fail_lock(message, code) end
    local take_time = now() - begun
    local to, node_time = os.time(), made_at(lock)
    begun = now()
    local released, problem = lease:release{ wait = session:timeout() }
    if not released then
        self:fail("lock", "%s: it is taken, and cannot be given up", problem)
        return
    end
    self:say("ok", "lock", "%s was taken in %.1f ms, and given up in %.1f ms", path,
        take_time * 1000, (now() - begun) * 1000)
    self:check_clock(node_time, from, to)
end


function Doctor:check_ensemble()
    local opts = connect.options(self.given)
    opts.parents = self.parents
    local session, message, code = zklock.connect(self.hosts.text, opts)
    if not session then
        self:fail("session", "%s", with_advice(message, code))
        return
    end
    self:say("ok", "session", "0x%s%s", session:id() or "?",
        self.hosts.chroot ~= "" and ", chroot " .. self.hosts.chroot or "")
    self:try_lock(session)
    session:close()
end


function doctor.run(given, out)
    local hosts = hosts_of.split(connect.hosts(given))
    connect.check(options.connect, connect.options(given))
    if given.path then connect.path(given.path) end
    local self = setmetatable({ given = given, out = out, hosts = hosts }, Doctor)
    self:check_installation()
    self:check_servers()
    self:check_ensemble()
    return self.failed and status.FAILED or status.OK
end


return doctor
