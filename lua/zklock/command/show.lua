--- The verb show shows the queue of a lock.

local columns = require "zklock.command.columns"
local connect = require "zklock.command.connect"
local encode = require "zklock.command.json"
local printable = require "zklock.command.printable"
local repeated = require "zklock.command.repeated"
local tree = require "zklock.command.tree"

local COLUMNS = {
    { title = "", width = 4, right = true },
    { title = "", width = 5 },
    { title = "KIND", width = 6 },
    { title = "WHO", width = 21 },
    { title = "SESSION", width = 16 },
    { title = "TOKEN", width = 9, right = true, whole = true },
    { title = "SINCE", width = 6, right = true, whole = true },
    { title = "BY", width = 6 },
}

local SILENT = "it does not answer a new waiter; is its process stopped, or cut off?"

local show = {
    summary = "Show the queue of a lock.",
    description = "Lists the holders and the waiters of the lock at PATH, in order.",
    example = "zklock show /locks/nightly",
}


function show.describe(parser)
    parser:argument("PATH", "The lock's path."):argname "PATH":target "path"
    parser:flag("--json", "As JSON: a line with a list of holders and waiters.")
    repeated.describe(parser)
end


-- "kept?" is a node that its session may hold, or only keep.
local function role_of(entry)
    if entry.kept then return "kept" end
    if entry.held == "unknown" then return "kept?" end
    return entry.held and "holds" or "waits"
end


local function kind_of(entry)
    if entry.kind ~= "permit" then return entry.kind end
    return ("%d/%d"):format(entry.permits, entry.limit)
end


-- The session has not given its node to the contender behind, nor said that it holds the lock.
local function is_silent(queue, i)
    return queue[i].held == "unknown" and queue[i + 1] ~= nil
end


local function indented(text)
    return "           " .. text .. "\n"
end


local function row(queue, entry, i)
    local texts = {
        ("%d"):format(i), role_of(entry), kind_of(entry),
        entry.revoked and "asked to give way" or entry.identity, entry.session,
        entry.token and ("%d"):format(entry.token), columns.age(entry.since), entry.language,
    }
    texts.below = (entry.data and indented(printable.line(entry.data)) or "")
        .. (is_silent(queue, i) and indented(SILENT) or "")
    return texts
end


--- A path without a node may be mistyped, or that of a free lock, whose node ZooKeeper deletes.
---@param code string? "no_node"
function show.text(queue, code)
    if not queue[1] then return code and "free (there is no such node)\n" or "free\n" end
    return columns.table(COLUMNS, queue, function(entry, i) return row(queue, entry, i) end)
end


function show.run(given, out)
    local path = connect.path(given.path)
    local session = connect.open(given)
    return repeated.run(given, session, out, function()
        local lock, queue, code = tree.lock(session, path)
        if not lock then connect.fail(queue, code) end
        return given.json and encode(queue) .. "\n" or show.text(queue, code)
    end)
end


return show
