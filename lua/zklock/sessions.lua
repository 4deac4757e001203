--- The sessions that are open in this Lua state. What waits or sleeps in plain Lua delivers the
-- news of all of them, so that callbacks come whatever it waits for.

local core = require "zklock.core"

local min = math.min
local now, poll, this_thread = core.now, core.poll, core.thread
local pairs, setmetatable = pairs, setmetatable

local SLICE = 0.1 -- seconds; between slices Ctrl-C works

local _M = {}

local opened = setmetatable({}, { __mode = "k" })


function _M.add(session)
    opened[session] = true
end


-- The sessions that this thread may dispatch, and their handles.
local function present()
    local here, sessions, handles = this_thread(), {}, {}
    for session in pairs(opened) do
        local handle = session.handle
        if session.thread == here and not handle:foreign() then
            sessions[#sessions + 1], handles[#handles + 1] = session, handle
            if handle:ended() then opened[session] = nil end -- it has its last news now
        end
    end
    return sessions, handles
end


local function dispatch(sessions)
    for i = 1, #sessions do sessions[i]:dispatch() end
end


--- Delivers what happened in any session. Never waits.
function _M.dispatch()
    dispatch((present()))
end


--- Waits until something happens in a session, at most `seconds` and no longer than Ctrl-C can
-- wait, and delivers it.
function _M.await(seconds)
    local sessions, handles = present()
    poll(handles, min(SLICE, seconds))
    dispatch(sessions)
end


--- Sleeps, and blocks the thread.
function _M.sleep(seconds)
    local due = now() + seconds
    repeat _M.await(due - now()) until now() >= due
end


return _M
