--- The verb ls lists the locks below a path.

local columns = require "zklock.command.columns"
local connect = require "zklock.command.connect"
local encode = require "zklock.command.json"
local options = require "zklock.value.options"
local repeated = require "zklock.command.repeated"
local tree = require "zklock.command.tree"

local ipairs = ipairs

local COLUMNS = {
    { title = "LOCK", width = 22, from_end = true },
    { title = "KIND", width = 6 },
    { title = "HOLDER", width = 21 },
    { title = "TOKEN", width = 9, right = true, whole = true },
    { title = "SINCE", width = 6, right = true, whole = true },
    { title = "WAIT", width = 4, right = true },
    { title = "BY", width = 6 },
}

local ls = {
    summary = "List locks.",
    description = "Lists the locks at PATH and below it that have a holder or waiters, with the "
        .. "first holder, its token, the age of its node, the number of waiters, and the language "
        .. "of its client. SINCE is by the clocks of the server and of this machine.",
    example = "zklock ls /locks --watch",
}


function ls.describe(parser)
    parser:argument("PATH", "By default all."):argname "PATH":target "path":args "?"
    parser:flag("--json", "As JSON: a line with a list of all locks and their queues.")
    repeated.describe(parser)
end


local function counts(queue)
    local held = 0
    for _, entry in ipairs(queue) do
        if entry.held then held = held + 1 end
    end
    return held, #queue - held
end


local function row(lock)
    local first = lock.queue[1]
    local held, waiting = counts(lock.queue)
    local holder = tree.name_of(first) .. (first.revoked and " (asked)" or "")
    if held > 1 then holder = ("%d: %s"):format(held, holder) end
    return {
        lock.path, first.kind, holder, first.token and ("%d"):format(first.token),
        columns.age(first.since), ("%d"):format(waiting), first.language,
    }
end


--- A path without a node may be mistyped, or that of free locks, whose nodes ZooKeeper deletes.
---@param code string? "no_node"
function ls.text(locks, unreadable, code)
    if locks[1] then return columns.table(COLUMNS, locks, row) end
    if code then return "no locks (there is no such node)\n" end
    return unreadable[1] and "" or "no locks\n"
end


function ls.run(given, out)
    local path = given.path or "/"
    connect.check(options.node, path)
    local session = connect.open(given)
    return repeated.run(given, session, out, function()
        local locks, unreadable, code = tree.locks(session, path)
        if not locks then connect.fail(unreadable, code) end
        local text = given.json and encode(locks) .. "\n" or ls.text(locks, unreadable, code)
        return text, connect.unreadable_text(unreadable)
    end)
end


return ls
