--- The sessions that are open in this Lua state. What waits or sleeps in plain Lua delivers the
-- news of all of them, so that callbacks come whatever it waits for.

local core = require "zklock.core"

local min = math.min
local now, poll, this_thread = core.now, core.poll, core.thread
local setmetatable = setmetatable

local SLICE = 0.1 -- seconds; between slices Ctrl-C works

local _M = {}

-- Those that nothing else refers to are collected. The list is not changed, but made anew.
local opened = { count = 0 }

local deliver -- a session's news


--- fn(session) delivers what happened in it, and gives how much it was.
function _M.deliver_by(fn)
    deliver = fn
end


--- Delivers what happened in one.
---@return integer count of what was delivered
function _M.deliver(session)
    return deliver(session)
end


--- Adds a session, or none, and leaves out those that have ended.
function _M.add(session)
    local sessions, count = setmetatable({}, { __mode = "v" }), 0
    for i = 1, opened.count do
        local each = opened[i]
        if each and not each.ended then
            count = count + 1
            sessions[count] = each
        end
    end
    sessions[count + 1] = session
    sessions.count = session and count + 1 or count
    opened = sessions
end


-- Of this thread and process.
local function is_here(session, thread)
    return session.thread == thread and not session.handle:foreign()
end


--- Delivers what happened in any session. Never waits.
---@return integer count of what was delivered
function _M.dispatch()
    local sessions, thread, count = opened, this_thread(), 0
    for i = 1, sessions.count do
        local session = sessions[i]
        if session and is_here(session, thread) then
            count = count + deliver(session)
        end
    end
    return count
end


-- The handles of the sessions here; those that have ended are not looked at any more.
local function handles_here()
    local sessions, thread, handles, ended = opened, this_thread(), {}, false
    for i = 1, sessions.count do
        local session = sessions[i]
        if session and is_here(session, thread) then
            handles[#handles + 1] = session.handle
            if session.handle:ended() then session.ended, ended = true, true end
        end
    end
    return handles, ended
end


--- Waits until something happens in a session, at most `seconds` and no longer than Ctrl-C can
-- wait, and delivers it.
function _M.await(seconds)
    local handles, ended = handles_here()
    poll(handles, min(SLICE, seconds))
    _M.dispatch()
    if ended then _M.add() end -- they have had their last news
end


--- Sleeps, and blocks the thread.
function _M.sleep(seconds)
    local due = now() + seconds
    repeat _M.await(due - now()) until now() >= due
    return true
end


return _M
