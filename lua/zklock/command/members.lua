--- The verb members lists the members of a folder.

local columns = require "zklock.command.columns"
local connect = require "zklock.command.connect"
local core = require "zklock.core"
local encode = require "zklock.command.json"
local failure = require "zklock.value.failure"
local options = require "zklock.value.options"
local repeated = require "zklock.command.repeated"
local sessions = require "zklock.waiting.sessions"

local now = core.now

local COLUMNS = {
    { title = "NAME", width = 25 },
    { title = "DATA", width = 28 },
    { title = "SESSION", width = 16 },
    { title = "SINCE", width = 6, right = true, whole = true },
}

local members = {
    summary = "List the members of a folder.",
    description = "Lists the nodes in the folder PATH, as made by zklock join, session:join and "
        .. "other programs, with name, data, session, and age. SINCE is by the clocks of the "
        .. "server and of this machine.",
    example = "zklock members /members/gateway --watch",
}


function members.describe(parser)
    parser:argument("PATH", "The folder's path."):argname "PATH":target "path"
    parser:flag("--json", "As JSON: a line with a list of all members.")
    repeated.describe(parser)
end


local function row(member)
    return { member.name, member.data, member.session, columns.age(member.since) }
end


local function as_text(list)
    if not list[1] then return "no members\n" end
    return columns.table(COLUMNS, list, row)
end


local function follow(session, path)
    local news = { heard_at = now() }
    local stop, message, code = session:members(path, function(...)
        news.list, news.message, news.code = ...
    end)
    if not stop then connect.fail(message, code) end
    return news
end


-- Returns the latest list, for which it waits at first. Fails after a session timeout without a
-- connection.
local function latest(session, news)
    local timeout = session:timeout()
    if session:state() == "connected" then news.heard_at = now() end
    while not (news.list or news.code) and now() < news.heard_at + timeout do
        sessions.await(timeout)
    end
    if news.code then connect.fail(news.message, news.code) end
    if news.list and now() < news.heard_at + timeout then return news.list end
    local _, message, code = failure("connection", session.hosts)
    connect.fail(message, code)
end


function members.run(given, out)
    local path = connect.check(options.folder, given.path)
    local session, news = connect.open(given), nil
    return repeated.run(given, session, out, function()
        news = news or follow(session, path)
        local list = latest(session, news)
        return given.json and encode(list) .. "\n" or as_text(list)
    end)
end


return members
