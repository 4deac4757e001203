--- A history of several processes, with one event a line.
--
--   CLOCK <tab> PROCESS <tab> CLAIM <tab> EVENT [<tab> FIELD=VALUE]...
--
-- CLOCK    seconds, by zklock's own clock (CLOCK_BOOTTIME), which all processes of
--          a machine share and which no setting of the time of day moves.
-- PROCESS  "c2.1" is the first process in place c2, and after a kill c2.2
--          replaces it. "torture" is the nemesis, "zookeeper" the servers' own
--          transaction log (see truth.pl), "store" the protected resource.
-- CLAIM    one call of acquire, from the wish to its last trace; "-" for none.
-- VALUE    text; a percent sign, tab and newline are written as %25, %09, %0A.
--
-- Events of a client (fields in brackets may be missing). A moment is a CLOCK;
-- `held` is the last moment at which the lease was seen held, taken before the
-- question, so that the lease was certain then or later. An event that ends a call
-- has `begun`, and `limit`, the seconds that the call may take.
--   connected    session timeout [begun limit]  also after an expiry, with the new session
--   unconnected  code begun limit       connect() failed
--   state        state                  of the session
--   stalled      seconds                the process did not run until now
--   invoked      path kind way [limit] [inside] [permits] [batch] [keep]   kind: mutex, read,
--                                       write, permit; way: acquire, try, reenter; inside: the
--                                       claim whose owner acquires once more; batch: grants of a
--                                       turn; keep: seconds that the node may stay after it, 0 on
--                                       a path where others keep it
--   queued       position               the claim stands in line
--   granted      token begun [limit] state [held]    state: right after the grant
--   failed       code begun [limit]
--   noticed      state [held]           the lease became suspect, lost or held again
--   wrote        element read token accepted [held]  a fenced read-pause-write
--   read         element [held]         a reader has read the set, then
--   downgrading  [held]                 from now on a writer only reads: it asks for the
--                                       downgrade, or gives up its last handle that writes
--   downgraded   result begun limit [held]    the answer, ok, unsupported (it may write again),
--                                       timeout, lost, …
--   revoked      result begun limit     a stranger asked the holder to give way
--   released     result begun [limit] [held]  result: ok, lost, …; "dropped": left to the
--                                       collector; "scope": its scope ended
--   closing      session                session:close() is called, ...
--   closed       begun limit            ... and has returned
--   error        message                an unexpected event
--   ended                               the process is about to end in order
-- Events of the nemesis:
--   fault        id name scope [path] [session] [victim]   begins. scope: a place, "all",
--                                       or "path": somebody meddled with the nodes of that
--                                       path; session: the ended session, victim: the killed
--                                       process
--   healed       id                     the fault has ended
--   residue      nodes watches          left at the end
-- Events of ZooKeeper, in its own order:
--   created      zxid path name session       CLAIM as the node's data says
--   deleted      zxid path name session cause     cause: delete, close (of the session)
--   marked       zxid path name session       somebody holds it, and it will not be kept
--   became       zxid path name session was       one transaction deleted `was` and created
--                                       `name`, which now stands in its place
--   lost         zxid path name session what servers over    most servers had logged this change
--                                       (what: create, delete, set, close), and lost it; over:
--                                       when the first transaction came that they kept
-- Events of the store, in the order of its transactions:
--   stored       path element read token
--
-- A line is written at once, so that a killed process leaves a valid beginning;
-- a last line without its end is no event.

local core = require "zklock.core"
local files = require "spec.files"

local history = {}


local ESCAPES = { ["%"] = "%25", ["\t"] = "%09", ["\n"] = "%0A" }

local function escape(value)
    return (tostring(value):gsub("[%%\t\n]", ESCAPES))
end

local function unescape(text)
    return (text:gsub("%%(%x%x)", function(code) return string.char(tonumber(code, 16)) end))
end


--- Returns an event as its line, without the newline.
function history.format(at, process, claim, event, fields)
    local parts = { ("%.6f"):format(at), process, claim, event }
    local names = {}
    for name in pairs(fields or {}) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do
        local value = fields[name]
        if type(value) == "number" and value % 1 ~= 0 then value = ("%.6f"):format(value) end
        parts[#parts + 1] = name .. "=" .. escape(value)
    end
    return table.concat(parts, "\t")
end


--- Parses a line into { at=, process=, claim=, event=, FIELD=text... }.
function history.parse(line)
    local at, process, claim, event, rest = line:match("^(%S+)\t([^\t]+)\t([^\t]+)\t([^\t]+)(.*)$")
    if not at then error("no event: " .. line, 2) end
    local result = { at = tonumber(at), process = process, claim = claim, event = event }
    for name, value in rest:gmatch("\t([^=\t]+)=([^\t]*)") do
        result[name] = value:find("%", 1, true) and unescape(value) or value
    end
    return result
end


-- --- writing ------------------------------------------------------------------------

local Writer = {}
Writer.__index = Writer


--- Returns a writer for one process, which appends to the file.
function history.writer(path, process)
    local file = assert(io.open(path, "a"))
    file:setvbuf("line")
    return setmetatable({ file = file, process = process }, Writer)
end


--- Records an event, of now unless `at` is given.
function Writer:record(event, claim, fields, at)
    local line = history.format(at or core.now(), self.process, claim or "-", event, fields)
    self.file:write(line, "\n")
end


function Writer:close()
    self.file:close()
end


--- Runs fn, records how it ended, and ends the process, with status 1 after an error.
function Writer:run(fn)
    local ok, problem = xpcall(fn, debug.traceback)
    self:record(ok and "ended" or "error", nil, not ok and { message = problem } or nil)
    self:close()
    os.exit(ok and 0 or 1)
end


-- --- reading ------------------------------------------------------------------------

local function read_into(events, path)
    local text = assert(files.read(path))
    for line in text:gmatch("([^\n]*)\n") do events[#events + 1] = history.parse(line) end
end


--- Sorts events by time, and keeps the order within one moment.
function history.sort(events)
    for i, event in ipairs(events) do event.order = i end
    table.sort(events, function(a, b)
        if a.at ~= b.at then return a.at < b.at end
        return a.order < b.order
    end)
    return events
end


--- Reads the events of all files, sorted by time, then by the order of the files.
function history.read(paths)
    local events = {}
    for _, path in ipairs(paths) do read_into(events, path) end
    return history.sort(events)
end


return history
