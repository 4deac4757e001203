--- The verb graph shows who waits for whom.

local columns = require "zklock.command.columns"
local connect = require "zklock.command.connect"
local cycles = require "zklock.command.cycles"
local encode = require "zklock.command.json"
local options = require "zklock.value.options"
local printable = require "zklock.command.printable"
local repeated = require "zklock.command.repeated"
local status = require "zklock.command.status"
local tree = require "zklock.command.tree"
local zklock = require "zklock"

local ipairs = ipairs

-- Seconds between two looks. A node under release is gone at the second look.
local PAUSE = 0.5

local COLUMNS = {
    { title = "WAITS", width = 21 },
    { title = "FOR", width = 21 },
    { title = "AT", width = 27, from_end = true },
    { title = "SINCE", width = 6, right = true, whole = true },
}

local graph = {
    summary = "Show who waits for whom.",
    description = "Lists the waiters of all locks at PREFIX and below it, and whom each waits for. "
        .. "Sessions that wait for each other in a circle are reported as a possible deadlock, if "
        .. "a second look finds the same nodes. Exit status: that of ls, but 1 after a report.",
    example = "zklock graph /locks",
}


function graph.describe(parser)
    parser:argument("PREFIX", "By default all."):argname "PREFIX":target "path":args "?"
    parser:flag("--one-owner", "Say that no process has several owners, such as threads or "
        .. "coroutines that lock. Then a deadlock is certain.")
    parser:flag("--json", "As JSON: a line with all waits and circles.")
    repeated.describe(parser)
end


-- --- looks ----------------------------------------------------------------------------

-- Leaves out folders of conditions, in which contenders wait for a signal.
local function read_locks(session, path)
    local found, unreadable, code = tree.locks(session, path)
    if not found then connect.fail(unreadable, code) end
    local locks = {}
    for _, lock in ipairs(found) do
        if not lock.path:find "%-condition%-[^/]*$" then locks[#locks + 1] = lock end
    end
    return locks, unreadable
end


--- Returns locks, circles that two looks found, and paths that may not be read.
function graph.survey(session, path)
    local locks, unreadable = read_locks(session, path)
    local found = cycles.find(locks)
    if not found[1] then return locks, found, unreadable end
    zklock.sleep(PAUSE)
    local second
    second, unreadable = read_locks(session, path)
    return second, cycles.find(cycles.lasting_queues(locks, second)), unreadable
end


-- --- output ---------------------------------------------------------------------------

-- The holders ahead; without any, the nearest waiter ahead.
local function ahead_of(queue, place)
    local holders, nearest = {}, nil
    for i = 1, place - 1 do
        local ahead = queue[i]
        if cycles.excludes(ahead, queue[place]) then
            nearest = ahead
            if ahead.held then holders[#holders + 1] = ahead end
        end
    end
    return holders[1] and holders or { nearest }
end


local function waits_of(locks)
    local waits = {}
    for _, lock in ipairs(locks) do
        for place, entry in ipairs(lock.queue) do
            if not entry.held then
                waits[#waits + 1] = {
                    path = lock.path, entry = entry, ahead = ahead_of(lock.queue, place),
                }
            end
        end
    end
    return waits
end


local function row(wait)
    local ahead = wait.ahead
    local others = #ahead > 1 and (" (%d)"):format(#ahead) or ""
    local name = ahead[1] and tree.name_of(ahead[1]) .. others
    return { tree.name_of(wait.entry), name, wait.path, columns.age(wait.entry.since) }
end


function graph.is_certain(cycle, given)
    return given.one_owner == true and cycles.is_firm(cycle)
end


local function text_of(cycle, given)
    local lines = { graph.is_certain(cycle, given) and "certain deadlock:"
        or "possible deadlock, certain only if each of these processes has one owner:" }
    for _, step in ipairs(cycle) do
        lines[#lines + 1] = printable.line(("  %s waits for %s, where %s %s"):format(
            tree.name_of(step.entry), step.path, tree.name_of(step.ahead),
            step.ahead.held and "holds" or "is ahead"))
    end
    return table.concat(lines, "\n") .. "\n"
end


local function text(locks, found, given)
    local waits, texts = waits_of(locks), {}
    if not waits[1] then return "nobody waits\n" end
    for i, cycle in ipairs(found) do texts[i] = text_of(cycle, given) end
    return columns.table(COLUMNS, waits, row) .. table.concat(texts)
end


local function contender(entry)
    return { name = entry.name, session = entry.session, identity = entry.identity }
end


local function json(locks, found, given)
    local waits, circles = {}, {}
    for i, wait in ipairs(waits_of(locks)) do
        waits[i] = contender(wait.entry)
        waits[i].path, waits[i].since, waits[i]["for"] = wait.path, wait.entry.since, {}
        for k, ahead in ipairs(wait.ahead) do waits[i]["for"][k] = contender(ahead) end
    end
    for i, cycle in ipairs(found) do
        circles[i] = { certain = graph.is_certain(cycle, given), steps = {} }
        for k, step in ipairs(cycle) do
            circles[i].steps[k] = contender(step.entry)
            circles[i].steps[k].path = step.path
        end
    end
    return encode{ waits = waits, circles = circles } .. "\n"
end


function graph.run(given, out)
    local path, reported = given.path or "/", false
    connect.check(options.node, path)
    local session = connect.open(given)
    local result = repeated.run(given, session, out, function()
        local locks, found, unreadable = graph.survey(session, path)
        reported = found[1] ~= nil
        local show = given.json and json or text
        return show(locks, found, given), connect.unreadable_text(unreadable)
    end)
    return reported and status.FAILED or result
end


return graph
