--- The verb break takes a lock from its holder.

local connect = require "zklock.command.connect"
local core = require "zklock.core"
local failure = require "zklock.value.failure"
local read_data = require "zklock.value.node_data"
local refusal = require "zklock.command.refusal"
local show = require "zklock.command.show"
local status = require "zklock.command.status"
local tree = require "zklock.command.tree"
local wait = require "zklock.waiting.wait"
local zklock = require "zklock"

local ipairs, pcall = ipairs, pcall
local now = core.now

local GRACE = 10 -- seconds
local STEP = 0.2 -- seconds between looks

local BROKEN = "broken; the next in the queue holds the lock now. The old holder did not give way. "
    .. "A command of zklock run that ignores TERM goes on for up to run's --grace (5 s), any other "
    .. "holder until a store that has seen a newer token refuses its writes\n"

local breaking = {
    summary = "Take a lock from its holder.",
    description = "Asks the holder of the lock at PATH to give way, as lock:revoke() does, waits, "
        .. "and then removes the holder's node. A holder that does not listen goes on. End it on "
        .. "its host first, so that no two run at once. break prints the host before it asks; "
        .. "zklock show does not show it after that. If several hold the lock, it is taken from "
        .. "all, or with --token from that holder. Waiters keep their places.",
    example = "zklock break /locks/nightly --token 8589934632",
}


local function parse_token(text)
    if text:find "^%d+$" then return (text:gsub("^0+(%d)", "%1")) end
    return nil, text .. " is no token, such as 8589934632 in zklock show"
end


function breaking.describe(parser)
    parser:argument("PATH", "The lock's path."):argname "PATH":target "path"
    parser:option("--grace", ("Seconds that the holder has to give way; by default %g.")
        :format(GRACE)):argname "SECONDS":convert(connect.parse_seconds)
    parser:option("--token", "Take it from the holder with this token, as show and ls print it; "
        .. "status 1 if that does not hold it."):argname "N":convert(parse_token)
    parser:flag("-y --yes", "Do not ask.")
end


local function holders(session, path)
    local lock, queue_or_message, code = tree.lock(session, path)
    if not lock then connect.fail(queue_or_message, code) end
    local held = {}
    for _, entry in ipairs(queue_or_message) do
        if entry.held then held[#held + 1] = entry end
    end
    return held, code == "no_node"
end


local function refuse_token(path, wanted)
    refusal.raise(status.FAILED, "%s: not broken, because no holder has the token %s", path, wanted)
end


local function holder_with_token(held, path, wanted)
    for _, entry in ipairs(held) do
        if entry.name == tree.FIXED then
            local _, message, code = failure("unsupported", path, "all holders of a lock with "
                .. 'order = "none" have one node: --token could take it from a later one')
            connect.fail(message, code)
        end
        if entry.token and ("%d"):format(entry.token) == wanted then return { entry } end
    end
    refuse_token(path, wanted)
end


local function holders_left(before, session, path)
    local known, left = {}, {}
    for _, entry in ipairs(before) do known[entry.name] = entry.token end
    for _, entry in ipairs((holders(session, path))) do
        if known[entry.name] == entry.token then left[#left + 1] = entry end
    end
    return left
end


-- Asks the `held` holders, and no later holders, to give way. Returns the holders asked.
local function ask(held, session, path)
    local asked, timeout = {}, session:timeout()
    for _, entry in ipairs(held) do
        local request = session.handle:revoke(path .. "/" .. entry.name, timeout)
        local ok, message, code = session:await(request, timeout, wait.take, path)
        if ok then asked[#asked + 1] = entry
        elseif code ~= "no_node" then connect.fail(message, code) end
    end
    return asked
end


local function confirm(given, err)
    if given.yes then return end
    err:write("Break it? [y/N] ")
    err:flush()
    local answer = io.read("*l")
    if not answer then
        err:write("\n")
        refusal.raise(status.FAILED, "not broken, because nobody answered; --yes does not ask")
    end
    if not answer:find("^[yY]") then refusal.raise(status.FAILED, "not broken") end
end


-- Deletes the node, but only if its data still ask to give way. Otherwise a later holder, which was
-- not asked, may hold the node. Returns true, to try again, if the node was written between the
-- read and the delete.
local function remove_as_seen(session, node)
    local timeout = session:timeout()
    local data, version, code = session:get(node)
    if code == "no_node" then return false end
    if not data then connect.fail(version, code) end
    local _, _, asked = read_data(data)
    if not asked then return false end
    local ok, message
    ok, message, code = session:await(session.handle:break_node(node, version, timeout), timeout,
                                      wait.take, node)
    if not ok and code ~= "conflict" then connect.fail(message, code) end
    return not ok
end


-- Tries again, because the holder may append its held word (zklock.value.node_data) behind the
-- request meanwhile, which changes only the version.
local function remove(session, path, entry)
    local deadline = now() + session:timeout()
    while remove_as_seen(session, path .. "/" .. entry.name) and now() < deadline do end
end


local function wait_for_release(held, session, given)
    local deadline = now() + (given.grace or GRACE)
    while held[1] and now() < deadline do
        zklock.sleep(STEP)
        held = holders_left(held, session, given.path)
    end
    return held
end


local function carry_out(given, session, out, err)
    local path = given.path
    local held, absent = holders(session, path)
    if given.token then held = holder_with_token(held, path, given.token) end
    if not held[1] then
        out:write("nobody holds ", path, absent and " (there is no such node)\n" or "\n")
        return status.OK
    end
    out:write(show.text(held))
    out:flush()
    confirm(given, err)
    local asked = ask(held, session, path)
    if given.token and not asked[1] then refuse_token(path, given.token) end
    held = wait_for_release(holders_left(asked, session, path), session, given)
    for _, entry in ipairs(held) do remove(session, path, entry) end
    local left = holders_left(held, session, path)
    if left[1] then refusal.raise(status.FAILED, "%s is still held", path) end
    out:write(held[1] and BROKEN or "the holder gave way\n")
    return status.OK
end


function breaking.run(given, out, err)
    connect.path(given.path)
    local session = connect.open(given)
    local ok, result = pcall(carry_out, given, session, out, err)
    session:close()
    if not ok then error(result, 0) end
    return result
end


return breaking
