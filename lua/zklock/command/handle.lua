--- The handle that zklock hold prints, such as web3:/tmp/zklock-aB3dE9. On that machine, the
-- process that holds the lock answers at a socket in that folder.

local background = require "zklock.child"
local core = require "zklock.core"
local refusal = require "zklock.command.refusal"
local status = require "zklock.command.status"
local zklock = require "zklock"

local PATIENCE = 10 -- seconds; the process gives a server half of them
local PAUSE = 0.05 -- seconds between two questions

local _M = {}


local function this_host()
    return (core.identity():gsub(":%d+$", ""))
end


---@param folder string of the process's socket
---@return string handle
function _M.of(folder)
    return this_host() .. ":" .. folder
end


local failures = {} -- reason -> function(handle, host, process): status, message

function failures.absent(handle, host)
    if host == this_host() then
        return status.FAILED, "no process holds a lock for %s: it was released, its time is over, "
            .. "or there never was one", handle
    end
    return status.USAGE, "the handle %s is of the host %s, and this is %s", handle, host,
        this_host()
end

function failures.dead(handle)
    return status.FAILED, "the process that held the lock for %s has ended, so the lock is lost",
        handle
end

function failures.foreign(handle)
    return status.NO_PERMISSION, "%s: another user holds that lock", handle
end

function failures.silent(handle, _, process)
    return status.UNAVAILABLE, "%s: process %d, which holds the lock, has not answered for %d s: "
        .. "is it stopped?", handle, process, PATIENCE
end

failures["out of reach"] = function(handle)
    return status.UNAVAILABLE, "%s: a process holds the lock, but for %d s there was no such "
        .. "folder: is it in a /tmp of another mount namespace, or is that process stopped?",
        handle, PATIENCE
end


local verdicts = { held = status.OK, lost = status.FAILED, unknown = status.UNAVAILABLE }


-- A killed process leaves its folder behind.
local function remove_folder(folder)
    os.remove(folder .. "/hold")
    os.remove(folder)
end


-- A hold whose folder was removed keeps its socket until it has made the folder again. The folder
-- may also be in another mount namespace.
local function is_bound(folder)
    local sockets = io.open "/proc/net/unix"
    if not sockets then return false end
    local text = sockets:read "*a"
    sockets:close()
    return text:find((" %s/hold\n"):format(folder), 1, true) ~= nil
end


local function answer_of(folder, word)
    local deadline = core.now() + PATIENCE
    repeat
        local answer, reason, process = background.ask(folder, word, PATIENCE)
        local is_removed = (reason == "absent" or reason == "dead") and is_bound(folder)
        if not is_removed then return answer, reason, process end
        zklock.sleep(PAUSE)
    until core.now() > deadline
    return nil, "out of reach"
end


---@param word "check" | "release"
---@return integer
function _M.ask(handle, word)
    local host, folder = handle:match "^([^:]+):(/.+)$"
    if not host then
        refusal.raise(status.USAGE, "%s is no handle; zklock hold prints one, such as "
            .. "web3:/tmp/zklock-aB3dE9", handle)
    end
    local answer, reason, process = answer_of(folder, word)
    if not answer then
        local failure = failures[reason]
        if reason == "dead" and word == "release" then remove_folder(folder) end
        if failure then refusal.raise(failure(handle, host, process)) end
        refusal.raise(status.SOFTWARE, "%s: %s", handle, reason)
    end
    local verdict, text = answer:match "^(%l+) ?(.*)$"
    if verdict == "unknown" then text = "no server says whether the lock is held: " .. text end
    if verdict ~= "held" then refusal.raise(verdicts[verdict], "%s", text) end
    return verdicts[verdict]
end


---@param word "check" | "release"
function _M.verb(word, summary, description)
    return {
        summary = summary,
        description = description .. " Exit status: 0 the lock was held without a break; 1 it was "
            .. "lost, or the hold has ended; 64 no handle of this host; 69 no server says whether "
            .. "it is held; 77 another user's.",
        example = ('zklock %s "$handle"'):format(word),
        describe = function(parser)
            parser:argument("HANDLE", "As zklock hold printed it."):argname "HANDLE"
                :target "handle"
        end,
        run = function(given) return _M.ask(given.handle, word) end,
    }
end


return _M
